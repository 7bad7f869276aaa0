/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_check.c - our instruction decoder beside capstone and objdump on the same bytes.
 *
 *   insn_check capstone FILE [16|32|64]   sweep over the executable sections
 *   insn_check objdump FILE [16|32|64]    the same with the text of `objdump -d -w -z
 *                                         -M intel64 --insn-width=15` on standard input
 *   insn_check generate MODE SEED COUNT   write COUNT generated instructions of 32 bytes each
 *
 * With a mode FILE is raw code at address 0, else ELF. Size, class, kind and the target of
 * direct branches are compared at each instruction. A difference that insn_exceptions.h
 * does not explain is printed and makes the exit status 1.
 *
 * Disassemblers do not agree about which branch targets are cut to 16 bits (SDM: those with
 * a 16-bit operand size outside 64-bit mode); the low 16 bits are compared.
 */
#include "insn_exceptions.h"
#include "insn_names.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SECTIONS  256
#define MAX_COMPLAINS 40

struct section {
    const uint8_t *bytes;
    size_t len;
    uint64_t addr;
};

struct code {
    struct section sections[MAX_SECTIONS];
    size_t count;
    enum ptl_exec_mode mode;
};

/* What somebody thinks of one instruction; size 0: there is none. */
struct view {
    int size, iclass, kind;
    uint64_t target; /* classes CALL, JMP, JCC */
    bool cut;        /* ... to 16 bits */
    char text[120];
};

static struct {
    size_t compared, refused, differences, excused[sizeof(exceptions) / sizeof(exceptions[0])];
} tally;

static bool is_direct(int iclass)
{
    return iclass == PTL_INSN_CALL || iclass == PTL_INSN_JMP || iclass == PTL_INSN_JCC;
}

static struct view our_view(const struct section *s, size_t off, enum ptl_exec_mode mode)
{
    struct view v = {0};
    struct ptl_insn insn;
    int size = ptl_insn_decode(&insn, s->bytes + off, s->len - off, mode);
    if (size <= 0)
        return v;
    v.size = size;
    v.iclass = insn.iclass;
    v.kind = insn.kind;
    if (is_direct(insn.iclass))
        v.target = ptl_insn_target(&insn, s->addr + off);
    v.cut = insn.opsize16;
    return v;
}

static unsigned differences(const struct view *ours, const struct view *theirs)
{
    unsigned diffs = 0;
    uint64_t mask = ours->cut ? 0xffff : UINT64_MAX;
    if (!theirs->size)
        return ours->size ? DIFF_REFUSED : 0;
    if (!ours->size)
        return DIFF_OURS_BAD;
    if (ours->size != theirs->size)
        diffs |= DIFF_SIZE;
    if (ours->iclass != theirs->iclass || ours->kind != theirs->kind)
        diffs |= DIFF_CLASS;
    else if (is_direct(ours->iclass) && ours->target != (theirs->target & mask))
        diffs |= DIFF_TARGET;
    return diffs;
}

/* Index of the opcode, and the prefixes before it. */
static size_t scan_prefixes(const uint8_t *p, size_t len, enum ptl_exec_mode mode, unsigned *seen)
{
    size_t n = 0;
    for (*seen = 0; n < len; n++) {
        unsigned bit = p[n] == 0x66                                 ? P_66
                       : p[n] == 0x67                               ? P_67
                       : p[n] == 0xf2                               ? P_F2
                       : p[n] == 0xf3                               ? P_F3
                       : p[n] == 0xf0                               ? P_LOCK
                       : (p[n] & 0xe7) == 0x26 || p[n] >> 1 == 0x32 ? P_SEGMENT
                       : mode == PTL_MODE_64 && p[n] >> 4 == 4      ? P_REX
                                                                    : 0;
        if (!bit)
            break;
        if (*seen & P_REX)
            *seen = (*seen & ~(unsigned)P_REX) | P_CANCELLED_REX;
        *seen |= bit;
    }
    return n;
}

