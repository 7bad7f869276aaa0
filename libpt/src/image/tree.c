/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.c - see tree.h. An AVL tree whose one primitive is `join`: concatenate two trees
 * around a range (Blelloch, Ferizovic, Sun: "Just Join for Parallel Ordered Sets", 2016).
 * Heights of siblings differ by one at most, so recursion is as deep as 1.44 log2(n).
 *
 * Ownership inside this file: `node`, `balance`, `join` consume the references of the trees
 * they are given, also when they fail; NULL from them is failure, as none of them makes
 * an empty tree.
 */
#include "image/tree.h"

#include "base/alloc.h"

#include <stdatomic.h>

struct ptl__node {
    struct ptl__range range;
    struct ptl__node *left, *right;
    atomic_size_t refs;
    int height;
};

static int height(const struct ptl__node *t)
{
    return t ? t->height : 0;
}

struct ptl__node *ptl__tree_ref(struct ptl__node *tree)
{
    if (tree)
        atomic_fetch_add_explicit(&tree->refs, 1, memory_order_relaxed);
    return tree;
}

void ptl__tree_unref(struct ptl__node *tree)
{
    while (tree && atomic_fetch_sub_explicit(&tree->refs, 1, memory_order_acq_rel) == 1) {
        struct ptl__node *right = tree->right;
        ptl__tree_unref(tree->left);
        ptl_section_unref(tree->range.section);
        ptl__free(tree);
        tree = right;
    }
}

static struct ptl__node *node(struct ptl__node *left, const struct ptl__range *range,
                              struct ptl__node *right)
{
    struct ptl__node *n = ptl__malloc(sizeof(*n));

    if (!n) {
        ptl__tree_unref(left);
        ptl__tree_unref(right);
        return NULL;
    }
    n->range = *range;
    n->left = left;
    n->right = right;
    n->height = 1 + (height(left) > height(right) ? height(left) : height(right));
    atomic_init(&n->refs, 1);
    (void)ptl_section_ref(range->section);
    return n;
}

/* node(left, range, inner) where `inner` may have failed. */
static struct ptl__node *node_left_of(struct ptl__node *left, const struct ptl__range *range,
                                      struct ptl__node *inner)
{
    if (inner)
        return node(left, range, inner);
    ptl__tree_unref(left);
    return NULL;
}

static struct ptl__node *node_right_of(struct ptl__node *inner, const struct ptl__range *range,
                                       struct ptl__node *right)
{
    if (inner)
        return node(inner, range, right);
    ptl__tree_unref(right);
    return NULL;
}

/* `left` is two higher than `right`: rotate to the right, once or twice. */
static struct ptl__node *rotate_right(struct ptl__node *left, const struct ptl__range *range,
                                      struct ptl__node *right)
{
    struct ptl__node *l = left->left, *mid = left->right, *res;

    if (height(l) >= height(mid)) {
        res = node_left_of(ptl__tree_ref(l), &left->range, node(ptl__tree_ref(mid), range, right));
    } else {
        struct ptl__node *b = node(ptl__tree_ref(mid->right), range, right);
        struct ptl__node *a =
            b ? node(ptl__tree_ref(l), &left->range, ptl__tree_ref(mid->left)) : NULL;
        res = a ? node(a, &mid->range, b) : node_left_of(b, range, NULL);
    }
    ptl__tree_unref(left);
    return res;
}

static struct ptl__node *rotate_left(struct ptl__node *left, const struct ptl__range *range,
                                     struct ptl__node *right)
{
    struct ptl__node *r = right->right, *mid = right->left, *res;

    if (height(r) >= height(mid)) {
        res = node_right_of(node(left, range, ptl__tree_ref(mid)), &right->range, ptl__tree_ref(r));
    } else {
        struct ptl__node *a = node(left, range, ptl__tree_ref(mid->left));
        struct ptl__node *b =
            a ? node(ptl__tree_ref(mid->right), &right->range, ptl__tree_ref(r)) : NULL;
        res = b ? node(a, &mid->range, b) : node_left_of(a, range, NULL);
    }
    ptl__tree_unref(right);
    return res;
}

/* node(left, range, right) of trees whose heights differ by two at most. */
static struct ptl__node *balance(struct ptl__node *left, const struct ptl__range *range,
                                 struct ptl__node *right)
{
    if (height(left) > height(right) + 1)
        return rotate_right(left, range, right);
    if (height(right) > height(left) + 1)
        return rotate_left(left, range, right);
    return node(left, range, right);
}

