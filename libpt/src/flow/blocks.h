/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks.h - straight code, found once and kept.
 *
 *     cache ──► code (section, ip, mode)        what the bytes say; shared by all views
 *        └────► view (space, version) ──► node (ip, mode) ──► code
 *                                           └─succ[2]─► node
 *
 * Code survives whatever is mapped and unmapped, because it belongs to a section. Nodes are
 * the graph of one view: what an address means while nothing is remapped. A decoder that
 * switches between tasks finds each one's graph again.
 */
#ifndef LIBPT_FLOW_BLOCKS_H
#define LIBPT_FLOW_BLOCKS_H

#include "base/pool.h"

#include <pt/flow.h>

/* The most instructions of one block: bounds what finding or splitting one costs. */
#define BLOCK_MAX_INSNS 4096

/* One block in one view. Begins as an item of the whole block does, and is one cache line. */
struct ptl__node {
    uint8_t kind;  /* PTL_ITEM_BLOCK */
    uint8_t flags; /* 0 */
    uint16_t ninsn;
    uint32_t size;
    const struct ptl_block *block;
    struct ptl__node *succ[2]; /* [1] taken, direct or last indirect target; [0] what follows
                                  in memory: not taken, or where the call returns to */
    uint64_t ip;
    uint64_t target; /* direct branches */
    void *chain;     /* the next node in its bucket */
    uint8_t iclass;
    uint8_t mode;
    uint8_t last_size; /* bytes of the last instruction */
    uint8_t warm;      /* walked before, see cold.h; 1 where that does not matter */
    uint32_t ran;      /* PTL_FLOW_COVERAGE: how often, since that was added to its code */
};

/* A hash table of nodes or codes, chained. */
struct ptl__table {
    void **buckets;
    size_t nbuckets, used;
};

#define MEMO_PUSH    9  /* calls that a memo may leave on the stack */
#define STRETCH_PUSH 3  /* - a stretch */
#define STRETCH_SIZE 32 /* bytes of trace */

/* What code does to the return stack: its depth becomes min(max(depth + move, low), high), its
 * top moves by `move`, and the youngest `npush` entries are new. */
struct ptl__effect {
    int8_t move;
    uint8_t low, high;
    uint8_t npush;
};

/* What a packet does at a node, see memo.h. Two cache lines; calls are in the second. */
struct ptl__memo {
    uintptr_t from; /* node and kind; 0: free */
    uint64_t key;
    struct ptl__node *next; /* where execution is then; NULL: the last block is a return to a call
                               before the memo; TIP.PGD: where it arrived, NULL: at a branch */
    struct ptl__node *last; /* the last block that ran */
    uint64_t uses;          /* since counted, see coverage.c */
    uint16_t insns;
    uint8_t blocks, runs;
    uint8_t bits; /* TNT: those used; MEMO_AT: bytes of the last instruction, if the last block did
                     not run to its end, else 0 */
    struct ptl__effect stack;
    struct ptl__node *push[MEMO_PUSH]; /* calling blocks, the youngest last */
};

/* An event that the packets in some bytes of trace tell, always the same but for its time. */
struct ptl__told {
    uint64_t ip;
    uint32_t insns;        /* what ran since the one before, or the beginning */
    uint16_t blocks, runs; /* - */
    uint16_t at;           /* bytes from the beginning to the packet it is told with */
    uint8_t on;            /* tracing was switched on, not off */
    uint8_t resumed;
    uint8_t have_ip;
};

#define STRETCH_EVENTS 8

/* What the packets in some bytes of trace do at a node. Two cache lines: what it is known by and
 * where it leads to; what it does. */
struct ptl__stretch {
    struct ptl__node *from; /* NULL: free */
    uint64_t last_ip;       /* before: the bits that matter */
    uint64_t bytes[STRETCH_SIZE / 8];
    struct ptl__node *next;      /* as in a memo */
    struct ptl__stretch *follow; /* what came next last time, or NULL */

    uint64_t new_last_ip; /* after */
    struct ptl__node *last;
    uint32_t uses;
    uint32_t told;      /* the first of its events, in the view */
    uint16_t insns;     /* since the last event that is told */
    uint8_t len;        /* bytes used; 0: not worth while */
    uint8_t events : 1; /* tracing was switched off and on: */
    uint8_t pge : 1;    /* - and nothing has run since */
    uint8_t ipc : 3;    /* compression of the first address; suppressed: there is none */
    struct ptl__effect stack;
    uint8_t ntold;
    uint8_t blocks, runs; /* since the last event that is told */
    struct ptl__node *push[STRETCH_PUSH];
};

