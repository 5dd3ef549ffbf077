/* SPDX-License-Identifier: MIT */
/* Matches texts with patterns: the characters before the first star are compared at once, the rest
 * goes back to the last star only, so that a match takes no more steps than pattern times text. */
#include "filter/glob.h"

#include <string.h>

enum piece_kind { PIECE_CHARACTER, PIECE_ANY, PIECE_STAR, PIECE_SET };

struct range {
    uint32_t first, last;
};

struct piece {
    enum piece_kind kind;
    uint32_t character;
    bool is_inverted;
    uint32_t n_ranges;
    const struct range *ranges;
};

struct lull_glob {
    const char *head; /* what a match starts with, as bytes */
    size_t head_length;
    const struct piece *pieces; /* what follows */
    uint32_t n_pieces;
};

/* Bytes that are not UTF-8 are characters of their own, above all of Unicode's. */
#define STRAY UINT32_C(0x200000)

static uint32_t take(const char **at, const char *end)
{
    const unsigned char *p = (const unsigned char *)*at;
    if (*p < 0x80) {
        ++*at;
        return *p;
    }
    gunichar c = g_utf8_get_char_validated(*at, end - *at);
    if (c == (gunichar)-1 || c == (gunichar)-2) {
        ++*at;
        return STRAY | *p;
    }
    *at = g_utf8_next_char(*at);
    return c;
}

/* ---- compiling ---- */

struct reader {
    const char *text, *at, *end;
    const bool *is_escaped;
};

static bool is_special(const struct reader *r, char c)
{
    return r->at < r->end && *r->at == c && !r->is_escaped[r->at - r->text];
}

/* After "[". The first "]" may be a character of the set. */
static bool read_set(struct lull_arena *arena, struct reader *r, struct piece *piece)
{
    piece->kind = PIECE_SET;
    piece->is_inverted = is_special(r, '!') || is_special(r, '^');
    r->at += piece->is_inverted;
    struct range *ranges = lull_arena_alloc_n(arena, (size_t)(r->end - r->at) + 1, sizeof *ranges);
    do {
        if (r->at >= r->end) {
            return false;
        }
        struct range *range = &ranges[piece->n_ranges++];
        range->first = range->last = take(&r->at, r->end);
        if (is_special(r, '-') && r->at + 1 < r->end &&
            (r->at[1] != ']' || r->is_escaped[r->at + 1 - r->text])) {
            r->at++;
            range->last = take(&r->at, r->end);
        }
    } while (!is_special(r, ']'));
    r->at++;
    piece->ranges = ranges;
    return true;
}

const struct lull_glob *lull_glob_new(struct lull_arena *arena, const char *text, size_t length,
                                      const bool *is_escaped, size_t *at, const char **reason)
{
    struct reader r = {text, text, text + length, is_escaped};
    struct lull_glob *glob = lull_arena_alloc(arena, sizeof *glob);
    while (r.at < r.end && !is_special(&r, '*') && !is_special(&r, '?') && !is_special(&r, '[')) {
        r.at++;
    }
    glob->head = text;
    glob->head_length = (size_t)(r.at - text);
    struct piece *pieces = lull_arena_alloc_n(arena, length + 1, sizeof *pieces);
    while (r.at < r.end) {
        struct piece *piece = &pieces[glob->n_pieces];
        if (is_special(&r, '*')) {
            r.at++;
            /* Several stars are one. */
            if (glob->n_pieces > 0 && piece[-1].kind == PIECE_STAR) {
                continue;
            }
            piece->kind = PIECE_STAR;
        } else if (is_special(&r, '?')) {
            r.at++;
            piece->kind = PIECE_ANY;
        } else if (is_special(&r, '[')) {
            *at = (size_t)(r.at++ - text);
            if (!read_set(arena, &r, piece)) {
                *reason = "the set of the pattern has no closing ]";
                return NULL;
            }
        } else {
            piece->character = take(&r.at, r.end);
        }
        glob->n_pieces++;
    }
    glob->pieces = pieces;
    return glob;
}

/* ---- matching ---- */

static bool piece_matches(const struct piece *piece, uint32_t c)
{
    if (piece->kind == PIECE_CHARACTER) {
        return piece->character == c;
    }
    if (piece->kind == PIECE_ANY) {
        return true;
    }
    bool found = false;
    for (uint32_t i = 0; i < piece->n_ranges && !found; i++) {
        found = piece->ranges[i].first <= c && c <= piece->ranges[i].last;
    }
    return found != piece->is_inverted;
}

bool lull_glob_matches(const struct lull_glob *glob, struct lull_text text)
{
    if (text.length < glob->head_length ||
        (glob->head_length > 0 && memcmp(text.data, glob->head, glob->head_length) != 0)) {
        return false;
    }
    if (text.length == glob->head_length) {
        return glob->n_pieces == 0 || (glob->n_pieces == 1 && glob->pieces[0].kind == PIECE_STAR);
    }
    const char *at = text.data + glob->head_length, *end = text.data + text.length;
    const char *star_at = NULL;
    uint32_t i = 0, star = 0;
    for (;;) {
        if (i < glob->n_pieces && glob->pieces[i].kind == PIECE_STAR) {
            star = ++i;
            star_at = at;
            if (i == glob->n_pieces) {
                return true;
            }
            continue;
        }
        if (at == end && i == glob->n_pieces) {
            return true;
        }
        const char *next = at;
        if (at < end && i < glob->n_pieces && piece_matches(&glob->pieces[i], take(&next, end))) {
            at = next;
            i++;
            continue;
        }
        if (!star_at || at == end) {
            return false;
        }
        take(&star_at, end);
        at = star_at;
        i = star;
    }
}
