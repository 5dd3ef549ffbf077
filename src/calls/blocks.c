/* SPDX-License-Identifier: MIT */
/* A hash table of chains: programs free in any order, and what is freed makes room for the next. */
#include "calls/blocks.h"

#include <glib.h>
#include <string.h>

#include "base/map.h"
#include "base/pages.h"

enum { FIRST_HEADS = 64 };

static uint32_t *chain_of(const struct lull_blocks *blocks, uint64_t address)
{
    return &blocks->heads[lull_hash_seeded(address, blocks->seed) & (blocks->n_heads - 1)];
}

/* Twice as many chains. Those that are free are in none. */
static void widen(struct lull_blocks *blocks)
{
    const size_t n_before = blocks->n_heads;
    uint32_t *before = blocks->heads;
    if (n_before == 0) {
        blocks->seed = (uint64_t)g_random_int() << 32 | g_random_int();
    }
    blocks->n_heads = n_before ? n_before * 2 : FIRST_HEADS;
    blocks->heads = lull_pages_new(blocks->n_heads * sizeof *blocks->heads);
    for (size_t i = 0; i < n_before; i++) {
        for (uint32_t at = before[i], next; at; at = next) {
            struct lull_block *block = &blocks->items[at - 1];
            uint32_t *head = chain_of(blocks, block->address);
            next = block->next;
            block->next = *head;
            *head = at;
        }
    }
    lull_pages_free(before, n_before * sizeof *before);
}

static void grow(struct lull_blocks *blocks)
{
    const size_t size = blocks->capacity * sizeof *blocks->items;
    struct lull_block *before = blocks->items;
    blocks->capacity = blocks->capacity ? blocks->capacity * 2 : FIRST_HEADS;
    blocks->items = lull_pages_new(blocks->capacity * sizeof *blocks->items);
    if (size > 0) {
        memcpy(blocks->items, before, size);
    }
    lull_pages_free(before, size);
}

static uint32_t unused(struct lull_blocks *blocks)
{
    const uint32_t number = blocks->free;
    if (number) {
        blocks->free = blocks->items[number - 1].next;
        return number;
    }
    if (blocks->n_items == blocks->capacity) {
        grow(blocks);
    }
    return (uint32_t)++blocks->n_items;
}

bool lull_blocks_add(struct lull_blocks *blocks, struct lull_block block)
{
    if (!blocks->free && blocks->n_items >= UINT32_MAX - 1) {
        return false;
    }
    if (blocks->n_live >= blocks->n_heads) {
        widen(blocks);
    }
    uint32_t *head = chain_of(blocks, block.address);
    const uint32_t number = unused(blocks);
    block.next = *head;
    blocks->items[number - 1] = block;
    *head = number;
    blocks->n_live++;
    return true;
}

bool lull_blocks_take(struct lull_blocks *blocks, uint64_t address, struct lull_block *taken)
{
    uint32_t *at = blocks->n_live ? chain_of(blocks, address) : NULL;
    while (at && *at && blocks->items[*at - 1].address != address) {
        at = &blocks->items[*at - 1].next;
    }
    if (!at || !*at) {
        return false;
    }
    const uint32_t number = *at;
    struct lull_block *block = &blocks->items[number - 1];
    *taken = *block;
    *at = block->next;
    block->next = blocks->free;
    blocks->free = number;
    blocks->n_live--;
    return true;
}

void lull_blocks_copy(struct lull_blocks *to, const struct lull_blocks *from, uint32_t path)
{
    for (size_t i = 0; i < from->n_heads; i++) {
        for (uint32_t at = from->heads[i]; at; at = from->items[at - 1].next) {
            struct lull_block block = from->items[at - 1];
            block.path = path;
            lull_blocks_add(to, block);
        }
    }
}

uint64_t lull_blocks_bytes(const struct lull_blocks *blocks)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < blocks->n_heads; i++) {
        for (uint32_t at = blocks->heads[i]; at; at = blocks->items[at - 1].next) {
            bytes += blocks->items[at - 1].bytes;
        }
    }
    return bytes;
}

void lull_blocks_free(struct lull_blocks *blocks)
{
    lull_pages_free(blocks->items, blocks->capacity * sizeof *blocks->items);
    lull_pages_free(blocks->heads, blocks->n_heads * sizeof *blocks->heads);
    *blocks = (struct lull_blocks){0};
}