static bool excused(unsigned oracle, unsigned diffs, const uint8_t *p, size_t len,
                    enum ptl_exec_mode mode)
{
    unsigned seen, in = 1u << (mode - PTL_MODE_16);
    size_t op = scan_prefixes(p, len, mode, &seen);
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
        const struct exception *e = &exceptions[i];
        bool match = e->oracles & oracle && e->modes & in && !(diffs & ~e->diffs) &&
                     (!e->with || e->with & seen);
        for (size_t b = 0; match && b < sizeof(e->mask); b++)
            match = !e->mask[b] || (op + b < len && (p[op + b] & e->mask[b]) == e->value[b]);
        if (match) {
            tally.excused[i]++;
            return true;
        }
    }
    return false;
}

static void compare(unsigned oracle, const struct section *s, size_t off, enum ptl_exec_mode mode,
                    const struct view *theirs)
{
    struct view ours = our_view(s, off, mode);
    unsigned diffs = differences(&ours, theirs);
    tally.compared++;
    tally.refused += diffs == DIFF_REFUSED;
    if (!diffs || excused(oracle, diffs, s->bytes + off, s->len - off, mode))
        return;
    if (tally.differences++ >= MAX_COMPLAINS)
        return;
    printf("%" PRIx64 ":", s->addr + off);
    for (size_t i = 0; i < 15 && off + i < s->len; i++)
        printf(" %02x", s->bytes[off + i]);
    printf("\n  ours: size %d class %d kind %d target %" PRIx64 "\n", ours.size, ours.iclass,
           ours.kind, ours.target);
    printf("  %s: size %d class %d kind %d target %" PRIx64 "  %s\n",
           oracle == CAPSTONE ? "capstone" : "objdump", theirs->size, theirs->iclass, theirs->kind,
           theirs->target, theirs->text);
}

/* ---- capstone ---- */

static csh open_capstone(enum ptl_exec_mode mode)
{
    csh handle;
    cs_mode m = mode == PTL_MODE_64 ? CS_MODE_64 : mode == PTL_MODE_32 ? CS_MODE_32 : CS_MODE_16;
    if (cs_open(CS_ARCH_X86, m, &handle) != CS_ERR_OK)
        exit(2);
    cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    return handle;
}

/* Skip prefix words; returns the mnemonic and its length. */
static const char *mnemonic(const char *text, size_t *len)
{
    for (;;) {
        text += strspn(text, " ");
        *len = strcspn(text, " ,");
        if (!*len || !is_prefix_word(text, *len))
            return text;
        text += *len;
    }
}

static void view_of_text(struct view *v, const char *text)
{
    size_t len;
    const char *name = mnemonic(text, &len), *operands = name + len;
    if (!strncmp(operands, ",pn", 3) || !strncmp(operands, ",pt", 3))
        operands += 3;
    operands += strspn(operands, " ");
    snprintf(v->text, sizeof(v->text), "%s", text);
    class_of_name(name, len, operands, &v->iclass, &v->kind);
    if (is_direct(v->iclass))
        v->target = strtoull(operands, NULL, 16);
}

static void sweep_capstone(const struct code *code)
{
    csh handle = open_capstone(code->mode);
    cs_insn *insn = cs_malloc(handle);
    for (size_t i = 0; i < code->count; i++) {
        const struct section *s = &code->sections[i];
        for (size_t off = 0; off < s->len;) {
            const uint8_t *p = s->bytes + off;
            size_t left = s->len - off;
            uint64_t addr = s->addr + off;
            struct view theirs = {0}, ours = our_view(s, off, code->mode);
            if (cs_disasm_iter(handle, &p, &left, &addr, insn)) {
                char text[200];
                snprintf(text, sizeof(text), "%s %s", insn->mnemonic, insn->op_str);
                view_of_text(&theirs, text);
                theirs.size = insn->size;
            }
            compare(CAPSTONE, s, off, code->mode, &theirs);
            off += ours.size ? (size_t)ours.size : 1;
        }
    }
    cs_free(insn, 1);
    cs_close(&handle);
}

/* ---- objdump ---- */

struct line {
    uint64_t addr;
    int size;
    char *text;
    bool only_prefixes;
};

/* "  401000:\tf3 0f 1e fa   \tendbr64" */
static bool parse_line(char *buffer, struct line *l)
{
    char *p = buffer, *end;
    l->addr = strtoull(p, &end, 16);
    if (end == p || end[0] != ':' || end[1] != '\t')
        return false;
    l->size = 0;
    for (p = end + 2; *p != '\t' && *p != '\n'; p += strspn(p, " ")) {
        l->size++;
        p += 2;
    }
    p += strspn(p, " \t");
    p[strcspn(p, "\n")] = 0;
    l->text = p;
    return l->size > 0;
}