/* A tree of everything in `left`, `range`, and everything in `right`, in that order. Goes
 * down the higher tree until the other one fits beside what is there. */
static struct ptl__node *join(struct ptl__node *left, const struct ptl__range *range,
                              struct ptl__node *right)
{
    struct ptl__node *inner, *res = NULL;

    if (left && height(left) > height(right) + 1) {
        inner = join(ptl__tree_ref(left->right), range, right);
        if (inner)
            res = balance(ptl__tree_ref(left->left), &left->range, inner);
        ptl__tree_unref(left);
        return res;
    }
    if (right && height(right) > height(left) + 1) {
        inner = join(left, range, ptl__tree_ref(right->left));
        if (inner)
            res = balance(inner, &right->range, ptl__tree_ref(right->right));
        ptl__tree_unref(right);
        return res;
    }
    return node(left, range, right);
}

/* `*out`: what `tree` has below `addr`; a range that straddles it is cut. */
static int below(struct ptl__node **out, struct ptl__node *tree, uint64_t addr)
{
    struct ptl__range range;
    struct ptl__node *part = NULL;

    *out = NULL;
    while (tree && addr <= tree->range.begin)
        tree = tree->left;
    if (!tree)
        return 0;
    range = tree->range;
    if (addr <= range.last)
        range.last = addr - 1;
    else if (below(&part, tree->right, addr) < 0)
        return PTL_NOMEM;
    *out = join(ptl__tree_ref(tree->left), &range, part);
    return *out ? 0 : PTL_NOMEM;
}

/* `*out`: what `tree` has above `addr`, exclusive. */
static int above(struct ptl__node **out, struct ptl__node *tree, uint64_t addr)
{
    struct ptl__range range;
    struct ptl__node *part = NULL;

    *out = NULL;
    while (tree && addr >= tree->range.last)
        tree = tree->right;
    if (!tree)
        return 0;
    range = tree->range;
    if (addr >= range.begin) {
        range.offset += addr + 1 - range.begin;
        range.begin = addr + 1;
    } else if (above(&part, tree->left, addr) < 0) {
        return PTL_NOMEM;
    }
    *out = join(part, &range, ptl__tree_ref(tree->right));
    return *out ? 0 : PTL_NOMEM;
}

/* Concatenate without a range in the middle. Consumes both. */
static int concat(struct ptl__node **out, struct ptl__node *left, struct ptl__node *right)
{
    const struct ptl__node *first = right;
    struct ptl__node *rest = NULL;
    int status = 0;

    if (!left || !right) {
        *out = left ? left : right;
        return 0;
    }
    while (first->left)
        first = first->left;
    if (above(&rest, right, first->range.last) == 0)
        *out = join(left, &first->range, rest);
    else
        *out = node_left_of(left, &first->range, NULL);
    if (!*out)
        status = PTL_NOMEM;
    ptl__tree_unref(right);
    return status;
}

int ptl__tree_replace(struct ptl__node **out, struct ptl__node *tree,
                      const struct ptl__range *range)
{
    struct ptl__node *left, *right;

    *out = NULL;
    if (below(&left, tree, range->begin) < 0)
        return PTL_NOMEM;
    if (above(&right, tree, range->last) < 0) {
        ptl__tree_unref(left);
        return PTL_NOMEM;
    }
    if (!range->section)
        return concat(out, left, right);
    *out = join(left, range, right);
    return *out ? 0 : PTL_NOMEM;
}

const struct ptl__range *ptl__tree_find(const struct ptl__node *tree, uint64_t addr)
{
    while (tree) {
        if (addr < tree->range.begin)
            tree = tree->left;
        else if (addr > tree->range.last)
            tree = tree->right;
        else
            return &tree->range;
    }
    return NULL;
}

int ptl__tree_each(const struct ptl__node *tree,
                   int (*fn)(void *context, const struct ptl__range *range), void *context)
{
    int stop;

    for (; tree; tree = tree->right) {
        stop = ptl__tree_each(tree->left, fn, context);
        if (!stop)
            stop = fn(context, &tree->range);
        if (stop)
            return stop;
    }
    return 0;
}
