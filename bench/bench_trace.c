/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_trace.c - make up a program and the trace of running it, for machines without a
 * recorded one: bench_trace TRACE CODE BYTES. The code belongs at BASE_ADDRESS.
 *
 * The program is functions of straight code, conditional branches, loops, calls to later functions,
 * indirect jumps and returns; the same program every time. Tracing is that of user code with
 * return compression, PSB+ every 4 KiB, without time.
 */
#include <pt/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE_ADDRESS 0x400000u
#define FUNCTIONS    200
#define OPS_MAX      40000
#define STACK        64
#define PSB_PERIOD   4096

enum kind { FILL, JCC, JUMP, CALL, JUMP_IND, RET };

struct op {
    uint32_t at;     /* address */
    uint32_t target; /* index */
    uint8_t kind, size;
};

struct program {
    struct op ops[OPS_MAX];
    uint32_t n, functions[FUNCTIONS];
    uint64_t random;
};

static uint32_t chance(uint64_t *random, uint32_t below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 32) % below;
}

/* --- the program ----------------------------------------------------------------------- */

static uint32_t add_op(struct program *p, enum kind kind, uint8_t size, uint32_t target)
{
    if (p->n == OPS_MAX)
        exit(2);
    p->ops[p->n] = (struct op){.kind = (uint8_t)kind, .size = size, .target = target};
    return p->n++;
}

static void add_block(struct program *p, uint32_t function, uint32_t *forward)
{
    uint32_t begin = p->n, what;

    for (uint32_t i = 1 + chance(&p->random, 8); i; i--)
        add_op(p, FILL, (uint8_t)(1 + chance(&p->random, 7)), 0);
    what = chance(&p->random, 100);
    if (what < 55)
        *forward = add_op(p, JCC, 6, 0);
    else if (what < 70)
        add_op(p, JCC, 6, begin);
    else if (what < 85 && function + 1 < FUNCTIONS)
        add_op(p, CALL, 5, function + 1 + chance(&p->random, FUNCTIONS - function - 1));
    else if (what < 92)
        add_op(p, JUMP_IND, 2, p->n + 1);
    else
        add_op(p, JUMP, 5, p->n + 1);
}

static void make_program(struct program *p)
{
    uint32_t at = BASE_ADDRESS;

    p->random = 88172645463325252u;
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        uint32_t skip = 0, forward;
        p->functions[f] = p->n;
        for (uint32_t blocks = 3 + chance(&p->random, 8); blocks; blocks--) {
            forward = 0;
            add_block(p, f, &forward);
            if (skip) /* over this block */
                p->ops[skip].target = p->n;
            skip = forward;
        }
        if (skip)
            p->ops[skip].target = p->n;
        if (f)
            add_op(p, RET, 1, 0);
        else
            add_op(p, JUMP, 5, 0);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        p->ops[i].at = at;
        at += p->ops[i].size;
        if (p->ops[i].kind == CALL)
            p->ops[i].target = p->functions[p->ops[i].target];
    }
}

static void write_op(const struct program *p, const struct op *op, FILE *out)
{
    static const uint8_t fill[][7] = {
        {0x90}, {0x89, 0xc0}, {0x48, 0x89, 0xc0}, {0x48, 0x83, 0xc0, 1},
        {0xb8}, {0x81, 0xc1}, {0x48, 0x81, 0xc1},
    };
    static const uint8_t heads[][2] = {
        [JCC] = {0x0f, 0x84},      [JUMP] = {0xe9}, [CALL] = {0xe8},
        [JUMP_IND] = {0xff, 0xe0}, [RET] = {0xc3},
    };
    uint8_t bytes[8] = {0};

    if (op->kind == FILL) {
        memcpy(bytes, fill[op->size - 1], op->size);
    } else {
        memcpy(bytes, heads[op->kind], 2);
        if (op->kind == JCC || op->kind == JUMP || op->kind == CALL) {
            uint32_t disp = p->ops[op->target].at - (op->at + op->size);
            for (int i = 0; i < 4; i++)
                bytes[op->size - 4 + i] = (uint8_t)(disp >> (8 * i));
        }
    }
    fwrite(bytes, op->size, 1, out);
}

/* --- the run ------------------------------------------------------------------------------ */

struct run {
    FILE *out;
    uint64_t written, next_psb;
    struct ptl_last_ip last;
    uint64_t bits;
    uint8_t nbits;
    uint32_t calls[4096]; /* indices to return to */
    uint32_t ncalls;
    uint32_t known; /* calls seen since the last PSB, at most STACK */
};

