/* SPDX-License-Identifier: MIT */
/* The names of lttng-analyses: lttng-cputop, lttng-cputop-mi, …, links to lull. */
#ifndef LULL_CMD_DROPIN_H
#define LULL_CMD_DROPIN_H

#include "cmd/verb.h"

/* The verb of a program name, with the options of lttng-analyses; NULL if it is none
 * of its names. Free with lull_dropin_free(). */
struct lull_verb *lull_dropin_verb(const char *program);
void lull_dropin_free(struct lull_verb *verb);

/* Prints an error as the LAMI object on stdout. */
void lull_dropin_print_error(const char *message);

#endif
