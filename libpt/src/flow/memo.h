/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memo.h - what a whole packet does at a node, found once: PTL_FLOW_COUNT.
 *
 *     (node, TNT bits | TIP | TIP.PGD) ──► (next node, instructions, blocks, calls and returns)
 *
 * A memo begins and ends where trace has just been used, so no counter of the walk (loops,
 * instructions without trace) crosses it. It holds nothing that depends on how execution came
 * here: a compressed return to a call before the memo ends it, and the walk asks the stack.
 */
#ifndef LIBPT_FLOW_MEMO_H
#define LIBPT_FLOW_MEMO_H

#include "flow/walk.h"

#include <string.h>

enum ptl__memo_kind {
    MEMO_TNT,  /* key: bits below a stop bit */
    MEMO_TIP,  /* key: the target */
    MEMO_PGD,  /* key: the address in it */
    MEMO_PGD0, /* TIP.PGD without address; key: 0 */
    MEMO_AT,   /* key: where an event happens */
    MEMO_PGE /* - and all above it, one for each mode of execution; key: the address; node: NULL */
};

#define MEMO_BITS 6 /* TNT bits of a memo at most */

/* There is no node before it that would have the mode. */
static inline enum ptl__memo_kind ptl__memo_pge(uint8_t mode)
{
    return (enum ptl__memo_kind)(MEMO_PGE + mode);
}

static inline uintptr_t ptl__memo_from(const struct ptl__node *node, enum ptl__memo_kind kind)
{
    return (uintptr_t)node | kind; /* nodes are aligned */
}

/* Nodes lie one after the other: their addresses need no hashing. */
static inline size_t ptl__memo_slot(const struct ptl__node *node, enum ptl__memo_kind kind,
                                    uint64_t key)
{
    return (uintptr_t)node / sizeof(struct ptl__node) ^
           (size_t)((key + kind) * 0x9e3779b97f4a7c15u >> 40);
}

#define MEMO_WAYS 4 /* slots where one may be: i, i ^ 1, ... */

/* NULL: not known. */
static inline struct ptl__memo *ptl__memo_look(void *const *slots, size_t mask,
                                               const struct ptl__node *node,
                                               enum ptl__memo_kind kind, uint64_t key)
{
    size_t at = ptl__memo_slot(node, kind, key) & mask;

    for (size_t i = 0; slots && i < MEMO_WAYS; i++) {
        struct ptl__memo *m = slots[at ^ i];
        if (!m)
            break;
        if (m->from == ptl__memo_from(node, kind) && m->key == key)
            return m;
    }
    return NULL;
}

static inline size_t ptl__stretch_slot(const struct ptl__node *node, const uint64_t *bytes)
{
    uint64_t h = bytes[0] * 0x9e3779b97f4a7c15u ^ bytes[1] * 0xc2b2ae3d27d4eb4fu ^
                 bytes[2] * 0x165667b19e3779f9u ^ bytes[3] * 0xd6e8feb86659fd93u;

    return (uintptr_t)node / sizeof(struct ptl__node) ^ (size_t)(h >> 40);
}

/* --- seen before? ------------------------------------------------------------------------- */

/* To make a memo or a stretch costs more than using it a few times saves: how often each was
 * looked for in vain is kept, as well as a small table can. */
#define SEEN_BITS    15 /* entries; four a set: tag, and how often */
#define SEEN_WAYS    4
#define SEEN_SIZE    (sizeof(uint16_t) << SEEN_BITS)
#define SEEN_MEMO    2 /* so often: it is made */
#define SEEN_STRETCH 3

/* Once more; `slot` is where it would be. Returns how often now, up to 15. */
static inline unsigned ptl__seen(uint16_t *seen, size_t slot)
{
    uint64_t h = slot * UINT64_C(0x9e3779b97f4a7c15);
    uint16_t *set = &seen[h >> (64 - SEEN_BITS) & ~(uint64_t)(SEEN_WAYS - 1)], *least = set;
    uint16_t tag = (uint16_t)(h >> 32 & 0xfff0);

    for (unsigned i = 0; i < SEEN_WAYS; i++) {
        if ((set[i] & 0xfff0) == tag && set[i] & 15) {
            set[i] = (uint16_t)(set[i] + ((set[i] & 15) != 15));
            return set[i] & 15;
        }
        if ((set[i] & 15) < (*least & 15))
            least = &set[i];
    }
    *least = (uint16_t)(tag | 1);
    return 1;
}

