/* SPDX-License-Identifier: MIT */
/* Where programs were at events of any kind: the context ip of LTTng, the address of perf's samples. */
#include "kernel/machine.h"
#include "source/session/streams.h"

#include <string.h>

enum { FIELD_IP, FIELD_PID, FIELDS };

struct places {
    GPtrArray *class_names; /* of those that have addresses; NULL-terminated */
    GPtrArray *bindings;    /* that the session borrows */
};

static const char *const ip_paths[] = {"context.ip", "ip", NULL};
static const char *const pid_paths[] = {"context.vpid", "context.pid", NULL};

static const struct lull_binding fields[FIELDS] = {
    [FIELD_IP] = {ip_paths, LULL_BIND_INT, FIELD_IP * sizeof(int64_t)},
    [FIELD_PID] = {pid_paths, LULL_BIND_INT, FIELD_PID * sizeof(int64_t)},
};

static void visit_field(void *user, const struct lull_field_info *field)
{
    bool *has_address = user;
    for (unsigned i = 0; ip_paths[i] && field->kind == LULL_INFO_INT; i++) {
        *has_address |= strcmp(field->path, ip_paths[i]) == 0;
    }
}

static void visit_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct places *places = user;
    bool has_address = false;
    lull_event_class_each_field(event_class, visit_field, &has_address);
    if (has_address) {
        g_ptr_array_add(places->class_names, (gpointer)lull_event_class_name(event_class));
    }
}

void places_find(struct lull_model *model)
{
    struct places *places = g_new0(struct places, 1);
    model->places = places;
    places->class_names = g_ptr_array_new();
    places->bindings = g_ptr_array_new_with_free_func(g_free);
    lull_session_each_declared_class(model->session, visit_class, places);
    g_ptr_array_add(places->class_names, NULL);
}

bool places_more(const struct lull_model *model, struct lull_vocabulary_more *more)
{
    const struct places *places = model->places;
    if (!places || places->class_names->len < 2) {
        return false;
    }
    *more = (struct lull_vocabulary_more){
        .fields = fields,
        .n_fields = FIELDS,
        .names = (const char *const *)places->class_names->pdata,
        .bindings = places->bindings,
    };
    return true;
}

void places_free(struct lull_model *model)
{
    if (model->places) {
        lull_session_unsubscribe_all(model->session); /* it borrows the bindings */
        g_ptr_array_unref(model->places->class_names);
        g_ptr_array_unref(model->places->bindings);
        g_clear_pointer(&model->places, g_free);
    }
}

void places_read(struct lull_model *model, const struct machine *machine,
                 const struct lull_event *event, enum lull_event_id id)
{
    const struct more_values more = more_values(id, event->fields);
    if (!(more.have >> FIELD_IP & 1) || more.of[FIELD_IP] == 0) {
        return;
    }
    const int64_t said = more.have >> FIELD_PID & 1 ? (int64_t)more.of[FIELD_PID] : 0;
    const struct lull_place_fact fact = {
        .time_ns = event->time_ns,
        .address = more.of[FIELD_IP],
        .host = machine->host,
        .pid = said > 0 && said <= INT32_MAX ? (int32_t)said : model->processes[event->trace],
        .is_return = model->is_user[event->trace],
    };
    REPORT(model, place, &fact);
}

void places_mapped(struct lull_model *model, const struct machine *machine, int32_t pid,
                   uint64_t address, uint64_t length, int64_t t)
{
    const struct lull_place_fact fact = {
        .time_ns = t, .address = address, .length = length, .host = machine->host, .pid = pid};
    if (length > 0) {
        REPORT(model, place, &fact);
    }
}
