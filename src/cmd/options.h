/* SPDX-License-Identifier: MIT */
/* The parser of the command line, which fills struct lull_args, and what help, man pages and
 * completion need of it. */
#ifndef LULL_CMD_OPTIONS_H
#define LULL_CMD_OPTIONS_H

#include "cmd/verb.h"

/* Parses what follows the verb. Options may be anywhere, as --name value, --name=value, -x value or
 * -xvalue; all after "--" are traces. If --help is found, parsing ends there. argv must outlive the
 * result. LULL_ERROR_USAGE on anything else than the verb takes. Free with lull_args_free(). */
struct lull_args *lull_args_parse(const struct lull_verb *verb, int argc, char *const *argv,
                                  GError **error);
/* Adds a word to lull_args_rest(), and takes it. */
void lull_args_add_rest(struct lull_args *args, char *word);
void lull_args_free(struct lull_args *args);

const struct lull_verb *lull_args_verb(const struct lull_args *args);

/* The options of a verb: its own, then the common ones it takes in the order of the common table.
 * Free with g_free(). */
const struct lull_option **lull_verb_options(const struct lull_verb *verb, uint32_t *count,
                                             uint32_t *n_own);

/* The verb of that name, or NULL. */
const struct lull_verb *lull_verb_find(const char *name);

#endif
