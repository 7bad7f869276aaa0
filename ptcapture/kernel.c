/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel.c - what decoders need of the running kernel: where its code lies, copies of that code
 * (kcore_dir), the [vdso].
 *
 * Source: proc(5), "/proc/kcore", "/proc/kallsyms", "/proc/modules"; getauxval(3),
 * AT_SYSINFO_EHDR.
 */
#include "dsos.h"
#include "perf.h"
#include "proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define KALLSYMS "/proc/kallsyms"
#define MODULES  "/proc/modules"
#define KCORE    "/proc/kcore"

struct ksym {
    uint64_t addr;
    char type, name[256];
    int module;
};

/* Of a file of the kernel: it may not be there, or not for us. */
static FILE *open_told(const char *path)
{
    FILE *file = fopen(path, "re");

    if (!file && (errno == ENOENT || errno == EACCES || errno == EPERM))
        errno = 0;
    return file;
}

/* Returns 0, or the errno of what kept the file from being read to its end. */
static int close_told(FILE *file)
{
    int err = file && ferror(file) ? errno : 0;

    if (file)
        fclose(file);
    return err;
}

static int next_symbol(FILE *file, struct ksym *sym)
{
    char line[640], module[128];
    unsigned long long addr;

    while (fgets(line, sizeof(line), file)) {
        int n = sscanf(line, "%llx %c %255s %127s", &addr, &sym->type, sym->name, module);
        if (n < 3)
            continue;
        sym->addr = addr;
        sym->module = n > 3;
        return 1;
    }
    return 0;
}

int kernel_symbol(const char *name, uint64_t *addr, uint64_t *size)
{
    FILE *file = open_told(KALLSYMS);
    uint64_t next = UINT64_MAX;
    struct ksym sym;
    int err;

    *addr = 0;
    if (!file)
        return -1;
    while (next_symbol(file, &sym)) {
        if (!strcmp(sym.name, name) && !*addr)
            *addr = sym.addr;
    }
    err = ferror(file) ? errno : 0;
    if (!err)
        rewind(file);
    while (!err && *addr && next_symbol(file, &sym)) {
        if (sym.addr > *addr && sym.addr < next)
            next = sym.addr;
    }
    errno = close_told(file);
    if (errno)
        return -1;
    *size = next == UINT64_MAX ? 1 : next - *addr;
    return *addr ? 0 : -1;
}

/* --- records -------------------------------------------------------------------------------- */

static int write_map(struct ptl_perf_writer *writer, const struct ptl_layout *layout,
                     const char *name, uint64_t addr, uint64_t len, uint64_t pgoff)
{
    struct ptl_record record;

    memset(&record, 0, sizeof(record));
    record.type = PTL_REC_MMAP;
    record.misc = PTL_MISC_KERNEL;
    record.known = 1;
    record.u.mmap.pid = PERF_NOBODY;
    record.u.mmap.addr = addr;
    record.u.mmap.len = len;
    record.u.mmap.pgoff = pgoff;
    record.u.mmap.filename = name;
    return ptl_perf_write_record(writer, &record, layout);
}

static int write_modules(struct ptl_perf_writer *writer, const struct ptl_layout *layout)
{
    FILE *file = open_told(MODULES);
    char line[1024], name[128], label[136];
    unsigned long long size, addr;
    int status = 0, err;

    if (!file)
        return errno ? PROC_UNREAD : 0;
    while (!status && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%127s %llu %*s %*s %*s 0x%llx", name, &size, &addr) != 3 || !addr)
            continue;
        snprintf(label, sizeof(label), "[%s]", name);
        status = write_map(writer, layout, label, addr, size, 0);
    }
    err = close_told(file);
    if (status || !err)
        return status;
    errno = err;
    return PROC_UNREAD;
}

int kernel_write_maps(struct ptl_perf_writer *writer, const struct ptl_layout *layout)
{
    uint64_t text, end, size;
    int status;

    /* Addresses are hidden by kptr_restrict: then decoders cannot place the kernel. */
    if (kernel_symbol("_text", &text, &size) || kernel_symbol("_etext", &end, &size))
        return errno ? PROC_UNREAD : 0;
    if (end < text)
        return 0;
    status = write_map(writer, layout, "[kernel.kallsyms]_text", text, end - text, text);
    return status ? status : write_modules(writer, layout);
}

