/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_trace.c - make a trace from text: packets as ptdump prints them, one a line.
 *
 *     psb
 *     mode.exec  cs.l
 *     fup        3: 1000          # IPBytes: address
 *     psbend
 *     tnt.8      !..              # oldest first, ! taken
 *     hex        02 ff            # bytes as they are
 *     pad        8                # so many
 *
 * Blanks, commas and colons separate; # begins a comment; numbers are hexadecimal as in
 * ptdump. helper_trace <TEXT >TRACE; exit status 1 for a line it cannot read.
 */
#include <pt/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32

struct words {
    char *word[WORDS_MAX];
    int n;
};

static void split(struct words *words, char *line)
{
    line[strcspn(line, "#\n")] = 0;
    words->n = 0;
    for (char *w = strtok(line, " \t,:"); w && words->n < WORDS_MAX; w = strtok(NULL, " \t,:"))
        words->word[words->n++] = w;
}

/* The number in word `i`, 0 if there is none. */
static uint64_t number(const struct words *words, int i, int base)
{
    return i < words->n ? strtoull(words->word[i], NULL, base) : 0;
}

static uint64_t hex(const struct words *words, int i)
{
    return number(words, i, 16);
}

static uint8_t byte(const struct words *words, int i)
{
    return (uint8_t)hex(words, i);
}

static uint8_t has(const struct words *words, const char *flag)
{
    for (int i = 1; i < words->n; i++)
        if (!strcmp(words->word[i], flag))
            return 1;
    return 0;
}

static int type_of(const char *name)
{
    for (int type = PTL_PKT_PAD; type <= PTL_PKT_MAX_VALUE; type++)
        if (!strcmp(ptl_packet_name((enum ptl_packet_type)type), name))
            return type;
    return -1;
}

/* "c6.0": C-states are one above the field, modulo 16. */
static uint8_t cstate(const struct words *words, int i, int part)
{
    const char *s = i < words->n ? words->word[i] : "c1.1";
    const char *dot = strchr(s, '.');

    s = part ? (dot ? dot + 1 : "1") : s + (*s == 'c');
    return (uint8_t)((strtoul(s, NULL, 10) + 15) & 15);
}

static void fill_ip(struct ptl_packet *p, const struct words *w)
{
    static const unsigned bits[] = {0, 16, 32, 48, 48, 0, 64, 0};

    p->payload.ip.ipc = byte(w, 1) & 7;
    p->payload.ip.ip = hex(w, 2);
    if (bits[p->payload.ip.ipc] < 64)
        p->payload.ip.ip &= (1ULL << bits[p->payload.ip.ipc]) - 1;
}

static void fill_tnt(struct ptl_packet *p, const struct words *w)
{
    const char *s = w->n > 1 ? w->word[1] : "";

    for (; *s; s++) {
        p->payload.tnt.bits = p->payload.tnt.bits << 1 | (*s == '!');
        p->payload.tnt.count++;
    }
}

static void fill_trig(struct ptl_packet *p, const struct words *w)
{
    p->payload.trig.vector = byte(w, 1);
    p->payload.trig.ip = has(w, "ip");
    p->payload.trig.mult = has(w, "mult");
    p->payload.trig.icntv = has(w, "icnt");
    if (p->payload.trig.icntv)
        p->payload.trig.icnt = (uint16_t)number(w, w->n - 1, 10);
}

