/* SPDX-License-Identifier: MIT */
/* The trees: hosts › processes › threads, and hosts › CPUs › interrupts. Names of things that
 * clients keep are made of paths, so they survive a restart. */
#include "server/served.h"

#include <stdlib.h>
#include <string.h>

#include <lull/path.h>
#include <lull/session.h>

#include "base/map.h"
#include "server/bookmarks.h"
#include "server/events.h"
#include "server/latencies.h"
#include "server/paths.h"
#include "server/visitors.h"

static int32_t add(struct served_tree *tree, struct served_entry entry)
{
    lull_vec_push(&tree->entries, entry);
    if (entry.row != LULL_NONE) {
        tree->by_row[entry.row] = (uint32_t)tree->entries.count;
    }
    return (int32_t)tree->entries.count - 1;
}

static struct served_entry entry_of(const struct lull_store *store, uint32_t row, int32_t parent)
{
    const struct lull_store_row about = lull_store_row(store, row);
    return (struct served_entry){.parent = parent,
                                 .row = row,
                                 .host = about.host,
                                 .name = g_strdup(about.name),
                                 .tid = about.tid,
                                 .pid = about.pid,
                                 .ppid = about.ppid,
                                 .cpu = about.cpu,
                                 .group = -1};
}

static void add_hosts(struct served_tree *tree, const struct lull_store *store)
{
    tree->by_row = g_new0(uint32_t, MAX(lull_store_row_count(store), 1));
    for (uint32_t host = 0; host < lull_store_host_count(store); host++) {
        add(tree, (struct served_entry){.parent = -1,
                                        .row = LULL_NONE,
                                        .host = host,
                                        .name = g_strdup(lull_store_host(store, host).name),
                                        .tid = -1,
                                        .pid = -1,
                                        .ppid = -1,
                                        .cpu = -1,
                                        .group = -1});
    }
}

static bool is_leader(const struct lull_store_row *row)
{
    return row->kind == LULL_STORE_TASK && (row->pid < 0 || row->pid == row->tid);
}

/* Processes first, so that each thread finds the one it belongs to: the last of its number. */
static void add_tasks(struct served_tree *tree, const struct lull_store *store)
{
    struct lull_map processes = {0};
    const uint32_t n_rows = lull_store_row_count(store);
    add_hosts(tree, store);
    for (uint32_t row = 0; row < n_rows; row++) {
        const struct lull_store_row about = lull_store_row(store, row);
        if (is_leader(&about)) {
            const int32_t at = add(tree, entry_of(store, row, (int32_t)about.host));
            lull_map_insert(&processes, (uint64_t)about.host << 32 | (uint32_t)about.tid,
                            (uint32_t)at);
        }
    }
    for (uint32_t row = 0; row < n_rows; row++) {
        const struct lull_store_row about = lull_store_row(store, row);
        if (about.kind == LULL_STORE_TASK && !is_leader(&about)) {
            const uint32_t process =
                lull_map_find(&processes, (uint64_t)about.host << 32 | (uint32_t)about.pid);
            add(tree, entry_of(store, row,
                               process == LULL_MAP_NONE ? (int32_t)about.host : (int32_t)process));
        }
    }
    lull_map_free(&processes);
}

/* What a kind of rows is called, in the order in which the lines of a CPU stand. */
static const struct {
    enum lull_store_kind kind;
    const char *suffix;
    bool is_below; /* the line of the CPU's states */
} lines[] = {{LULL_STORE_CPU, " States", false},
             {LULL_STORE_IRQ, "", true},
             {LULL_STORE_SOFTIRQ, "", true},
             {LULL_STORE_CPU_THREAD, " Threads", false},
             {LULL_STORE_FREQUENCY, " Frequency", false},
             {LULL_STORE_VCPU, "", false}};