static const struct section *section_at(const struct code *code, uint64_t addr)
{
    for (size_t i = 0; i < code->count; i++)
        if (addr - code->sections[i].addr < code->sections[i].len)
            return &code->sections[i];
    return NULL;
}

/* objdump gives a prefix that it makes nothing of a line of its own: it belongs to the
 * instruction on the next line. */
static bool is_only_prefixes(const char *text)
{
    size_t len;
    mnemonic(text, &len);
    return !len;
}

static void read_objdump(const struct code *code)
{
    static char buffer[1 << 16];
    struct line l;
    uint64_t start = 0;
    int held = 0; /* bytes of prefix lines before this one */
    while (fgets(buffer, sizeof(buffer), stdin)) {
        const struct section *s;
        struct view theirs = {0};
        if (!parse_line(buffer, &l))
            continue;
        if (!held || start + (uint64_t)held != l.addr)
            start = l.addr, held = 0;
        if (is_only_prefixes(l.text)) {
            held += l.size;
            continue;
        }
        s = section_at(code, start);
        if (!s || !strncmp(l.text, ".byte", 5)) { /* cut by the next symbol */
            held = 0;
            continue;
        }
        view_of_text(&theirs, l.text);
        theirs.size = strstr(l.text, "(bad)") ? 0 : held + l.size;
        compare(OBJDUMP, s, (size_t)(start - s->addr), code->mode, &theirs);
        held = 0;
    }
}

/* ---- generated code ---- */

static uint64_t random_state;