/* A hash table of either: pointers into memory that is filled from its beginning, so that what
 * is found together lies together. */
struct ptl__memos {
    void **slots;
    size_t nslots; /* a power of two, or 0 */
    size_t used;
    struct ptl__chunk *chunks;
};

struct ptl__view {
    struct ptl__pool *pool; /* the cache's */
    const struct ptl_space *space;
    uint64_t version;
    struct ptl__table nodes;
    struct ptl__chunk *chunks;   /* of nodes */
    struct ptl__memos memos;     /* struct ptl__memo */
    struct ptl__memos stretches; /* struct ptl__stretch */
    struct ptl__told *told;      /* events of stretches */
    size_t ntold, told_cap;
    unsigned forgotten;     /* how often all stretches have been freed */
    struct ptl__view *next; /* most recently used first */
};

struct ptl__cache {
    struct ptl__pool pool; /* of all that follows */
    struct ptl__view *views;
    unsigned nviews;
    struct ptl__table codes;
    struct ptl__chunk *chunks; /* of codes */
    void (*free_user)(void *user);
    uint8_t cold; /* new nodes are not warm */
};

/* What a block is made of. */
struct ptl__code {
    struct ptl_block block; /* first: users only see this */
    void *chain;
    uint64_t offset;  /* in the section */
    uint64_t map_end; /* the block was cut where the mapping ends, here; else 0 */
    uint8_t *own;     /* copied code bytes, or NULL */
    uint64_t runs;    /* PTL_FLOW_COVERAGE */
};

static inline void ptl__code_ran(const struct ptl__node *node, uint64_t times)
{
    ((struct ptl__code *)(uintptr_t)node->block)->runs += times;
}

/* The block ran once. */
static inline void ptl__node_ran(struct ptl__node *node)
{
    if (++node->ran == UINT32_MAX) {
        ptl__code_ran(node, node->ran);
        node->ran = 0;
    }
}

/* All items, in no order. */
void ptl__chunks_each(const struct ptl__chunk *chunks, size_t size,
                      void (*each)(void *context, void *item), void *context);

/* Zeroed memory for one more item, at a cache line. NULL: none. */
void *ptl__chunk_item(struct ptl__pool *pool, struct ptl__chunk **chunks, size_t size);
void ptl__chunks_free(struct ptl__pool *pool, struct ptl__chunk *chunks);

/* All zero is an empty cache. Its pool stays, and is to be freed after it. */
void ptl__cache_free(struct ptl__cache *cache);

/* The view of this version of the space. Returns NULL without memory. Pointers to nodes of
 * other views may be invalid afterwards. */
struct ptl__view *ptl__cache_view(struct ptl__cache *cache, const struct ptl_space *space,
                                  uint64_t version);

static inline uint64_t ptl__node_end(const struct ptl__node *node)
{
    return node->ip + node->size;
}

/* 16- and 32-bit code wraps. */
static inline uint64_t ptl__mode_ip(uint8_t mode, uint64_t ip)
{
    return mode == PTL_MODE_64 ? ip : mode == PTL_MODE_32 ? (uint32_t)ip : (uint16_t)ip;
}

/* The block at `ip`. Returns 0, PTL_NOMAP, PTL_BAD_INSN, or PTL_NOMEM. */
int ptl__view_node(struct ptl__cache *cache, struct ptl__view *view, uint64_t ip, uint8_t mode,
                   struct ptl__node **node);

/* The same, if it is known already; else NULL. */
struct ptl__node *ptl__view_known(const struct ptl__view *view, uint64_t ip, uint8_t mode);

/* Instructions and bytes of the block before `ip` (block->ip < ip < its end): returns 0 if an
 * instruction begins there. */
int ptl__block_split(const struct ptl_block *block, uint64_t ip, uint16_t *ninsn, uint32_t *size);
/* The bytes of the first `ninsn` instructions; *last: of the last of them. */
uint32_t ptl__block_bytes(const struct ptl_block *block, uint16_t ninsn, struct ptl_insn *last);

#endif
