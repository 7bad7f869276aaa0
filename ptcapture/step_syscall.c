/* SPDX-License-Identifier: BSD-3-Clause */
/* step_syscall.c - what system calls of a stepped thread change, and what they must not show. */
#include "step.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define TRAP_FLAG      0x100u /* EFLAGS.TF */
#define USER_CS_COMPAT 0x23   /* the kernel's __USER32_CS */

/* System calls that change which code is where. */
static const uint16_t map_calls_64[] = {
    SYS_mmap,  SYS_mprotect, SYS_munmap,           SYS_mremap,
    SYS_shmat, SYS_shmdt,    SYS_remap_file_pages, SYS_pkey_mprotect};
/* The same of i386: mmap, munmap, ipc, mprotect, mremap, mmap2, remap_file_pages, pkey_mprotect,
 * shmat, shmdt. */
static const uint16_t map_calls_32[] = {90, 91, 117, 125, 163, 192, 257, 380, 397, 398};

#define SETAFFINITY_32 241
#define GETAFFINITY_32 242
#define CLONE_32       120

enum ptl_exec_mode step_mode_of(uint16_t cs)
{
    return cs == USER_CS_COMPAT ? PTL_MODE_32 : PTL_MODE_64;
}

/* 32-bit code, and INT 0x80 from anywhere, use i386 numbers. */
static int is_i386(const struct step_thread *t)
{
    return t->insn.insn.mode == PTL_MODE_32 || t->insn.insn.kind == PTL_KIND_INT;
}

static int changes_maps(const struct step_thread *t, uint64_t nr)
{
    const uint16_t *calls = is_i386(t) ? map_calls_32 : map_calls_64;
    size_t n = is_i386(t) ? sizeof(map_calls_32) / sizeof(*map_calls_32)
                          : sizeof(map_calls_64) / sizeof(*map_calls_64);

    for (size_t i = 0; i < n; i++) {
        if (calls[i] == nr)
            return 1;
    }
    return 0;
}

/* --- affinity ---------------------------------------------------------------------- */

void step_pin(struct stepper *st, struct step_thread *t)
{
    cpu_set_t one;

    if (st->cpu < 0 || sched_getaffinity(t->tid, sizeof(t->affinity), &t->affinity))
        return;
    CPU_ZERO(&one);
    CPU_SET((unsigned)st->cpu, &one);
    sched_setaffinity(t->tid, sizeof(one), &one);
}

void step_unpin(struct stepper *st, struct step_thread *t)
{
    if (st->cpu >= 0 && CPU_COUNT(&t->affinity))
        sched_setaffinity(t->tid, sizeof(t->affinity), &t->affinity);
}

int step_memory(pid_t tid, uint64_t addr, void *bytes, size_t len, int write)
{
    struct iovec local = {bytes, len};
    struct iovec remote;
    ssize_t n;

    remote.iov_base = (void *)(uintptr_t)addr; /* NOLINT(performance-no-int-to-ptr) */
    remote.iov_len = len;
    n = write ? process_vm_writev(tid, &local, 1, &remote, 1, 0)
              : process_vm_readv(tid, &local, 1, &remote, 1, 0);
    return n == (ssize_t)len ? 0 : -1;
}

/* sched_getaffinity() shows what the thread had before it was pinned; sched_setaffinity()
 * changes that, and the thread is pinned again. */
