/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.h - from a 32-bit key to a 32-bit value: an open-addressed table.
 */
#ifndef LIBPT_SIDEBAND_MAP_H
#define LIBPT_SIDEBAND_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ptl__map {
    struct ptl__map_slot {
        uint32_t key, value;
    } * slot;
    size_t cap, used; /* cap: 0 or a power of two */
    uint8_t *full;
};

#define PTL__MAP_NONE UINT32_MAX

/* The value, or PTL__MAP_NONE. */
uint32_t ptl__map_get(const struct ptl__map *map, uint32_t key);
/* Returns 0 or PTL_NOMEM. */
int ptl__map_put(struct ptl__map *map, uint32_t key, uint32_t value);
void ptl__map_free(struct ptl__map *map);

#endif
