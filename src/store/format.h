/* SPDX-License-Identifier: MIT */
/* The file of an interval store, byte by byte. Numbers have the byte order of the machine that made
 * it: it is a cache, and other machines refuse it.
 *
 *   header | blocks | pyramids | index | sums | rows | texts | text bytes | hosts | losses
 *
 * Zeros fill up what lies before a section to a multiple of 8 bytes.
 *
 * A row's intervals touch each other and cover start_ns … end_ns of the header. They come in blocks
 * of at most 64. A block is, for each interval, LEB128 numbers without sign: its length in ns, its
 * state, its label + 1, its evidence + 1 (0 for LULL_NONE). The index has the blocks of a row one
 * after the other, and rows follow each other there.
 *
 * The sums of a row say how long it was in each state before its blocks 0, 64, 128, …, and how much
 * of what it is a meter of there was: meter_of() says what an interval counts. An evidence that is
 * an amount is the most that it can be if the amount is more.
 *
 * The pyramid of a row has bins aligned to time 0: level l has bins of 2^(shift + l) ns, as many as
 * touch active_ns … passive_ns, one level after the other, down to the level with a single bin. A
 * bin has 16 bytes: the share of each state, rounded to 1/255, but never 0 for one that occurs.
 * Before active_ns the row is in state `before`, and from passive_ns on in `after`; this also holds
 * outside of start_ns … end_ns. */
#ifndef LULL_STORE_FORMAT_H
#define LULL_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STORE_MAGIC "LULLVIEW"

enum {
    STORE_VERSION = 5,
    STORE_ORDER = 0x01020304,
    STORE_STATES = 16,
    STORE_BLOCK = 64,       /* intervals in a block */
    STORE_SUM_EVERY = 64,   /* blocks between two sums */
    STORE_PER_BIN = 16,     /* intervals in a bin of the finest level, on average at least */
    STORE_PYRAMID_MIN = 256 /* rows with fewer intervals have no pyramid */
};

enum store_section {
    STORE_BLOCKS,
    STORE_PYRAMIDS,
    STORE_INDEX,
    STORE_SUMS,
    STORE_ROWS,
    STORE_TEXTS,
    STORE_BYTES,
    STORE_HOSTS,
    STORE_LOSSES,
    STORE_SECTIONS
};

struct store_range {
    uint64_t offset, size;
    uint64_t sum; /* store_sum(); 0 for blocks, which have sums of their own */
};

struct store_header {
    char magic[8];
    uint32_t version, order;
    uint8_t key[32]; /* of what it was made of: place.h */
    int64_t start_ns, end_ns;
    struct store_range sections[STORE_SECTIONS];
    uint64_t sum; /* of all before */
};

struct store_block {
    uint64_t offset; /* in the blocks */
    int64_t start_ns;
    uint32_t size;
    uint32_t sum; /* the low half of store_sum() */
};

struct store_row {
    uint32_t kind; /* enum lull_store_kind */
    uint32_t host;
    uint32_t name; /* text */
    int32_t cpu, tid, pid, ppid;
    uint8_t before, after; /* states */
    uint8_t shift, levels; /* of the pyramid; no levels: none */
    int64_t active_ns, passive_ns;
    uint64_t n_intervals, n_blocks;
    uint64_t first_block;
    uint64_t first_sum;
    uint64_t pyramid; /* offset in the pyramids */
};

struct store_sum {
    int64_t ns[STORE_STATES];
    uint64_t amount[2]; /* low and high half */
};

struct store_text {
    uint32_t offset, length; /* in the text bytes; a NUL follows */
};

struct store_host {
    uint32_t name, unused;
    int64_t first_ns, last_ns; /* of its events */
};

struct store_loss {
    int64_t start_ns, end_ns;
    uint64_t events, packets;
    uint32_t host;
    int32_t cpu; /* -1: all */
};

#define STORE_SUM_SEED UINT64_C(0x9e3779b97f4a7c15)

/* Goes on with a sum: finds bytes that changed, not forgeries, for each step maps the sum before it
 * one to one. Pieces of a whole have multiples of 8 bytes, except for the last. */
static inline uint64_t store_sum_add(uint64_t sum, const void *data, size_t size)
{
    const uint8_t *p = data;
    while (size) {
        uint64_t word = 0;
        const size_t n = size < sizeof word ? size : sizeof word;
        memcpy(&word, p, n);
        sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
        p += n;
        size -= n;
    }
    return sum;
}

static inline uint64_t store_sum(const void *data, size_t size)
{
    return store_sum_add(STORE_SUM_SEED, data, size);
}

#endif
