/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c - see proc.h. */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* "55c4c5bd5000-55c4c5bd6000 r-xp 00001000 fe:00 10987429   /usr/bin/x" */
static int parse_map(struct proc_map *map, const char *line)
{
    unsigned long long from, to, pgoff, inode;
    char perms[8];
    int at = 0;

    if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &from, &to, perms, &pgoff, &map->major,
               &map->minor, &inode, &at) < 7)
        return -1;
    map->from = from;
    map->to = to;
    map->pgoff = pgoff;
    map->inode = inode;
    map->prot = (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
                (perms[2] == 'x' ? PROT_EXEC : 0u);
    map->flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    snprintf(map->name, sizeof(map->name), "%s", at && line[at] ? line + at : "//anon");
    return 0;
}

int proc_maps(pid_t pid, int (*each)(void *context, const struct proc_map *map), void *context)
{
    char path[64], *line = NULL;
    size_t cap = 0;
    struct proc_map map;
    int result = 0, err;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    while (!result && getline(&line, &cap, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (!parse_map(&map, line))
            result = each(context, &map);
    }
    if (!result && !feof(file))
        result = -1;
    err = errno;
    free(line);
    fclose(file);
    errno = err;
    return result;
}

static int each_number(const char *path, int (*each)(void *context, pid_t id), void *context)
{
    struct dirent *entry;
    int result = 0, err;
    DIR *dir = opendir(path);

    if (!dir)
        return -1;
    do {
        errno = 0;
        entry = readdir(dir);
        if (!entry)
            result = errno ? -1 : 0;
        else if (isdigit((unsigned char)entry->d_name[0]))
            result = each(context, (pid_t)strtol(entry->d_name, NULL, 10));
    } while (entry && !result);
    err = errno;
    closedir(dir);
    errno = err;
    return result;
}

int proc_threads(pid_t pid, int (*each)(void *context, pid_t tid), void *context)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return each_number(path, each, context);
}

int proc_each(int (*each)(void *context, pid_t pid), void *context)
{
    return each_number("/proc", each, context);
}

/* 0 with errno if it cannot be read. */
static pid_t status_field(pid_t tid, const char *name)
{
    char path[64], line[256];
    pid_t value = 0;
    FILE *file;
    int err = ESRCH;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        if (!strncmp(line, name, strlen(name))) {
            value = (pid_t)strtol(line + strlen(name), NULL, 10);
            err = 0;
            break;
        }
    }
    if (err && !feof(file))
        err = errno;
    fclose(file);
    errno = err;
    return value;
}

pid_t proc_tgid(pid_t tid)
{
    return status_field(tid, "Tgid:");
}

int proc_is_zombie(pid_t tid)
{
    char path[64], line[256];
    FILE *file;
    int zombie = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return 1;
    while (!zombie && fgets(line, sizeof(line), file))
        zombie = !strncmp(line, "State:\tZ", 8) || !strncmp(line, "State:\tX", 8);
    fclose(file);
    return zombie;
}

pid_t proc_parent(pid_t pid)
{
    return status_field(pid, "PPid:");
}

int proc_comm(pid_t tid, char comm[32])
{
    char path[64];
    FILE *file;
    char *got;
    int err;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    got = fgets(comm, 32, file);
    err = errno;
    fclose(file);
    errno = err;
    if (!got)
        return -1;
    comm[strcspn(comm, "\n")] = '\0';
    return 0;
}

/* --- records --------------------------------------------------------------------- */

static void clear_record(struct ptl_record *record, uint32_t type, uint16_t misc)
{
    memset(record, 0, sizeof(*record));
    record->type = type;
    record->misc = misc;
    record->known = 1;
}

int proc_write_map(struct ptl_perf_writer *writer, const struct ptl_layout *layout,
                   const struct proc_map *map, pid_t pid, pid_t tid, const struct ptl_sample_id *id)
{
    struct ptl_record record;
    struct ptl_rec_mmap *mmap2 = &record.u.mmap;

    clear_record(&record, PTL_REC_MMAP2, PTL_MISC_USER);
    if (id)
        record.id = *id;
    mmap2->pid = (uint32_t)pid;
    mmap2->tid = (uint32_t)tid;
    mmap2->addr = map->from;
    mmap2->len = map->to - map->from;
    mmap2->pgoff = map->pgoff;
    mmap2->maj = map->major;
    mmap2->min = map->minor;
    mmap2->ino = map->inode;
    mmap2->prot = map->prot;
    mmap2->flags = map->flags;
    mmap2->filename = map->name;
    return ptl_perf_write_record(writer, &record, layout);
}

struct synthesis {
    struct ptl_perf_writer *writer;
    const struct ptl_layout *layout;
    pid_t pid;
    int status;
};

static int synthesize_map(void *context, const struct proc_map *map)
{
    struct synthesis *s = context;

    if (map->prot & PROT_EXEC)
        s->status = proc_write_map(s->writer, s->layout, map, s->pid, s->pid, NULL);
    return s->status;
}

int proc_missed(int err)
{
    return err != ENOENT && err != ESRCH && err != EACCES && err != EPERM;
}

/* Something of the process could not be read: that matters unless it has gone, or is hidden. */
static int missed(struct synthesis *s)
{
    if (!s->status && proc_missed(errno))
        s->status = PROC_UNREAD;
    return s->status;
}

/* FORK says which process a thread belongs to; COMM names it. */
static int synthesize_thread(void *context, pid_t tid)
{
    struct synthesis *s = context;
    struct ptl_record record;
    char comm[32];

    clear_record(&record, PTL_REC_FORK, PTL_MISC_FORK_EXEC);
    record.u.task.pid = (uint32_t)s->pid;
    record.u.task.tid = (uint32_t)tid;
    record.u.task.ppid = (uint32_t)(tid == s->pid ? proc_parent(s->pid) : s->pid);
    if (!record.u.task.ppid && errno && missed(s))
        return s->status;
    record.u.task.ptid = record.u.task.ppid;
    s->status = ptl_perf_write_record(s->writer, &record, s->layout);
    if (s->status)
        return s->status;
    if (proc_comm(tid, comm))
        return missed(s);
    clear_record(&record, PTL_REC_COMM, 0);
    record.u.comm.pid = (uint32_t)s->pid;
    record.u.comm.tid = (uint32_t)tid;
    record.u.comm.comm = comm;
    s->status = ptl_perf_write_record(s->writer, &record, s->layout);
    return s->status;
}

static int synthesize_other(void *context, pid_t tid)
{
    const struct synthesis *s = context;

    return tid == s->pid ? 0 : synthesize_thread(context, tid);
}

int proc_synthesize(struct ptl_perf_writer *writer, const struct ptl_layout *layout, pid_t pid)
{
    struct synthesis s = {writer, layout, pid, 0};

    if (synthesize_thread(&s, pid))
        return s.status;
    /* The maps before the other threads: those belong to the same process. */
    if (proc_maps(pid, synthesize_map, &s) && missed(&s))
        return s.status;
    if (proc_threads(pid, synthesize_other, &s))
        (void)missed(&s);
    return s.status;
}
