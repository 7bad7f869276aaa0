/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_kallsyms.c - the text of kernel symbols, through a file in memory. */
#include <pt/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    struct ptl_symbols *symbols;

    if (fd < 0) {
        fd = memfd_create("kallsyms", MFD_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
        ptl_symbols_new(&symbols, NULL) < 0)
        abort();
    if (ptl_symbols_add_kallsyms(symbols, path) == 0) {
        uint64_t last = 0;
        /* Offsets grow with the address as long as the symbol is the same. */
        const char *before = NULL;
        for (uint64_t at = 0; at < 64; at++) {
            uint64_t offset = 0, addr = at * UINT64_C(0x0404040404040404);
            const char *name = ptl_symbols_find(symbols, addr, &offset);
            if (name && (!*name || strchr(name, '\n') || offset > addr ||
                         (name == before && offset <= last)))
                abort();
            before = name;
            last = offset;
        }
    }
    ptl_symbols_free(symbols);
    return 0;
}
