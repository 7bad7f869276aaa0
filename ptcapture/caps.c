/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * caps.c - see caps.h.
 *
 * Source: capabilities(7); perf_event_open(2), "CAP_PERFMON"; ptrace(2), "Ptrace access mode
 * checking".
 */
#include "caps.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

#define BIT(cap) ((uint64_t)1 << (cap))

/* Bits of what is permitted, kept; the same is effective, nothing inheritable. */
static void keep(uint64_t wanted)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (!geteuid() || syscall(SYS_capget, &header, data))
        return;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].permitted &= (uint32_t)(wanted >> (32 * i));
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    (void)syscall(SYS_capset, &header, data); /* giving up is always permitted */
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void caps_limit(const struct capture_options *options)
{
    /* Tracing, and its memory; names and code of the kernel. Before Linux 5.8 there was but
     * CAP_SYS_ADMIN for the first. */
    uint64_t wanted = BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) | BIT(CAP_IPC_LOCK) | BIT(CAP_SYSLOG) |
                      BIT(CAP_SYS_RAWIO);

    /* A tracer with CAP_SYS_PTRACE would let a command run set-user-ID programs with their
     * privileges, under our user's eyes. Without it they run, but without them. */
    if (options->target == TARGET_PIDS || options->target == TARGET_TIDS ||
        options->target == TARGET_CPUS)
        wanted |= BIT(CAP_SYS_PTRACE);
    keep(wanted);
}

void caps_drop(int ptrace)
{
    keep(ptrace ? BIT(CAP_SYS_PTRACE) : 0);
}
