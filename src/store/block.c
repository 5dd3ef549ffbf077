/* SPDX-License-Identifier: MIT */
/* Encodes and decodes blocks: numbers of seven bits a byte, since most lengths need two or three
 * and most labels one. */
#include "store/block.h"

#include <glib.h>

#include "base/bits.h"

static uint8_t *put(uint8_t *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        *p++ = (uint8_t)(value | 0x80);
    }
    *p++ = (uint8_t)value;
    return p;
}

uint32_t store_block_encode(const struct lull_store_interval *intervals, uint32_t count,
                            uint8_t *bytes)
{
    uint8_t *p = bytes;
    for (uint32_t i = 0; i < count; i++) {
        p = put(p, (uint64_t)intervals[i].end_ns - (uint64_t)intervals[i].start_ns);
        *p++ = (uint8_t)intervals[i].state;
        p = put(p, (uint32_t)(intervals[i].label + 1));
        p = put(p, (uint32_t)(intervals[i].evidence + 1));
    }
    return (uint32_t)(p - bytes);
}

/* One number that is at most `most`. */
static bool get(const uint8_t **p, const uint8_t *end, uint64_t most, uint64_t *value)
{
    const uint64_t room = (uint64_t)(end - *p);
    const uint64_t length = lull_load_leb128(*p, room, false, value);
    if (length == 0 || length > room || *value > most) {
        return false;
    }
    *p += length;
    return true;
}

struct fields {
    uint64_t length, state, label, evidence;
};

/* The seven low bits of the byte that is number `at`, at their place in a number. */
static inline uint64_t septet(uint64_t word, unsigned at)
{
    return word >> at & UINT64_C(0x7f) << (7 * at);
}

/* The number of at most four bytes that the word starts with. Returns how many; 0: it is longer. */
static inline unsigned take(uint64_t word, uint64_t *value)
{
    *value = septet(word, 0);
    if (!(word & 0x80)) {
        return 1;
    }
    *value |= septet(word, 1);
    if (!(word & 0x8000)) {
        return 2;
    }
    *value |= septet(word, 2);
    if (!(word & 0x800000)) {
        return 3;
    }
    *value |= septet(word, 3);
    return word & 0x80000000 ? 0 : 4;
}

/* The next interval, if its numbers are as short as most are, from a single word. Branches, since
 * processors guess most of them and read on; arithmetic that avoids them takes longer. */
static inline bool get_short(const uint8_t **p, const uint8_t *end, struct fields *fields)
{
    uint64_t word;
    if (end - *p < (ptrdiff_t)sizeof word) {
        return false;
    }
    memcpy(&word, *p, sizeof word);
    word = GUINT64_FROM_LE(word);
    unsigned size = take(word, &fields->length);
    if (size == 0) {
        return false;
    }
    word >>= 8 * size;
    fields->state = word & 0xff;
    fields->label = septet(word >> 8, 0);
    if (!(word & 0x8080f0)) {
        fields->evidence = septet(word >> 16, 0);
    } else if (!(word & 0x800080f0)) {
        fields->evidence = septet(word >> 16, 0) | septet(word >> 16, 1);
        size++;
    } else if (!(word & 0x808000f0)) {
        fields->label |= septet(word >> 8, 1);
        fields->evidence = septet(word >> 24, 0);
        size++;
    } else {
        return false;
    }
    *p += size + 3;
    return true;
}

static bool get_fields(const uint8_t **p, const uint8_t *end, struct fields *fields)
{
    return get(p, end, INT64_MAX, &fields->length) &&
           get(p, end, STORE_STATES - 1, &fields->state) &&
           get(p, end, UINT32_MAX, &fields->label) && get(p, end, UINT32_MAX, &fields->evidence);
}

uint32_t store_block_decode(const uint8_t *bytes, uint32_t size, int64_t start_ns,
                            struct lull_store_interval intervals[STORE_BLOCK])
{
    const uint8_t *p = bytes, *end = bytes + size;
    uint32_t count = 0;
    while (p < end) {
        struct fields fields;
        int64_t end_ns;
        if (count == STORE_BLOCK ||
            (!get_short(&p, end, &fields) && !get_fields(&p, end, &fields)) || fields.length == 0 ||
            __builtin_add_overflow(start_ns, (int64_t)fields.length, &end_ns)) {
            return 0;
        }
        intervals[count++] =
            (struct lull_store_interval){start_ns, end_ns, (enum lull_store_state)fields.state,
                                         (uint32_t)fields.label - 1, (uint32_t)fields.evidence - 1};
        start_ns = end_ns;
    }
    return count;
}
