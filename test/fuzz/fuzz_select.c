/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_select.c - command lines: which part of a recording, whatever the words say. The first byte
 * chooses the options, the rest is cut into their arguments at zero bytes.
 */
#include "opts_select.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int word(void *context, const char *text)
{
    (void)context;
    return text[0] == 'x';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct opts_select select = {.prog = "fuzz"};
    struct opts opts = {
        .prog = "fuzz", .table = opts_select_table, .context = &select, .word = word};
    char *argv[WORDS + 1] = {(char *)"fuzz"}, *text;
    int argc = 1, rest;
    uint64_t from, to;
    unsigned rows = 0;

    if (size < 1)
        return 0;
    while (opts_select_table[rows].name)
        rows++;
    text = malloc(size);
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (size_t at = 0; at < size && argc + 2 <= WORDS; at += strlen(text + at) + 1) {
        unsigned row = (data[0] + (unsigned)argc / 2) % rows;

        argv[argc++] = (char *)opts_select_table[row].name;
        argv[argc++] = text + at;
    }
    if (opts_parse(&opts, argc, argv, &rest) == 0) {
        select_window(&select, 1000, 1000000000, &from, &to);
        for (uint32_t i = 0; i < 5; i++)
            if (select_task(&select, i, i, i & 1 ? "comm" : NULL) && select_by_task(&select) &&
                !select.pids.count && !select.tids.count && !select.comm_count)
                abort();
        for (size_t i = 0; i < select.cpus.count; i++)
            if (!select_has(&select.cpus, select.cpus.range[i].from) ||
                select.cpus.range[i].from > select.cpus.range[i].to)
                abort();
    }
    opts_select_close(&select);
    free(text);
    return 0;
}
