/* SPDX-License-Identifier: MIT */
/* Texts and addresses that system calls are given by pointer, as eBPF programs read them while a tracer records: it
 * sees the pointers only. All of it ends with the process. */
#ifndef LULL_RECORD_NAMES_H
#define LULL_RECORD_NAMES_H

#include <lull/error.h>

#include "record/names/records.h"

struct lull_names;

/* What is to be read. */
struct lull_names_wish {
    bool
        is_filtered; /* only of processes that lull_names_follow() names, and what they start: calls */
    bool calls;      /* what system calls were given */
    bool packets;    /* their headers */
};

/* Loads the programs and attaches them; to be called before the tracer is set up, so that what is read of a call comes
 * before the end of that call in the trace. NULL and an error, one line, if this machine, or who runs this, cannot. */
struct lull_names *lull_names_new(const struct lull_names_wish *wish, GError **error);
/* Of a filtered one: this process too, and what it starts from now on. */
bool lull_names_follow(struct lull_names *names, pid_t pid, GError **error);
/* What takes the records. Any may be NULL. */
struct lull_names_sink {
    void (*put)(void *user, const struct lull_names_record *record);
    void (*packet)(void *user, const struct lull_names_packet *packet);
    void *user;
};

/* Hands out the records there are, those of each kind in the order in which they came. A record is sound: its text has `length` bytes, of
 * which the last is a NUL, or none. */
void lull_names_take(struct lull_names *names, const struct lull_names_sink *sink);
/* What was not recorded so far. */
uint64_t lull_names_lost(const struct lull_names *names);
void lull_names_free(struct lull_names *names);

#endif
