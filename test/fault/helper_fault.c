/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_fault [option...] NAME COMMAND...: each call of the command fails once (preload.c), and
 * what comes of it is judged.
 *
 *   -p FILE   the library to preload
 *   -d DIR    where to work; the command runs in a directory below it, files it makes are called
 *             made*, and others are not there: name them by their whole path
 *   -k KINDS  kinds of failures, separated by commas: memory,io,space,eintr,short,event
 *   -m N      about N calls of each kind, evenly spread (default: all)
 *   -1        one process for each call, from the beginning: for what has threads or children.
 *             Else the command runs once for each kind, and children of it fail (FAULT_SERVE)
 *   -i FILE   standard input (default: /dev/null)
 *   -P        standard input and output are pipes, with -1
 *   -l TEXT   a command for the shell that shows what was made, and fails if that is not whole
 *             (default: what the command has printed and the files it made, as they are)
 *   -c TEXT   a command for the shell that must succeed after each call, whatever came of it
 *   -v        say what came of each call
 *
 * Right is: the same status and result as without a failure, or else a status that is not 0, a
 * message that is not there without a failure, and nothing made that looks whole and is not. Wrong
 * is a status of 124 and above, also for what takes too long, and any word of a sanitizer.
 * Interrupted and short calls must not change anything.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload.h"

#define LIMIT 240 /* seconds, of one run: also a machine that stands still for a while */

struct text {
    char *bytes;
    size_t len, cap;
};

/* What came of a run. */
struct result {
    int status; /* as the shell has it */
    struct text left, err;
    int whole; /* as the command of -l has it */
    int holds; /* as that of -c */
};

struct fault {
    const char *preload, *work, *input, *look, *holds, *name, *kind;
    char **command;
    unsigned long most;
    int each, pipes, verbose;
    struct result want;
    unsigned long tried, bad;
};

static volatile pid_t running;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(2);
}

/* --- texts ------------------------------------------------------------------------------------
 */

static void add(struct text *text, const void *bytes, size_t len)
{
    if (text->len + len + 1 > text->cap) {
        text->cap = 2 * (text->len + len + 1);
        text->bytes = realloc(text->bytes, text->cap);
        if (!text->bytes)
            die("realloc");
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = 0;
}

static void add_fd(struct text *text, int fd)
{
    char buf[65536];
    ssize_t n;

    while ((n = read(fd, buf, sizeof(buf))) > 0)
        add(text, buf, (size_t)n);
}

static void add_file(struct text *text, const char *dir, const char *name)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_RDONLY);
    if (fd < 0)
        die(path);
    add_fd(text, fd);
    close(fd);
}

static int same(const struct text *a, const struct text *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

/* --- directories ------------------------------------------------------------------------------
 */

static void clear(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d && (entry = readdir(d)) != NULL) {
        char path[4096];

        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        if (unlink(path) && errno == EISDIR)
            clear(path);
    }
    if (d)
        closedir(d);
    if (rmdir(dir) && errno != ENOENT)
        die(dir);
}

static void make(const char *dir)
{
    clear(dir);
    if (mkdir(dir, 0777))
        die(dir);
}

static int is_made(const struct dirent *entry)
{
    return !strncmp(entry->d_name, "made", 4);
}

/* --- what is left -----------------------------------------------------------------------------
 */

