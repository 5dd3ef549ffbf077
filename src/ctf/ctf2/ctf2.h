/* SPDX-License-Identifier: MIT */
/* The JSON of CTF 2's metadata (CTF2-SPEC-2.0). */
#ifndef LULL_CTF_CTF2_H
#define LULL_CTF_CTF2_H

#include "ctf/schema/schema.h"

/* Parses the text of a metadata stream; `name` is used in messages. */
struct lull_schema *ctf2_parse(const char *name, const char *text, size_t size, GError **error);

#endif
