/* SPDX-License-Identifier: MIT */
/* Encodes and decodes blocks: numbers of seven bits a byte, since most lengths need two or three
 * and most labels one. */
#include "store/block.h"

#include "base/bits.h"

enum { SHORT = 28 /* bits that most numbers have */ };

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
static inline bool get(const uint8_t **p, const uint8_t *end, uint64_t most, uint64_t *value)
{
    uint64_t sum = 0;
    const uint8_t *at = *p;
    for (unsigned shift = 0; at < end && shift < SHORT; shift += 7) {
        sum |= (uint64_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80) {
            *p = at;
            *value = sum;
            return sum <= most;
        }
    }
    const uint64_t room = (uint64_t)(end - *p);
    const uint64_t length = lull_load_leb128(*p, room, false, value);
    if (length == 0 || length > room || *value > most) {
        return false;
    }
    *p += length;
    return true;
}

uint32_t store_block_decode(const uint8_t *bytes, uint32_t size, int64_t start_ns,
                            struct lull_store_interval intervals[STORE_BLOCK])
{
    const uint8_t *p = bytes, *end = bytes + size;
    uint32_t count = 0;
    while (p < end) {
        uint64_t length, state, label, evidence;
        int64_t end_ns;
        if (count == STORE_BLOCK || !get(&p, end, INT64_MAX, &length) || length == 0 ||
            !get(&p, end, STORE_STATES - 1, &state) || !get(&p, end, UINT32_MAX, &label) ||
            !get(&p, end, UINT32_MAX, &evidence) ||
            __builtin_add_overflow(start_ns, (int64_t)length, &end_ns)) {
            return 0;
        }
        intervals[count++] =
            (struct lull_store_interval){start_ns, end_ns, (enum lull_store_state)state,
                                         (uint32_t)label - 1, (uint32_t)evidence - 1};
        start_ns = end_ns;
    }
    return count;
}