static uint32_t random32(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static size_t random_prefixes(uint8_t *p, enum ptl_exec_mode mode)
{
    static const uint8_t legacy[] = {0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x3e, 0x64};
    size_t n = 0, count = random32() % 8;
    count = count < 4 ? 0 : count < 6 ? 1 : count - 4;
    while (n < count)
        p[n++] = legacy[random32() % sizeof(legacy)];
    if (mode == PTL_MODE_64 && random32() % 2)
        p[n++] = (uint8_t)(0x40 + random32() % 16);
    return n;
}

/* An opcode in each encoding; the payloads are mostly valid. */
static size_t random_escape(uint8_t *p)
{
    static const uint8_t vex_maps[] = {1, 1, 2, 2, 3, 3, 5, 6, 7};
    uint32_t r = random32();
    switch (random32() % 9) {
    case 0:
    case 1:
        return 0;
    case 2:
    case 3:
        p[0] = 0x0f;
        return 1;
    case 4:
        p[0] = 0x0f;
        p[1] = r & 1 ? 0x38 : 0x3a;
        return 2;
    case 5:
        p[0] = 0xc5;
        p[1] = (uint8_t)(r | 0xc0);
        return 2;
    case 6:
        p[0] = 0xc4;
        p[1] = (uint8_t)((r & 0x20) | 0xc0 | vex_maps[(r >> 8) % 9]);
        p[2] = (uint8_t)(r >> 16);
        return 3;
    case 7:
        p[0] = 0x62;
        p[1] = (uint8_t)((r & 0x30) | 0xc0 | vex_maps[(r >> 8) % 9]);
        p[2] = (uint8_t)((r >> 16) | 4);
        p[3] = (uint8_t)(r >> 24);
        return 4;
    default:
        p[0] = 0x8f;
        p[1] = (uint8_t)((r & 0x20) | 0xc0 | (8 + (r >> 8) % 3));
        p[2] = (uint8_t)(r >> 16);
        return 3;
    }
}

/* 16 bytes from prefix to tail, then 16 NOPs so that a disassembler falls into step. */
static int generate(enum ptl_exec_mode mode, uint64_t seed, size_t count)
{
    random_state = seed;
    for (size_t i = 0; i < count; i++) {
        uint8_t slot[32];
        size_t n = random_prefixes(slot, mode);
        n += random_escape(slot + n);
        while (n < 16)
            slot[n++] = (uint8_t)(random32() >> 8);
        memset(slot + 16, 0x90, 16);
        if (fwrite(slot, sizeof(slot), 1, stdout) != 1)
            return 2;
    }
    return fflush(stdout) ? 2 : 0;
}

/* ---- files ---- */

static enum ptl_exec_mode mode_of(const char *bits)
{
    int n = atoi(bits);
    return n == 16 ? PTL_MODE_16 : n == 32 ? PTL_MODE_32 : n == 64 ? PTL_MODE_64 : PTL_MODE_UNKNOWN;
}

static void add_section(struct code *code, const uint8_t *file, size_t size, const Elf64_Shdr *sh)
{
    if (sh->sh_flags & SHF_EXECINSTR && sh->sh_type != SHT_NOBITS && sh->sh_offset <= size &&
        sh->sh_size <= size - sh->sh_offset && code->count < MAX_SECTIONS)
        code->sections[code->count++] =
            (struct section){file + sh->sh_offset, sh->sh_size, sh->sh_addr};
}

static bool section_table(size_t size, uint64_t off, size_t count, size_t entry)
{
    return off <= size && count <= (size - off) / entry;
}

static bool add_sections64(struct code *code, const uint8_t *file, size_t size)
{
    Elf64_Ehdr ehdr;
    Elf64_Shdr sh;
    memcpy(&ehdr, file, sizeof(ehdr));
    if (!section_table(size, ehdr.e_shoff, ehdr.e_shnum, sizeof(sh)))
        return false;
    for (size_t i = 0; i < ehdr.e_shnum; i++) {
        memcpy(&sh, file + ehdr.e_shoff + i * sizeof(sh), sizeof(sh));
        add_section(code, file, size, &sh);
    }
    return true;
}

static bool add_sections32(struct code *code, const uint8_t *file, size_t size)
{
    Elf32_Ehdr ehdr;
    Elf32_Shdr sh;
    memcpy(&ehdr, file, sizeof(ehdr));
    if (!section_table(size, ehdr.e_shoff, ehdr.e_shnum, sizeof(sh)))
        return false;
    for (size_t i = 0; i < ehdr.e_shnum; i++) {
        memcpy(&sh, file + ehdr.e_shoff + i * sizeof(sh), sizeof(sh));
        add_section(code, file, size,
                    &(Elf64_Shdr){.sh_type = sh.sh_type,
                                  .sh_flags = sh.sh_flags,
                                  .sh_addr = sh.sh_addr,
                                  .sh_offset = sh.sh_offset,
                                  .sh_size = sh.sh_size});
    }
    return true;
}

static bool add_sections(struct code *code, const uint8_t *file, size_t size)
{
    if (size < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG))
        return false;
    code->mode = file[EI_CLASS] == ELFCLASS64 ? PTL_MODE_64 : PTL_MODE_32;
    return code->mode == PTL_MODE_64 ? add_sections64(code, file, size)
                                     : add_sections32(code, file, size);
}

static void load(struct code *code, const char *path, const char *bits)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    uint8_t *file = MAP_FAILED;
    if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
        file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    close(fd);
    if (bits) {
        code->mode = mode_of(bits);
        code->sections[code->count++] = (struct section){file, (size_t)st.st_size, 0};
        return;
    }
    if (!add_sections(code, file, (size_t)st.st_size)) {
        fprintf(stderr, "%s: not an ELF file\n", path);
        exit(2);
    }
}

static int report(const char *oracle, const char *path)
{
    printf("%s %s: %zu compared, %zu refused, %zu unexplained\n", oracle, path, tally.compared,
           tally.refused, tally.differences);
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
        if (tally.excused[i])
            printf("  %8zu %s\n", tally.excused[i], exceptions[i].why);
    return tally.differences || !tally.compared;
}

int main(int argc, char **argv)
{
    static struct code code;
    if (argc == 5 && !strcmp(argv[1], "generate"))
        return generate(mode_of(argv[2]), strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: insn_check capstone|objdump FILE [16|32|64]\n"
                        "       insn_check generate MODE SEED COUNT\n");
        return 2;
    }
    load(&code, argv[2], argc > 3 ? argv[3] : NULL);
    if (!strcmp(argv[1], "capstone"))
        sweep_capstone(&code);
    else
        read_objdump(&code);
    return report(argv[1], argv[2]);
}
