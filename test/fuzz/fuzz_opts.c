/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_opts.c - what is parsed from a command line: FILE:from-to, sizes with a suffix.
 */
#include "opts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file_range range = {0};
    uint64_t bytes;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    (void)opts_size(text, &bytes);
    if (opts_file_range(&range, text) == 0) {
        if (!range.name || strncmp(range.name, text, strlen(range.name)) != 0)
            abort();
        if (range.to && range.to < range.from)
            abort();
        free(range.name);
    }
    free(text);
    return 0;
}
