/* SPDX-License-Identifier: MIT */
/* Texts of traces. UTF-16 and UTF-32 become UTF-8 in memory that is kept from event to event, so
 * that nothing is allocated once it is large enough. */
#include "ctf/schema/text.h"

#include <string.h>

#include "base/bits.h"

#define FIRST_BYTES 4096u

struct lull_texts {
    char *data;
    uint64_t size, used;
    GPtrArray *full; /* pieces that have become too small, still in use */
};

struct lull_texts *lull_texts_new(void)
{
    struct lull_texts *texts = g_new0(struct lull_texts, 1);
    texts->full = g_ptr_array_new_with_free_func(g_free);
    return texts;
}

void lull_texts_free(struct lull_texts *texts)
{
    if (!texts) {
        return;
    }
    g_ptr_array_unref(texts->full);
    g_free(texts->data);
    g_free(texts);
}

void lull_texts_reset(struct lull_texts *texts)
{
    texts->used = 0;
    g_ptr_array_set_size(texts->full, 0);
}

static char *reserve(struct lull_texts *texts, uint64_t size)
{
    if (size > texts->size - texts->used || !texts->data) {
        if (texts->data) {
            g_ptr_array_add(texts->full, texts->data);
        }
        texts->size = MAX(MAX(texts->size * 2, size), FIRST_BYTES);
        texts->data = g_malloc(texts->size);
        texts->used = 0;
    }
    return texts->data + texts->used;
}

static uint32_t unit_at(const uint8_t *p, enum lull_encoding encoding)
{
    switch (encoding) {
    case LULL_ENCODING_UTF16BE:
    case LULL_ENCODING_UTF16LE:
        return lull_load_u16(p, encoding == LULL_ENCODING_UTF16BE);
    case LULL_ENCODING_UTF32BE:
    case LULL_ENCODING_UTF32LE:
        return lull_load_u32(p, encoding == LULL_ENCODING_UTF32BE);
    default:
        return *p;
    }
}

uint64_t lull_text_end(const uint8_t *data, uint64_t size, enum lull_encoding encoding)
{
    unsigned unit = lull_encoding_unit(encoding);
    if (unit == 1) {
        const uint8_t *nul = memchr(data, 0, size);
        return nul ? (uint64_t)(nul - data) : UINT64_MAX;
    }
    for (uint64_t at = 0; size - at >= unit; at += unit) {
        if (unit_at(data + at, encoding) == 0) {
            return at;
        }
    }
    return UINT64_MAX;
}

/* The character at data[*at]; moves past it. `size` is a multiple of the unit. */
static uint32_t next_character(const uint8_t *data, uint64_t size, uint64_t *at,
                               enum lull_encoding encoding)
{
    uint32_t c = unit_at(data + *at, encoding);
    unsigned unit = lull_encoding_unit(encoding);
    *at += unit;
    if (unit == 2 && c >= 0xd800 && c < 0xdc00 && *at < size) {
        uint32_t low = unit_at(data + *at, encoding);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += unit;
            return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
}

struct lull_text lull_texts_convert(struct lull_texts *texts, const uint8_t *data, uint64_t size,
                                    enum lull_encoding encoding)
{
    uint64_t end = lull_text_end(data, size, encoding);
    unsigned unit = lull_encoding_unit(encoding);
    size = end != UINT64_MAX ? end : size / unit * unit;
    if (unit == 1) {
        return (struct lull_text){(const char *)data, (uint32_t)MIN(size, (uint64_t)UINT32_MAX)};
    }
    /* Two bytes become at most three, four at most four. */
    char *out = reserve(texts, size / unit * 4);
    uint64_t length = 0;
    for (uint64_t at = 0; at < size;) {
        length +=
            (uint64_t)g_unichar_to_utf8(next_character(data, size, &at, encoding), out + length);
    }
    texts->used += length;
    return (struct lull_text){out, (uint32_t)MIN(length, (uint64_t)UINT32_MAX)};
}
