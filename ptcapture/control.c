/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c - see control.h. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUND 4096 /* bytes of commands */

/* Signal handlers can reach only objects of static storage; nothing else uses them. */
static volatile sig_atomic_t stop_flag, snapshot_count;

static void on_signal(int sig)
{
    if (sig == SIGUSR2)
        snapshot_count++;
    else
        stop_flag = 1;
}

void control_signals(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_signal; /* without SA_RESTART: waiting ends */
    for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++) {
        struct sigaction old;
        /* nohup: the hang-up of the terminal must not end us. */
        if (stops[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) && old.sa_handler == SIG_IGN)
            continue;
        sigaction(stops[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* EFBIG is said, as other errors are */
}

int control_stopped(void)
{
    return stop_flag != 0;
}

void control_request_stop(void)
{
    stop_flag = 1;
}

int control_snapshots(void)
{
    int n = snapshot_count;

    snapshot_count -= n;
    return n;
}

/* --- FIFO -------------------------------------------------------------------- */

/* Nothing but a FIFO: a file would be read aloud as unknown commands, a device may have no end. */
static int open_fifo(const char *path)
{
    struct stat st;
    int fd = -1, known = !stat(path, &st);

    /* Read-write: the FIFO does not report an end when a writer closes it. */
    if (known && S_ISFIFO(st.st_mode))
        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    else if (known)
        errno = ENOTSUP;
    if (fd >= 0 && (fstat(fd, &st) || !S_ISFIFO(st.st_mode))) {
        close(fd);
        errno = ENOTSUP;
        fd = -1;
    }
    return fd;
}

int control_open(struct control *control, const char *spec)
{
    char *copy, *ack;

    memset(control, 0, sizeof(*control));
    control->ctl_fd = control->ack_fd = -1;
    if (!spec)
        return 0;
    if (strncmp(spec, "fifo:", 5) != 0 || !spec[5]) {
        errno = EINVAL;
        return -1;
    }
    copy = strdup(spec + 5);
    if (!copy)
        return -1;
    ack = strchr(copy, ',');
    if (ack)
        *ack++ = '\0';
    control->ctl_fd = open_fifo(copy);
    if (control->ctl_fd >= 0 && ack && *ack) {
        control->ack_fd = open_fifo(ack);
        if (control->ack_fd < 0)
            control_close(control);
    }
    free(copy);
    return control->ctl_fd < 0 ? -1 : 0;
}

static enum control_command parse(const char *line)
{
    static const struct {
        const char *word;
        enum control_command command;
    } words[] = {{"enable", CONTROL_ENABLE},
                 {"disable", CONTROL_DISABLE},
                 {"snapshot", CONTROL_SNAPSHOT},
                 {"ping", CONTROL_PING},
                 {"stop", CONTROL_STOP}};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!strcmp(line, words[i].word))
            return words[i].command;
    }
    return CONTROL_UNKNOWN;
}

enum control_command control_next(struct control *control)
{
    char c;

    /* Who writes without end does not keep us from what else there is to do. */
    while (control->ctl_fd >= 0 && control->heard < ROUND && read(control->ctl_fd, &c, 1) == 1) {
        control->heard++;
        if (c != '\n' && c != '\0') {
            if (control->len < sizeof(control->line) - 1)
                control->line[control->len++] = c;
            continue;
        }
        control->line[control->len] = '\0';
        control->len = 0;
        if (*control->line)
            return parse(control->line);
    }
    control->heard = 0;
    return CONTROL_NONE;
}

void control_ack(struct control *control)
{
    static const char ack[] = "ack\n";

    if (control->ack_fd >= 0 && write(control->ack_fd, ack, sizeof(ack) - 1) < 0)
        control->ack_fd = -1; /* nobody reads: commands still work */
}

void control_close(struct control *control)
{
    if (control->ctl_fd >= 0)
        close(control->ctl_fd);
    if (control->ack_fd >= 0)
        close(control->ack_fd);
    control->ctl_fd = control->ack_fd = -1;
}
