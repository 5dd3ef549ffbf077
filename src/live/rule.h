/* SPDX-License-Identifier: MIT */
/* Rules of `lull track`: which waits are worth an alarm.
 *   RULE := KIND ["(" ARGUMENT ")"] [":" FILTER] [">" TIME] ["timeout" TIME] ["worst"]
 * FILTER is the language of --filter over what is known of a wait (lull_track_names). */
#ifndef LULL_LIVE_RULE_H
#define LULL_LIVE_RULE_H

#include <lull/error.h>
#include <stdbool.h>

#include "filter/given.h"
#include "kernel/calls.h"
#include "live/records.h"

/* What may stand in parentheses after a kind. */
enum lull_track_argument {
    LULL_TRACK_NO_ARGUMENT,
    LULL_TRACK_STATES, /* S, D, S|D */
    LULL_TRACK_DISK,
    LULL_TRACK_IRQ_NUMBER,
    LULL_TRACK_VECTOR,
    LULL_TRACK_CALL_LIST, /* read, write */
    LULL_TRACK_PORT,
    LULL_TRACK_INTERFACE,
    LULL_TRACK_MARK_NAME,
};

/* One line of the table of kinds. */
struct lull_track_kind {
    const char *name;
    const char *help; /* "from … to …" */
    enum lull_track_measure measure;
    enum lull_track_argument argument;
    bool needs_argument;
    bool has_no_task;                /* the task is one that was interrupted */
    enum lull_track_hop_kind object; /* what it happens to; NONE: to a task */
    const char *by;                  /* … "issued by" the task */
    enum lull_track_calls calls;
    enum lull_track_called called;          /* unless ANY_CALL */
    const char *call[LULL_TRACK_CALLS + 1]; /* LISTED_CALLS; ends with NULL */
};

/* Ends with a NULL name. */
extern const struct lull_track_kind lull_track_kinds[];

/* What a filter can name, in the order of lull_track_values. */
enum lull_track_name {
    LULL_TRACK_COMM_NAME,
    LULL_TRACK_PID_NAME,
    LULL_TRACK_TID_NAME,
    LULL_TRACK_UID_NAME,
    LULL_TRACK_CPU_NAME,
    LULL_TRACK_GROUP_NAME,
    LULL_TRACK_HOST_NAME,
    LULL_TRACK_CALL_NAME,
    LULL_TRACK_WAKER_NAME,
    LULL_TRACK_DISK_NAME,
    LULL_TRACK_RW_NAME,
    LULL_TRACK_INTERFACE_NAME,
    LULL_TRACK_LPORT_NAME,
    LULL_TRACK_RPORT_NAME,
    LULL_TRACK_RADDR_NAME,
    LULL_TRACK_NAMES
};

extern const struct lull_given_name lull_track_names[];
/* Whether a filter of this kind can name it. */
bool lull_track_kind_has(const struct lull_track_kind *kind, enum lull_track_name name);

struct lull_track_rule {
    char *text; /* as it was given */
    const struct lull_track_kind *kind;
    uint32_t states;      /* 0: any */
    const char *argument; /* what is in the parentheses; "" */
    bool has_number;
    uint32_t number; /* only that disk, interrupt, vector, port, interface, or hash of a name */
    int32_t call[LULL_TRACK_CALLS];
    uint32_t n_calls; /* 0: all, or those of the kind */
    int64_t threshold_ns;
    int64_t timeout_ns; /* 0: none; a wait that lasts longer is reported while it does */
    bool is_worst;      /* each alarm raises the threshold to its time */
    const struct lull_node *filter; /* or NULL */
    uint32_t names;                 /* bits: what the filter has of enum lull_track_name */
    struct lull_arena *arena;
};

/* NULL and LULL_ERROR_USAGE with the column and what was expected. Free with lull_track_rule_free(). */
struct lull_track_rule *lull_track_rule_parse(const char *text, GError **error);
/* The same, and a rule without a time, which is about all of its kind. */
struct lull_track_rule *lull_track_rule_parse_any(const char *text, GError **error);
/* Whether a mark may have that name. */
bool lull_track_is_mark(const char *name);
void lull_track_rule_free(struct lull_track_rule *rule);
/* Whether its filter has that name anywhere. */
bool lull_track_rule_names(const struct lull_track_rule *rule, enum lull_track_name name);
/* The control group that it is only about, if the filter is (a conjunction with) cgroup == "PATH"; NULL: none. Free
 * with g_free(). */
char *lull_track_rule_group(const struct lull_track_rule *rule);
/* The part of it that the kernel checks, of which the group is not in `out`; the filter has the last word. True
 * if that part is all. */
bool lull_track_rule_compile(const struct lull_track_rule *rule,
                             struct lull_track_kernel_rule *out);

#endif