/* --- copies ----------------------------------------------------------------------------------- */

/* How much of `size` bytes there is, or -1 with errno. */
static ssize_t read_at(int fd, void *bytes, size_t size, int64_t from)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)from + (off_t)done);

        if (n < 0 && errno != EINTR)
            return -1;
        if (!n)
            break;
        done += n < 0 ? 0 : (size_t)n;
    }
    return (ssize_t)done;
}

/* Returns 0 or -1 with errno. */
static int write_at(int fd, const void *bytes, size_t size, uint64_t to)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(to + done));

        if (n < 0 && errno != EINTR)
            return -1;
        done += n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

static int copy_text(const char *from, const char *to)
{
    char buf[1 << 16];
    ssize_t n = 0;
    uint64_t at = 0;
    int in = ptl_open(from, O_RDONLY, 0), out, failed;

    if (in < 0)
        return -1;
    out = ptl_open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    while (out >= 0 && (n = read_at(in, buf, sizeof(buf), (int64_t)at)) > 0) {
        if (write_at(out, buf, (size_t)n, at)) {
            n = -1;
            break;
        }
        at += (uint64_t)n;
    }
    failed = out < 0 || n < 0 || close(out);
    close(in);
    return failed ? -1 : 0;
}

#define CODE_RANGES 256
struct ranges {
    struct {
        uint64_t from, to;
    } range[CODE_RANGES];
    size_t count;
};

static void add_range(struct ranges *ranges, uint64_t from, uint64_t to)
{
    from &= ~4095ull;
    to = (to + 4095) & ~4095ull;
    for (size_t i = 0; i < ranges->count; i++) {
        if (from <= ranges->range[i].to && to >= ranges->range[i].from) {
            ranges->range[i].from = from < ranges->range[i].from ? from : ranges->range[i].from;
            ranges->range[i].to = to > ranges->range[i].to ? to : ranges->range[i].to;
            return;
        }
    }
    if (ranges->count == CODE_RANGES)
        return;
    ranges->range[ranges->count].from = from;
    ranges->range[ranges->count++].to = to;
}

/* Returns 0 or -1 with errno. */
static int find_code(struct ranges *ranges)
{
    FILE *file = open_told(MODULES);
    unsigned long long size, addr;
    uint64_t text, end, dummy;
    char line[1024];

    memset(ranges, 0, sizeof(*ranges));
    if (!file && errno)
        return -1;
    if (!kernel_symbol("_text", &text, &dummy) && !kernel_symbol("_etext", &end, &dummy)) {
        if (end > text)
            add_range(ranges, text, end);
    } else if (errno) {
        if (file)
            fclose(file);
        return -1;
    }
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%*s %llu %*s %*s %*s 0x%llx", &size, &addr) == 2 && addr)
            add_range(ranges, addr, addr + size);
    }
    errno = close_told(file);
    return errno ? -1 : 0;
}

/* The part of the file that holds [from, to): the offset in kcore, -1 if no segment does, -2 with
 * errno if that cannot be read. */
static int64_t kcore_offset(int kcore, const Elf64_Ehdr *ehdr, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < ehdr->e_phnum; i++) {
        Elf64_Phdr ph;
        if (read_at(kcore, &ph, sizeof(ph), (int64_t)(ehdr->e_phoff + i * sizeof(ph))) !=
            (ssize_t)sizeof(ph))
            return -2;
        if (ph.p_type == PT_LOAD && from >= ph.p_vaddr && to - ph.p_vaddr <= ph.p_filesz)
            return (int64_t)(ph.p_offset + (from - ph.p_vaddr));
    }
    return -1;
}

static int copy_range(int in, int64_t from, int out, uint64_t to, uint64_t len)
{
    char buf[1 << 16];

    while (len) {
        size_t n = len < sizeof(buf) ? (size_t)len : sizeof(buf);
        ssize_t got = read_at(in, buf, n, from);

        if (got < 0 && errno != EFAULT)
            return -1;
        if (got != (ssize_t)n)
            memset(buf, 0, n); /* a page that is not there */
        if (write_at(out, buf, n, to))
            return -1;
        from += (int64_t)n;
        to += n;
        len -= n;
    }
    return 0;
}

