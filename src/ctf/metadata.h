/* SPDX-License-Identifier: MIT */
/* From the bytes of a trace's `metadata` file to a schema: TSDL (CTF 1.8) or JSON text sequences
 * (CTF 2), either plain or in packets (CTF 1.8.3, section 7.1) of either byte order. */
#ifndef LULL_CTF_METADATA_H
#define LULL_CTF_METADATA_H

#include "ctf/schema/schema.h"

/* Reads and parses the metadata file at `path`. NULL and an error on failure, with file and line
 * and column of the text (CTF 1.8), or fragment, its byte offset in the text and the path in its
 * JSON (CTF 2), or the byte offset of a bad packet header. A metadata file that is cut short in the
 * middle of a declaration is an error that names the byte. */
struct lull_schema *lull_metadata_read(const char *path, GError **error);

/* The same from memory; `name` is used in messages. */
struct lull_schema *lull_metadata_parse(const char *name, const uint8_t *data, size_t size,
                                        GError **error);

/* The same from a plain text, which a NUL follows. */
struct lull_schema *lull_metadata_parse_text(const char *name, const char *text, size_t size,
                                             GError **error);

/* Whether a plain text is of CTF 2: JSON, each piece after a record separator. */
bool lull_metadata_is_json(const char *text, size_t size);

/* Plain text of a metadata file: unpacks packets where there are any. Free with g_free(). */
char *lull_metadata_text(const char *name, const uint8_t *data, size_t size, size_t *out_size,
                         GError **error);

#endif
