/* SPDX-License-Identifier: MIT */
/* What the fuzz targets of metadata do with what was parsed. */
#ifndef LULL_TESTS_FUZZ_SCHEMA_H
#define LULL_TESTS_FUZZ_SCHEMA_H

#include "ctf/schema/schema.h"

/* Compiles and lists the classes of `schema` (taken; NULL: `error`, which is freed, says why),
 * writes it as CTF 2, and parses that again. */
void fuzz_schema_try(struct lull_schema *schema, GError *error);

#endif
