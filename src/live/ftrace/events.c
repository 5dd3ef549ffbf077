/* SPDX-License-Identifier: MIT */
/* The table of events, read by means of the kernel's own descriptions. */
#include "live/ftrace/events.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 3, TEXTS = 2, OWN = 2 };

#define BIT(measure) (1u << LULL_TRACK_##measure)
#define SOFTIRQS (BIT(SOFTIRQ) | BIT(RAISE))
#define REQUESTS (BIT(BLOCK) | BIT(QUEUE))
#define REQUEST {"dev", "sector", "nr_sector"}, {"rwbs"}

static const struct event {
    const char *system, *name;
    uint32_t measures; /* bits of those that need it; 0: it is seen if it is asked for */
    bool is_optional;  /* causes have other names without it */
    const char *number[NUMBERS];
    const char *text[TEXTS];
    uint32_t with; /* by that bit */
} table[LULL_FTRACE_KINDS] = {
    [LULL_FTRACE_IRQ_EXIT] =
        {"irq", "irq_handler_exit", LULL_FTRACE_WAITS | BIT(IRQ), false, {"irq", "ret"}, {NULL}},
    [LULL_FTRACE_SOFTIRQ_EXIT] =
        {"irq", "softirq_exit", LULL_FTRACE_WAITS | SOFTIRQS, false, {"vec"}, {NULL}},
    [LULL_FTRACE_TIMER_EXIT] =
        {"timer", "hrtimer_expire_exit", LULL_FTRACE_WAITS, true, {NULL}, {NULL}},
    [LULL_FTRACE_IRQ_ENTRY] =
        {"irq", "irq_handler_entry", LULL_FTRACE_WAITS | BIT(IRQ), false, {"irq"}, {NULL}},
    [LULL_FTRACE_SOFTIRQ_ENTRY] =
        {"irq", "softirq_entry", LULL_FTRACE_WAITS | SOFTIRQS, false, {"vec"}, {NULL}},
    [LULL_FTRACE_SOFTIRQ_RAISE] =
        {"irq", "softirq_raise", LULL_FTRACE_WAITS | BIT(RAISE), false, {"vec"}, {NULL}},
    [LULL_FTRACE_TIMER_ENTRY] =
        {"timer", "hrtimer_expire_entry", LULL_FTRACE_WAITS, true, {NULL}, {NULL}},
    [LULL_FTRACE_BLOCK_MERGE] = {"block", "block_rq_merge", BIT(QUEUE), true, REQUEST},
    [LULL_FTRACE_BLOCK_INSERT] = {"block", "block_rq_insert", BIT(QUEUE), false, REQUEST},
    [LULL_FTRACE_BLOCK_ISSUE] = {"block", "block_rq_issue", REQUESTS, false, REQUEST},
    [LULL_FTRACE_BLOCK_COMPLETE] = {"block", "block_rq_complete", LULL_FTRACE_WAITS | BIT(BLOCK),
                                    true, REQUEST},
    [LULL_FTRACE_TCP_PROBE] =
        {"tcp", "tcp_probe", LULL_FTRACE_WAITS, true, {"dport", "sport", "family"}, {"daddr"}},
    [LULL_FTRACE_NEWTASK] = {"task", "task_newtask", ~0u, false, {"pid", "clone_flags"}, {"comm"}},
    [LULL_FTRACE_EXEC] = {"sched", "sched_process_exec", ~0u, false, {"pid", "old_pid"}, {NULL}},
    [LULL_FTRACE_STARTED] =
        {"sched", "sched_wakeup_new", LULL_FTRACE_WAITS, false, {"pid"}, {NULL}},
    [LULL_FTRACE_WAKING] = {"sched", "sched_waking", LULL_FTRACE_WAITS, false, {"pid"}, {NULL}},
    [LULL_FTRACE_SWITCH] = {"sched",
                            "sched_switch",
                            ~0u,
                            false,
                            {"prev_pid", "prev_state", "next_pid"},
                            {"prev_comm", "next_comm"}},
    [LULL_FTRACE_CALL_EXIT] =
        {"raw_syscalls", "sys_exit", 0, false, {NULL}, {NULL}, LULL_FTRACE_WITH_CALLS},
    [LULL_FTRACE_CALL_ENTRY] =
        {"raw_syscalls", "sys_enter", 0, false, {"id"}, {"args"}, LULL_FTRACE_WITH_CALLS},
    [LULL_FTRACE_STACK] =
        {"ftrace", "kernel_stack", 0, false, {"size"}, {"caller"}, LULL_FTRACE_WITH_STACKS},
};

