/* fork, vfork, posix_spawn and exec, two levels deep; every child has its own exit status. */
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
    printf("%d\n", sum);
    return sum == 13 ? 0 : 1;
}
