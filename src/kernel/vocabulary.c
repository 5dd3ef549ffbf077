/* SPDX-License-Identifier: MIT */
/* The vocabulary as tables for the reader: names and bindings of each event. */
#include "kernel/vocabulary.h"

#include "source/session/streams.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define EVENT_BEGIN(event, group, ...) static const struct lull_binding bindings_##event[] = {
#define INT(event, field, ...)                                                                     \
    {PATHS(__VA_ARGS__), LULL_BIND_INT, offsetof(struct lull_ev_##event, field)},
#define TEXT(event, field, ...)                                                                    \
    {PATHS(__VA_ARGS__), LULL_BIND_TEXT, offsetof(struct lull_ev_##event, field)},
#define RAW(event, field, ...)                                                                     \
    {PATHS(__VA_ARGS__), LULL_BIND_RAW, offsetof(struct lull_ev_##event, field)},
#define EVENT_END(event)                                                                           \
    }                                                                                              \
    ;                                                                                              \
    _Static_assert(LULL_FIELDS_##event <= 64, "one bit of `have` for each field");
#include "kernel/events.def"

static const struct {
    const char *const *names;
    const struct lull_binding *bindings;
    uint32_t n_bindings;
    uint32_t size;
    unsigned group;
} vocabulary[LULL_EVENT_COUNT] = {
#define EVENT_BEGIN(event, group, ...)                                                             \
    [LULL_EVENT_##event] = {PATHS(__VA_ARGS__), bindings_##event, LULL_FIELDS_##event,             \
                            sizeof(struct lull_ev_##event), LULL_GROUP_##group},
#define INT(event, field, ...)
#define TEXT(event, field, ...)
#define RAW(event, field, ...)
#define EVENT_END(event)
#include "kernel/events.def"
};

struct lull_vocabulary_size lull_vocabulary_size(enum lull_event_id id)
{
    return id < LULL_EVENT_COUNT
               ? (struct lull_vocabulary_size){vocabulary[id].size, vocabulary[id].n_bindings}
               : (struct lull_vocabulary_size){sizeof(uint64_t), 0};
}

/* Subscribes to events that have more than their own. A bit says of each field whether it is there,
 * and there are 64. */
static uint32_t subscribe_more(struct lull_session *session, enum lull_event_id id,
                               const char *const *names, const struct lull_vocabulary_more *more)
{
    const struct lull_vocabulary_size size = lull_vocabulary_size(id);
    const uint32_t n_more = MIN(more->n_fields, 64 - size.n_fields);
    const struct lull_binding *own = id < LULL_EVENT_COUNT ? vocabulary[id].bindings : NULL;
    struct lull_binding *bindings = g_new(struct lull_binding, size.n_fields + n_more);
    for (uint32_t i = 0; i < size.n_fields; i++) {
        bindings[i] = own[i];
    }
    for (uint32_t i = 0; i < n_more; i++) {
        bindings[size.n_fields + i] = more->fields[i];
        bindings[size.n_fields + i].offset += size.bytes;
    }
    g_ptr_array_add(more->bindings, bindings);
    return lull_session_subscribe(session, names, bindings, size.n_fields + n_more,
                                  size.bytes + more->n_fields * (uint32_t)sizeof(int64_t));
}

void lull_vocabulary_subscribe(struct lull_session *session, unsigned groups,
                               const struct lull_vocabulary_more *more,
                               enum lull_event_id ids[LULL_EVENT_COUNT + 1])
{
    for (unsigned id = 0; id < LULL_EVENT_COUNT; id++) {
        if (!(vocabulary[id].group & groups)) {
            continue;
        }
        uint32_t number =
            more ? subscribe_more(session, id, vocabulary[id].names, more)
                 : lull_session_subscribe(session, vocabulary[id].names, vocabulary[id].bindings,
                                          vocabulary[id].n_bindings, vocabulary[id].size);
        g_assert(number < LULL_EVENT_COUNT);
        lull_session_share_classes(session, number);
        ids[number] = id;
    }
    if (more) {
        uint32_t number = subscribe_more(session, LULL_EVENT_COUNT, more->names, more);
        lull_session_share_classes(session, number);
        ids[number] = LULL_EVENT_COUNT;
    }
}

const char *const *lull_vocabulary_names(enum lull_event_id id)
{
    return vocabulary[id].names;
}

struct lull_tracer_habits lull_vocabulary_habits(const char *tracer)
{
    enum { MAX_RT_PRIO = 100 };
    static const char lttng[] = "lttng-modules ";
    struct lull_tracer_habits habits = {0};
    unsigned version[3] = {0};

    if (!g_str_has_prefix(tracer, lttng)) {
        /* LTTng has no context by itself, and in a container a task's number may be another. */
        habits.reports_current =
            g_str_has_prefix(tracer, "trace-cmd") || g_str_has_prefix(tracer, "perf");
        return habits;
    }
    /* LTTng records priorities less 100, but before 2.7.1 not those of wake-ups. */
    sscanf(tracer + strlen(lttng), "%3u.%3u.%3u", &version[0], &version[1], &version[2]);
    bool is_old = version[0] * 1000000 + version[1] * 1000 + version[2] < 2007001;
    habits.prio_offset = MAX_RT_PRIO;
    habits.wakeup_prio_offset = is_old ? 0 : MAX_RT_PRIO;
    return habits;
}

const char *lull_vocabulary_syscall_name(const char *event_name)
{
    static const char *const prefixes[] = {
        "syscall_entry_",       "syscall_exit_",      "compat_syscall_entry_",
        "compat_syscall_exit_", "sys_enter_",         "sys_exit_",
        "syscalls:sys_enter_",  "syscalls:sys_exit_", "compat_sys_",
    };
    static const char *const nameless[] = {
        "sys_enter",
        "sys_exit",
        "exit_syscall",
        "raw_syscalls:sys_enter",
        "raw_syscalls:sys_exit",
        "syscall_entry_unknown",
        "syscall_exit_unknown",
        "compat_syscall_entry_unknown",
        "compat_syscall_exit_unknown",
        "sys_unknown",
        "compat_sys_unknown",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(nameless); i++) {
        if (strcmp(event_name, nameless[i]) == 0) {
            return "";
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        if (g_str_has_prefix(event_name, prefixes[i])) {
            return event_name + strlen(prefixes[i]);
        }
    }
    return g_str_has_prefix(event_name, "sys_") ? event_name + strlen("sys_") : event_name;
}
