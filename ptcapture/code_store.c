/* SPDX-License-Identifier: BSD-3-Clause */
/* code_store.c - copies of code, see code.h. */
#include "code_internal.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int code_store_init(struct code_store *store, const char *output)
{
    static const char *const suffix[CODE_FILES] = {".code", ".vdso32"};
    char cwd[PATH_MAX] = "";

    memset(store, 0, sizeof(*store));
    for (int i = 0; i < CODE_FILES; i++)
        store->fd[i] = -1;
    if (!output)
        return 0;
    if (output[0] != '/' && !getcwd(cwd, sizeof(cwd)))
        return -1;
    for (int i = 0; i < CODE_FILES; i++) {
        size_t size = strlen(cwd) + strlen(output) + 16;

        store->path[i] = malloc(size);
        if (!store->path[i])
            return -1;
        snprintf(store->path[i], size, "%s%s%s%s", cwd, *cwd ? "/" : "", output, suffix[i]);
        /* Of an earlier recording with this name, which has been renamed. */
        if (!outfile_is_foreign(store->path[i]))
            unlink(store->path[i]);
    }
    return 0;
}

void code_store_close(struct code_store *store)
{
    for (int i = 0; i < CODE_FILES; i++) {
        if (store->fd[i] >= 0)
            close(store->fd[i]);
        free(store->path[i]);
        store->path[i] = NULL;
        store->fd[i] = -1;
    }
}

static int store_open(struct code_store *store, enum code_file file)
{
    if (!store->path[file])
        return -1;
    if (store->fd[file] < 0) {
        store->fd[file] =
            ptl_open(store->path[file], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (store->fd[file] < 0 && !store->failed)
            store->failed = errno;
    }
    return store->fd[file] < 0 ? -1 : 0;
}

int code_store_add(struct code_store *store, enum code_file file, const uint8_t *bytes, size_t len,
                   uint64_t *offset)
{
    size_t done = 0;

    if (store_open(store, file))
        return -1;
    *offset = store->size[file];
    while (done < len) {
        ssize_t n = pwrite(store->fd[file], bytes + done, len - done, (off_t)(*offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (!store->failed)
                store->failed = n ? errno : ENOSPC;
            return -1;
        }
        done += (size_t)n;
    }
    store->size[file] += len;
    return 0;
}
