/* From the bytes of a trace's `metadata` file to a schema. Accepts plain TSDL text and packetised
 * TSDL (CTF 1.8.3, section 7.1) of either byte order; says so clearly when it is CTF 2 (JSON). */
#ifndef LULL_CTF_METADATA_H
#define LULL_CTF_METADATA_H

#include "ctf/schema.h"

/* Reads and parses the metadata file at `path`. NULL and an error with file, and line and column of
 * the text (for packetised metadata also the byte offset of a bad packet header) on failure. A
 * metadata file that is cut short in the middle of a declaration is an error that names the byte.
 */
struct lull_schema *lull_metadata_read(const char *path, GError **error);

/* The same from memory; `name` is used in messages. */
struct lull_schema *lull_metadata_parse(const char *name, const uint8_t *data, size_t size,
                                        GError **error);

/* Plain TSDL text of a metadata file: unpacks packets where there are any. Free with g_free(). */
char *lull_metadata_text(const char *name, const uint8_t *data, size_t size, size_t *out_size,
                         GError **error);

#endif