struct line {
    uint32_t host, order, row;
    uint32_t cpu; /* what is of none comes last */
};

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->host != y->host || x->cpu != y->cpu) {
        return x->host != y->host ? (x->host > y->host) - (x->host < y->host)
                                  : (x->cpu > y->cpu) - (x->cpu < y->cpu);
    }
    if (x->order != y->order) {
        return x->order < y->order ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static void add_resources(struct served_tree *tree, const struct lull_store *store)
{
    LULL_VEC(struct line) found = {0};
    add_hosts(tree, store);
    for (uint32_t row = 0; row < lull_store_row_count(store); row++) {
        const struct lull_store_row about = lull_store_row(store, row);
        for (uint32_t i = 0; i < G_N_ELEMENTS(lines); i++) {
            if (about.kind == lines[i].kind) {
                lull_vec_push(&found, (struct line){about.host, i, row, (uint32_t)about.cpu});
            }
        }
    }
    if (found.count) {
        qsort(found.items, found.count, sizeof *found.items, compare_lines);
    }
    int32_t states = -1; /* the line that interrupts stand below */
    for (size_t i = 0; i < found.count; i++) {
        const struct line *line = &found.items[i];
        const char *suffix = lines[line->order].suffix;
        struct served_entry entry =
            entry_of(store, line->row, lines[line->order].is_below ? states : (int32_t)line->host);
        char *name = g_strconcat(entry.name, suffix, NULL);
        g_free(entry.name);
        entry.name = name;
        const int32_t at = add(tree, entry);
        states = line->order == 0 ? at : states;
    }
    lull_vec_free(&found);
}

/* ---- declared states ---- */

struct declared {
    uint32_t host, group, row;
    const char *name;
};

/* "rank 10" comes after "rank 9". */
static int compare_declared(const void *a, const void *b)
{
    const struct declared *x = a, *y = b;
    if (x->host != y->host || x->group != y->group) {
        return x->host != y->host ? (x->host > y->host) - (x->host < y->host)
                                  : (x->group > y->group) - (x->group < y->group);
    }
    const int order = strverscmp(x->name, y->name);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static uint32_t n_groups(const struct served *served)
{
    return served->about->states ? served->about->states->n_groups : 0;
}

static int32_t add_group(struct served *served, const struct declared *of)
{
    uint32_t *at = &served->declared.by_group[of->host * n_groups(served) + of->group];
    if (*at == 0) {
        const struct lull_states_group *group = &served->about->states->groups[of->group];
        const struct served_entry entry = {.parent = (int32_t)of->host,
                                           .row = LULL_NONE,
                                           .host = of->host,
                                           .name = g_strdup(group->label),
                                           .tid = -1,
                                           .pid = -1,
                                           .ppid = -1,
                                           .cpu = -1,
                                           .group = (int32_t)of->group};
        *at = (uint32_t)add(&served->declared, entry) + 1;
    }
    return (int32_t)*at - 1;
}

/* Hosts › groups › rows. */
static void add_declared(struct served *served)
{
    const struct lull_store *store = served->store;
    LULL_VEC(struct declared) found = {0};
    add_hosts(&served->declared, store);
    served->declared.by_group =
        g_new0(uint32_t, (gsize)lull_store_host_count(store) * n_groups(served) + 1);
    for (uint32_t row = 0; row < lull_store_row_count(store); row++) {
        const struct lull_store_row about = lull_store_row(store, row);
        if (served_group(served, row)) {
            lull_vec_push(&found,
                          (struct declared){about.host, (uint32_t)about.cpu, row, about.name});
        }
    }
    if (found.count) {
        qsort(found.items, found.count, sizeof *found.items, compare_declared);
    }
    for (size_t i = 0; i < found.count; i++) {
        const int32_t group = add_group(served, &found.items[i]);
        struct served_entry entry = entry_of(store, found.items[i].row, group);
        entry.cpu = -1;
        entry.group = (int32_t)found.items[i].group;
        add(&served->declared, entry);
    }
    lull_vec_free(&found);
}

const struct lull_states_group *served_group(const struct served *served, uint32_t row)
{
    const struct lull_store_row about = lull_store_row(served->store, row);
    return about.kind == LULL_STORE_DECLARED && (uint32_t)about.cpu < n_groups(served)
               ? &served->about->states->groups[about.cpu]
               : NULL;
}

const struct lull_states_state *served_declared(const struct served *served, uint32_t row,
                                                enum lull_store_state slot)
{
    const struct lull_states_group *group = served_group(served, row);
    const uint32_t state = (uint32_t)slot - LULL_STORE_USER;
    return group && state < MIN(group->n_states, LULL_STORE_SLOTS) ? &group->states[state] : NULL;
}

/* ---- calls ---- */

/* By task, then by depth. */
static int compare_lanes(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->host != y->host || x->order != y->order) {
        return x->host != y->host ? (x->host > y->host) - (x->host < y->host)
                                  : (x->order > y->order) - (x->order < y->order);
    }
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* The row of the task that a row of calls is of: that of its first call. LULL_NONE: it has none. */
static uint32_t caller_of(const struct lull_store *store, uint32_t row)
{
    struct lull_store_cursor cursor;
    const struct lull_store_interval *at =
        lull_store_seek(store, row, lull_store_row(store, row).active_ns, &cursor, NULL)
            ? lull_store_next(&cursor, NULL)
            : NULL;
    const bool is_task = at && at->evidence < lull_store_row_count(store) &&
                         lull_store_row(store, at->evidence).kind == LULL_STORE_TASK;
    return is_task ? at->evidence : LULL_NONE;
}

/* Hosts › tasks › a line for each depth. */
static void add_calls(struct served_tree *tree, const struct lull_store *store)
{
    LULL_VEC(struct line) found = {0};
    add_hosts(tree, store);
    for (uint32_t row = 0; row < lull_store_row_count(store); row++) {
        const struct lull_store_row about = lull_store_row(store, row);
        const uint32_t caller = about.kind == LULL_STORE_CALL ? caller_of(store, row) : LULL_NONE;
        if (caller != LULL_NONE) {
            lull_vec_push(&found, (struct line){about.host, caller, row, (uint32_t)about.cpu});
        }
    }
    if (found.count) {
        qsort(found.items, found.count, sizeof *found.items, compare_lanes);
    }
    for (size_t i = 0; i < found.count; i++) {
        const struct line *line = &found.items[i];
        if (tree->by_row[line->order] == 0) {
            add(tree, entry_of(store, line->order, (int32_t)line->host));
        }
        struct served_entry entry =
            entry_of(store, line->row, (int32_t)tree->by_row[line->order] - 1);
        entry.cpu = -1;
        add(tree, entry);
    }
    lull_vec_free(&found);
}

bool served_has_calls(const struct served *served)
{
    return served->calls.entries.count > lull_store_host_count(served->store);
}

/* ---- what stays ---- */

/* As a UUID of version 8 has it: 122 bits of a hash. */
static void make_uuid(const char *text, char uuid[SERVED_UUID])
{
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    g_snprintf(uuid, SERVED_UUID, "%.8s-%.4s-8%.3s-9%.3s-%.12s", sum, sum + 8, sum + 12, sum + 15,
               sum + 18);
}

struct served_changes {
    GMutex lock;
    /* Of the hosts, in the order of the session: the same for the same traces. NULL: they are not
     * joined yet. */
    struct lull_clock_transform *clocks;
    uint32_t n_clocks;
    bool is_deleted;
};

struct served_about *served_about_new(const char *const *paths, uint32_t count, bool is_joined,
                                      const struct lull_periods *periods,
                                      const struct lull_states *states)
{
    struct served_about *about = g_new0(struct served_about, 1);
    g_autoptr(GString) all = g_string_new("experiment");
    about->traces = g_new0(struct served_trace, MAX(count, 1));
    about->n_traces = count;
    about->is_joined = is_joined;
    about->periods = periods;
    about->states = states;
    about->paths = server_paths_new(about);
    about->latencies = server_latencies_new(about);
    about->events = server_events_new(about);
    about->bookmarks = server_bookmarks_new();
    about->changes = g_new0(struct served_changes, 1);
    g_mutex_init(&about->changes->lock);
    about->visitors = server_visitors_new();
    for (uint32_t i = 0; i < count; i++) {
        char *real = realpath(paths[i], NULL);
        about->traces[i].path = g_strdup(real ? real : paths[i]);
        about->traces[i].name = g_path_get_basename(about->traces[i].path);
        make_uuid(about->traces[i].path, about->traces[i].uuid);
        g_string_append_c(all, '\n');
        g_string_append(all, about->traces[i].path);
        free(real);
    }
    about->name = g_strdup(count ? about->traces[0].name : "");
    make_uuid(all->str, about->uuid);
    return about;
}

void served_about_free(struct served_about *about)
{
    if (!about) {
        return;
    }
    for (uint32_t i = 0; i < about->n_traces; i++) {
        g_free(about->traces[i].path);
        g_free(about->traces[i].name);
    }
    server_paths_free(about->paths);
    server_latencies_free(about->latencies);
    server_events_free(about->events);
    server_bookmarks_free(about->bookmarks);
    g_mutex_clear(&about->changes->lock);
    g_free(about->changes->clocks);
    g_free(about->changes);
    server_visitors_free(about->visitors);
    g_free(about->traces);
    g_free(about->name);
    g_free(about);
}

static void join_clocks(struct served_changes *changes, struct lull_session *session, bool joins)
{
    const uint32_t n_hosts = lull_session_host_count(session);
    g_mutex_lock(&changes->lock);
    if (joins || !changes->clocks || changes->n_clocks != n_hosts) {
        lull_session_join(session, NULL, NULL);
        changes->n_clocks = n_hosts;
        changes->clocks = g_renew(struct lull_clock_transform, changes->clocks, n_hosts);
        for (uint32_t i = 0; i < n_hosts; i++) {
            changes->clocks[i] = *lull_session_clock(session, i);
        }
    } else {
        for (uint32_t i = 0; i < n_hosts; i++) {
            lull_session_set_clock(session, i, &changes->clocks[i]);
        }
    }
    g_mutex_unlock(&changes->lock);
}

struct lull_session *served_session(const struct served_about *about, bool joins, GError **error)
{
    struct lull_session *session = lull_session_new();
    g_autofree const char **paths = g_new0(const char *, MAX(about->n_traces, 1));
    for (uint32_t i = 0; i < about->n_traces; i++) {
        paths[i] = about->traces[i].path;
    }
    if (!lull_session_add_all(session, paths, about->n_traces, error)) {
        lull_session_free(session);
        return NULL;
    }
    if (about->is_joined && lull_session_host_count(session) > 1) {
        join_clocks(about->changes, session, joins);
    }
    return session;
}

bool served_is_deleted(const struct served_about *about)
{
    g_mutex_lock(&about->changes->lock);
    const bool is_deleted = about->changes->is_deleted;
    g_mutex_unlock(&about->changes->lock);
    return is_deleted;
}

void served_delete(const struct served_about *about, bool is_deleted)
{
    g_mutex_lock(&about->changes->lock);
    about->changes->is_deleted = is_deleted;
    g_mutex_unlock(&about->changes->lock);
}

struct served *served_new(const struct served_about *about, struct lull_store *store,
                          int64_t until_ns, bool is_whole)
{
    struct served *served = g_new0(struct served, 1);
    g_atomic_ref_count_init(&served->uses);
    served->about = about;
    served->store = store;
    lull_store_range(store, &served->start_ns, &served->end_ns);
    served->until_ns = MAX(until_ns, served->end_ns);
    served->is_whole = is_whole;
    add_tasks(&served->tasks, store);
    add_resources(&served->resources, store);
    add_declared(served);
    add_calls(&served->calls, store);
    return served;
}

static void free_tree(struct served_tree *tree)
{
    for (size_t i = 0; i < tree->entries.count; i++) {
        g_free(tree->entries.items[i].name);
    }
    lull_vec_free(&tree->entries);
    g_free(tree->by_row);
    g_free(tree->by_group);
}

struct served *served_use(struct served *served)
{
    g_atomic_ref_count_inc(&served->uses);
    return served;
}

void served_trim(const struct served *served)
{
    lull_store_trim(served->store,
                    served->is_whole ? LULL_STORE_MAPPED_MOST : LULL_STORE_PART_MAPPED_MOST);
}

void served_unuse(struct served *served)
{
    if (served) {
        served_trim(served);
    }
    if (served && g_atomic_ref_count_dec(&served->uses)) {
        free_tree(&served->tasks);
        free_tree(&served->resources);
        free_tree(&served->declared);
        free_tree(&served->calls);
        lull_store_free(served->store);
        g_free(served);
    }
}

/* ---- numbers ---- */

uint32_t served_id(const struct served *served, const struct served_entry *entry)
{
    const uint32_t n_hosts = lull_store_host_count(served->store), n = n_groups(served);
    return 1 + (entry->row != LULL_NONE ? n_hosts + n_hosts * n + entry->row
                : entry->group >= 0     ? n_hosts + entry->host * n + (uint32_t)entry->group
                                        : entry->host);
}

const struct served_entry *served_find(const struct served *served, const struct served_tree *tree,
                                       int64_t id)
{
    const int64_t n_hosts = lull_store_host_count(served->store);
    const int64_t n_fixed = n_hosts + n_hosts * n_groups(served);
    uint32_t at = 0;
    if (id >= 1 && id <= n_hosts) {
        at = (uint32_t)id;
    } else if (id > n_hosts && id <= n_fixed) {
        at = tree->by_group ? tree->by_group[id - 1 - n_hosts] : 0;
    } else if (id > n_fixed && id <= n_fixed + lull_store_row_count(served->store)) {
        at = tree->by_row[id - 1 - n_fixed];
    }
    return at ? &tree->entries.items[at - 1] : NULL;
}
