/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks.c - the cache of blocks.
 */
#include "flow/blocks.h"

#include "base/alloc.h"
#include "flow/unfold.h"
#include "image/section.h"

#include <string.h>

#define CHUNK_MIN   ((size_t)16 << 10) /* bytes */
#define CHUNK_MAX   ((size_t)512 << 10)
#define CHUNK_GROWS 2   /* bits */
#define LINE_SIZE   128 /* a pair, which processors fetch together */
#define MAX_VIEWS   64
#define MIN_BUCKETS 256
#define READ_AHEAD  256 /* bytes to copy at a time where code is not in memory */

/* Memory for many items of one size, freed together. */
struct ptl__chunk {
    struct ptl__chunk *next;
    size_t used, cap, size; /* size: of all of it, in bytes */
    unsigned char *items;   /* behind, at a cache line */
};

void *ptl__chunk_item(struct ptl__pool *pool, struct ptl__chunk **chunks, size_t size)
{
    struct ptl__chunk *c = *chunks;

    if (!c || c->used == c->cap) {
        size_t all = !c ? CHUNK_MIN : c->size << CHUNK_GROWS;

        all = all < CHUNK_MAX ? all : CHUNK_MAX;
        c = ptl__pool_get(pool, all);
        if (!c)
            return NULL;
        c->size = all;
        c->cap = (all - sizeof(*c) - LINE_SIZE) / size;
        c->items = (unsigned char *)(c + 1);
        c->items += -(uintptr_t)c->items & (LINE_SIZE - 1);
        c->next = *chunks;
        *chunks = c;
    }
    return c->items + size * c->used++;
}

void ptl__chunks_each(const struct ptl__chunk *c, size_t size,
                      void (*each)(void *context, void *item), void *context)
{
    for (; c; c = c->next)
        for (size_t i = 0; i < c->used; i++)
            each(context, c->items + i * size);
}

void ptl__chunks_free(struct ptl__pool *pool, struct ptl__chunk *c)
{
    while (c) {
        struct ptl__chunk *next = c->next;
        ptl__pool_put(pool, c, c->size);
        c = next;
    }
}

/* --- hashing ---------------------------------------------------------------------- */

static size_t hash(uint64_t ip, uint64_t salt, size_t nbuckets)
{
    uint64_t h = (ip ^ salt) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32) & (nbuckets - 1);
}

static size_t node_bucket(const void *entry, size_t nbuckets)
{
    const struct ptl__node *n = entry;
    return hash(n->ip, n->mode, nbuckets);
}

static size_t code_bucket(const void *entry, size_t nbuckets)
{
    const struct ptl__code *c = entry;
    return hash(c->block.ip, (uintptr_t)c->block.section + c->block.mode, nbuckets);
}

static void table_free(struct ptl__pool *pool, struct ptl__table *t)
{
    ptl__pool_put(pool, (void *)t->buckets, t->nbuckets * sizeof(void *));
}

/* More buckets when there is an entry for each. `chain` is the offset of the pointer
 * to the next in the bucket. Fails only if there is no table yet. */
static int grow(struct ptl__pool *pool, struct ptl__table *t, size_t chain,
                size_t (*bucket_of)(const void *, size_t))
{
    size_t n = t->nbuckets ? t->nbuckets * 4 : MIN_BUCKETS;
    void **bigger;

    if (t->used < t->nbuckets)
        return 0;
    bigger = ptl__pool_get(pool, n * sizeof(void *));
    if (!bigger)
        return t->nbuckets ? 0 : -1;
    for (size_t i = 0; i < t->nbuckets; i++) {
        void *next, *entry = t->buckets[i];
        for (; entry; entry = next) {
            void **link = (void **)(void *)((char *)entry + chain);
            size_t to = bucket_of(entry, n);
            next = *link;
            *link = bigger[to];
            bigger[to] = entry;
        }
    }
    table_free(pool, t);
    t->buckets = bigger;
    t->nbuckets = n;
    return 0;
}

/* --- finding instructions ----------------------------------------------------------- */

