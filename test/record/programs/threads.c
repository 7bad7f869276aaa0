/* Threads with a mutex, thread-local storage, a barrier and different ends. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static __thread int own;
static long total;

static void *work(void *arg)
{
    long n = (long)arg;

    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 60; i++) {
        own += (int)n;
        pthread_mutex_lock(&mutex);
        total += own % 7;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

int main(void)
{
    pthread_t thread[3];

    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, work, (void *)(i + 1));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    printf("%ld\n", total);
    return 0;
}
