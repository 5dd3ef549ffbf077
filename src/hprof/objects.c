/* SPDX-License-Identifier: MIT */
/* The objects of a heap dump: where the file has them, and which one has an id. There are so many that a few bytes of
 * each decide how much memory the dump takes: what its record says is read again when it is needed. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/search.h"
#include "hprof/private.h"

/* ---- the file ---- */

/* What reading a place maps around it, and how much may be mapped. */
enum { AROUND_BYTES = 64 << 10, MOST_BYTES = 16 << 20, MOST_PART = 16 };

void hprof_release(const struct lull_hprof *dump)
{
    if (dump->window) {
        madvise((void *)(uintptr_t)dump->data, dump->size, MADV_DONTNEED);
        dump->window->mapped_bytes = 0;
    }
}

void hprof_touch(const struct lull_hprof *dump, uint64_t at)
{
    struct hprof_window *window = dump->window;
    if (!window) {
        return;
    }
    const uint64_t way = at > window->last ? at - window->last : window->last - at;
    window->mapped_bytes += MIN(way, AROUND_BYTES);
    window->last = at;
    if (window->mapped_bytes > MAX(MOST_BYTES, dump->size / MOST_PART)) {
        hprof_release(dump);
    }
}

/* ---- sorting ---- */

/* Ids are numbers of 16 digits with their places, the last first. */
enum { DIGITS = 256, FEW = 24, LAST_DIGIT = 15 };

static unsigned digit_of(const struct hprof_found *found, int digit)
{
    return digit < 8 ? found->place >> 8 * digit & 0xff : found->id >> 8 * (digit - 8) & 0xff;
}

static bool is_before(const struct hprof_found *a, const struct hprof_found *b)
{
    return a->id != b->id ? a->id < b->id : a->place < b->place;
}

