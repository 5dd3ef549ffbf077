/* SPDX-License-Identifier: MIT */
/* TSDL, the language of CTF 1.8's metadata (CTF 1.8.3, annex C). */
#ifndef LULL_CTF_TSDL_H
#define LULL_CTF_TSDL_H

#include "ctf/schema/schema.h"

/* Parses the text of a metadata stream; `name` is used in messages. */
struct lull_schema *tsdl_parse(const char *name, const char *text, size_t size, GError **error);

#endif
