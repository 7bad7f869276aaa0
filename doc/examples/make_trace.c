/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make_trace.c - write a small program and the trace of its run, with the packet encoder.
 *
 *     make_trace DIRECTORY
 *
 * writes sum.bin (the code, to be mapped at 0x401000), sum.elf (the same as an executable,
 * which runs: its exit status is 3*3 + 2*2 + 1*1 = 14), and sum.pt (what a core with Intel PT
 * writes for user code). All other examples, and the tools, take them:
 *
 *     ptdump DIRECTORY/sum.pt
 *     ptxed --pt DIRECTORY/sum.pt --elf DIRECTORY/sum.elf
 */
#include <elf.h>
#include <pt/packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BASE     0x401000
#define FINISH   (BASE + 0x30)
#define FILE_OFF 0x1000 /* of the code in sum.elf */

/* clang-format off */
static const unsigned char code[] = {
    /* 401000 start:  mov    ecx, 3      */ 0xb9, 0x03, 0x00, 0x00, 0x00,
    /* 401005         xor    eax, eax    */ 0x31, 0xc0,
    /* 401007 again:  call   square      */ 0xe8, 0x14, 0x00, 0x00, 0x00,
    /* 40100c         add    eax, edx    */ 0x01, 0xd0,
    /* 40100e         dec    ecx         */ 0xff, 0xc9,
    /* 401010         jnz    again       */ 0x75, 0xf5,
    /* 401012         mov    edx, finish */ 0xba, 0x30, 0x10, 0x40, 0x00,
    /* 401017         jmp    rdx         */ 0xff, 0xe2,
    /* 401019         int3               */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
    /* 401020 square: mov    edx, ecx    */ 0x89, 0xca,
    /* 401022         imul   edx, ecx    */ 0x0f, 0xaf, 0xd1,
    /* 401025         ret                */ 0xc3,
    /* 401026         int3               */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
                                            0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
    /* 401030 finish: mov    edi, eax    */ 0x89, 0xc7,
    /* 401032         mov    eax, 60     */ 0xb8, 0x3c, 0x00, 0x00, 0x00,
    /* 401037         syscall (exit)     */ 0x0f, 0x05,
};
/* clang-format on */

/* --- the trace ---------------------------------------------------------------- */

struct trace {
    unsigned char bytes[256];
    size_t len;
    struct ptl_last_ip last; /* what the decoder's last-IP will be */
    int status;              /* the first error */
};

static void put(struct trace *trace, const struct ptl_packet *packet)
{
    int n = ptl_packet_encode(trace->bytes + trace->len, sizeof(trace->bytes) - trace->len, packet);

    if (n > 0)
        trace->len += (size_t)n;
    else if (!trace->status)
        trace->status = n;
    if (packet->type == PTL_PKT_PSB)
        memset(&trace->last, 0, sizeof(trace->last));
}

static void put_type(struct trace *trace, enum ptl_packet_type type)
{
    struct ptl_packet packet = {.type = (uint8_t)type};

    put(trace, &packet);
}

/* An IP packet, compressed against the ones before as hardware does. */
static void put_ip(struct trace *trace, enum ptl_packet_type type, uint64_t ip)
{
    struct ptl_packet packet = {.type = (uint8_t)type};

    packet.payload.ip.ipc = (uint8_t)ptl_last_ip_compress(&trace->last, ip, &packet.payload.ip.ip);
    put(trace, &packet);
    (void)ptl_last_ip_update(&trace->last, packet.payload.ip.ipc, packet.payload.ip.ip);
}

static void make_trace(struct trace *trace)
{
    struct ptl_packet mode = {.type = PTL_PKT_MODE_EXEC};
    struct ptl_packet tnt = {.type = PTL_PKT_TNT8};
    struct ptl_packet cbr = {.type = PTL_PKT_CBR};
    struct ptl_packet pgd = {.type = PTL_PKT_TIP_PGD};

    /* The kernel is running: tracing is off, so the status has no FUP and no mode. */
    put_type(trace, PTL_PKT_PSB);
    cbr.payload.cbr.ratio = 32;
    put(trace, &cbr);
    put_type(trace, PTL_PKT_PSBEND);

    /* It enters user code, 64 bit. */
    mode.payload.mode_exec.csl = 1;
    put(trace, &mode);
    put_ip(trace, PTL_PKT_TIP_PGE, BASE);

    /* Three times: the RET of square goes where its CALL came from, which is one bit: taken.
     * Then JNZ: taken, taken, not taken. The oldest bit is the highest. */
    tnt.payload.tnt.bits = 0x3e; /* 11 11 10 */
    tnt.payload.tnt.count = 6;
    put(trace, &tnt);

    /* The indirect jump; then the system call leaves user code for an address not told. */
    put_ip(trace, PTL_PKT_TIP, FINISH);
    pgd.payload.ip.ipc = PTL_IPC_SUPPRESSED;
    put(trace, &pgd);
}

