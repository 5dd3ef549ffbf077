/* SPDX-License-Identifier: MIT */
/* Typed events: one struct for each entry of events.def, filled by a session through bindings.
 * Everything to the right of this header sees these structs only, whatever tracer the event came
 * from. */
#ifndef LULL_KERNEL_VOCABULARY_H
#define LULL_KERNEL_VOCABULARY_H

#include <lull/session.h>

/* struct lull_ev_sched_switch { uint64_t have; int64_t prev_tid; … } */
#define EVENT_BEGIN(event, group, ...)                                                             \
    struct lull_ev_##event {                                                                       \
        uint64_t have;
#define INT(event, field, ...) int64_t field;
#define TEXT(event, field, ...) struct lull_text field;
#define RAW(event, field, ...) struct lull_text field;
#define EVENT_END(event)                                                                           \
    }                                                                                              \
    ;
#include "kernel/events.def"

/* The bit of each field in `have`: LULL_FIELD_sched_switch_prev_tid = 0, … */
#define EVENT_BEGIN(event, group, ...)                                                             \
    enum lull_fields_##event                                                                       \
    {
#define INT(event, field, ...) LULL_FIELD_##event##_##field,
#define TEXT(event, field, ...) LULL_FIELD_##event##_##field,
#define RAW(event, field, ...) LULL_FIELD_##event##_##field,
#define EVENT_END(event)                                                                           \
    LULL_FIELDS_##event                                                                            \
    }                                                                                              \
    ;
#include "kernel/events.def"

/* True if the field was in the event. */
#define LULL_HAS(ev, event, field) (((ev)->have >> LULL_FIELD_##event##_##field) & 1)

enum lull_event_id {
#define EVENT_BEGIN(event, group, ...) LULL_EVENT_##event,
#define INT(event, field, ...)
#define TEXT(event, field, ...)
#define RAW(event, field, ...)
#define EVENT_END(event)
#include "kernel/events.def"
    LULL_EVENT_COUNT
};

/* Groups of events, for those who need only some. */
enum lull_event_group {
    LULL_GROUP_SCHED = 1,
    LULL_GROUP_STATE = 2, /* state dump */
    LULL_GROUP_IRQ = 4,
    LULL_GROUP_NET = 8,
    LULL_GROUP_BLOCK = 16,
    LULL_GROUP_SYSCALL = 32,     /* calls, and what they return */
    LULL_GROUP_IO = 64,          /* and fields of calls that use descriptors, their state dump */
    LULL_GROUP_FUTEX = 128,      /* and fields of futex calls */
    LULL_GROUP_CALLNAMES = 8192, /* nothing but the call that a task is in */
    LULL_GROUP_STACKS = 16384,   /* what lies where in memory, to know places in call chains */
    LULL_GROUP_PAGING = 32768,   /* pages of files that are not there; memory freed for a task, or
                                    dumped when it crashes */
    /* What tasks call, with what. */
    LULL_GROUP_CALLS = LULL_GROUP_IO | LULL_GROUP_FUTEX,
    LULL_GROUP_RAISE = 256,       /* softirqs raised */
    LULL_GROUP_WAITED = 8388608,  /* requests of io_uring, leases of files */
    LULL_GROUP_KILLS = 16777216,  /* processes that the kernel kills */
    LULL_GROUP_QUEUES = 33554432, /* packets that devices take from their queues */
    LULL_GROUP_LOCKS = 67108864,  /* locks of the kernel for which tasks wait */
    /* Which memory was freed for a task last: says where none was left. */
    LULL_GROUP_RECLAIMED = LULL_GROUP_PAGING | LULL_GROUP_KILLS,
    /* What the execution graph needs; its paths also say QUEUES. */
    LULL_GROUP_GRAPH = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_NET |
                       LULL_GROUP_BLOCK | LULL_GROUP_CALLS | LULL_GROUP_STACKS | LULL_GROUP_PAGING |
                       LULL_GROUP_RAISE | LULL_GROUP_WAITED | LULL_GROUP_KILLS | LULL_GROUP_LOCKS,
    /* Calls that record numbers only, which are few except with tracers that record no others. */
    LULL_GROUP_CALLNUMBERS =
        LULL_GROUP_SYSCALL | LULL_GROUP_IO | LULL_GROUP_FUTEX | LULL_GROUP_CALLNAMES,
    LULL_GROUP_MEMORY = 512, /* pages allocated and freed */
    LULL_GROUP_NETIF = 1024, /* packets given to devices */
    LULL_GROUP_TAKEN = LULL_GROUP_NETIF | LULL_GROUP_QUEUES,
    LULL_GROUP_POWER = 2048,       /* idle states and frequencies of CPUs */
    LULL_GROUP_REMAP = 4096,       /* bios remapped from one device to another */
    LULL_GROUP_VIRT = 65536,       /* virtual CPUs, on the host of a virtual machine */
    LULL_GROUP_IOCTL = 131072,     /* ioctl() alone; nothing with SYSCALL, IO or CALLNAMES */
    LULL_GROUP_FUNCTIONS = 262144, /* calls of functions, with STACKS: what they are */
    LULL_GROUP_SAMPLES = 524288,   /* what CPUs were found to do, likewise */
    LULL_GROUP_HEAP = 1048576,     /* memory that programs allocate */
    LULL_GROUP_COUNTERS = 2097152, /* counters that were read with events of any kind */
    LULL_GROUP_PLACES = 4194304, /* where programs were at events of any kind, with STACKS; nothing
                                      with COUNTERS */
    /* What lies where in the memory of programs. */
    LULL_GROUP_IMAGES = LULL_GROUP_FUNCTIONS | LULL_GROUP_PLACES,
};

/* Numbers that events may have besides those of the vocabulary. They are laid out behind the struct
 * of the event, `offset` bytes from its end. */
struct lull_vocabulary_more {
    const struct lull_binding *fields; /* integers */
    uint32_t n_fields;
    const char *const *names; /* of the events that have them; NULL-terminated */
    GPtrArray *bindings;      /* takes what the session borrows; frees with g_free() */
};

/* What an event of the vocabulary has of its own; LULL_EVENT_COUNT: any other. */
struct lull_vocabulary_size {
    uint32_t bytes, n_fields;
};
struct lull_vocabulary_size lull_vocabulary_size(enum lull_event_id id);

/* Subscribes a session to all events of the groups and, with `more` (or NULL), to those that have
 * more. ids: by subscription number, the event, LULL_EVENT_COUNT for those that are none of the
 * groups; has room for LULL_EVENT_COUNT + 1 and is filled from the first number this call was given
 * (normally 0). */
void lull_vocabulary_subscribe(struct lull_session *session, unsigned groups,
                               const struct lull_vocabulary_more *more,
                               enum lull_event_id ids[LULL_EVENT_COUNT + 1]);

/* The names an event has, NULL-terminated. */
const char *const *lull_vocabulary_names(enum lull_event_id id);

/* What tracers record in ways of their own. */
struct lull_tracer_habits {
    int32_t prio_offset, wakeup_prio_offset; /* what recorded priorities lack */
    bool reports_current; /* events say who is on the CPU, as the kernel knows it */
};

/* By what a trace says of its tracer ("lttng-modules 2.13.9"). */
struct lull_tracer_habits lull_vocabulary_habits(const char *tracer);

/* What ftrace writes for the name of a task that the kernel had not kept. */
#define LULL_NO_TASK_NAME "<...>"

/* What follows the prefix in a system call's event: "syscall_entry_openat" → "openat"; names of
 * events that do not say ("sys_enter") give "". */
const char *lull_vocabulary_syscall_name(const char *event_name);

#endif
