/* SPDX-License-Identifier: MIT */
/* JSON that was printed, in other forms: with times of day as texts, and its lists as tables with
 * commas or tabs. So these forms hold what JSON holds, under the same names. */
#ifndef LULL_VIEW_REFORM_H
#define LULL_VIEW_REFORM_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

/* The same JSON; numbers of the members that are times of day (begin_ns, …) become ISO texts, in
 * the local zone or UTC. Free with g_free(). */
char *lull_reform_times(const char *json, size_t length, bool local_time);

/* Prints each list of objects as a table: a line of headings, then a line for each object. `name`
 * is the first field of each line, the name of the list the second, and what the list belongs to
 * (the first member of the object around it) the third. Members of objects are KEY.MEMBER, lists
 * inside are tables of their own, after it. *is_empty: there was none with a row. False and an error if
 * the file takes no more. */
bool lull_reform_tables(const char *json, const char *name, char separator, FILE *file,
                        bool *is_empty, GError **error);

#endif