/* Where the bytes of a block come from. */
struct source {
    const struct ptl_space *space;
    struct ptl_mapping map;
    uint64_t ip;
    uint64_t avail;       /* bytes from ip to the mapping's end */
    const uint8_t *bytes; /* at ip */
    size_t len;           /* of `bytes` */
    uint8_t *own;         /* `bytes`, if they are a copy */
};

/* Copy more of a mapping that is not in memory. Returns 0 if there is no more. */
static int read_more(struct source *s)
{
    size_t want = s->avail - s->len < READ_AHEAD ? (size_t)(s->avail - s->len) : READ_AHEAD;
    uint8_t *bigger;
    int got;

    if (s->map.bytes || !want)
        return 0;
    bigger = ptl__realloc(s->own, s->len + want);
    if (!bigger)
        return PTL_NOMEM;
    s->own = bigger;
    s->bytes = bigger;
    got = ptl_space_read(s->space, s->own + s->len, want, s->ip + s->len);
    if (got <= 0)
        return 0;
    s->len += (size_t)got;
    return 1;
}

static int open_source(struct source *s, const struct ptl_space *space, uint64_t ip)
{
    int status = ptl_space_find(space, ip, &s->map);

    if (status < 0)
        return status;
    s->space = space;
    s->ip = ip;
    s->avail = s->map.end - ip; /* wraps at the top */
    s->own = NULL;
    s->bytes = s->map.bytes ? s->map.bytes + (ip - s->map.begin) : NULL;
    s->len = s->map.bytes ? (size_t)s->avail : 0;
    return 0;
}

static void ends_with(struct ptl_block *block, const struct ptl_insn *insn)
{
    block->ninsn++;
    block->size += insn->size;
    block->iclass = insn->iclass;
    block->kind = insn->kind;
    block->last_size = insn->size;
}

static int ends_block(const struct ptl_insn *insn)
{
    return insn->iclass != PTL_INSN_OTHER || insn->kind == PTL_KIND_VMPTRLD;
}

static int is_direct(const struct ptl_insn *insn)
{
    return insn->iclass == PTL_INSN_CALL || insn->iclass == PTL_INSN_JMP ||
           insn->iclass == PTL_INSN_JCC;
}

/* Fill `block` up to its terminator, a limit, or what cannot be decoded; *cut: the mapping's
 * end cuts an instruction. */
static int find_insns(struct source *s, struct ptl_block *block, int *cut)
{
    struct ptl_insn insn;
    int status, more;

    *cut = 0;
    while (block->ninsn < BLOCK_MAX_INSNS) {
        status = ptl_insn_decode(&insn, s->bytes + block->size, s->len - block->size,
                                 (enum ptl_exec_mode)block->mode);
        if (status == PTL_EOS) {
            more = read_more(s);
            if (more > 0)
                continue;
            *cut = 1;
            return more < 0 ? more : block->ninsn ? 0 : PTL_EOS;
        }
        if (status < 0)
            return block->ninsn ? 0 : status;
        ends_with(block, &insn);
        if (ends_block(&insn)) {
            if (is_direct(&insn))
                block->target = ptl_insn_target(&insn, block->ip + block->size - insn.size);
            return 0;
        }
    }
    return 0;
}

/* One instruction that crosses into the next mapping. */
static int find_crossing(struct source *s, struct ptl_block *block)
{
    struct ptl_insn insn;
    uint8_t *buf = ptl__realloc(s->own, PTL_INSN_MAX_SIZE);
    int len, status;

    if (!buf)
        return PTL_NOMEM;
    s->own = buf;
    s->bytes = buf;
    len = ptl_space_read(s->space, buf, PTL_INSN_MAX_SIZE, s->ip);
    if (len < 0)
        return len;
    status = ptl_insn_decode(&insn, buf, (size_t)len, (enum ptl_exec_mode)block->mode);
    if (status < 0)
        return PTL_BAD_INSN; /* also when its end is nowhere */
    ends_with(block, &insn);
    if (is_direct(&insn))
        block->target = ptl_insn_target(&insn, block->ip);
    return 0;
}

