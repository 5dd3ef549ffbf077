/* SPDX-License-Identifier: MIT */
/* Help on the terminal, rendered from the table of verbs. */
#ifndef LULL_CMD_HELP_H
#define LULL_CMD_HELP_H

#include <stdio.h>

#include "cmd/verb.h"
#include "view/view.h"

void lull_help_program(FILE *file, const struct lull_view_style *style);
void lull_help_verb(FILE *file, const struct lull_verb *verb, const struct lull_view_style *style);

void lull_help_topic(FILE *file, const struct lull_topic *topic,
                     const struct lull_view_style *style);

/* "there is no verb “inof”; did you mean “info”?". Free with g_free(). */
char *lull_help_no_verb(const char *word);

/* What the verb says of its output, or NULL. Free with g_free(). */
char *lull_help_output(const struct lull_verb *verb);

/* "-n, --limit N" */
char *lull_help_option_label(const struct lull_option *option);
/* The option's help with its choices. */
char *lull_help_option_text(const struct lull_option *option);

/* Calls `line` for each piece of paragraphs in the markup of lull_verb.description: kept lines as
 * they are, the others joined to paragraphs. */
enum lull_markup { LULL_MARKUP_PARAGRAPH, LULL_MARKUP_KEPT };
void lull_help_each_piece(const char *text,
                          void (*piece)(void *user, enum lull_markup kind, const char *text),
                          void *user);

#endif
