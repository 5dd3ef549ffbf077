/* SPDX-License-Identifier: MIT */
/* JSON Schemas of the outputs of analyses, from their tables. */
#ifndef LULL_CMD_GEN_SCHEMA_H
#define LULL_CMD_GEN_SCHEMA_H

#include <stdio.h>

#include "cmd/verb.h"

/* The schema of what `lull VERB --json` prints; the verb has an analysis, or is that of many. */
void lull_gen_schema(FILE *file, const struct lull_verb *verb);

#endif
