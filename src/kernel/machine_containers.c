/* SPDX-License-Identifier: MIT */
/* Which container each task is in: what a state dump says of its control group and pid namespace,
 * what it inherits from who forked it, and where it is moved to. */
#include "kernel/machine.h"

#include <string.h>

/* include/uapi/linux/nsfs.h and linux/sched.h of the kernel. */
#define FIRST_PID_NAMESPACE 0xeffffffcu
#define CLONE_NEW_PID_NAMESPACE 0x20000000u

/* Digits of an id that are shown. */
enum { SHOWN_DIGITS = 12 };

static const struct lull_container unknown = {"", "", "", "", "?"};

static const char *keep(struct lull_model *model, const char *text)
{
    const uint32_t label = model_label(model, text);
    return model->labels.items[label];
}

static const char *keep_span(struct lull_model *model, struct lull_span_text span)
{
    const uint32_t label =
        model_label_of(model, (struct lull_text){span.text, (uint32_t)span.length});
    return model->labels.items[label];
}

/* systemd writes '-' as "\x2d". */
static const char *keep_unescaped(struct lull_model *model, struct lull_span_text span)
{
    g_autofree char *text = g_strndup(span.text, span.length);
    char *to = text;
    for (const char *at = text; *at;) {
        if (at[0] == '\\' && at[1] == 'x' && g_ascii_isxdigit(at[2]) && g_ascii_isxdigit(at[3])) {
            *to++ = (char)(g_ascii_xdigit_value(at[2]) << 4 | g_ascii_xdigit_value(at[3]));
            at += 4;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    return keep(model, text);
}

/* The name that its runtime's files have; NULL: not recorded. */
static const char *name_of_id(const struct lull_model *model, const char *id)
{
    return g_hash_table_lookup(model->container_names, id);
}

/* What is known by the path of the group. */
static void describe(struct lull_model *model, const struct lull_group_name *group,
                     struct lull_container *container)
{
    char text[160];
    if (group->pod.length) {
        g_autofree char *uid = g_strndup(group->pod.text, group->pod.length);
        container->pod = keep(model, g_strdelimit(uid, "_", '-'));
        container->runtime = "kubernetes";
        g_snprintf(text, sizeof text, "pod %s", container->pod);
    }
    if (group->runtime) {
        container->runtime = group->runtime;
        container->id = keep_unescaped(model, group->id);
        const bool is_long = strlen(container->id) == 64;
        const char *known = name_of_id(model, container->id);
        if (known) {
            /* "NAMESPACE/POD/CONTAINER" */
            const char *slash = strrchr(known, '/');
            container->name = known;
            if (slash && group->pod.length) {
                container->pod = keep_span(model, (struct lull_span_text){known, slash - known});
            }
            return;
        }
        g_snprintf(text, sizeof text, is_long ? "%s:%.*s" : "%s%.*s", is_long ? group->runtime : "",
                   is_long ? SHOWN_DIGITS : 120, container->id);
    }
    container->name = keep(model, text);
}

/* ---- rows ---- */

static const char *row_name(const struct lull_container *container, enum lull_group_by by)
{
    return by == LULL_BY_CGROUP                   ? *container->path ? container->path : "?"
           : by == LULL_BY_POD && *container->pod ? container->pod
                                                  : container->name;
}

/* Tasks with this name. Numbers of interrupt contexts are negative too, but small. */
static uint32_t row_of(struct lull_model *model, struct machine *machine, const char *name)
{
    const uint32_t label = model_label(model, name);
    uint32_t row = lull_map_find(&machine->rows, label);
    if (row == LULL_MAP_NONE) {
        row = model_task_new(model, machine, INT32_MIN);
        model_rename_whole(model, row, (struct lull_text){name, (uint32_t)strlen(name)}, INT64_MIN);
        lull_map_insert(&machine->rows, label, row);
    }
    return row;
}

/* Its name may come in a later dump. */
static void remember_unnamed(struct lull_model *model, struct container *made, uint32_t number)
{
    if (*made->public.id && !name_of_id(model, made->public.id)) {
        const uint32_t id = model_label(model, made->public.id);
        made->before = lull_map_find(&model->unnamed, id);
        lull_map_insert(&model->unnamed, id, number);
    }
}

static uint32_t container_of(struct lull_model *model, struct machine *machine, uint32_t cgroup,
                             uint32_t pid_ns)
{
    const uint64_t key = (uint64_t)cgroup << 32 | pid_ns;
    uint32_t number = lull_map_find(&machine->containers, key);
    if (number != LULL_MAP_NONE) {
        return number;
    }
    struct container *made = g_new(struct container, 1);
    struct lull_container *container = &made->public;
    struct lull_group_name group;
    const char *path = cgroup == LULL_NONE ? "" : model->labels.items[cgroup];
    *made = (struct container){{path, "host", "", "", "host"}, machine->host, LULL_NONE, LULL_NONE};
    number = (uint32_t)model->containers.count;
    if (lull_group_parse(path, &group)) {
        describe(model, &group, container);
        remember_unnamed(model, made, number);
    } else if (pid_ns != 0 && pid_ns != FIRST_PID_NAMESPACE) {
        char text[32];
        g_snprintf(text, sizeof text, "%u", pid_ns);
        container->runtime = "pidns";
        container->id = keep(model, text);
        g_snprintf(text, sizeof text, "pidns %u", pid_ns);
        container->name = keep(model, text);
    }
    lull_vec_push(&model->containers, made);
    lull_map_insert(&machine->containers, key, number);
    if (model->group_by != LULL_BY_TASK && model->group_by != LULL_BY_VM) {
        made->row = row_of(model, machine, row_name(container, model->group_by));
    }
    return number;
}

/* After its control group or namespace has become another. May move all tasks. */
static void update(struct lull_model *model, struct machine *machine, uint32_t number)
{
    const struct task *task = &model->tasks.items[number];
    const uint32_t container = task->cgroup == LULL_NONE && (task->pid_ns == 0 || task->is_placed)
                                   ? LULL_NONE
                                   : container_of(model, machine, task->cgroup, task->pid_ns);
    model->tasks.items[number].container = container;
}

void containers_named(struct lull_model *model, const struct lull_ev_statedump_container *ev)
{
    if (LULL_HAS(ev, statedump_container, id) && LULL_HAS(ev, statedump_container, name)) {
        const uint32_t id = model_label_of(model, ev->id), name = model_label_of(model, ev->name);
        g_hash_table_insert(model->container_names, (gpointer)model->labels.items[id],
                            (gpointer)model->labels.items[name]);
        uint32_t number = lull_map_remove(&model->unnamed, id);
        while (number != LULL_MAP_NONE) { /* made since the last dump */
            struct container *container = model->containers.items[number];
            struct lull_group_name group;
            if (lull_group_parse(container->public.path, &group)) {
                describe(model, &group, &container->public);
            }
            number = container->before;
        }
    }
}

/* A state dump never overrides what events have already reported. */
void containers_dumped(struct lull_model *model, struct machine *machine,
                       const struct lull_ev_statedump_cgroup *ev)
{
    if (!LULL_HAS(ev, statedump_cgroup, tid) || ev->tid <= 0 || ev->tid > INT32_MAX ||
        !LULL_HAS(ev, statedump_cgroup, path)) {
        return;
    }
    const uint32_t number = model_task(model, machine, (int32_t)ev->tid, 0);
    struct task *task = &model->tasks.items[number];
    if (task->cgroup == LULL_NONE) {
        task->cgroup = model_label_of(model, ev->path);
        update(model, machine, number);
    }
}

/* LTTng dumps a task once for each namespace that it can be seen from: of these the innermost is its own. */
static void dumped_ns(struct lull_model *model, struct machine *machine, int64_t tid,
                      int64_t namespace, int64_t level, int64_t vtid)
{
    const uint32_t number = model_task(model, machine, (int32_t)tid, 0);
    struct task *task = &model->tasks.items[number];
    if (level < task->ns_level) {
        return;
    }
    task->ns_level = (int32_t)MIN(level, INT32_MAX);
    task->pid_ns = (uint32_t)namespace;
    if (vtid > 0 && vtid <= INT32_MAX) {
        task->vtid = (int32_t)vtid;
    }
    update(model, machine, number);
}

#define DUMPED_NS(event, namespace, level_of)                                                      \
    if (LULL_HAS(ev, event, tid) && ev->tid > 0 && ev->tid <= INT32_MAX &&                         \
        LULL_HAS(ev, event, namespace)) {                                                          \
        dumped_ns(model, machine, ev->tid, ev->namespace,                                          \
                  LULL_HAS(ev, event, level_of) ? ev->level_of : 0,                                \
                  LULL_HAS(ev, event, vtid) ? ev->vtid : 0);                                       \
    }

void containers_dumped_ns(struct lull_model *model, struct machine *machine,
                          const struct lull_ev_statedump_pid_ns *ev)
{
    DUMPED_NS(statedump_pid_ns, number, level)
}

void containers_dumped_process(struct lull_model *model, struct machine *machine,
                               const struct lull_ev_statedump_process *ev)
{
    DUMPED_NS(statedump_process, ns_number, ns_level)
}

void containers_forked(struct lull_model *model, struct machine *machine, uint32_t parent,
                       uint32_t child, uint32_t flags, int64_t pid_ns)
{
    const struct task *from = &model->tasks.items[parent];
    struct task *to = &model->tasks.items[child];
    to->is_placed |= (flags != UINT32_MAX && (flags & CLONE_PLACED)) ||
                     (from->is_placed && from->cgroup == LULL_NONE);
    if (to->cgroup == LULL_NONE && !to->is_placed) {
        to->cgroup = from->cgroup;
    }
    if (pid_ns > 0) {
        to->pid_ns = (uint32_t)pid_ns;
    } else if (to->pid_ns == 0 && (flags == UINT32_MAX || !(flags & CLONE_NEW_PID_NAMESPACE))) {
        to->pid_ns = from->pid_ns;
    }
    update(model, machine, child);
}

/* Where both versions are in use, version 2 and those hierarchies of version 1 that manage nothing
 * keep all tasks in their root. */
void containers_attached(struct lull_model *model, struct machine *machine,
                         const struct lull_cgroup_fact *fact)
{
    const char *path = model->labels.items[fact->path];
    struct task *moved = &model->tasks.items[fact->task];
    if (fact->hierarchy != 0 && strcmp(path, "/") == 0) {
        return;
    }
    moved->cgroup = fact->path;
    update(model, machine, fact->task);
}

bool lull_model_is_placed(const struct lull_model *model, uint32_t task)
{
    return model->tasks.items[task].is_placed;
}

const struct lull_container *lull_model_container(const struct lull_model *model, uint32_t task)
{
    const uint32_t number = model->tasks.items[task].container;
    return number == LULL_NONE ? &unknown : &model->containers.items[number]->public;
}

uint32_t lull_model_container_count(const struct lull_model *model)
{
    return (uint32_t)model->containers.count;
}

const struct lull_container *lull_model_container_at(const struct lull_model *model, uint32_t index,
                                                     uint32_t *host)
{
    const struct container *container = model->containers.items[index];
    *host = container->host;
    return &container->public;
}

void lull_model_group_by(struct lull_model *model, enum lull_group_by by)
{
    model->group_by = by;
    for (size_t i = 0; by != LULL_BY_TASK && i < model->machines.count; i++) {
        struct machine *machine = &model->machines.items[i];
        machine->unknown_row = row_of(model, machine, by == LULL_BY_VM ? "host" : unknown.name);
    }
}

void lull_model_add_vm(struct lull_model *model, uint32_t host, int32_t pid, int32_t tid,
                       const char *name)
{
    struct machine *machine = model_machine(model, host);
    const uint32_t row = row_of(model, machine, name);
    lull_map_insert(&machine->vms, (uint32_t)tid, row);
    if (pid > 0) {
        lull_map_insert(&machine->vms, (uint32_t)pid, row);
    }
}

void lull_model_is_vm(struct lull_model *model, uint32_t host, const char *name)
{
    struct machine *machine = model_machine(model, host);
    machine->unknown_row = row_of(model, machine, name);
}

/* The process that a thread of the kernel works for; 0: it is none that KVM or vhost started. */
static int32_t served_by(const char *comm)
{
    static const char *const prefixes[] = {"vhost-", "kvm-pit/"};
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        if (g_str_has_prefix(comm, prefixes[i])) {
            return (int32_t)g_ascii_strtoll(comm + strlen(prefixes[i]), NULL, 10);
        }
    }
    return 0;
}

static uint32_t vm_row(const struct lull_model *model, uint32_t task)
{
    const struct lull_task *known = &model->tasks.items[task].public;
    const struct machine *machine = &model->machines.items[known->host];
    if (machine->vms.count == 0) {
        return machine->unknown_row;
    }
    const int32_t numbers[] = {known->pid, known->tid,
                               served_by(lull_model_comm(model, task, INT64_MAX))};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        const uint32_t row =
            numbers[i] > 0 ? lull_map_find(&machine->vms, (uint32_t)numbers[i]) : LULL_MAP_NONE;
        if (row != LULL_MAP_NONE) {
            return row;
        }
    }
    return machine->unknown_row;
}

uint32_t lull_model_row(const struct lull_model *model, uint32_t task)
{
    const struct task *known = &model->tasks.items[task];
    return model->group_by == LULL_BY_TASK ? task
           : model->group_by == LULL_BY_VM ? vm_row(model, task)
           : known->container == LULL_NONE ? model->machines.items[known->public.host].unknown_row
                                           : model->containers.items[known->container]->row;
}

void containers_free(struct lull_model *model)
{
    for (size_t i = 0; i < model->containers.count; i++) {
        g_free(model->containers.items[i]);
    }
    lull_vec_free(&model->containers);
    g_hash_table_unref(model->container_names);
    lull_map_free(&model->unnamed);
}