static void hide_pin(struct stepper *st, struct step_thread *t, const struct user_regs_struct *regs)
{
    int i386 = is_i386(t);
    uint64_t result = regs->rax, nr = regs->orig_rax;
    pid_t who = (pid_t)(i386 ? regs->rbx : regs->rdi);
    uint64_t mask = i386 ? regs->rdx & UINT32_MAX : regs->rdx;
    uint64_t len = i386 ? regs->rcx & UINT32_MAX : regs->rsi;
    struct step_thread *target = who ? step_find(st, who) : t;

    if (st->cpu < 0 || (int64_t)result < 0 || !target)
        return;
    if (nr == (i386 ? GETAFFINITY_32 : SYS_sched_getaffinity)) {
        if (result <= sizeof(target->affinity))
            step_memory(t->tid, mask, &target->affinity, result, 1);
    } else if (nr == (i386 ? SETAFFINITY_32 : SYS_sched_setaffinity)) {
        cpu_set_t wanted;

        memset(&wanted, 0, sizeof(wanted));
        if (!step_memory(t->tid, mask, &wanted, len < sizeof(wanted) ? len : sizeof(wanted), 0)) {
            step_pin(st, target);
            target->affinity = wanted;
        }
    }
}

/* --- the trap flag --------------------------------------------------------------------- */

/* SYSCALL leaves the flags in R11, and PUSHF on the stack: with the trap flag that stepping
 * sets. A thread that steps itself is not supported. */
static void hide_in_r11(const struct step_thread *t, struct user_regs_struct *regs)
{
    if (t->insn.insn.kind != PTL_KIND_SYSCALL || !(regs->r11 & TRAP_FLAG))
        return;
    regs->r11 &= ~(unsigned long long)TRAP_FLAG;
    ptrace(PTRACE_POKEUSER, t->tid, offsetof(struct user_regs_struct, r11), regs->r11);
}

void step_hide_trap_flag(struct step_thread *t)
{
    uint64_t sp =
        (uint64_t)ptrace(PTRACE_PEEKUSER, t->tid, offsetof(struct user_regs_struct, rsp), NULL);
    uint16_t flags;

    if (step_memory(t->tid, sp, &flags, sizeof(flags), 0) || !(flags & TRAP_FLAG))
        return;
    flags = (uint16_t)(flags & ~TRAP_FLAG);
    step_memory(t->tid, sp, &flags, sizeof(flags), 1);
}

/* --- all ------------------------------------------------------------------------------------ */

/* The codes with which the kernel takes up a system call again behind a signal
 * (linux/errno.h, not visible to user code otherwise). */
int step_restarts(const struct user_regs_struct *regs)
{
    int64_t result = (int64_t)regs->rax;

    if (step_mode_of((uint16_t)regs->cs) == PTL_MODE_32)
        result = (int32_t)regs->rax;
    return regs->orig_rax != UINT64_MAX &&
           (result == -512 || result == -513 || result == -514 || result == -516);
}

uint64_t step_clone_flags(const struct step_thread *t, const struct user_regs_struct *regs)
{
    int i386 = is_i386(t);
    uint64_t args = i386 ? regs->rbx & UINT32_MAX : regs->rdi, flags;

    if (regs->orig_rax == (i386 ? CLONE_32 : SYS_clone))
        return args;
    if (regs->orig_rax == SYS_clone3 && /* the same of i386 */
        !step_memory(t->tid, args, &flags, sizeof(flags), 0))
        return flags;
    return 0;
}

/* A thread that its maker hides from us executes the code, too. */
static int makes_untraced(const struct step_thread *t, const struct user_regs_struct *regs)
{
    uint64_t flags = step_clone_flags(t, regs);

    return (int64_t)regs->rax > 0 && (flags & CLONE_UNTRACED) && (flags & CLONE_VM);
}

/* A step's trap that is blocked makes the kernel forget the program's own handler of SIGTRAP. */
void step_unblock_trap(const struct step_thread *t)
{
    uint64_t mask, trap = 1ull << (SIGTRAP - 1);

    if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask) || !(mask & trap))
        return;
    mask &= ~trap;
    ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask);
}

void step_syscall(struct stepper *st, struct step_thread *t, struct user_regs_struct *regs)
{
    hide_in_r11(t, regs);
    if (changes_maps(t, regs->orig_rax)) {
        code_maps_changed(t->code);
        if (!st->have_sideband)
            step_out_maps(st, t);
    }
    hide_pin(st, t, regs);
    if (makes_untraced(t, regs))
        st->breaks = 0;
}
