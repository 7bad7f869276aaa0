/* SPDX-License-Identifier: BSD-3-Clause */
/* tasks.c - see tasks.h. */
#include "flow/tasks.h"

#include "base/alloc.h"

#include <pt/status.h>

static struct ptl__task *find(struct ptl__tasks *tasks, uint32_t tid)
{
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->task[i].tid == tid)
            return &tasks->task[i];
    return NULL;
}

static struct ptl__task *oldest(struct ptl__tasks *tasks)
{
    struct ptl__task *task = tasks->task;

    for (size_t i = 1; i < tasks->count; i++)
        if (tasks->task[i].used < task->used)
            task = &tasks->task[i];
    return task;
}

static struct ptl__task *add(struct ptl__tasks *tasks)
{
    if (tasks->count == TASKS_MAX)
        return oldest(tasks);
    if (ptl__grow((void **)&tasks->task, &tasks->cap, tasks->count + 1, TASKS_MAX,
                  sizeof(*tasks->task)) < 0)
        return NULL;
    return &tasks->task[tasks->count++];
}

static void save(struct ptl__task *task, uint32_t tid, const struct ptl__retstack *rets)
{
    task->tid = tid;
    task->count = rets->count;
    for (unsigned i = 0; i < rets->count; i++)
        task->ip[i] = ptl__ret_ip(rets, rets->top - rets->count + i);
}

static void load(const struct ptl__task *task, struct ptl__retstack *rets)
{
    ptl__ret_clear(rets);
    for (unsigned i = 0; i < task->count; i++)
        ptl__ret_push(rets, task->ip[i], NULL);
}

int ptl__tasks_switch(struct ptl__tasks *tasks, struct ptl__retstack *rets, uint32_t tid)
{
    struct ptl__task *task;

    if (tid == tasks->tid)
        return 0;
    task = find(tasks, tasks->tid);
    if (!task && rets->count) {
        task = add(tasks);
        if (!task)
            return PTL_NOMEM;
    }
    if (task) {
        save(task, tasks->tid, rets);
        task->used = ++tasks->uses;
    }
    task = find(tasks, tid);
    if (task && task->count)
        load(task, rets);
    tasks->tid = tid;
    return 0;
}

void ptl__tasks_free(struct ptl__tasks *tasks)
{
    ptl__free(tasks->task);
}