/* As find_insns(). The file may have become shorter, and its bytes 0: then its code ends where it
 * does. */
static int find_left(struct source *s, struct ptl_block *block, int *cut)
{
    const struct ptl_block empty = *block;
    const int status = find_insns(s, block, cut);
    size_t read = block->size, more = s->len - block->size, left;

    if (!s->map.bytes)
        return status;
    if (status < 0 || *cut)
        read += more < PTL_INSN_MAX_SIZE ? more : PTL_INSN_MAX_SIZE;
    left = ptl__section_left(s->map.section, s->bytes, read);
    if (left == read)
        return status;
    *block = empty;
    s->len = left;
    return left ? find_insns(s, block, cut) : PTL_NOMAP;
}

/* --- code ------------------------------------------------------------------------- */

static struct ptl__code *find_code(const struct ptl__cache *cache, const struct source *s,
                                   uint8_t mode)
{
    uint64_t offset = s->map.offset + (s->ip - s->map.begin);
    struct ptl__code *c;

    if (!cache->codes.nbuckets)
        return NULL;
    c = cache->codes.buckets[hash(s->ip, (uintptr_t)s->map.section + mode, cache->codes.nbuckets)];
    for (; c; c = c->chain) {
        if (c->block.ip != s->ip || c->block.section != s->map.section || c->block.mode != mode ||
            c->offset != offset)
            continue;
        if (c->map_end ? c->map_end == s->map.end : c->block.size - 1 <= s->avail - 1)
            return c;
    }
    return NULL;
}

static int new_code(struct ptl__cache *cache, struct source *s, uint8_t mode,
                    struct ptl__code **code)
{
    struct ptl_block block = {.ip = s->ip, .mode = mode, .section = s->map.section};
    struct ptl__code *c;
    int cut, crossing, status = find_left(s, &block, &cut);

    crossing = status == PTL_EOS;
    if (crossing)
        status = find_crossing(s, &block);
    if (status < 0)
        return status;
    if (grow(&cache->pool, &cache->codes, offsetof(struct ptl__code, chain), code_bucket) < 0)
        return PTL_NOMEM;
    c = ptl__chunk_item(&cache->pool, &cache->chunks, sizeof(*c));
    if (!c)
        return PTL_NOMEM;
    block.bytes = s->bytes;
    c->block = block;
    c->offset = s->map.offset + (s->ip - s->map.begin);
    c->map_end = cut ? s->map.end : 0;
    c->own = s->own;
    s->own = NULL;
    if (!crossing) { /* else it is what two mappings make of it: not to be found again */
        size_t at = code_bucket(c, cache->codes.nbuckets);
        c->chain = cache->codes.buckets[at];
        cache->codes.buckets[at] = c;
        cache->codes.used++;
    }
    *code = c;
    return 0;
}

/* --- nodes ------------------------------------------------------------------------ */

static int new_node(struct ptl__cache *cache, struct ptl__view *view, uint64_t ip, uint8_t mode,
                    struct ptl__node **node)
{
    struct source s;
    struct ptl__code *code;
    struct ptl__node *n;
    size_t at;
    int status = open_source(&s, view->space, ip);

    if (status < 0)
        return status;
    code = find_code(cache, &s, mode);
    if (!code)
        status = new_code(cache, &s, mode, &code);
    ptl__free(s.own);
    if (status < 0)
        return status;
    if (grow(view->pool, &view->nodes, offsetof(struct ptl__node, chain), node_bucket) < 0)
        return PTL_NOMEM;
    n = ptl__chunk_item(view->pool, &view->chunks, sizeof(*n));
    if (!n)
        return PTL_NOMEM;
    n->block = &code->block;
    n->ip = ip;
    n->mode = mode;
    n->size = code->block.size;
    n->target = code->block.target;
    n->ninsn = code->block.ninsn;
    n->iclass = code->block.iclass;
    n->last_size = code->block.last_size;
    n->warm = !cache->cold;
    at = node_bucket(n, view->nodes.nbuckets);
    n->chain = view->nodes.buckets[at];
    view->nodes.buckets[at] = n;
    view->nodes.used++;
    *node = n;
    return 0;
}