static int write_kcore(int in, int out)
{
    Elf64_Phdr ph[CODE_RANGES];
    struct ranges *ranges = malloc(sizeof(*ranges));
    Elf64_Ehdr ehdr, own;
    uint64_t at;
    size_t n = 0;
    int failed = 1;

    if (!ranges || read_at(in, &ehdr, sizeof(ehdr), 0) != (ssize_t)sizeof(ehdr) ||
        find_code(ranges))
        goto done;
    own = ehdr;
    own.e_phoff = sizeof(own);
    own.e_shoff = own.e_shnum = own.e_shstrndx = 0;
    at = (sizeof(own) + ranges->count * sizeof(*ph) + 4095) & ~4095ull;
    memset(ph, 0, sizeof(ph));
    failed = 0;
    for (size_t i = 0; i < ranges->count && !failed; i++) {
        uint64_t from = ranges->range[i].from, len = ranges->range[i].to - from;
        int64_t offset = kcore_offset(in, &ehdr, from, from + len);
        failed = offset == -2;
        if (offset < 0)
            continue;
        ph[n].p_type = PT_LOAD;
        ph[n].p_flags = PF_R | PF_X;
        ph[n].p_vaddr = from;
        ph[n].p_offset = at;
        ph[n].p_filesz = ph[n].p_memsz = len;
        ph[n++].p_align = 4096;
        failed = copy_range(in, offset, out, at, len);
        at += len;
    }
    own.e_phnum = (Elf64_Half)n;
    if (!failed && !n)
        errno = 0; /* hidden */
    failed = failed || !n || write_at(out, &own, sizeof(own), 0) ||
             write_at(out, ph, n * sizeof(*ph), sizeof(own));
done:
    free(ranges);
    return failed ? -1 : 0;
}

int kernel_copy(const char *directory, char *reason, size_t size)
{
    char path[4096], dir[4000];
    int in, out, failed;

    snprintf(dir, sizeof(dir), "%s/kcore_dir", directory);
    if (mkdir(dir, 0700)) {
        snprintf(reason, size, "cannot create %s: %s", dir, strerror(errno));
        return -1;
    }
    snprintf(path, sizeof(path), "%s/kallsyms", dir);
    failed = copy_text(KALLSYMS, path);
    snprintf(path, sizeof(path), "%s/modules", dir);
    failed |= copy_text(MODULES, path);
    if (failed) {
        snprintf(reason, size, "cannot copy " KALLSYMS " and " MODULES ": %s", strerror(errno));
        return -1;
    }
    in = ptl_open(KCORE, O_RDONLY, 0);
    if (in < 0) {
        snprintf(reason, size, "cannot read " KCORE ": %s (needs root and CONFIG_PROC_KCORE)",
                 strerror(errno));
        return -1;
    }
    snprintf(path, sizeof(path), "%s/kcore", dir);
    out = ptl_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    failed = out < 0 || write_kcore(in, out);
    if (failed)
        snprintf(reason, size, "cannot copy the kernel's code from " KCORE ": %s",
                 errno ? strerror(errno) : "its addresses are hidden (kernel.kptr_restrict)");
    if (out >= 0 && close(out) && !failed) {
        snprintf(reason, size, "cannot write %s: %s", path, strerror(errno));
        failed = 1;
    }
    close(in);
    return failed ? -1 : 0;
}

/* --- vdso ---------------------------------------------------------------------------------------
 */

/* The image ends with its section headers. */
static size_t vdso_size(const Elf64_Ehdr *ehdr)
{
    size_t end = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;

    return (end + 4095) & ~(size_t)4095;
}

int kernel_save_vdso(const char *output, struct ptl_perf_writer *writer)
{
    const Elf64_Ehdr *ehdr = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address */
    const char *slash = output ? strrchr(output, '/') : NULL;
    char path[4096];
    size_t size;
    int fd, failed;

    if (!output || !ehdr || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    snprintf(path, sizeof(path), "%.*svdso-x64.so", slash ? (int)(slash + 1 - output) : 0, output);
    size = vdso_size(ehdr);
    unlink(path); /* of an earlier recording here; never followed if it is a link */
    fd = ptl_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) /* another user's, in a directory that all may write to: the same kernel's */
        return errno == EEXIST ? 0 : PROC_UNREAD;
    failed = write_at(fd, ehdr, size, 0);
    if (close(fd))
        failed = -1;
    return failed ? PROC_UNREAD : dsos_add_file(writer, path, "[vdso]", PTL_MISC_USER);
}