static int shell_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Does the command succeed? What it says is added to `text`. */
static int ask(const char *command, const char *dir, struct text *text)
{
    int ends[2], status;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        die("pipe2");
    pid = fork();
    if (!pid) {
        if (chdir(dir) || dup2(ends[1], STDOUT_FILENO) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
            die(dir);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        die("sh");
    }
    close(ends[1]);
    add_fd(text, ends[0]);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return !status;
}

static void gather(const struct fault *f, const char *dir, int status, struct result *r)
{
    struct dirent **entries;
    int n;

    *r = (struct result){.status = shell_status(status), .holds = 1};
    add_file(&r->err, dir, "err");
    if (f->holds)
        r->holds = ask(f->holds, dir, &r->err);
    if (f->look) {
        r->whole = ask(f->look, dir, &r->left);
        return;
    }
    add_file(&r->left, dir, "out");
    n = scandir(dir, &entries, is_made, alphasort);
    if (n < 0)
        die(dir);
    for (int i = 0; i < n; i++) {
        add(&r->left, entries[i]->d_name, strlen(entries[i]->d_name) + 1);
        add_file(&r->left, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void drop(struct result *r)
{
    free(r->left.bytes);
    free(r->err.bytes);
}

/* --- judging ----------------------------------------------------------------------------------
 */

/* NULL, or what is wrong. */
static const char *judge(const struct fault *f, const struct result *r)
{
    int quiet = !r->err.len || same(&r->err, &f->want.err);
    int strict = !strcmp(f->kind, "eintr") || !strcmp(f->kind, "short");

    if (r->err.len && (strstr(r->err.bytes, "Sanitizer") || strstr(r->err.bytes, "runtime error")))
        return "a sanitizer speaks";
    if (r->status >= 124 && (r->status != 127 || quiet)) /* 127: cannot run a command */
        return "crashed, or took too long";
    if (!r->holds)
        return "what must hold afterwards does not";
    if (r->status == f->want.status && same(&r->left, &f->want.left))
        return NULL;
    if (strict)
        return "another result";
    if (r->status == 0)
        return "another result without an error";
    if (quiet)
        return "no message";
    if (f->look && r->whole && !same(&r->left, &f->want.left))
        return "what is left passes for whole";
    return NULL;
}

static void show_tail(const struct text *text)
{
    size_t from = text->len > 4000 ? text->len - 4000 : 0;

    if (text->len)
        fwrite(text->bytes + from, 1, text->len - from, stdout);
}

/* The lines of one that the other has not, each behind the sign. */
static void show_only(const struct text *one, const struct text *other, char sign)
{
    for (const char *line = one->bytes, *end; line && *line; line = end) {
        size_t len = strcspn(line, "\n");
        int found = 0;

        end = line + len + (line[len] == '\n');
        for (const char *at = other->bytes; at && *at && !found; at += at[0] == '\n') {
            found = strcspn(at, "\n") == len && !memcmp(at, line, len);
            at += strcspn(at, "\n");
        }
        if (!found)
            printf("  %c %.*s\n", sign, (int)len, line);
    }
}

static void judge_one(struct fault *f, unsigned long n, const char *dir, int status)
{
    struct result r;
    const char *wrong;

    gather(f, dir, status, &r);
    wrong = judge(f, &r);
    f->tried++;
    f->bad += wrong != NULL;
    if (f->verbose)
        printf("%s: %s %lu: status %d, %s\n", f->name, f->kind, n, r.status,
               wrong                          ? "wrong"
               : same(&r.left, &f->want.left) ? "the same"
                                              : "another result");
    if (wrong) {
        printf("note: %s: %s %lu: %s; status %d\n", f->name, f->kind, n, wrong, r.status);
        show_tail(&r.err);
        if (f->look) {
            show_only(&f->want.left, &r.left, '-');
            show_only(&r.left, &f->want.left, '+');
        }
        fflush(stdout);
    }
    drop(&r);
}

/* --- running ----------------------------------------------------------------------------------
 */

static void set(const char *name, unsigned long value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lu", value);
    setenv(name, text, 1);
}

static void onto(const char *path, int flags, int as)
{
    int fd = open(path, flags, 0666);

    if (fd < 0 || (fd != as && (dup2(fd, as) < 0 || close(fd))))
        die(path);
}

/* Fork: the parent, which is the command to be, has a pipe in place of the descriptor, and the
 * child is the other end. */
static void through_pipe(int fd)
{
    int ends[2];
    int mine = fd == STDIN_FILENO ? 0 : 1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        die("pipe2");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (!pid) {
        if (dup2(ends[!mine], !fd) < 0)
            die("dup2");
        execlp("cat", "cat", (char *)NULL);
        die("cat");
    }
    if (dup2(ends[mine], fd) < 0)
        die("dup2");
    close(ends[0]);
    close(ends[1]);
}

/* The command is a child of this process, which waits until all of its output has been taken, and
 * ends as it does. */
static void through_pipes(void)
{
    int status;
    pid_t pid;

    through_pipe(STDIN_FILENO);
    through_pipe(STDOUT_FILENO);
    pid = fork();
    if (!pid)
        return;
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    _exit(shell_status(status));
}

/* Begin the command in the directory. tell, go: descriptors, or -1. */
static pid_t begin(const struct fault *f, const char *dir, int tell, int go)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    if (chdir(dir))
        die(dir);
    if (tell >= 0 && (dup2(tell, FAULT_TELL_FD) < 0 || dup2(go, FAULT_GO_FD) < 0))
        die("dup2");
    onto(f->input, O_RDONLY, STDIN_FILENO);
    onto("out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    onto("err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (f->pipes)
        through_pipes();
    setenv("FAULT_KIND", f->kind, 1);
    setenv("LD_PRELOAD", f->preload, 1);
    execvp(f->command[0], f->command);
    die(f->command[0]);
}

static void too_long(int sig)
{
    (void)sig;
    if (running > 0)
        kill(running, SIGKILL);
}

static int finish(pid_t pid)
{
    int status = 0;

    running = pid;
    alarm(LIMIT);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    alarm(0);
    running = 0;
    return status;
}

static int run(const struct fault *f, const char *dir, unsigned long at)
{
    make(dir);
    set("FAULT_AT", at);
    return finish(begin(f, dir, -1, -1));
}

static unsigned long read_count(const char *path)
{
    unsigned long n = 0;
    FILE *file = fopen(path, "r");

    if (!file || fscanf(file, "%lu", &n) != 1)
        die(path);
    fclose(file);
    return n;
}

/* Where a sample begins: for each command elsewhere, as much of what they do is the same. */
static unsigned long first_of(const struct fault *f, unsigned long step)
{
    unsigned long sum = 0;

    for (const char *s = f->name; *s; s++)
        sum += (unsigned char)*s;
    return 1 + sum % step;
}

/* A process for each. */
static void each(struct fault *f, const char *dir, unsigned long count, unsigned long step)
{
    for (unsigned long n = first_of(f, step); n <= count; n += step)
        judge_one(f, n, dir, run(f, dir, n));
}

/* One process, of which the children fail. */
static void serve(struct fault *f, const char *dir, unsigned long step)
{
    char prefix[3072], sub[3200], line[512];
    int tell[2], go[2], status;
    unsigned long n;
    FILE *told;
    pid_t pid;

    snprintf(prefix, sizeof(prefix), "%s-", dir);
    make(dir);
    if (pipe2(tell, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
        die("pipe2");
    set("FAULT_AT", first_of(f, step));
    set("FAULT_STEP", step);
    set("FAULT_LIMIT", LIMIT);
    setenv("FAULT_SERVE", prefix, 1);
    pid = begin(f, dir, tell[1], go[0]);
    unsetenv("FAULT_SERVE");
    close(tell[1]);
    close(go[0]);
    told = fdopen(tell[0], "r");
    while (told && fgets(line, sizeof(line), told)) {
        if (sscanf(line, "%lu %d", &n, &status) != 2) {
            printf("FAIL: %s: %s: %s", f->name, f->kind, line);
            f->bad++;
            kill(pid, SIGKILL);
            break;
        }
        snprintf(sub, sizeof(sub), "%s%lu", prefix, n);
        judge_one(f, n, sub, status);
        clear(sub);
        if (write(go[1], "", 1) != 1)
            die("go");
    }
    fclose(told);
    close(go[1]);
    status = finish(pid);
    if (shell_status(status) != f->want.status) {
        printf("note: %s: %s: the parent ends with %d\n", f->name, f->kind, shell_status(status));
        f->bad++;
    }
}

/* All calls of one kind. */
static void do_kind(struct fault *f)
{
    char dir[2048], counter[2048];
    unsigned long count, step, tried = f->tried;

    snprintf(dir, sizeof(dir), "%s/run", f->work);
    snprintf(counter, sizeof(counter), "%s/count", f->work);
    setenv("FAULT_COUNT", counter, 1);
    gather(f, dir, run(f, dir, 0), &f->want);
    if (f->want.status == 2 || f->want.status > 3 || (f->look && !f->want.whole) ||
        !f->want.holds) {
        printf("note: %s: status %d without a failure\n", f->name, f->want.status);
        show_tail(&f->want.err);
        show_tail(&f->want.left);
        f->bad++;
    } else {
        count = read_count(counter);
        step = f->most ? count / f->most + 1 : 1;
        if (f->each)
            each(f, dir, count, step);
        else if (count)
            serve(f, dir, step);
        printf("%s: %s: %lu calls, %lu of them failed once\n", f->name, f->kind, count,
               f->tried - tried);
    }
    drop(&f->want);
    clear(dir);
}

int main(int argc, char **argv)
{
    struct fault f = {.input = "/dev/null"};
    char *kinds = NULL;
    int c;

    while ((c = getopt(argc, argv, "+p:d:k:m:1i:Pl:c:v")) != -1) {
        switch (c) {
        case 'p':
            f.preload = optarg;
            break;
        case 'd':
            f.work = optarg;
            break;
        case 'k':
            kinds = optarg;
            break;
        case 'm':
            f.most = strtoul(optarg, NULL, 10);
            break;
        case '1':
            f.each = 1;
            break;
        case 'P':
            f.each = f.pipes = 1;
            break;
        case 'i':
            f.input = optarg;
            break;
        case 'l':
            f.look = optarg;
            break;
        case 'c':
            f.holds = optarg;
            break;
        case 'v':
            f.verbose = 1;
            break;
        default:
            return 2;
        }
    }
    if (!f.preload || !f.work || !kinds || argc - optind < 2)
        return 2;
    f.name = argv[optind];
    f.command = argv + optind + 1;
    signal(SIGALRM, too_long);
    for (char *kind = strtok(kinds, ","); kind; kind = strtok(NULL, ",")) {
        f.kind = kind;
        do_kind(&f);
    }
    printf("%s: %s: %lu faults, %lu wrong\n", f.bad ? "FAIL" : "ok", f.name, f.tried, f.bad);
    return f.bad != 0;
}
