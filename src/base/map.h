/* SPDX-License-Identifier: MIT */
/* A hash map from 64-bit keys to 32-bit values (indices, as a rule) for hot paths: open addressing,
 * no allocation but for growth. A zeroed map is a valid empty one. There is no iteration on
 * purpose: what a program prints must not depend on the order of slots. */
#ifndef LULL_BASE_MAP_H
#define LULL_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

/* "Not in the map"; the one value that cannot be stored. The same number as LULL_NONE. */
#define LULL_MAP_NONE UINT32_MAX

struct lull_map_slot {
    uint64_t key;
    uint32_t value; /* LULL_MAP_NONE: free */
};

struct lull_map {
    struct lull_map_slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
    uint64_t seed;
};

/* A place for `key`, of which the low bits are used. Keys come from traces: the seed is random, so that a hostile trace cannot
 * choose keys that all have the same place. Each bit depends on all bits of the key: those of one product depend on the lower
 * bits alone (or hardly on these), and keys that follow each other would lie in one long row. */
static inline uint64_t lull_hash_seeded(uint64_t key, uint64_t seed)
{
    unsigned __int128 product =
        (unsigned __int128)(key ^ seed) * (UINT64_C(0x9e3779b97f4a7c15) ^ (seed << 1));
    product = (unsigned __int128)((uint64_t)product ^ (uint64_t)(product >> 64)) *
              UINT64_C(0xd6e8feb86659fd93);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The value under `key`, or LULL_MAP_NONE. */
uint32_t lull_map_find(const struct lull_map *map, uint64_t key);
/* The memory where `key` would be comes closer: a find that follows soon does not wait for it. */
void lull_map_fetch(const struct lull_map *map, uint64_t key);
/* Puts `value` (not LULL_MAP_NONE) under `key`. Returns the value it replaces, or LULL_MAP_NONE. */
uint32_t lull_map_insert(struct lull_map *map, uint64_t key, uint32_t value);
/* Takes `key` out. Returns its value, or LULL_MAP_NONE if it was not there. */
uint32_t lull_map_remove(struct lull_map *map, uint64_t key);
/* Takes all keys out, keeps the memory. */
void lull_map_clear(struct lull_map *map);
/* Frees the memory and leaves a valid empty map. */
void lull_map_free(struct lull_map *map);

/* For keys of GLib's hash tables: `size` bytes, a multiple of 8 without padding. */
static inline unsigned lull_hash_words(const void *key, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 0; at < size; at += sizeof hash) {
        uint64_t word;
        __builtin_memcpy(&word, (const char *)key + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (unsigned)hash;
}

/* The same of one word. g_int64_hash() folds one half over the other, so that keys of two numbers
 * (a << 32 | b) that lie near each other have few values. */
static inline unsigned lull_hash_word(const void *key)
{
    return lull_hash_words(key, sizeof(uint64_t));
}

#endif
