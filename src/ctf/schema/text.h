/* SPDX-License-Identifier: MIT */
/* Texts of traces: where they end in each encoding, and conversion to UTF-8. */
#ifndef LULL_CTF_SCHEMA_TEXT_H
#define LULL_CTF_SCHEMA_TEXT_H

#include <lull/event.h>

#include "ctf/schema/schema.h"

/* Memory for converted texts: it grows while an event is decoded and is used again for the next. */
struct lull_texts;

struct lull_texts *lull_texts_new(void);
void lull_texts_free(struct lull_texts *texts);
/* Lets go of everything that was converted. */
void lull_texts_reset(struct lull_texts *texts);

/* Bytes of a code unit: 1, 2 or 4. */
static inline unsigned lull_encoding_unit(enum lull_encoding encoding)
{
    return encoding >= LULL_ENCODING_UTF32BE ? 4 : encoding >= LULL_ENCODING_UTF16BE ? 2 : 1;
}

/* Bytes before the first NUL code unit of `size` bytes, or UINT64_MAX if there is none. */
uint64_t lull_text_end(const uint8_t *data, uint64_t size, enum lull_encoding encoding);

/* The text of `size` bytes up to its first NUL, in UTF-8: as it is if its code units are bytes,
 * else converted, with U+FFFD for what is no character. */
struct lull_text lull_texts_convert(struct lull_texts *texts, const uint8_t *data, uint64_t size,
                                    enum lull_encoding encoding);

/* What the elements of an array or sequence are together. */
enum lull_bytes_form { LULL_BYTES_NONE, LULL_BYTES_TEXT, LULL_BYTES_BLOB };

/* For LULL_FC_ARRAY and LULL_FC_SEQUENCE: CTF 1.8 gives texts as arrays of integers with an
 * encoding, CTF 2 has string and blob classes. */
static inline enum lull_bytes_form lull_fc_form(const struct lull_fc *fc)
{
    bool is_array = fc->kind == LULL_FC_ARRAY;
    const struct lull_fc *element = is_array ? fc->array.element : fc->sequence.element;
    if (element->kind != LULL_FC_INT || element->integer.size != 8 || element->alignment != 8) {
        return LULL_BYTES_NONE;
    }
    enum lull_array_form form = is_array ? fc->array.form : fc->sequence.form;
    if (form == LULL_ARRAY_BLOB) {
        return LULL_BYTES_BLOB;
    }
    return form == LULL_ARRAY_STRING || element->integer.encoding != LULL_ENCODING_NONE
               ? LULL_BYTES_TEXT
               : LULL_BYTES_NONE;
}

#endif
