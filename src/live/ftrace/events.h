/* SPDX-License-Identifier: MIT */
/* The events of ftrace that live tracking needs, and what it reads of each. */
#ifndef LULL_LIVE_FTRACE_EVENTS_H
#define LULL_LIVE_FTRACE_EVENTS_H

#include "live/records.h"
#include "source/format/format.h"

/* In comments: what `number` and `text` hold. */
enum lull_ftrace_kind {
    LULL_FTRACE_IRQ_EXIT, /* number, what the handler returned */
    LULL_FTRACE_SOFTIRQ_EXIT,
    LULL_FTRACE_TIMER_EXIT,
    LULL_FTRACE_IRQ_ENTRY,     /* number */
    LULL_FTRACE_SOFTIRQ_ENTRY, /* vector, as in the exit and the raise */
    LULL_FTRACE_SOFTIRQ_RAISE,
    LULL_FTRACE_TIMER_ENTRY,
    LULL_FTRACE_BLOCK_MERGE, /* of requests: device, sector, sectors; what it does */
    LULL_FTRACE_BLOCK_INSERT,
    LULL_FTRACE_BLOCK_ISSUE,
    LULL_FTRACE_BLOCK_COMPLETE,
    LULL_FTRACE_TCP_PROBE, /* ports, of the other end and of this one, family; address */
    LULL_FTRACE_NEWTASK,   /* tid, flags of clone(); name */
    LULL_FTRACE_EXEC,      /* tid, and before */
    LULL_FTRACE_STARTED,   /* tid */
    LULL_FTRACE_WAKING,    /* tid */
    LULL_FTRACE_SWITCH,    /* prev: tid and state, next: tid; names */
    LULL_FTRACE_CALL_EXIT,
    LULL_FTRACE_CALL_ENTRY, /* number; arguments */
    LULL_FTRACE_STACK, /* of the task that the switch before was from: longs, innermost first */
    LULL_FTRACE_KINDS
};

/* Laid out as subscriptions are (lull_binding). */
struct lull_ftrace_fields {
    uint64_t have;
    int64_t flags; /* in which kind of interrupt it happened: bits of below */
    int64_t tid;   /* of the task on the CPU; 0: the idle task */
    int64_t number[3];
    struct lull_text text[2];
};

enum { LULL_FTRACE_IN_HARDIRQ = 0x08, LULL_FTRACE_IN_SOFTIRQ = 0x10 };

/* Measures whose rules these events decide; bits. */
extern const uint32_t lull_ftrace_measures;
/* Those that are waits of tasks. */
#define LULL_FTRACE_WAITS ((1u << LULL_TRACK_SYSCALL) - 1)

struct lull_ftrace_events;

/* What is only seen if it is asked for; bits. */
enum { LULL_FTRACE_WITH_CALLS = 1 << 0, LULL_FTRACE_WITH_STACKS = 1 << 1 };

/* Those that `measures`, bits, need, and those of `with`. `read` returns the
 * text of an event's `format` file, to be freed with free(), and its size; NULL: this kernel has no such
 * event. NULL and an error that names it. */
struct lull_ftrace_events *lull_ftrace_events_new(uint32_t measures, uint32_t with,
                                                  char *(*read)(void *user, const char *system,
                                                                const char *name, int *size),
                                                  void *user, GError **error);
void lull_ftrace_events_free(struct lull_ftrace_events *events);
/* Calls visit() for each, in the order in which they are to be switched on: ends before starts, so that no
 * CPU is thought to be in an interrupt for good. Stops where it is false. */
bool lull_ftrace_events_each(const struct lull_ftrace_events *events,
                             bool (*visit)(void *user, enum lull_ftrace_kind kind,
                                           const char *system, const char *name, GError **error),
                             void *user, GError **error);
/* What kind of event a record is of; LULL_FTRACE_KINDS: it is none of them, or is damaged. */
enum lull_ftrace_kind lull_ftrace_events_load(const struct lull_ftrace_events *events,
                                              const struct lull_format_record *record,
                                              struct lull_ftrace_fields *fields);

#endif
