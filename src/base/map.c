/* SPDX-License-Identifier: MIT */
/* Hash map with open addressing, linear probing and removal by shifting back (no tombstones, so a
 * map in and out of which keys pass for ever stays as fast as a new one). */
#include "base/map.h"

#include <glib.h>

#include "base/pages.h"

/* As slots are never listed, no result depends on the seed. */
static inline size_t home_slot(const struct lull_map *map, uint64_t key)
{
    return lull_hash_seeded(key, map->seed) & (map->capacity - 1);
}

/* The slot that holds `key`, or the free one where it would go. The map must have a free slot. */
static inline size_t probe(const struct lull_map *map, uint64_t key)
{
    size_t slot = home_slot(map, key);
    while (map->slots[slot].value != LULL_MAP_NONE && map->slots[slot].key != key) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return slot;
}

static void allocate(struct lull_map *map, size_t capacity)
{
    g_assert(capacity <= G_MAXSIZE / sizeof *map->slots);
    map->slots = lull_pages_new(capacity * sizeof *map->slots);
    map->capacity = capacity;
    lull_map_clear(map);
}

static void grow(struct lull_map *map)
{
    if (map->capacity == 0) {
        map->seed = (uint64_t)g_random_int() << 32 | g_random_int();
        allocate(map, 16);
        return;
    }
    struct lull_map old = *map;
    g_assert(old.capacity <= G_MAXSIZE / 2);
    allocate(map, old.capacity * 2);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].value != LULL_MAP_NONE) {
            map->slots[probe(map, old.slots[i].key)] = old.slots[i];
        }
    }
    map->count = old.count;
    lull_pages_free(old.slots, old.capacity * sizeof *old.slots);
}

uint32_t lull_map_find(const struct lull_map *map, uint64_t key)
{
    return map->count == 0 ? LULL_MAP_NONE : map->slots[probe(map, key)].value;
}

void lull_map_fetch(const struct lull_map *map, uint64_t key)
{
    if (map->count) {
        __builtin_prefetch(&map->slots[home_slot(map, key)]);
    }
}

uint32_t lull_map_insert(struct lull_map *map, uint64_t key, uint32_t value)
{
    g_assert(value != LULL_MAP_NONE);
    if (map->count >= map->capacity / 8 * 5) { /* fuller, probes become long */
        grow(map);
    }
    struct lull_map_slot *slot = &map->slots[probe(map, key)];
    uint32_t old = slot->value;
    map->count += old == LULL_MAP_NONE;
    *slot = (struct lull_map_slot){.key = key, .value = value};
    return old;
}

uint32_t lull_map_remove(struct lull_map *map, uint64_t key)
{
    if (map->count == 0) {
        return LULL_MAP_NONE;
    }
    size_t mask = map->capacity - 1, hole = probe(map, key);
    uint32_t old = map->slots[hole].value;
    if (old == LULL_MAP_NONE) {
        return LULL_MAP_NONE;
    }
    /* An entry further on may move into the hole unless its home lies after the hole: then probing
     * from its home would no longer meet it. */
    for (size_t next = (hole + 1) & mask; map->slots[next].value != LULL_MAP_NONE;
         next = (next + 1) & mask) {
        size_t home = home_slot(map, map->slots[next].key);
        if (((next - home) & mask) >= ((next - hole) & mask)) {
            map->slots[hole] = map->slots[next];
            hole = next;
        }
    }
    map->slots[hole].value = LULL_MAP_NONE;
    map->count--;
    return old;
}

void lull_map_clear(struct lull_map *map)
{
    for (size_t i = 0; i < map->capacity; i++) {
        map->slots[i] = (struct lull_map_slot){.key = 0, .value = LULL_MAP_NONE};
    }
    map->count = 0;
}

void lull_map_free(struct lull_map *map)
{
    lull_pages_free(map->slots, map->capacity * sizeof *map->slots);
    *map = (struct lull_map){0};
}
