/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blockstep.c - a CPU whose branch step works, for machines that have none: preloaded into the
 * recorder, PTRACE_SINGLEBLOCK runs a thread instruction by instruction and shows the recorder only
 * the stops behind taken branches.
 */
#include <dlfcn.h>
#include <pt/insn.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define THREADS 65536

static long (*real_ptrace)(int, pid_t, void *, void *);
static pid_t (*real_waitpid)(pid_t, int *, int);
static uint64_t from[THREADS]; /* where the instruction began that a thread executes; 0: not ours */

__attribute__((constructor)) static void find(void)
{
    *(void **)&real_ptrace = dlsym(RTLD_NEXT, "ptrace");
    *(void **)&real_waitpid = dlsym(RTLD_NEXT, "waitpid");
}

static uint64_t rip_of(pid_t tid)
{
    return (uint64_t)real_ptrace(PTRACE_PEEKUSER, tid,
                                 (void *)offsetof(struct user_regs_struct, rip), NULL);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list ap;
    pid_t tid;
    void *addr, *data;

    va_start(ap, request);
    tid = va_arg(ap, pid_t);
    addr = va_arg(ap, void *);
    data = va_arg(ap, void *);
    va_end(ap);
    if (request == PTRACE_SINGLEBLOCK) {
        from[tid % THREADS] = rip_of(tid);
        return real_ptrace(PTRACE_SINGLESTEP, tid, addr, data);
    }
    return real_ptrace((int)request, tid, addr, data);
}

/* Has the instruction at `ip` branched to `rip`? */
static int branched(pid_t tid, uint64_t ip, uint64_t rip)
{
    uint8_t bytes[PTL_INSN_MAX_SIZE];
    struct iovec local = {bytes, sizeof(bytes)}, remote = {(void *)ip, sizeof(bytes)};
    struct ptl_insn insn;
    ssize_t n;

    while ((n = process_vm_readv(tid, &local, 1, &remote, 1, 0)) < 0 && --remote.iov_len)
        ;
    if (n <= 0 || ptl_insn_decode(&insn, bytes, (size_t)n, PTL_MODE_64) < 0)
        return 1;
    if (insn.iclass == PTL_INSN_JCC)
        return rip != ip && rip != ip + insn.size;
    return insn.iclass != PTL_INSN_OTHER; /* CPUID may have lost its trap, and be further on */
}

/* Is this the end of a step in the middle of a block? Then let it go on. */
static int in_block(pid_t tid, int status)
{
    uint64_t ip = from[tid % THREADS], rip;
    siginfo_t info;

    if (!ip)
        return 0;
    from[tid % THREADS] = 0;
    memset(&info, 0, sizeof(info));
    if (!WIFSTOPPED(status) || status >> 8 != SIGTRAP ||
        real_ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) || info.si_code <= 0)
        return 0;
    rip = rip_of(tid);
    if (branched(tid, ip, rip))
        return 0;
    from[tid % THREADS] = rip;
    return !real_ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    pid_t tid;

    do
        tid = real_waitpid(pid, status, options);
    while (tid > 0 && in_block(tid, *status));
    return tid;
}