static void insert_each(struct hprof_found *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct hprof_found item = items[i];
        size_t at = i;
        for (; at > 0 && is_before(&item, &items[at - 1]); at--) {
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
}

/* By digits from the first on, each item being put where it belongs until all are (P. McIlroy, K. Bostic, M. McIlroy:
 * Engineering Radix Sort, 1993, "American flag"): without room for a second copy of all. */
static void sort(struct hprof_found *items, size_t n, int digit)
{
    size_t ends[DIGITS] = {0}, at[DIGITS], start = 0;
    if (n <= FEW || digit < 0) {
        insert_each(items, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ends[digit_of(&items[i], digit)]++;
    }
    for (unsigned i = 0; i < DIGITS; i++) {
        at[i] = start;
        start = ends[i] += start;
    }
    for (unsigned i = 0; i < DIGITS; i++) {
        while (at[i] < ends[i]) {
            const struct hprof_found item = items[at[i]];
            const unsigned to = digit_of(&item, digit);
            items[at[i]] = items[at[to]];
            items[at[to]++] = item;
        }
    }
    start = 0;
    for (unsigned i = 0; i < DIGITS; i++) {
        sort(items + start, ends[i] - start, digit - 1);
        start = ends[i];
    }
}

static bool are_sorted(const struct hprof_founds *found)
{
    size_t i = 1;
    while (i < found->count && is_before(&found->items[i - 1], &found->items[i])) {
        i++;
    }
    return i >= found->count;
}

/* ---- by id ---- */

/* Objects whose ids have one upper half. Within it buckets of equal ranges of lower halves, a few objects each, say
 * where their objects start. */
struct hprof_block {
    uint32_t high, first, n;
    uint32_t bucket; /* the first of them; one more says where the last ends */
    unsigned shift;  /* of a lower half to the number of its bucket */
};

enum { IN_BUCKET = 8 };

static void add_blocks(struct lull_hprof *dump, const struct hprof_founds *found)
{
    uint32_t n_buckets = 0;
    for (size_t i = 0; i < found->count; i++) {
        const uint32_t high = (uint32_t)(found->items[i].id >> 32);
        if (i == 0 || dump->blocks.items[dump->blocks.count - 1].high != high) {
            lull_vec_push(&dump->blocks, (struct hprof_block){.high = high, .first = (uint32_t)i});
        }
        dump->blocks.items[dump->blocks.count - 1].n++;
    }
    for (size_t i = 0; i < dump->blocks.count; i++) {
        struct hprof_block *block = &dump->blocks.items[i];
        block->shift = 32;
        while (block->n >> (32 - block->shift) > IN_BUCKET) {
            block->shift--;
        }
        block->bucket = n_buckets;
        n_buckets += (1u << (32 - block->shift)) + 1;
    }
    dump->buckets = g_new(uint32_t, n_buckets + 1);
}

static void fill_buckets(const struct lull_hprof *dump, const struct hprof_block *block)
{
    const uint32_t n = 1u << (32 - block->shift);
    uint32_t at = block->first;
    for (uint32_t i = 0; i < n; i++) {
        dump->buckets[block->bucket + i] = at;
        while (at < block->first + block->n && (uint64_t)dump->low_ids[at] >> block->shift <= i) {
            at++;
        }
    }
    dump->buckets[block->bucket + n] = at;
}

uint32_t hprof_find(const struct lull_hprof *dump, uint64_t id)
{
    const uint32_t low = (uint32_t)id, high = (uint32_t)(id >> 32);
    const size_t found = LULL_LOWER_BOUND(i, dump->blocks.count, dump->blocks.items[i].high < high);
    if (found == dump->blocks.count || dump->blocks.items[found].high != high) {
        return UINT32_MAX;
    }
    const struct hprof_block *block = &dump->blocks.items[found];
    const uint32_t *bucket = &dump->buckets[block->bucket + ((uint64_t)low >> block->shift)];
    const uint32_t *ids = dump->low_ids + bucket[0], n = bucket[1] - bucket[0];
    const uint32_t at = LULL_LOWER_BOUND(i, n, ids[i] < low);
    return at < n && ids[at] == low ? bucket[0] + at : UINT32_MAX;
}

void hprof_set_objects(struct lull_hprof *dump, struct hprof_founds *found)
{
    size_t kept = 0;
    if (!are_sorted(found)) {
        sort(found->items, found->count, LAST_DIGIT);
    }
    for (size_t i = 0; i < found->count; i++) {
        if (kept == 0 || found->items[kept - 1].id != found->items[i].id) {
            found->items[kept++] = found->items[i];
        }
    }
    dump->n_repeated = found->count - kept;
    dump->n_objects = (uint32_t)(found->count = kept);
    dump->low_ids = g_new(uint32_t, kept + 1);
    dump->places = g_new(uint64_t, kept + 1);
    for (size_t i = 0; i < kept; i++) {
        dump->low_ids[i] = (uint32_t)found->items[i].id;
        dump->places[i] = found->items[i].place;
    }
    add_blocks(dump, found);
    for (size_t i = 0; i < dump->blocks.count; i++) {
        fill_buckets(dump, &dump->blocks.items[i]);
    }
    lull_vec_free(found);
}

void hprof_free_objects(struct lull_hprof *dump)
{
    g_free(dump->low_ids);
    g_free(dump->places);
    g_free(dump->buckets);
    lull_vec_free(&dump->blocks);
    g_free(dump->window);
}

/* ---- what the file says of them ---- */

uint32_t hprof_count_elements(const struct lull_hprof *dump, uint64_t at, uint8_t tag)
{
    const bool is_array = tag == HPROF_OBJECTS || tag == HPROF_PRIMITIVES;
    return is_array ? lull_load_u32(dump->data + at + 1 + dump->id_size + 4, true) : 0;
}

unsigned hprof_element_bytes(const struct lull_hprof *dump, uint64_t at, uint8_t tag)
{
    return tag == HPROF_OBJECTS ? dump->reference_size
                                : hprof_type_size(dump, dump->data[at + 1 + dump->id_size + 8]);
}

/* The class that the record of an object names. */
static uint32_t class_of(const struct lull_hprof *dump, const struct lull_hprof_object *object)
{
    enum { FIRST_PRIMITIVE = 4, N_PRIMITIVES = 8 };
    const uint64_t after = object->at + 1 + dump->id_size + 4;
    if (object->tag == HPROF_PRIMITIVES) {
        const unsigned type = dump->data[after + 4] - FIRST_PRIMITIVE; /* or the file has changed */
        return dump->first_made + (type < N_PRIMITIVES ? 1 + type : 0);
    }
    const uint32_t found = lull_map_find(
        &dump->class_of_id, object->tag == HPROF_CLASS
                                ? object->id
                                : hprof_id(dump, object->tag == HPROF_OBJECTS ? after + 4 : after));
    return found == LULL_MAP_NONE ? dump->first_made : found;
}

struct lull_hprof_object lull_hprof_object(const struct lull_hprof *dump, uint32_t number)
{
    struct lull_hprof_object object = {.at = hprof_place(dump, number),
                                       .tag = hprof_tag(dump, number)};
    hprof_touch(dump, object.at);
    object.id = hprof_id(dump, object.at + 1);
    object.class = class_of(dump, &object);
    if (object.tag == HPROF_INSTANCE) {
        object.bytes = dump->classes.items[object.class].shallow_bytes;
    } else if (object.tag != HPROF_CLASS) {
        const uint64_t n = hprof_count_elements(dump, object.at, object.tag);
        object.bytes = lull_align_up(
            dump->header_bytes + 4 + n * hprof_element_bytes(dump, object.at, object.tag), 8);
    }
    return object;
}
