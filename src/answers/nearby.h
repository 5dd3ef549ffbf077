/* SPDX-License-Identifier: MIT */
/* Paths of a short time without reading all: what was recorded around that time, and more as long as
 * the path depends on what was not read. */
#ifndef LULL_ANSWERS_NEARBY_H
#define LULL_ANSWERS_NEARBY_H

#include <lull/waits.h>

/* Says, before reading, that all questions will be about tasks, and this time: start_ns <= t <
 * end_ns, joined clock, INT64_MIN and INT64_MAX: not limited. Then at most about `bytes` before that
 * time are read, and as many after it, and of the start of the traces the state dump. What is known
 * from events that were not read, is not known: files that were opened, arguments of calls that
 * started, and which threads had lived. 0: LULL_NEARBY_BYTES. No effect if that would be most of
 * it. */
void lull_waits_near(struct lull_waits *waits, int64_t start_ns, int64_t end_ns, uint64_t bytes);

/* So much is enough to find most waits whole. */
#define LULL_NEARBY_BYTES (UINT64_C(8) << 20)

/* Whether the answer, a path or none (NULL), may be another with what was not read. If so, all
 * paths are to be freed, all is to be read again, with more, and the question to be put again. */
bool lull_waits_widen(struct lull_waits *waits, const struct lull_path *path);

/* Since when and until when the last reading knows all; false: it knows everything. */
bool lull_waits_read_range(const struct lull_waits *waits, int64_t *start_ns, int64_t *end_ns);

/* For lull_waits_read(). */
void lull_waits_start_nearby(struct lull_waits *waits);

#endif
