/* SPDX-License-Identifier: MIT */
/* Test only: names the case that crashes or takes too long. */
#ifndef WATCH_H
#define WATCH_H

/* From now on a crash prints `name` (copied), and so does taking longer than `seconds`, which
 * kills. */
void watch_start(const char *name, unsigned seconds);
void watch_end(void);

#endif
