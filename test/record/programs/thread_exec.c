/* A thread that is not the first one calls exec: the process goes on under the first one's id. */
#include <pthread.h>
#include <unistd.h>

static char **args;

static void *replace(void *arg)
{
    (void)arg;
    execv(args[0], args);
    return NULL;
}

int main(int argc, char **argv)
{
    char *again[] = {argv[0], (char *)"again", NULL};
    pthread_t thread;

    if (argc > 1)
        return 6;
    args = again;
    pthread_create(&thread, NULL, replace, NULL);
    pause();
    return 1;
}
