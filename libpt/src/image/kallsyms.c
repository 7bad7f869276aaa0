/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kallsyms.c - kernel symbols from the text of /proc/kallsyms or a copy of it: lines of
 * address (hex), type letter, name and, for modules, a tab and "[module]". Capital letters
 * are global; 'a' and 'A' are absolute values, among them offsets into per-CPU data.
 */
#include "image/kallsyms.h"
#include "base/alloc.h"
#include "image/section.h"
#include "image/symbols.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAX_TEXT ((size_t)256 << 20) /* some 4 million symbols */

/* Read to the end, NUL-terminated. `size` is a guess: that of a file in /proc is 0. */
static int read_all(int fd, uint64_t size, char **text, size_t *len)
{
    void *buf = NULL;
    size_t cap = 0, n = 0, need = size < 4096 ? 4096 : (size_t)size + 2;

    if (size > MAX_TEXT - 2) {
        errno = EFBIG;
        return PTL_BAD_FILE;
    }
    for (;; need = n + 2) {
        ssize_t got;
        if (ptl__grow(&buf, &cap, need, MAX_TEXT, 1) < 0) {
            errno = need > MAX_TEXT ? EFBIG : ENOMEM;
            break;
        }
        got = read(fd, (char *)buf + n, cap - n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        if (got == 0) {
            *text = buf;
            *len = n;
            (*text)[n] = '\0';
            return 0;
        }
        n += (size_t)got;
    }
    ptl__free(buf);
    return errno == ENOMEM ? PTL_NOMEM : PTL_BAD_FILE;
}

static char *hex(char *s, uint64_t *value)
{
    static const char digits[] = "0123456789abcdef";
    const char *d;

    for (*value = 0; *s && (d = strchr(digits, *s)); s++)
        *value = *value << 4 | (uint64_t)(d - digits);
    return s;
}

int ptl__kallsyms_line(char *line, struct ptl__kallsym *sym)
{
    char *at = hex(line, &sym->value);

    if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ' || !at[3])
        return 0;
    sym->type = at[1];
    /* All addresses are 0 for those who may not see them. */
    if (sym->value == 0 || sym->type == 'a' || sym->type == 'A')
        return 0;
    at += 3;
    at[strcspn(at, " \t\r")] = '\0';
    sym->name = at;
    return *at != '\0';
}

static int add_line(struct ptl__symlist *list, char *line)
{
    struct ptl__sym sym = {.limit = UINT64_MAX};
    struct ptl__kallsym is;

    if (!ptl__kallsyms_line(line, &is))
        return 0;
    sym.start = sym.end = is.value;
    sym.name = is.name;
    if (is.type == 'w' || is.type == 'W')
        sym.rank = PTL__RANK_WEAK;
    else
        sym.rank = is.type >= 'A' && is.type <= 'Z' ? PTL__RANK_GLOBAL : PTL__RANK_LOCAL;
    if (strchr("tTwW", is.type))
        sym.rank = (uint8_t)(sym.rank + PTL__RANK_FUNCTION);
    return ptl__symlist_add(list, &sym);
}

static int parse(char *text, size_t len, struct ptl__symtab **table)
{
    struct ptl__symlist list = {0};
    char *at = text, *end = text + len;
    int status = 0;

    while (at < end && status == 0) {
        char *nl = memchr(at, '\n', (size_t)(end - at));
        if (!nl)
            nl = end;
        *nl = '\0';
        status = add_line(&list, at);
        at = nl + 1;
    }
    if (status == 0 && list.count)
        return ptl__symlist_finish(&list, text, table);
    ptl__free(list.syms);
    ptl__free(text);
    return status < 0 ? status : PTL_NOMAP;
}

int ptl__kallsyms_read(const char *path, char **text, size_t *len)
{
    uint64_t size;
    int fd = ptl__open_regular(path, &size), status, saved;

    if (fd < 0)
        return fd;
    status = read_all(fd, size, text, len);
    saved = errno;
    (void)close(fd);
    errno = saved;
    return status;
}

int ptl_symbols_add_kallsyms(struct ptl_symbols *symbols, const char *path)
{
    struct ptl__symtab *table = NULL;
    size_t len = 0;
    char *text = NULL;
    int status;

    if (!symbols || !path)
        return PTL_INVALID;
    status = ptl__kallsyms_read(path, &text, &len);
    if (status < 0)
        return status;
    status = parse(text, len, &table);
    if (status < 0)
        return status;
    ptl__symtab_free(symbols->kernel);
    symbols->kernel = table;
    return 0;
}
