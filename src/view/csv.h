/* SPDX-License-Identifier: MIT */
/* Fields of tables with commas (RFC 4180) or tabs between. */
#ifndef LULL_VIEW_CSV_H
#define LULL_VIEW_CSV_H

#include "view/linebuf.h"

/* Appends a text so that it is one field: with commas, in quotes where it needs them; with tabs, with
 * \t, \n, \r and \\ for what would end it. NULL: an empty field. */
void lull_csv_append(struct lull_linebuf *line, const char *text, char separator);

#endif
