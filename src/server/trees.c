/* SPDX-License-Identifier: MIT */
/* Trees of views: rows of tasks and resources, and tasks by the time that they used. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "server/states.h"

static void append_labels(const struct served_entry *entry, bool is_tasks, GString *out)
{
    g_string_append(out, "\"labels\":[");
    lull_json_append(out, entry->name, strlen(entry->name));
    const int32_t numbers[] = {entry->tid, entry->pid, entry->ppid};
    for (uint32_t i = 0; is_tasks && i < G_N_ELEMENTS(numbers); i++) {
        g_string_append(out, numbers[i] < 0 ? ",\"\"" : "");
        if (numbers[i] >= 0) {
            g_string_append_printf(out, ",\"%d\"", numbers[i]);
        }
    }
    g_string_append_c(out, ']');
}

static void append_metadata(const struct served_entry *entry, GString *out)
{
    g_string_append(out, ",\"metadata\":{");
    if (entry->tid >= 0) {
        g_string_append_printf(out, "\"TID\":[%d],\"PID\":[%d]", entry->tid, entry->pid);
    } else if (entry->cpu >= 0) {
        g_string_append_printf(out, "\"CPU\":[%d]", entry->cpu);
    }
    g_string_append_c(out, '}');
}

void server_tree(const struct served *served, const struct served_tree *tree, bool is_tasks,
                 GString *out)
{
    g_string_append(out, is_tasks
                             ? "{\"headers\":[{\"name\":\"Exec_Name\",\"tooltip\":\"\"},{\"name\":"
                               "\"TID\",\"tooltip\":\"\"},{\"name\":\"PID\",\"tooltip\":\"\"},{"
                               "\"name\":\"PTID\",\"tooltip\":\"\"}],\"autoExpandLevel\":2"
                             : "{\"headers\":[{\"name\":\"Name\",\"tooltip\":\"\"}],"
                               "\"autoExpandLevel\":1");
    g_string_append(out, ",\"entries\":[");
    for (size_t i = 0; i < tree->entries.count; i++) {
        const struct served_entry *entry = &tree->entries.items[i];
        g_string_append_printf(
            out, "%s{\"id\":%u,\"parentId\":%" PRId64 ",", i ? "," : "", served_id(served, entry),
            entry->parent < 0 ? INT64_C(-1)
                              : (int64_t)served_id(served, &tree->entries.items[entry->parent]));
        append_labels(entry, is_tasks, out);
        g_string_append_printf(out, ",\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"hasData\":%s",
                               served->start_ns, served->end_ns,
                               entry->row == LULL_NONE ? "false" : "true");
        append_metadata(entry, out);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "]}");
}

struct user {
    int64_t ns;
    uint32_t entry;
};

static int compare_users(const void *a, const void *b)
{
    const struct user *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1)
                          : (x->entry > y->entry) - (x->entry < y->entry);
}

static void append_user(const struct served *served, const struct server_range *range,
                        const struct user *user, uint32_t place, GString *out)
{
    const struct served_entry *entry = &served->tasks.entries.items[user->entry];
    const bool is_host = entry->row == LULL_NONE;
    char share[G_ASCII_DTOSTR_BUF_SIZE];
    const double length = (double)MAX(range->end_ns - range->start_ns, 1);
    g_ascii_formatd(share, sizeof share, "%.2f", 100.0 * (double)user->ns / length);
    g_string_append_printf(out, "%s{\"id\":%u,\"parentId\":%d,\"labels\":[",
                           out->str[out->len - 1] == '[' ? "" : ",", served_id(served, entry),
                           is_host ? -1 : (int)entry->host + 1);
    lull_json_append(out, entry->name, strlen(entry->name));
    if (is_host) {
        g_string_append(out, ",\"Total\"");
    } else {
        g_string_append_printf(out, ",\"%d\"", entry->tid);
    }
    g_string_append_printf(out, ",\"%s %%\",\"%" PRId64 " ns\"],\"hasData\":true,\"isDefault\":%s}",
                           share, user->ns, place < 6 ? "true" : "false");
}

/* Hosts with all their tasks, then tasks by the time they used. */
bool server_users(const struct served *served, const struct server_range *range, GString *out,
                  GError **error)
{
    const struct served_tree *tree = &served->tasks;
    LULL_VEC(struct user) users = {0};
    int64_t *hosts = g_new0(int64_t, MAX(lull_store_host_count(served->store), 1));
    bool is_done = true;
    for (uint32_t i = 0; is_done && i < tree->entries.count; i++) {
        const struct served_entry *entry = &tree->entries.items[i];
        struct user user = {0, i};
        is_done = entry->row == LULL_NONE || server_cpu_time(served, entry->row, range->start_ns,
                                                             range->end_ns, &user.ns, error);
        hosts[entry->host] += user.ns;
        if (user.ns > 0) {
            lull_vec_push(&users, user);
        }
    }
    if (users.count) {
        qsort(users.items, users.count, sizeof *users.items, compare_users);
    }
    g_string_append(out, "{\"headers\":[{\"name\":\"Process\",\"tooltip\":\"\"},{\"name\":\"TID\","
                         "\"tooltip\":\"\"},{\"name\":\"%\",\"tooltip\":\"\"},{\"name\":\"Time\","
                         "\"tooltip\":\"\"}],\"entries\":[");
    for (uint32_t host = 0; is_done && host < lull_store_host_count(served->store); host++) {
        append_user(served, range, &(struct user){hosts[host], host}, 0, out);
    }
    for (uint32_t i = 0; is_done && i < users.count; i++) {
        append_user(served, range, &users.items[i], i + 1, out);
    }
    g_string_append(out, "]}");
    lull_vec_free(&users);
    g_free(hosts);
    return is_done;
}
