/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_code.h - arguments that both harnesses take: TRACE CODE BASE [CLOCK].
 *
 * BASE is an address, or "elf": the segments of CODE where it wants them. CLOCK: MTC frequency,
 * nominal frequency, CPUID.15H EAX and EBX, with commas.
 */
#ifndef BENCH_CODE_H
#define BENCH_CODE_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct bench_clock {
    unsigned mtc_freq, nom_freq, eax, ebx;
};

static inline struct bench_clock bench_clock(const char *text)
{
    struct bench_clock c = {0, 0, 0, 0};

    if (text && sscanf(text, "%u,%u,%u,%u", &c.mtc_freq, &c.nom_freq, &c.eax, &c.ebx) != 4)
        c = (struct bench_clock){0, 0, 0, 0};
    return c;
}

/* Read all of the trace once, so that its pages are there: the kernel's work is not measured. */
static inline void bench_touch(const uint8_t *bytes, size_t len)
{
    volatile uint8_t sum = 0;

    for (size_t i = 0; i < len; i += 4096)
        sum = (uint8_t)(sum + bytes[i]);
}

static inline double bench_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct bench_segment {
    uint64_t offset, size, vaddr;
};

/* The loadable segments of the ELF file (of either class). Returns their number. */
static inline size_t bench_segments(const char *path, struct bench_segment *segments, size_t max)
{
    union {
        Elf64_Ehdr e64;
        Elf32_Ehdr e32;
    } head;
    FILE *file = fopen(path, "rb");
    size_t n = 0;

    if (!file || fread(&head, 1, sizeof(head), file) < sizeof(head.e32)) {
        if (file)
            fclose(file);
        return 0;
    }
    if (head.e64.e_ident[EI_CLASS] == ELFCLASS64) {
        for (unsigned i = 0; i < head.e64.e_phnum && n < max; i++) {
            Elf64_Phdr p;
            if (fseek(file, (long)(head.e64.e_phoff + i * sizeof(p)), SEEK_SET) ||
                fread(&p, sizeof(p), 1, file) != 1)
                break;
            if (p.p_type == PT_LOAD && p.p_filesz)
                segments[n++] = (struct bench_segment){p.p_offset, p.p_filesz, p.p_vaddr};
        }
    } else {
        for (unsigned i = 0; i < head.e32.e_phnum && n < max; i++) {
            Elf32_Phdr p;
            if (fseek(file, (long)(head.e32.e_phoff + i * sizeof(p)), SEEK_SET) ||
                fread(&p, sizeof(p), 1, file) != 1)
                break;
            if (p.p_type == PT_LOAD && p.p_filesz)
                segments[n++] = (struct bench_segment){p.p_offset, p.p_filesz, p.p_vaddr};
        }
    }
    fclose(file);
    return n;
}

#endif
