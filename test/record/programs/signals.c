/* Signals: a handler that returns, nested ones, another stack, system calls taken up again and
 * given up, faults that are left by siglongjmp, a breakpoint, ignored and blocked ones, and what
 * a handler sees of the flags. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int count[65], trap_flag_seen;
static int pipe_fd[2];
static sigjmp_buf back;

static void look_at_flags(void *context)
{
    ucontext_t *uc = context;

    if (uc->uc_mcontext.gregs[REG_EFL] & 0x100)
        trap_flag_seen = 1;
}

static void handler(int sig, siginfo_t *info, void *context)
{
    (void)info;
    look_at_flags(context);
    count[sig]++;
    if (sig == SIGUSR1 && count[sig] == 1)
        raise(SIGUSR2); /* nested */
    if (sig == SIGALRM && write(pipe_fd[1], "x", 1) != 1)
        abort();
}

static void jumper(int sig, siginfo_t *info, void *context)
{
    (void)info;
    look_at_flags(context);
    count[sig]++;
    siglongjmp(back, 1);
}

static void install(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = f;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(sig, &action, NULL);
}

static void wait_for_alarm(int flags, int want)
{
    struct itimerval soon = {{0, 0}, {0, 30000}};
    char c;
    ssize_t n;

    install(SIGALRM, handler, flags);
    setitimer(ITIMER_REAL, &soon, NULL);
    n = read(pipe_fd[0], &c, 1); /* with SA_RESTART it gets the byte that the handler writes */
    if (want == 1 ? n != 1 : !(n < 0 && errno == EINTR))
        exit(10);
    if (want != 1 && read(pipe_fd[0], &c, 1) != 1)
        exit(11);
}

int main(void)
{
    static char stack[65536];
    stack_t alt = {stack, 0, sizeof(stack)};
    volatile int zero = 0, quotient = 0;
    int *volatile nowhere = NULL;
    volatile uintptr_t bad_code = 0x1000;
    uint64_t flags;
    sigset_t block;

    if (pipe(pipe_fd))
        return 1;
    install(SIGUSR1, handler, 0);
    install(SIGUSR2, handler, 0);
    raise(SIGUSR1);
    sigaltstack(&alt, NULL);
    install(SIGUSR1, handler, SA_ONSTACK);
    kill(getpid(), SIGUSR1);
    signal(SIGWINCH, SIG_IGN);
    raise(SIGWINCH);
    raise(SIGCHLD); /* ignored by default */
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
    sigprocmask(SIG_BLOCK, &block, NULL);
    raise(SIGUSR2);
    sigprocmask(SIG_UNBLOCK, &block, NULL);
    wait_for_alarm(SA_RESTART, 1);
    wait_for_alarm(0, 0);
    install(SIGSEGV, jumper, 0);
    install(SIGFPE, jumper, 0);
    install(SIGILL, jumper, 0);
    install(SIGTRAP, handler, 0);
    if (!sigsetjmp(back, 1))
        *nowhere = 1;
    if (!sigsetjmp(back, 1))
        quotient = 1 / zero;
    if (!sigsetjmp(back, 1))
        __asm__ volatile("ud2");
    if (!sigsetjmp(back, 1))
        ((void (*)(void))(uintptr_t)bad_code)();
    for (int i = 0; i < 3; i++)
        __asm__ volatile("int3");
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
    if (flags & 0x100)
        trap_flag_seen = 2;
    __asm__ volatile("movl $39, %%eax\n\tsyscall\n\tmovq %%r11, %0"
                     : "=r"(flags)
                     :
                     : "rax", "rcx", "r11", "memory");
    if (flags & 0x100)
        trap_flag_seen = 3;
    printf("usr1 %d usr2 %d alrm %d segv %d fpe %d ill %d trap %d flag %d\n", count[SIGUSR1],
           count[SIGUSR2], count[SIGALRM], count[SIGSEGV], count[SIGFPE], count[SIGILL],
           count[SIGTRAP], trap_flag_seen + quotient);
    return 0;
}
