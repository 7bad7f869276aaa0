/* SPDX-License-Identifier: BSD-3-Clause */
/* map.c - see map.h. */
#include "sideband/map.h"
#include "base/alloc.h"

#include <pt/status.h>

/* The keys come from recordings: the address of the slots keeps those who write them from choosing
 * keys that collide. */
static size_t place(const struct ptl__map *map, uint32_t key)
{
    uint64_t h = ((uintptr_t)map->slot ^ key) * 0x9e3779b97f4a7c15;
    size_t i;

    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93;
    i = (size_t)(h >> 32) & (map->cap - 1);
    while (map->full[i] && map->slot[i].key != key)
        i = (i + 1) & (map->cap - 1);
    return i;
}

uint32_t ptl__map_get(const struct ptl__map *map, uint32_t key)
{
    size_t i;

    if (!map->cap)
        return PTL__MAP_NONE;
    i = place(map, key);
    return map->full[i] ? map->slot[i].value : PTL__MAP_NONE;
}

static int enlarge(struct ptl__map *map)
{
    struct ptl__map old = *map;
    size_t cap = old.cap ? old.cap * 2 : 64;

    map->slot = ptl__calloc(cap, sizeof(*map->slot));
    map->full = ptl__calloc(cap, 1);
    map->cap = cap;
    if (!map->slot || !map->full) {
        ptl__map_free(map);
        *map = old;
        return PTL_NOMEM;
    }
    for (size_t i = 0; i < old.cap; i++) {
        if (old.full[i]) {
            size_t to = place(map, old.slot[i].key);

            map->slot[to] = old.slot[i];
            map->full[to] = 1;
        }
    }
    ptl__map_free(&old);
    return 0;
}

int ptl__map_put(struct ptl__map *map, uint32_t key, uint32_t value)
{
    size_t i;

    if (map->used >= map->cap / 2 && enlarge(map) < 0)
        return PTL_NOMEM;
    i = place(map, key);
    map->used += !map->full[i];
    map->full[i] = 1;
    map->slot[i] = (struct ptl__map_slot){key, value};
    return 0;
}

void ptl__map_free(struct ptl__map *map)
{
    ptl__free(map->slot);
    ptl__free(map->full);
    *map = (struct ptl__map){0};
}