static void emit(struct run *r, const struct ptl_packet *packet)
{
    uint8_t buf[16];
    int n = ptl_packet_encode(buf, sizeof(buf), packet);

    if (n <= 0)
        exit(2);
    fwrite(buf, (size_t)n, 1, r->out);
    r->written += (uint64_t)n;
}

static void emit_plain(struct run *r, enum ptl_packet_type type)
{
    struct ptl_packet packet = {.type = (uint8_t)type};

    packet.payload.mode_exec.csl = 1; /* MODE.Exec; nothing to the others */
    emit(r, &packet);
}

static void emit_bits(struct run *r)
{
    struct ptl_packet packet = {.type = PTL_PKT_TNT8};

    if (!r->nbits)
        return;
    packet.payload.tnt.bits = r->bits;
    packet.payload.tnt.count = r->nbits;
    emit(r, &packet);
    r->bits = r->nbits = 0;
}

static void emit_ip(struct run *r, enum ptl_packet_type type, uint64_t ip)
{
    struct ptl_packet packet = {.type = (uint8_t)type};

    emit_bits(r);
    packet.payload.ip.ipc = (uint8_t)ptl_last_ip_compress(&r->last, ip, &packet.payload.ip.ip);
    if (ptl_last_ip_update(&r->last, packet.payload.ip.ipc, packet.payload.ip.ip))
        exit(2);
    emit(r, &packet);
}

static void branch(struct run *r, int taken)
{
    r->bits = r->bits << 1 | (unsigned)taken;
    if (++r->nbits == 6)
        emit_bits(r);
}

static void synchronise(struct run *r, uint32_t ip)
{
    emit_bits(r);
    memset(&r->last, 0, sizeof(r->last));
    emit_plain(r, PTL_PKT_PSB);
    emit_plain(r, PTL_PKT_MODE_EXEC);
    emit_ip(r, PTL_PKT_FUP, ip);
    emit_plain(r, PTL_PKT_PSBEND);
    r->known = 0;
    r->next_psb = r->written + PSB_PERIOD;
}

/* Tracing is switched on and off, so that the trace may stand several times in a row. */
static void switch_on(struct run *r, uint32_t ip)
{
    emit_plain(r, PTL_PKT_PSB);
    emit_plain(r, PTL_PKT_PSBEND);
    emit_plain(r, PTL_PKT_MODE_EXEC);
    emit_ip(r, PTL_PKT_TIP_PGE, ip);
    r->next_psb = r->written + PSB_PERIOD;
}

static void switch_off(struct run *r, uint32_t ip)
{
    struct ptl_packet packet = {.type = PTL_PKT_TIP_PGD}; /* no address */

    emit_ip(r, PTL_PKT_FUP, ip);
    emit(r, &packet);
}

static uint32_t leave(struct run *r, const struct program *p)
{
    uint32_t to = r->calls[--r->ncalls];

    if (r->known) {
        r->known--;
        branch(r, 1);
    } else {
        emit_ip(r, PTL_PKT_TIP, p->ops[to].at);
    }
    return to;
}

/* The index of the operation after `i`. */
static uint32_t execute(struct run *r, struct program *p, uint32_t i)
{
    const struct op *op = &p->ops[i];
    int taken;

    switch (op->kind) {
    case JCC:
        taken = chance(&p->random, 3) != 0;
        branch(r, taken);
        return taken ? op->target : i + 1;
    case CALL:
        r->calls[r->ncalls++] = i + 1;
        r->known += r->known < STACK;
        return op->target;
    case JUMP:
        return op->target;
    case JUMP_IND:
        emit_ip(r, PTL_PKT_TIP, p->ops[op->target].at);
        return op->target;
    case RET:
        return leave(r, p);
    default:
        return i + 1;
    }
}

int main(int argc, char **argv)
{
    static struct program program;
    static struct run run;
    FILE *code = argc == 4 ? fopen(argv[2], "wb") : NULL;
    uint64_t size = argc == 4 ? strtoull(argv[3], NULL, 0) : 0;
    uint32_t at = 0;

    run.out = argc == 4 ? fopen(argv[1], "wb") : NULL;
    if (!code || !run.out) {
        fprintf(stderr, "usage: bench_trace TRACE CODE BYTES\n");
        return 2;
    }
    make_program(&program);
    for (uint32_t i = 0; i < program.n; i++)
        write_op(&program, &program.ops[i], code);
    switch_on(&run, program.ops[at].at);
    while (run.written < size) {
        if (run.written >= run.next_psb)
            synchronise(&run, program.ops[at].at);
        at = execute(&run, &program, at);
    }
    switch_off(&run, program.ops[at].at);
    return fclose(code) || fclose(run.out);
}
