/* SPDX-License-Identifier: MIT */
/* The pages of ftrace's ring buffers (header_event in tracefs, include/linux/ring_buffer.h): a head with the
 * time and how much of the page is filled, then records. A record has a head of 32 bits, five of which are
 * its kind or length, the others the time since the record before. */
#ifndef LULL_SOURCE_FORMAT_RING_H
#define LULL_SOURCE_FORMAT_RING_H

#include "source/format/format.h"

/* In the head of a page. */
#define LULL_RING_COMMIT UINT64_C(0x7ffffff)        /* how many bytes are filled */
#define LULL_RING_MISSED (UINT64_C(1) << 31)        /* events were lost before it, */
#define LULL_RING_MISSED_STORED (UINT64_C(1) << 30) /* and how many stands behind the last one */

#define LULL_RING_DELTA_BITS 27
#define LULL_RING_DELTA_MASK ((UINT32_C(1) << LULL_RING_DELTA_BITS) - 1)
/* Time stamps have 59 bits; those above come from the time before. */
#define LULL_RING_STAMP_BITS 59
#define LULL_RING_STAMP_HIGH (~UINT64_C(0) << LULL_RING_STAMP_BITS)

enum lull_ring_kind {
    LULL_RING_LONG = 0,
    LULL_RING_PADDING = 29,
    LULL_RING_EXTEND = 30,
    LULL_RING_STAMP = 31
};

static inline uint64_t lull_ring_absolute(uint64_t stamp, uint64_t before)
{
    if ((before & LULL_RING_STAMP_HIGH) == 0) {
        return stamp;
    }
    stamp |= before & LULL_RING_STAMP_HIGH;
    return stamp < before ? stamp + (UINT64_C(1) << LULL_RING_STAMP_BITS) : stamp;
}

/* Goes to the next record of the page at `data`, from *pos on and not beyond `end`; *clock becomes its
 * time. False at the end of the page, and where it is damaged: then *why is set. */
static inline __attribute__((always_inline)) bool
lull_ring_next(const uint8_t *data, uint32_t *pos, uint32_t end, uint64_t *clock, bool be,
               struct lull_format_record *record, const char **why)
{
    while (end - *pos >= 4) {
        const uint8_t *p = data + *pos;
        uint32_t room = end - *pos - 4, head = lull_load_u32(p, be);
        uint32_t kind = be ? head >> LULL_RING_DELTA_BITS : head & 31, length = kind * 4;
        uint64_t delta = be ? head & LULL_RING_DELTA_MASK : head >> 5;
        p += 4;
        if (G_UNLIKELY(kind == LULL_RING_LONG || kind >= LULL_RING_PADDING)) {
            if (kind == LULL_RING_PADDING && delta == 0) { /* nothing but padding from here on */
                return false;
            }
            if (room < 4) {
                break;
            }
            uint32_t word = lull_load_u32(p, be);
            if (kind == LULL_RING_EXTEND || kind == LULL_RING_STAMP) {
                delta |= (uint64_t)word << LULL_RING_DELTA_BITS;
                *clock =
                    kind == LULL_RING_EXTEND ? *clock + delta : lull_ring_absolute(delta, *clock);
                *pos += 8;
                continue;
            }
            if (word > room || word < 4) {
                break;
            }
            if (kind == LULL_RING_PADDING) {
                *clock += delta;
                *pos += 4 + word;
                continue;
            }
            length = word - 4;
            p += 4;
            *pos += 4;
            room -= 4;
        }
        if (length > room) {
            break;
        }
        *clock += delta;
        *pos += 4 + MIN((length + 3) & ~3u, room);
        record->data = p;
        record->size = length;
        return true;
    }
    if (*pos != end) {
        *why = "an event goes past the end of the page";
    }
    return false;
}

#endif
