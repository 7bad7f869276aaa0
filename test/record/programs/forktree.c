/* fork, vfork, clone, posix_spawn and exec, two levels deep; every child has its own exit status.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int burn(int n)
{
    volatile int x = 0;

    for (int i = 0; i < n; i++)
        x += i % 3 ? i : -i;
    return x;
}

/* A process of its own in the memory of its parent, which goes on meanwhile. */
static int in_our_memory(void *counter)
{
    *(int *)counter = burn(300); /* the same code as the parent */
    return 2;
}

static int with_our_memory(void)
{
    char *stack = malloc(65536);
    int counter = 0, status;
    pid_t pid = clone(in_our_memory, stack + 65536, CLONE_VM | SIGCHLD, &counter);

    burn(300);
    status = status_of(pid);
    free(stack);
    return status == 2 && counter == burn(300) ? 2 : -100;
}

int main(int argc, char **argv)
{
    char *leaf[] = {argv[0], (char *)"leaf", NULL};
    pid_t pid;
    int sum = 0;

    if (argc > 1) { /* the leaf */
        burn(500);
        return 3;
    }
    pid = fork();
    if (!pid) {
        pid_t inner = fork();
        if (!inner) {
            burn(1000);
            _exit(1);
        }
        execv(argv[0], leaf);
        _exit(99);
    }
    sum += status_of(pid);
    pid = vfork();
    if (!pid) {
        execv(argv[0], leaf);
        _exit(99);
    }
    sum += status_of(pid);
    if (posix_spawn(&pid, argv[0], NULL, NULL, leaf, environ))
        return 98;
    sum += status_of(pid);
    pid = vfork();
    if (!pid)
        _exit(burn(100) ? 4 : 5);
    sum += status_of(pid);
    sum += with_our_memory();
    printf("%d\n", sum);
    return sum == 15 ? 0 : 1;
}
