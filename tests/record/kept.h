/* SPDX-License-Identifier: MIT */
/* A keeper for tests that drive tracers by themselves: it is the user they are. What goes wrong ends
 * the test. */
#ifndef LULL_TESTS_RECORD_KEPT_H
#define LULL_TESTS_RECORD_KEPT_H

#include "record/guard.h"
#include "record/keeper.h"

struct kept {
    struct lull_guard guard;
    struct lull_keeper keeper;
    struct lull_invoker invoker;
};

/* Before there are threads. */
void kept_start(struct kept *kept);
/* The recording DIR/NAME. */
void kept_make(struct kept *kept, const char *dir, const char *name);
void kept_publish(const struct kept *kept);
/* Moves its file, or directory, to the directory above it, and removes it. */
void kept_take_out(const struct kept *kept, const char *file);
void kept_end(struct kept *kept);

#endif
