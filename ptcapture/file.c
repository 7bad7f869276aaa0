/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c - see file.h. */
#include "file.h"

#include "dsos.h"
#include "machine.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Make room: what stands at `path` becomes `path`.old. A directory that we wrote earlier may
 * replace an older one only if rename() can do so, i.e. that one is moved to a spare name. */
static int keep_old(const char *path, int *kept)
{
    char old[4096], older[4096];
    struct stat st;

    if (lstat(path, &st))
        return errno == ENOENT ? 0 : -1;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        errno = S_ISLNK(st.st_mode) ? ELOOP : EEXIST; /* a device, a link: not ours to move */
        return -1;
    }
    if (outfile_is_foreign(path)) {
        errno = EACCES;
        return -1;
    }
    if (snprintf(old, sizeof(old), "%s.old", path) >= (int)sizeof(old) ||
        snprintf(older, sizeof(older), "%s.old.%d", path, (int)getpid()) >= (int)sizeof(older)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    *kept = !rename(path, old);
    if (*kept)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != EISDIR)
        return -1;
    *kept = !rename(old, older) && !rename(path, old);
    return *kept ? 0 : -1;
}

int file_create(struct capture_file *file, const char *path, int directory)
{
    size_t size = strlen(path) + sizeof("/data");

    memset(file, 0, sizeof(*file));
    file->fd = -1;
    if (!strcmp(path, "-")) {
        file->pipe = 1;
        file->fd = STDOUT_FILENO;
        return 0;
    }
    file->path = malloc(size);
    if (!file->path || keep_old(path, &file->kept))
        return -1;
    if (directory) {
        file->directory = strdup(path);
        if (!file->directory || mkdir(path, 0700))
            return -1;
    }
    snprintf(file->path, size, "%s%s", path, directory ? "/data" : "");
    file->fd = ptl_open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    return file->fd < 0 ? -1 : 0;
}

int file_start(struct capture_file *file, const struct ptl_perf_writer_config *config,
               const struct pmu *pmu, int argc, char *const *argv)
{
    struct ptl_perf_writer_config own = *config;
    int status;

    own.pipe = (uint8_t)file->pipe;
    status = ptl_perf_writer_new(&file->writer, file->fd, &own);
    if (!status)
        status = machine_describe(file->writer, pmu, argc, argv);
    if (!status && file->directory) {
        uint64_t one_file = 0;
        status =
            ptl_perf_writer_feature(file->writer, PTL_FEAT_DIR_FORMAT, &one_file, sizeof(one_file));
    }
    return status;
}

static int close_file(struct capture_file *file, int status)
{
    ptl_perf_writer_free(file->writer);
    if (file->fd >= 0 && !file->pipe && close(file->fd) && !status)
        status = PTL_IO;
    free(file->path);
    free(file->directory);
    file->writer = NULL;
    file->path = file->directory = NULL;
    file->fd = -1;
    return status;
}

/* A record that is written at once: behind it stands that others may come, whatever stood there. */
static void leave(const struct capture_file *file)
{
    int err = errno;
    int status = file->writer ? ptl_perf_write_init_done(file->writer) : 0;

    (void)status; /* why it is left has been said */
    errno = err;
}

int file_finish(struct capture_file *file, int whole)
{
    int status = ptl_perf_writer_sync(file->writer);

    if (!status && whole && !file->pipe)
        status = dsos_add(file->writer, file->path);
    if (!status && whole)
        status = ptl_perf_writer_finish(file->writer);
    else
        leave(file);
    return close_file(file, status);
}

void file_discard(struct capture_file *file)
{
    const char *path = file->directory ? file->directory : file->path;
    char old[4096];

    if (file->fd >= 0 && !file->pipe)
        unlink(file->path);
    if (file->directory)
        rmdir(file->directory);
    if (file->kept && snprintf(old, sizeof(old), "%s.old", path) < (int)sizeof(old) &&
        rename(old, path))
        file->kept = 0; /* it stays under its new name */
    close_file(file, 0);
}

uint64_t file_bytes(const struct capture_file *file)
{
    return file->writer ? ptl_perf_writer_bytes(file->writer) : 0;
}