const uint32_t lull_ftrace_measures =
    LULL_FTRACE_WAITS | BIT(SYSCALL) | REQUESTS | BIT(IRQ) | SOFTIRQS;

struct lull_ftrace_events {
    struct lull_formats *formats;
    GArray *kinds;        /* int32_t by index of the class */
    uint32_t stack_at[3]; /* where a stack has its task, its number of frames, and these */
};

/* What of a subscription is the same for all events of a kind. */
struct binding {
    const char *paths[2];
};

static void bind(struct lull_binding *binding, struct binding *own, const char *path,
                 enum lull_bind_kind kind, size_t offset)
{
    own->paths[0] = path;
    *binding = (struct lull_binding){own->paths, kind, (uint32_t)offset};
}

static uint32_t bind_all(const struct event *event, struct binding *own,
                         struct lull_binding *bindings)
{
    uint32_t n = 0;
    bind(&bindings[n], &own[n], "context.common_flags", LULL_BIND_INT,
         offsetof(struct lull_ftrace_fields, flags));
    n++;
    bind(&bindings[n], &own[n], "context.common_pid", LULL_BIND_INT,
         offsetof(struct lull_ftrace_fields, tid));
    n++;
    for (uint32_t i = 0; i < NUMBERS && event->number[i]; i++, n++) {
        bind(&bindings[n], &own[n], event->number[i], LULL_BIND_INT,
             offsetof(struct lull_ftrace_fields, number) + i * sizeof(int64_t));
    }
    for (uint32_t i = 0; i < TEXTS && event->text[i]; i++, n++) {
        bind(&bindings[n], &own[n], event->text[i], LULL_BIND_RAW,
             offsetof(struct lull_ftrace_fields, text) + i * sizeof(struct lull_text));
    }
    return n;
}

/* Whether the kernel's event has all that is read of it. */
static bool has_all(const struct lull_format *format, const struct lull_binding *bindings,
                    uint32_t n, GError **error)
{
    for (uint32_t i = 0; i < n; i++) {
        if (format->undecoded || !lull_format_find_field(format, bindings[i].paths[0])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "live tracking: this kernel's event %s:%s has no field %s that can be read",
                        format->system, format->event_class.name, bindings[i].paths[0]);
            return false;
        }
    }
    return true;
}

static bool add(struct lull_ftrace_events *events, int32_t kind, const char *text, int size,
                GError **error)
{
    if (!lull_formats_add(events->formats, table[kind].system, text, (size_t)MAX(size, 0), NULL, 0,
                          error)) {
        return false;
    }
    g_array_append_val(events->kinds, kind);
    return true;
}

static bool subscribe(struct lull_ftrace_events *events, GError **error)
{
    struct binding own[LULL_FTRACE_KINDS][OWN + NUMBERS + TEXTS];
    struct lull_binding bindings[LULL_FTRACE_KINDS][OWN + NUMBERS + TEXTS];
    struct lull_subscription subscriptions[LULL_FTRACE_KINDS] = {0};
    const struct lull_fields *no_more[LULL_FTRACE_KINDS] = {NULL};
    for (uint32_t i = 0; i < events->kinds->len; i++) {
        const int32_t kind = g_array_index(events->kinds, int32_t, i);
        struct lull_subscription *s = &subscriptions[kind];
        s->bindings = bindings[kind];
        s->n_bindings = bind_all(&table[kind], own[kind], bindings[kind]);
        s->fields_size = sizeof(struct lull_ftrace_fields);
        const struct lull_format *format = events->formats->all->pdata[i];
        if (!has_all(format, bindings[kind], s->n_bindings, error)) {
            return false;
        }
        for (uint32_t k = 0; kind == LULL_FTRACE_STACK && k < G_N_ELEMENTS(events->stack_at); k++) {
            events->stack_at[k] = /* common_pid, size, caller */
                lull_format_find_field(format, bindings[kind][k + 1].paths[0])->offset;
        }
    }
    lull_formats_subscribe(events->formats, subscriptions,
                           (const int32_t *)(void *)events->kinds->data,
                           sizeof(struct lull_ftrace_fields), no_more);
    return true;
}