/* --- the executable ----------------------------------------------------------- */

static const char strings[] = "\0start\0square\0finish\0.text\0.symtab\0.strtab";

static const Elf64_Sym symbols[] = {
    {.st_name = 0},
    {7, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), STV_DEFAULT, 1, BASE + 0x20, 6},
    {14, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), STV_DEFAULT, 1, FINISH, 9},
    {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), STV_DEFAULT, 1, BASE, 0x19},
};

/* Code, symbols, strings and section headers follow each other in the file. */
#define SYMBOLS_OFF (FILE_OFF + (sizeof(code) + 7) / 8 * 8)
#define STRINGS_OFF (SYMBOLS_OFF + sizeof(symbols))
#define HEADERS_OFF (STRINGS_OFF + (sizeof(strings) + 7) / 8 * 8)

static const Elf64_Ehdr file_header = {
    .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
    .e_type = ET_EXEC,
    .e_machine = EM_X86_64,
    .e_version = EV_CURRENT,
    .e_entry = BASE,
    .e_phoff = sizeof(Elf64_Ehdr),
    .e_shoff = HEADERS_OFF,
    .e_ehsize = sizeof(Elf64_Ehdr),
    .e_phentsize = sizeof(Elf64_Phdr),
    .e_phnum = 1,
    .e_shentsize = sizeof(Elf64_Shdr),
    .e_shnum = 4,
    .e_shstrndx = 3,
};

static const Elf64_Phdr segment = {
    .p_type = PT_LOAD,
    .p_flags = PF_R | PF_X,
    .p_offset = FILE_OFF,
    .p_vaddr = BASE,
    .p_paddr = BASE,
    .p_filesz = sizeof(code),
    .p_memsz = sizeof(code),
    .p_align = 0x1000,
};

static const Elf64_Shdr sections[] = {
    {.sh_type = SHT_NULL},
    {21, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, BASE, FILE_OFF, sizeof(code), 0, 0, 16, 0},
    {27, SHT_SYMTAB, 0, 0, SYMBOLS_OFF, sizeof(symbols), 3, 3, 8, sizeof(Elf64_Sym)},
    {35, SHT_STRTAB, 0, 0, STRINGS_OFF, sizeof(strings), 0, 0, 1, 0},
};

static size_t make_elf(unsigned char *file)
{
    memcpy(file, &file_header, sizeof(file_header));
    memcpy(file + sizeof(file_header), &segment, sizeof(segment));
    memcpy(file + FILE_OFF, code, sizeof(code));
    memcpy(file + SYMBOLS_OFF, symbols, sizeof(symbols));
    memcpy(file + STRINGS_OFF, strings, sizeof(strings));
    memcpy(file + HEADERS_OFF, sections, sizeof(sections));
    return HEADERS_OFF + sizeof(sections);
}

static int write_file(const char *dir, const char *name, const void *bytes, size_t len, mode_t mode)
{
    char path[4096];
    FILE *file;
    int bad;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path)) {
        fprintf(stderr, "make_trace: %s: name too long\n", dir);
        return -1;
    }
    file = fopen(path, "wb");
    if (!file) {
        perror(path);
        return -1;
    }
    bad = fwrite(bytes, 1, len, file) != len;
    bad |= fclose(file) != 0;
    if (bad || chmod(path, mode) < 0) {
        perror(path);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static unsigned char elf[HEADERS_OFF + sizeof(sections)];
    struct trace trace = {.len = 0};

    if (argc != 2) {
        fprintf(stderr, "usage: make_trace DIRECTORY\n");
        return 2;
    }
    make_trace(&trace);
    if (trace.status < 0) {
        fprintf(stderr, "make_trace: %s\n", ptl_strstatus(trace.status));
        return 1;
    }
    if (write_file(argv[1], "sum.pt", trace.bytes, trace.len, 0644) < 0 ||
        write_file(argv[1], "sum.bin", code, sizeof(code), 0644) < 0 ||
        write_file(argv[1], "sum.elf", elf, make_elf(elf), 0755) < 0)
        return 1;
    return 0;
}
