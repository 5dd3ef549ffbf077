/* SPDX-License-Identifier: MIT */
/* A sorted array of what is under way. It gives up at its front what is acknowledged, and the oldest
 * where acknowledgements are not in the trace. */
#include "clock/tcp_pieces.h"

#include <string.h>

#include "base/search.h"

enum { MOST = 4096, FAR = 1 << 24, MOST_BYTES = 1 << 20 };

static bool is_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

void lull_tcp_pieces_clear(struct lull_tcp_pieces *pieces)
{
    lull_vec_free(&pieces->all);
    *pieces = (struct lull_tcp_pieces){.has_end = false};
}

void lull_tcp_pieces_ack(struct lull_tcp_pieces *pieces, uint32_t ack)
{
    if (!pieces->has_acked || is_after(ack, pieces->acked)) {
        pieces->has_acked = true;
        pieces->acked = ack;
    }
}

/* The first piece that ends after that number. */
static size_t find(const struct lull_tcp_pieces *pieces, uint32_t number)
{
    const size_t count = pieces->all.count - pieces->first;
    return pieces->first +
           LULL_LOWER_BOUND(i, count, !is_after(pieces->all.items[pieces->first + i].end, number));
}

static void forget(struct lull_tcp_pieces *pieces)
{
    while (pieces->first < pieces->all.count &&
           ((pieces->has_acked && !is_after(pieces->all.items[pieces->first].end, pieces->acked)) ||
            pieces->all.count - pieces->first >= MOST)) {
        pieces->first++;
    }
    const size_t kept = pieces->all.count - pieces->first;
    if (pieces->first > kept) {
        if (kept) {
            memmove(pieces->all.items, pieces->all.items + pieces->first,
                    kept * sizeof *pieces->all.items);
        }
        pieces->all.count = kept;
        pieces->first = 0;
    }
}

static void append(struct lull_tcp_pieces *pieces, uint32_t start, uint32_t end, int64_t t,
                   uint32_t number)
{
    forget(pieces);
    lull_vec_push(&pieces->all,
                  (struct lull_tcp_piece){
                      .start = start, .end = end, .number = number, .first_ns = t, .last_ns = t});
    pieces->has_end = true;
    pieces->end = end;
}

/* Cuts the piece in two at that number, if it is within. True if it was. Nothing that is sent in earnest has so many that
 * they stay whole. */
static bool split(struct lull_tcp_pieces *pieces, size_t i, uint32_t at)
{
    if (pieces->all.count - pieces->first >= 2 * MOST) {
        return false;
    }
    if (!is_after(at, pieces->all.items[i].start) || !is_after(pieces->all.items[i].end, at)) {
        return false;
    }
    lull_vec_reserve(&pieces->all, 1);
    struct lull_tcp_piece *piece = &pieces->all.items[i];
    memmove(piece + 1, piece, (pieces->all.count - i) * sizeof *piece);
    pieces->all.count++;
    piece[0].end = piece[1].start = at;
    return true;
}

bool lull_tcp_pieces_send(struct lull_tcp_pieces *pieces, uint32_t start, uint32_t length,
                          int64_t t, int64_t since_ns, uint32_t number,
                          struct lull_tcp_piece *again)
{
    const uint32_t end = start + length;
    if (!pieces->has_end || !is_after(pieces->end, start)) {
        append(pieces, start, end, t, number);
        return false;
    }
    size_t i = find(pieces, start);
    if (pieces->has_acked && is_after(pieces->acked, end + FAR)) {
        /* The other end has that for so long: another connection, whose start was not seen. */
        lull_tcp_pieces_clear(pieces);
        append(pieces, start, end, t, number);
        return false;
    }
    if (length == 1 && pieces->has_acked && end == pieces->acked) {
        return false; /* asks whether the other end still lives: nothing was lost */
    }
    i += i < pieces->all.count && split(pieces, i, start);
    bool is_again = false;
    for (; i < pieces->all.count && is_after(end, pieces->all.items[i].start); i++) {
        split(pieces, i, end);
        struct lull_tcp_piece *piece = &pieces->all.items[i];
        if (piece->last_ns < since_ns) {
            piece->times++;
            pieces->has_again = true;
            piece->last_ns = t;
        }
        if (!is_again) {
            *again = *piece;
            is_again = true;
        }
    }
    if (is_after(end, pieces->end)) {
        append(pieces, pieces->end, end, t, number);
    }
    return is_again;
}

void lull_tcp_pieces_reach(struct lull_tcp_pieces *pieces, uint32_t start)
{
    if (pieces->has_end && start - pieces->end < MOST_BYTES) {
        pieces->all.items[pieces->all.count - 1].end = pieces->end = start;
    }
}

bool lull_tcp_pieces_again(const struct lull_tcp_pieces *pieces, uint32_t start, uint32_t length,
                           struct lull_tcp_piece *again)
{
    bool is_again = false;
    if (!pieces->has_again) {
        return false;
    }
    for (size_t i = find(pieces, start); i < pieces->all.count; i++) {
        const struct lull_tcp_piece *piece = &pieces->all.items[i];
        if (!is_after(start + length, piece->start)) {
            break;
        }
        if (piece->times && (!is_again || piece->last_ns > again->last_ns)) {
            *again = *piece;
            is_again = true;
        }
    }
    return is_again;
}