struct lull_ftrace_events *lull_ftrace_events_new(uint32_t measures, uint32_t with,
                                                  char *(*read)(void *user, const char *system,
                                                                const char *name, int *size),
                                                  void *user, GError **error)
{
    struct lull_ftrace_events *events = g_new0(struct lull_ftrace_events, 1);
    bool done = true;
    events->formats =
        lull_formats_new(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, (uint32_t)sizeof(long));
    events->kinds = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t kind = 0; kind < LULL_FTRACE_KINDS && done; kind++) {
        const struct event *event = &table[kind];
        int size = 0;
        if (event->measures ? !(event->measures & measures) : !(event->with & with)) {
            continue;
        }
        char *text = read(user, event->system, event->name, &size);
        if (text) {
            done = add(events, kind, text, size, error);
        } else if (!event->is_optional) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "live tracking: this kernel has no event %s:%s", event->system,
                        event->name);
            done = false;
        }
        free(text);
    }
    if (done && subscribe(events, error)) {
        return events;
    }
    lull_ftrace_events_free(events);
    return NULL;
}

void lull_ftrace_events_free(struct lull_ftrace_events *events)
{
    if (events) {
        lull_formats_free(events->formats);
        g_array_unref(events->kinds);
        g_free(events);
    }
}

bool lull_ftrace_events_each(const struct lull_ftrace_events *events,
                             bool (*visit)(void *user, enum lull_ftrace_kind kind,
                                           const char *system, const char *name, GError **error),
                             void *user, GError **error)
{
    for (uint32_t i = 0; i < events->kinds->len; i++) {
        const int32_t kind = g_array_index(events->kinds, int32_t, i);
        if (kind != LULL_FTRACE_STACK && /* triggers write it */
            !visit(user, (enum lull_ftrace_kind)kind, table[kind].system, table[kind].name,
                   error)) {
            return false;
        }
    }
    return true;
}

/* The kernel says that there are eight frames, and writes as many as there are. */
static enum lull_ftrace_kind load_stack(const struct lull_ftrace_events *events,
                                        const struct lull_format_record *record,
                                        struct lull_ftrace_fields *fields)
{
    const uint32_t *at = events->stack_at;
    const bool is_big = events->formats->is_big_endian;
    if (record->size < at[0] + 4 || record->size < at[1] + 4 || record->size < at[2]) {
        return LULL_FTRACE_KINDS;
    }
    const uint32_t n = lull_load_u32(record->data + at[1], is_big);
    const uint32_t room = (record->size - at[2]) / (uint32_t)sizeof(long);
    memset(fields, 0, sizeof *fields);
    fields->tid = (int32_t)lull_load_u32(record->data + at[0], is_big);
    fields->text[0] = (struct lull_text){.data = (const char *)record->data + at[2],
                                         .length = MIN(n, room) * (uint32_t)sizeof(long)};
    return LULL_FTRACE_STACK;
}

enum lull_ftrace_kind lull_ftrace_events_load(const struct lull_ftrace_events *events,
                                              const struct lull_format_record *record,
                                              struct lull_ftrace_fields *fields)
{
    const struct lull_formats *formats = events->formats;
    if (record->size < formats->id_offset + 2) {
        return LULL_FTRACE_KINDS;
    }
    const struct lull_format *format = lull_formats_find(
        formats, lull_load_u16(record->data + formats->id_offset, formats->is_big_endian));
    if (format && format->subscription == LULL_FTRACE_STACK) {
        return load_stack(events, record, fields);
    }
    if (!format || record->size < format->least_size) {
        return LULL_FTRACE_KINDS;
    }
    lull_format_load(format, record, (uint8_t *)fields);
    return (enum lull_ftrace_kind)format->subscription;
}
