/* SPDX-License-Identifier: MIT */
/* Which call an event is of: by the tracer's name for its class, or by its number. */
#include "kernel/call_events.h"

#include <string.h>

#define ENTRY "syscall_entry_"
#define EXIT "syscall_exit_"

/* LTTng and ftrace name calls by their functions, which tables of numbers call otherwise. */
static const struct {
    const char *number, *function;
} functions[] = {
    {"stat", "newstat"},   {"fstat", "newfstat"},      {"lstat", "newlstat"},
    {"uname", "newuname"}, {"sendfile", "sendfile64"}, {"umount2", "umount"},
};

static bool describes(const struct lull_event_class *class, const char *path,
                      struct lull_field_type *type)
{
    return class->source->ops->describe(class->source, class->index, path, type);
}

const struct call_arch *lull_call_events_arch(const struct lull_trace *trace, const char *machine)
{
    return strcmp(trace->domain, "ust") == 0
               ? NULL
               : call_arch_find(machine ? machine : "", trace->kernel);
}

/* As the model takes them: what the call is given and returns are longs. */
static bool is_32bit(const struct lull_event_class *class)
{
    struct lull_field_type type;
    return (describes(class, "payload.args", &type) && type.element_bytes == 4) ||
           (describes(class, "payload.ret", &type) && type.info.size_bits == 32);
}

static const char *joined(struct lull_arena *arena, bool is_entry, const char *call)
{
    g_autofree char *name = g_strconcat(is_entry ? ENTRY : EXIT, call, NULL);
    return lull_arena_strndup(arena, name, strlen(name));
}

static const char *function_of(const char *call)
{
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        if (strcmp(functions[i].number, call) == 0) {
            return functions[i].function;
        }
    }
    return call;
}

static struct lull_call_event numbered(const struct lull_event_class *class,
                                       const struct call_arch *arch, bool is_entry,
                                       struct lull_arena *arena)
{
    enum { MOST_NUMBERS = 512 };
    const enum call_numbers numbers = call_numbers_of(arch, is_32bit(class));
    const char **names = lull_arena_alloc_n(arena, MOST_NUMBERS, sizeof *names);
    for (uint32_t i = 0; i < MOST_NUMBERS; i++) {
        const char *call = call_name_of_number(numbers, i);
        names[i] = call ? joined(arena, is_entry, function_of(call)) : NULL;
    }
    return (struct lull_call_event){.names = names,
                                    .n_names = MOST_NUMBERS,
                                    .unknown = is_entry ? ENTRY "unknown" : EXIT "unknown"};
}

/* A name that ends with '_' goes on with the call's. */
struct kind {
    const char *name;
    bool is_entry;
};

static bool is_prefix(const struct kind *kind)
{
    return g_str_has_suffix(kind->name, "_");
}

static const struct kind *kind_of(const struct lull_event_class *class)
{
    static const struct kind kinds[] = {
        {"sys_enter", true},
        {"sys_exit", false},
        {"raw_syscalls:sys_enter", true},
        {"raw_syscalls:sys_exit", false},
        {ENTRY "unknown", true},
        {EXIT "unknown", false},
        {"sys_enter_", true},
        {"sys_exit_", false},
        {"syscalls:sys_enter_", true},
        {"syscalls:sys_exit_", false},
    };
    static const struct kind old = {"sys_", true}; /* LTTng before 2.6 */
    struct lull_field_type type;
    const char *name = class->name;
    /* There, sys_exit and sys_exit_group start the calls of these names. */
    if (strcmp(name, "sys_exit_group") == 0 ||
        (strcmp(name, "sys_exit") == 0 && describes(class, "payload.error_code", &type))) {
        return &old;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (is_prefix(&kinds[i]) ? g_str_has_prefix(name, kinds[i].name)
                                 : strcmp(name, kinds[i].name) == 0) {
            return &kinds[i];
        }
    }
    return g_str_has_prefix(name, old.name) ? &old : NULL;
}

const struct lull_call_event *lull_call_event_of(const struct lull_event_class *class,
                                                 const struct call_arch *arch,
                                                 struct lull_arena *arena)
{
    const struct kind *kind = arch ? kind_of(class) : NULL;
    struct lull_field_type number;
    struct lull_call_event event = {.name = NULL};
    if (!kind) {
        return NULL;
    }
    if (is_prefix(kind)) {
        const char *name = class->name;
        event.name = joined(arena, kind->is_entry, name + strlen(kind->name));
    } else if (describes(class, "payload." LULL_CALL_NUMBER_FIELD, &number) &&
               number.info.kind == LULL_INFO_INT) {
        event = numbered(class, arch, kind->is_entry, arena);
    } else {
        return NULL;
    }
    return lull_arena_copy(arena, &event, sizeof event);
}

const char *lull_call_event_label(const void *events, uint64_t number)
{
    const struct lull_call_event *event = events;
    const char *name = number < event->n_names ? event->names[number] : NULL;
    return name ? name : event->unknown;
}
