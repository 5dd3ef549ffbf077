/* SPDX-License-Identifier: MIT */
/* Encodes and decodes blocks: numbers of seven bits a byte, since most lengths need two or three
 * and most labels one. */
#include "store/block.h"

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

bool store_fields_long(const uint8_t **p, const uint8_t *end, struct store_fields *fields)
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
        struct store_fields fields;
        int64_t end_ns = start_ns;
        if (count == STORE_BLOCK || !store_fields_next(&p, end, &end_ns, &fields)) {
            return 0;
        }
        intervals[count++] =
            (struct lull_store_interval){start_ns, end_ns, (enum lull_store_state)fields.state,
                                         (uint32_t)fields.label - 1, (uint32_t)fields.evidence - 1};
        start_ns = end_ns;
    }
    return count;
}
