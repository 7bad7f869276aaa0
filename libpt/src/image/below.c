/* SPDX-License-Identifier: BSD-3-Clause */
/* below.c - see below.h. */
#include "image/below.h"

#include <errno.h>
#include <limits.h>
#include <pt/status.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as the kernel has it */

struct walk {
    char *path;
    size_t size, root; /* of `path`: the first `root` bytes are not left */
    size_t len;
    char rest[2 * PATH_MAX]; /* what is still to be walked */
    unsigned links;
};

static int refuse(int error)
{
    errno = error;
    return PTL_BAD_FILE;
}

/* Cut the last name off, but nothing of the root. */
static void go_up(struct walk *w)
{
    while (w->len > w->root && w->path[w->len - 1] != '/')
        w->len--;
    while (w->len > w->root && w->path[w->len - 1] == '/')
        w->len--;
    w->path[w->len] = '\0';
}

static int append(struct walk *w, const char *name, size_t n)
{
    if (w->len + n + 2 > w->size)
        return refuse(ENAMETOOLONG);
    w->path[w->len++] = '/';
    memcpy(w->path + w->len, name, n);
    w->len += n;
    w->path[w->len] = '\0';
    return 0;
}

/* The link that has been appended: what it says comes before the rest of the way. */
static int follow(struct walk *w, const char *behind)
{
    char target[PATH_MAX];
    ssize_t n = readlink(w->path, target, sizeof(target));
    size_t left = strlen(behind);

    if (n < 0)
        return PTL_BAD_FILE;
    if (++w->links > MAX_LINKS)
        return refuse(ELOOP);
    if ((size_t)n >= sizeof(target) || (size_t)n + left + 2 > sizeof(w->rest))
        return refuse(ENAMETOOLONG);
    go_up(w);
    if (n && target[0] == '/') {
        w->len = w->root;
        w->path[w->len] = '\0';
    }
    memmove(w->rest + n + 1, behind, left + 1);
    memcpy(w->rest, target, (size_t)n);
    w->rest[n] = '/';
    return 0;
}

static int walk(struct walk *w)
{
    for (;;) {
        char name[NAME_MAX + 1];
        size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
        struct stat st;

        if (!n)
            return 0;
        if (n > NAME_MAX)
            return refuse(ENAMETOOLONG);
        memcpy(name, w->rest + skip, n);
        name[n] = '\0';
        memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
        if (!strcmp(name, "."))
            continue;
        if (!strcmp(name, "..")) {
            go_up(w);
            continue;
        }
        if (append(w, name, n) < 0 || lstat(w->path, &st) < 0)
            return PTL_BAD_FILE;
        if (S_ISLNK(st.st_mode) && follow(w, w->rest) < 0)
            return PTL_BAD_FILE;
    }
}

int ptl__below(char *path, size_t size, const char *root, const char *name)
{
    struct walk w = {.path = path, .size = size};
    size_t n = strlen(name);

    if (!root || !*root) {
        if (n >= size)
            return refuse(ENAMETOOLONG);
        memcpy(path, name, n + 1);
        return 0;
    }
    w.root = w.len = strlen(root);
    if (w.root + 1 >= size || n >= PATH_MAX)
        return refuse(ENAMETOOLONG);
    memcpy(path, root, w.root + 1);
    while (w.root && path[w.root - 1] == '/')
        path[--w.root] = '\0';
    w.len = w.root;
    memcpy(w.rest, name, n + 1);
    return walk(&w);
}
