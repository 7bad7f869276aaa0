/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outfile.c - see outfile.h. The kernel has the same rule as an option (proc_sys_fs(5),
 * protected_symlinks, protected_regular, protected_fifos); it is not on everywhere.
 */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pt/io.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int outfile_is_foreign(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) + 1 : 0;
    struct stat file, parent;
    char dir[4096] = ".";

    if (lstat(path, &file)) /* it was there a moment ago: who takes it away may put a link there */
        return 1;
    if (file.st_uid == geteuid() || len >= sizeof(dir))
        return 0;
    if (len) {
        memcpy(dir, path, len);
        dir[len] = '\0';
    }
    return !stat(dir, &parent) && parent.st_mode & S_IWOTH && file.st_uid != parent.st_uid;
}

int outfile_open(const char *path, int flags, unsigned mode)
{
    /* Only what is new is certain to be ours. */
    int fd = ptl_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | flags, mode);

    if (fd >= 0 || errno != EEXIST)
        return fd;
    if (outfile_is_foreign(path)) {
        errno = EACCES;
        return -1;
    }
    return ptl_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | flags, mode);
}
