/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * two_threads.c - two decoders in two threads over one image.
 *
 *     two_threads TRACE ELF [BASE]
 *
 * The space is built once and then only read, so it needs no lock; each flow belongs to its
 * thread. Both decode the same trace here, to be compared; usually each has its own.
 */
#include <inttypes.h>
#include <pt/flow.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    const struct ptl_section *trace;
    const struct ptl_space *space;
    uint64_t instructions, errors;
    uint64_t hash; /* of all addresses in order */
    int status;
};

static void *decode(void *arg)
{
    struct job *job = arg;
    struct ptl_flow_config config = {.size = sizeof(config)};
    struct ptl_item items[256];
    struct ptl_flow *flow;
    int n;

    config.begin = ptl_section_bytes(job->trace);
    config.len = (size_t)ptl_section_size(job->trace);
    config.space = job->space;
    n = ptl_flow_new(&flow, &config);
    if (n == 0) {
        while ((n = ptl_flow_next(flow, items, 256)) > 0) {
            for (int i = 0; i < n; i++) {
                if (items[i].kind == PTL_ITEM_BLOCK) {
                    job->instructions += items[i].ninsn;
                    job->hash = job->hash * 31 + items[i].u.block->ip;
                }
                job->errors += items[i].kind == PTL_ITEM_ERROR;
            }
        }
        ptl_flow_free(flow);
    }
    job->status = n;
    return NULL;
}

static int run(struct job *jobs)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, decode, &jobs[0]) != 0)
        return PTL_NOMEM;
    (void)decode(&jobs[1]);
    (void)pthread_join(thread, NULL);
    return jobs[0].status < 0 ? jobs[0].status : jobs[1].status;
}

int main(int argc, char **argv)
{
    struct ptl_section *trace = NULL;
    struct ptl_space *space = NULL;
    struct job jobs[2] = {{.status = 0}, {.status = 0}};
    int status;

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: two_threads TRACE ELF [BASE]\n");
        return 2;
    }
    status = ptl_section_file(&trace, argv[1], 0, UINT64_MAX);
    if (status == 0)
        status = ptl_space_new(&space);
    if (status == 0)
        status = ptl_space_load_elf(space, argv[2], argc > 3 ? strtoull(argv[3], NULL, 16) : 0,
                                    NULL, NULL);
    if (status == 0) {
        for (int i = 0; i < 2; i++) {
            jobs[i].trace = trace;
            jobs[i].space = space;
        }
        status = run(jobs);
    }
    ptl_space_free(space);
    ptl_section_unref(trace);
    if (status < 0) {
        fprintf(stderr, "two_threads: %s\n", ptl_strstatus(status));
        return 2;
    }
    for (int i = 0; i < 2; i++)
        printf("thread %d: %" PRIu64 " instructions, %" PRIu64 " errors\n", i, jobs[i].instructions,
               jobs[i].errors);
    if (jobs[0].hash != jobs[1].hash) {
        printf("the threads disagree\n");
        return 1;
    }
    return jobs[0].errors || jobs[1].errors;
}
