/* SPDX-License-Identifier: MIT */
/* The functions that a program made while it ran, as it lists them in /tmp/perf-PID.map: address,
 * size and name, a line each (tools/perf/Documentation/jit-interface.txt of Linux). */
#ifndef LULL_SYMBOL_PERF_MAP_H
#define LULL_SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct lull_object;

/* Their "bytes of the file" are addresses. Of several lines of one address the last counts: the
 * memory was used again. NULL: the text has none. */
struct lull_object *lull_perf_map_parse(const char *text, size_t length);
/* Of a file, which is closed. NULL, with *is_other if it belongs neither to this user nor to root: it names nothing, or
 * is refused. */
struct lull_object *lull_perf_map_read(int fd, bool *is_other);
/* Whether memory is of no file, as perf records and proc(5) spell it, so that such functions may be
 * there. */
bool lull_perf_map_is_for(const char *path);
/* "perf-42.map": what they are called in a recording, there with the process as inode. Free with
 * g_free(). */
char *lull_perf_map_name(int pid);

#endif
