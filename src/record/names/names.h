/* SPDX-License-Identifier: MIT */
/* Texts and addresses that system calls are given by pointer, as eBPF programs read them while a tracer records: it
 * sees the pointers only. All of it ends with the process. */
#ifndef LULL_RECORD_NAMES_H
#define LULL_RECORD_NAMES_H

#include <lull/error.h>

#include "record/names/records.h"

struct lull_names;

/* Loads the programs and attaches them; to be called before the tracer is set up, so that what is read of a call comes
 * before the end of that call in the trace. NULL and an error, one line, if this machine, or who runs this, cannot. */
struct lull_names *lull_names_new(bool is_filtered, GError **error);
/* Of a filtered one: this process too, and what it starts from now on. */
bool lull_names_follow(struct lull_names *names, pid_t pid, GError **error);
/* Hands out the records there are, in the order in which they came. A record is sound: its text has `length` bytes, of
 * which the last is a NUL, or none. */
void lull_names_take(struct lull_names *names,
                     void (*put)(void *user, const struct lull_names_record *record), void *user);
/* What was not recorded so far. */
uint64_t lull_names_lost(const struct lull_names *names);
void lull_names_free(struct lull_names *names);

#endif