/* Find out what the packet does, and keep it. Returns NULL where the slow path is to decide:
 * an error, code not walked before, a loop. Valid until the next call. */
struct ptl__memo *ptl__memo_make(struct ptl_flow *f, struct ptl__node *node,
                                 enum ptl__memo_kind kind, uint64_t key);

/* The bits of last-IP that the first address takes over. */
extern const uint64_t ptl__stretch_ip[8];

/* Is it what the bytes at `p` do? */
static inline int ptl__stretch_is(const struct ptl__stretch *m, const struct ptl__node *node,
                                  uint64_t last_ip, const uint8_t *p)
{
    return m->from == node && m->last_ip == (last_ip & ptl__stretch_ip[m->ipc]) &&
           !memcmp(m->bytes, p, sizeof(m->bytes));
}

/* NULL: not known. */
static inline struct ptl__stretch *ptl__stretch_look(void *const *slots, size_t mask,
                                                     const struct ptl__node *node, uint64_t last_ip,
                                                     const uint8_t *p)
{
    uint64_t bytes[STRETCH_SIZE / 8];
    size_t at;

    memcpy(bytes, p, sizeof(bytes));
    at = ptl__stretch_slot(node, bytes) & mask;
    for (size_t i = 0; slots && i < MEMO_WAYS; i++) {
        struct ptl__stretch *m = slots[at ^ i];
        if (!m)
            break;
        if (ptl__stretch_is(m, node, last_ip, p))
            return m;
    }
    return NULL;
}

/* Keep a copy of the item. NULL without memory. */
void *ptl__memos_put(struct ptl__pool *pool, struct ptl__memos *memos, const void *item,
                     size_t size, size_t (*slot_of)(const void *item));
/* Keep the events. Returns 0 without memory. */
int ptl__view_told(struct ptl__view *view, const struct ptl__told *told, unsigned n,
                   uint32_t *index);
/* Forget all memos / stretches if they are too many. */
void ptl__memos_bound(struct ptl__view *view);
void ptl__stretches_bound(struct ptl__view *view);

/* Find out what the packets at `p` do, of which STRETCH_SIZE bytes are there, and keep it.
 * Returns NULL without memory. Valid until the next call. */
struct ptl__stretch *ptl__stretch_make(struct ptl_flow *f, struct ptl__node *node, uint64_t last_ip,
                                       const uint8_t *p);

/* Where a TIP.PGE resumes, if the block was the last. */
static inline uint64_t ptl__resume_ip(const struct ptl__node *node)
{
    switch (node->iclass) {
    case PTL_INSN_CALL_IND:
    case PTL_INSN_FAR_CALL:
        return ptl__mode_ip(node->mode, ptl__node_end(node));
    case PTL_INSN_MOV_CR3:
        return ptl__node_end(node) - node->last_size;
    default:
        return 0;
    }
}

/* A return. */
static inline void ptl__effect_drop(struct ptl__effect *e)
{
    e->npush = (uint8_t)(e->npush ? e->npush - 1 : 0);
    e->move--;
    e->low = (uint8_t)(e->low ? e->low - 1 : 0);
    e->high = (uint8_t)(e->high ? e->high - 1 : 0);
}

/* First `a`, which has room for `max` calls, then `b`. Returns 0 if that is too much. */
int ptl__effect_join(struct ptl__effect *a, struct ptl__node **push, unsigned max,
                     const struct ptl__effect *b, struct ptl__node *const *b_push);

/* Where a return to the call goes. NULL: the slow path is to look. */
struct ptl__node *ptl__memo_return(struct ptl_flow *f, uint64_t ip, struct ptl__node *caller);

/* The block at `ip`. NULL: the slow path is to look. */
struct ptl__node *ptl__memo_find(struct ptl_flow *f, uint64_t ip);

#endif