static void fill(struct ptl_packet *p, const struct words *w)
{
    switch (p->type) {
    case PTL_PKT_TIP:
    case PTL_PKT_TIP_PGE:
    case PTL_PKT_TIP_PGD:
    case PTL_PKT_FUP:
        fill_ip(p, w);
        break;
    case PTL_PKT_TNT8:
    case PTL_PKT_TNT64:
        fill_tnt(p, w);
        break;
    case PTL_PKT_MODE_EXEC:
        p->payload.mode_exec.csl = has(w, "cs.l");
        p->payload.mode_exec.csd = has(w, "cs.d");
        p->payload.mode_exec.iflag = has(w, "if");
        break;
    case PTL_PKT_MODE_TSX:
        p->payload.mode_tsx.intx = has(w, "intx");
        p->payload.mode_tsx.abrt = has(w, "abrt");
        break;
    case PTL_PKT_PIP:
        p->payload.pip.cr3 = hex(w, 1);
        p->payload.pip.nr = has(w, "nr");
        break;
    case PTL_PKT_VMCS:
        p->payload.vmcs.base = hex(w, 1);
        break;
    case PTL_PKT_TSC:
        p->payload.tsc.tsc = hex(w, 1);
        break;
    case PTL_PKT_TMA:
        p->payload.tma.ctc = (uint16_t)hex(w, 1);
        p->payload.tma.fc = (uint16_t)hex(w, 2);
        break;
    case PTL_PKT_MTC:
        p->payload.mtc.ctc = byte(w, 1);
        break;
    case PTL_PKT_CYC:
        p->payload.cyc.value = hex(w, 1);
        break;
    case PTL_PKT_CBR:
        p->payload.cbr.ratio = byte(w, 1);
        break;
    case PTL_PKT_MNT:
        p->payload.mnt.payload = hex(w, 1);
        break;
    case PTL_PKT_EXSTOP:
        p->payload.exstop.ip = has(w, "ip");
        break;
    case PTL_PKT_MWAIT:
        p->payload.mwait.hints = (uint32_t)hex(w, 1);
        p->payload.mwait.ext = (uint32_t)hex(w, 2);
        break;
    case PTL_PKT_PWRE:
        p->payload.pwre.state = cstate(w, 1, 0);
        p->payload.pwre.sub_state = cstate(w, 1, 1);
        p->payload.pwre.hw = has(w, "hw");
        break;
    case PTL_PKT_PWRX:
        p->payload.pwrx.interrupt = has(w, "int");
        p->payload.pwrx.store = has(w, "st");
        p->payload.pwrx.autonomous = has(w, "hw");
        p->payload.pwrx.last = cstate(w, w->n - 2, 0);
        p->payload.pwrx.deepest = cstate(w, w->n - 1, 0);
        break;
    case PTL_PKT_PTW:
        p->payload.ptw.plc = byte(w, 1);
        p->payload.ptw.payload = hex(w, 2);
        p->payload.ptw.ip = has(w, "ip");
        break;
    case PTL_PKT_CFE:
        p->payload.cfe.type = (uint8_t)number(w, 1, 10);
        p->payload.cfe.ip = has(w, "ip");
        p->payload.cfe.vector = (uint8_t)number(w, 2, p->payload.cfe.type == 5 ? 16 : 10);
        break;
    case PTL_PKT_EVD:
        p->payload.evd.type = (uint8_t)number(w, 1, 10);
        p->payload.evd.payload = hex(w, 2);
        break;
    case PTL_PKT_BBP:
        p->payload.bbp.type = byte(w, 1);
        p->payload.bbp.sz4 = has(w, "sz4");
        break;
    case PTL_PKT_BIP:
        p->payload.bip.id = byte(w, 1);
        p->payload.bip.value = hex(w, 2);
        break;
    case PTL_PKT_BEP:
        p->payload.bep.ip = has(w, "ip");
        break;
    case PTL_PKT_TRIG:
        fill_trig(p, w);
        break;
    default:
        break;
    }
}

/* Returns 0, or -1 if the line cannot be read. */
static int write_line(const struct words *w)
{
    struct ptl_packet packet;
    uint8_t buf[32];
    int type, n;

    if (!strcmp(w->word[0], "hex")) {
        for (int i = 1; i < w->n; i++)
            putchar(byte(w, i));
        return 0;
    }
    type = type_of(w->word[0]);
    if (type < 0)
        return -1;
    if (type == PTL_PKT_PAD && w->n > 1) {
        for (unsigned long i = number(w, 1, 10); i; i--)
            putchar(0);
        return 0;
    }
    memset(&packet, 0, sizeof(packet));
    packet.type = (uint8_t)type;
    fill(&packet, w);
    n = ptl_packet_encode(buf, sizeof(buf), &packet);
    return n > 0 && fwrite(buf, (size_t)n, 1, stdout) == 1 ? 0 : -1;
}

int main(void)
{
    char line[1024];
    struct words words;
    unsigned number_of_line = 0;

    while (fgets(line, sizeof(line), stdin)) {
        number_of_line++;
        split(&words, line);
        if (words.n && write_line(&words)) {
            fprintf(stderr, "helper_trace: line %u: %s\n", number_of_line, words.word[0]);
            return 1;
        }
    }
    return fflush(stdout) ? 1 : 0;
}
