/* SPDX-License-Identifier: MIT */
/* The fields that say who runs, bound for each class of events, and read before and after each. */
#include "filter/who.h"

#include <string.h>

#include "kernel/vocabulary.h"

/* In this order the first fields of the terms. */
enum field {
    TID,        /* the first of three */
    COMMON_PID, /* of ftrace and perf */
    VTID,
    COMM,
    PREV_TID, /* of sched_switch, as the following; each with its other name */
    PREV_PID,
    NEXT_TID,
    NEXT_PID,
    PREV_COMM,
    NEXT_COMM,
    FIELDS,
};

void lull_who_reserve(struct lull_terms *terms)
{
    static const struct {
        enum lull_field_scope scope;
        const char *name;
    } fields[] = {
        [TID] = {LULL_IN_CONTEXT, "tid"},
        [COMMON_PID] = {LULL_IN_CONTEXT, "common_pid"},
        [VTID] = {LULL_IN_CONTEXT, "vtid"},
        [COMM] = {LULL_IN_CONTEXT, "procname"},
        [PREV_TID] = {LULL_IN_PAYLOAD, "prev_tid"},
        [PREV_PID] = {LULL_IN_PAYLOAD, "prev_pid"},
        [NEXT_TID] = {LULL_IN_PAYLOAD, "next_tid"},
        [NEXT_PID] = {LULL_IN_PAYLOAD, "next_pid"},
        [PREV_COMM] = {LULL_IN_PAYLOAD, "prev_comm"},
        [NEXT_COMM] = {LULL_IN_PAYLOAD, "next_comm"},
    };
    for (uint32_t i = 0; i < FIELDS; i++) {
        const struct lull_filter_step step = {.name = fields[i].name};
        const struct lull_field_path path = {
            .scope = fields[i].scope, .steps = &step, .n_steps = 1};
        uint32_t index;
        lull_terms_add(terms, &path, &index);
        g_assert(index == i);
    }
    terms->n_reserved = FIELDS;
}

static const char *const value_names[LULL_WHO_VALUES] = {
    [LULL_WHO_TID] = "$tid",       [LULL_WHO_COMM] = "$comm", [LULL_WHO_CONTAINER] = "$container",
    [LULL_WHO_CGROUP] = "$cgroup", [LULL_WHO_POD] = "$pod",
};

bool lull_who_find(const char *name, enum lull_who_value *what)
{
    for (uint32_t i = 0; i < LULL_WHO_VALUES; i++) {
        if (strcmp(name, value_names[i]) == 0) {
            *what = (enum lull_who_value)i;
            return true;
        }
    }
    return false;
}

const char *lull_who_name(enum lull_who_value what)
{
    return value_names[what];
}

struct lull_operand lull_who_operand(enum lull_who_value what)
{
    if (lull_who_is_place(what)) {
        return (struct lull_operand){.kind = LULL_OPERAND_RUNNING, .given = what};
    }
    return (struct lull_operand){.kind = LULL_OPERAND_RUNNING,
                                 .index = what == LULL_WHO_TID ? TID : COMM,
                                 .n_fields = what == LULL_WHO_TID ? 3 : 1,
                                 .given = what};
}

/* The first of `n` fields that the class has. */
static struct lull_load first_of(struct lull_compiler *c, enum field field, uint32_t n)
{
    struct lull_load load;
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_operand operand = {.kind = LULL_OPERAND_FIELD, .index = field + i};
        if (lull_compiler_load(c, &operand, &load)) {
            return load;
        }
    }
    return (struct lull_load){.kind = LULL_LOAD_VALUE};
}

void lull_who_compile(struct lull_compiler *c, struct lull_who_class *who)
{
    const char *name = c->source->classes[c->class_index]->name;
    const struct lull_operand tid = lull_who_operand(LULL_WHO_TID);
    const struct lull_operand comm = lull_who_operand(LULL_WHO_COMM);
    *who = (struct lull_who_class){
        .tid = lull_compiler_load_or_none(c, &tid),
        .comm = lull_compiler_load_or_none(c, &comm),
        .own_tid = first_of(c, TID, 2),
        .is_switch = g_strv_contains(lull_vocabulary_names(LULL_EVENT_sched_switch), name),
    };
    if (who->is_switch) {
        who->prev_tid = first_of(c, PREV_TID, 2);
        who->next_tid = first_of(c, NEXT_TID, 2);
        who->prev_comm = first_of(c, PREV_COMM, 1);
        who->next_comm = first_of(c, NEXT_COMM, 1);
    }
}

static void see(const struct lull_who_class *who, struct lull_run *run,
                struct lull_running *running, const struct lull_load *tid,
                const struct lull_load *comm)
{
    if (!who->is_switch || !running) {
        return;
    }
    const struct lull_value value = lull_run_value(run, tid);
    if (value.kind == LULL_VALUE_INT) {
        lull_running_set(running, (int64_t)value.bits, lull_run_value(run, comm).text);
    }
}

void lull_who_leaves(const struct lull_who_class *who, struct lull_run *run,
                     struct lull_running *running)
{
    see(who, run, running, &who->prev_tid, &who->prev_comm);
    const struct lull_value tid = lull_run_value(run, &who->own_tid);
    if (running && tid.kind == LULL_VALUE_INT &&
        (!running->is_known || running->tid != (int64_t)tid.bits)) {
        lull_running_set(running, (int64_t)tid.bits, (struct lull_text){NULL, 0});
    }
}

void lull_who_enters(const struct lull_who_class *who, struct lull_run *run,
                     struct lull_running *running)
{
    see(who, run, running, &who->next_tid, &who->next_comm);
}

void lull_who_values(const struct lull_running *running, struct lull_value *values)
{
    const struct lull_value none = {.kind = LULL_VALUE_NONE};
    const bool is_known = running && running->is_known;
    values[LULL_WHO_TID] = is_known ? lull_value_int(running->tid) : none;
    values[LULL_WHO_COMM] =
        is_known && *running->comm ? lull_value_text(running->comm, strlen(running->comm)) : none;
}

static struct lull_value text_or_none(const char *text)
{
    return *text ? lull_value_text(text, strlen(text))
                 : (struct lull_value){.kind = LULL_VALUE_NONE};
}

void lull_who_places(const struct lull_container_history *history, const struct lull_event *event,
                     struct lull_value *values)
{
    static const struct lull_container_place nowhere = {"", "", ""};
    const struct lull_value *tid = &values[LULL_WHO_TID];
    const struct lull_container_place *place =
        history && tid->kind == LULL_VALUE_INT
            ? lull_container_history_at(history, event->host, (int64_t)tid->bits, event->time_ns)
            : NULL;
    place = place ? place : &nowhere;
    values[LULL_WHO_CONTAINER] = text_or_none(place->name);
    values[LULL_WHO_CGROUP] = text_or_none(place->path);
    values[LULL_WHO_POD] = text_or_none(place->pod);
}

void lull_who_check_places(const struct lull_session *session, GString *warnings)
{
    static const enum lull_event_id needed[] = {
        LULL_EVENT_statedump_cgroup, LULL_EVENT_statedump_pid_ns, LULL_EVENT_cgroup_attach_task};
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        for (uint32_t i = 0; i < G_N_ELEMENTS(needed); i++) {
            if (lull_session_declares(session, host, lull_vocabulary_names(needed[i]))) {
                return;
            }
        }
    }
    g_string_append(warnings,
                    "no trace has the control groups of tasks: $container, $cgroup and $pod are "
                    "unknown; 'lull record' records them\n");
}
