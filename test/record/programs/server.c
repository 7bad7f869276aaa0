/* For attaching: three threads, one that computes, one that sleeps, one that reads a pipe; ends
 * when its standard input ends, and says whether all of them have got on. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile long computed, slept, stop;

static void *compute(void *arg)
{
    (void)arg;
    while (!stop) {
        for (volatile int i = 0; i < 50; i++)
            ;
        computed++;
        usleep(2000);
    }
    return NULL;
}

static void *sleeper(void *arg)
{
    struct timespec t = {0, 20000000};

    (void)arg;
    while (!stop) {
        if (nanosleep(&t, NULL))
            _exit(9); /* nobody may see that the call was interrupted */
        slept++;
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    char c;
    ssize_t n;

    pthread_create(&a, NULL, compute, NULL);
    pthread_create(&b, NULL, sleeper, NULL);
    puts("ready");
    fflush(stdout);
    while ((n = read(0, &c, 1)) == 1) {
        printf("%c %d %d\n", c, computed > 0, slept > 0);
        fflush(stdout);
        computed = slept = 0;
    }
    stop = 1;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return n < 0 ? 8 : 0;
}
