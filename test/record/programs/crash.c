/* Ends as its argument says: by a fault, abort(), a kill, or from a thread. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *leave(void *arg)
{
    (void)arg;
    exit(5);
}

int main(int argc, char **argv)
{
    int *volatile nowhere = NULL;
    const char *how = argc > 1 ? argv[1] : "segv";
    pthread_t thread;

    if (!strcmp(how, "segv"))
        *nowhere = 1;
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "thread")) {
        pthread_create(&thread, NULL, leave, NULL);
        pause();
    }
    return 0;
}
