/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep.c - where memos, stretches and their events are kept. When there are too many they
 * are forgotten, and found again when they are needed.
 */
#include "base/alloc.h"
#include "flow/memo.h"
#include "flow/unfold.h"

#define MIN_SLOTS 1024
#define MAX_SLOTS (1u << 16) /* and memos, and stretches: 8 MB each */
#define MAX_TOLD  (1u << 18) /* 6 MB */

static void put_slot(struct ptl__memos *memos, void *item, size_t slot)
{
    size_t at = slot & (memos->nslots - 1), way = 0;

    while (way < MEMO_WAYS - 1 && memos->slots[at ^ way])
        way++;
    if (memos->slots[at ^ way]) /* in favour of any */
        way = memos->used % MEMO_WAYS;
    memos->slots[at ^ way] = item;
}

/* More slots while more than half are used. Returns 0 if there are none. */
static int grow(struct ptl__pool *pool, struct ptl__memos *memos,
                size_t (*slot_of)(const void *item))
{
    struct ptl__memos old = *memos;
    size_t n = memos->nslots ? memos->nslots * 4 : MIN_SLOTS;
    void **slots;

    if (memos->used * 2 < memos->nslots || n > MAX_SLOTS)
        return 1;
    slots = ptl__pool_get(pool, n * sizeof(*slots));
    if (!slots)
        return memos->nslots != 0;
    memos->slots = slots;
    memos->nslots = n;
    for (size_t i = 0; i < old.nslots; i++)
        if (old.slots[i])
            put_slot(memos, old.slots[i], slot_of(old.slots[i]));
    ptl__pool_put(pool, (void *)old.slots, old.nslots * sizeof(*slots));
    return 1;
}

void *ptl__memos_put(struct ptl__pool *pool, struct ptl__memos *memos, const void *item,
                     size_t size, size_t (*slot_of)(const void *item))
{
    void *copy;

    if (!grow(pool, memos, slot_of) || !(copy = ptl__chunk_item(pool, &memos->chunks, size)))
        return NULL;
    memcpy(copy, item, size);
    put_slot(memos, copy, slot_of(copy));
    memos->used++;
    return copy;
}

static void forget(struct ptl__pool *pool, struct ptl__memos *memos)
{
    ptl__chunks_free(pool, memos->chunks);
    if (memos->slots)
        memset((void *)memos->slots, 0, memos->nslots * sizeof(*memos->slots));
    memos->chunks = NULL;
    memos->used = 0;
}

void ptl__memos_bound(struct ptl__view *view)
{
    if (view->memos.used < MAX_SLOTS)
        return;
    ptl__unfold(view);
    forget(view->pool, &view->memos);
}

void ptl__stretches_bound(struct ptl__view *view)
{
    if (view->stretches.used < MAX_SLOTS && view->ntold + STRETCH_EVENTS <= MAX_TOLD)
        return;
    ptl__unfold(view);
    forget(view->pool, &view->stretches);
    view->ntold = 0;
    view->forgotten++;
}

int ptl__view_told(struct ptl__view *view, const struct ptl__told *told, unsigned n,
                   uint32_t *index)
{
    *index = (uint32_t)view->ntold;
    if (!n)
        return 1;
    if (ptl__grow((void **)&view->told, &view->told_cap, view->ntold + n, MAX_TOLD, sizeof(*told)) <
        0)
        return 0;
    memcpy(view->told + view->ntold, told, n * sizeof(*told));
    view->ntold += n;
    return 1;
}
