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

void lull_vocabulary_subscribe(struct lull_session *session, unsigned groups,
                               enum lull_event_id ids[LULL_EVENT_COUNT])
{
    for (unsigned id = 0; id < LULL_EVENT_COUNT; id++) {
        if (!(vocabulary[id].group & groups)) {
            continue;
        }
        uint32_t number =
            lull_session_subscribe(session, vocabulary[id].names, vocabulary[id].bindings,
                                   vocabulary[id].n_bindings, vocabulary[id].size);
        g_assert(number < LULL_EVENT_COUNT);
        lull_session_share_classes(session, number);
        ids[number] = id;
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