struct ptl__node *ptl__view_known(const struct ptl__view *view, uint64_t ip, uint8_t mode)
{
    struct ptl__node *n = NULL;

    if (view->nodes.nbuckets)
        n = view->nodes.buckets[hash(ip, mode, view->nodes.nbuckets)];
    while (n && (n->ip != ip || n->mode != mode))
        n = n->chain;
    return n;
}

int ptl__view_node(struct ptl__cache *cache, struct ptl__view *view, uint64_t ip, uint8_t mode,
                   struct ptl__node **node)
{
    *node = ptl__view_known(view, ip, mode);
    return *node ? 0 : new_node(cache, view, ip, mode, node);
}

/* --- views ------------------------------------------------------------------------ */

static void memos_free(struct ptl__pool *pool, struct ptl__memos *memos)
{
    ptl__pool_put(pool, (void *)memos->slots, memos->nslots * sizeof(void *));
    ptl__chunks_free(pool, memos->chunks);
}

static void view_free(struct ptl__view *view)
{
    ptl__unfold(view);
    ptl__chunks_free(view->pool, view->chunks);
    table_free(view->pool, &view->nodes);
    memos_free(view->pool, &view->memos);
    memos_free(view->pool, &view->stretches);
    ptl__free(view->told);
    ptl__free(view);
}

struct ptl__view *ptl__cache_view(struct ptl__cache *cache, const struct ptl_space *space,
                                  uint64_t version)
{
    struct ptl__view **link = &cache->views, *view;

    while ((view = *link) && (view->space != space || view->version != version)) {
        if (!view->next && cache->nviews == MAX_VIEWS) { /* the least recently used */
            *link = NULL;
            view_free(view);
            cache->nviews--;
            break;
        }
        link = &view->next;
    }
    if (*link) {
        *link = view->next;
    } else {
        view = ptl__calloc(1, sizeof(*view));
        if (!view)
            return NULL;
        view->pool = &cache->pool;
        view->space = space;
        view->version = version;
        cache->nviews++;
    }
    view->next = cache->views;
    cache->views = view;
    return view;
}

static void free_codes(struct ptl__cache *cache)
{
    for (struct ptl__chunk *c = cache->chunks; c; c = c->next) {
        struct ptl__code *codes = (struct ptl__code *)(void *)c->items;
        for (size_t i = 0; i < c->used; i++) {
            if (codes[i].block.user && cache->free_user)
                cache->free_user(codes[i].block.user);
            ptl__free(codes[i].own);
        }
    }
    ptl__chunks_free(&cache->pool, cache->chunks);
}

void ptl__cache_free(struct ptl__cache *cache)
{
    struct ptl__pool pool;

    while (cache->views) {
        struct ptl__view *next = cache->views->next;
        view_free(cache->views);
        cache->views = next;
    }
    free_codes(cache);
    table_free(&cache->pool, &cache->codes);
    pool = cache->pool;
    memset(cache, 0, sizeof(*cache));
    cache->pool = pool;
}

/* --- inside a block ------------------------------------------------------------------ */

int ptl__block_split(const struct ptl_block *block, uint64_t ip, uint16_t *ninsn, uint32_t *size)
{
    struct ptl_insn insn;
    uint64_t want = ip - block->ip;

    *ninsn = 0;
    *size = 0;
    while (*size < want) {
        if (ptl_insn_decode(&insn, block->bytes + *size, block->size - *size,
                            (enum ptl_exec_mode)block->mode) < 0)
            return -1;
        *size += insn.size;
        ++*ninsn;
    }
    return *size == want ? 0 : -1;
}

uint32_t ptl__block_bytes(const struct ptl_block *block, uint16_t ninsn, struct ptl_insn *last)
{
    uint32_t size = 0;

    for (uint16_t i = 0; i < ninsn; i++) {
        if (ptl_insn_decode(last, block->bytes + size, block->size - size,
                            (enum ptl_exec_mode)block->mode) < 0)
            break;
        size += last->size;
    }
    return size;
}
