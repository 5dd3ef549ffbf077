/* SPDX-License-Identifier: MIT */
/* Counts context switches: how often each command was switched to, on each CPU of each host.
 *
 *   cc count_switches.c $(pkg-config --cflags --libs lull) -o count_switches
 *   ./count_switches TRACE...
 *
 * Shows the three steps of every program on liblull: open a session, subscribe, read. */
#include <lull/session.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What we want of each event. The first member must be the bits that say which fields were there.
 */
struct switch_fields {
    uint64_t present;
    struct lull_text next_comm;
};

/* One line of the result. */
struct row {
    char comm[32];
    uint32_t host;
    int32_t cpu;
    uint64_t count;
};

static guint row_hash(gconstpointer data)
{
    const struct row *row = data;
    return g_str_hash(row->comm) ^ (row->host * 31 + (guint)row->cpu);
}

static gboolean row_equal(gconstpointer left, gconstpointer right)
{
    const struct row *a = left, *b = right;
    return a->host == b->host && a->cpu == b->cpu && strcmp(a->comm, b->comm) == 0;
}

/* Most switches first; what is equal in order of host, CPU and name, so that the output is always
 * the same. */
static gint row_compare(gconstpointer left, gconstpointer right)
{
    const struct row *a = *(struct row *const *)left, *b = *(struct row *const *)right;
    if (a->count != b->count) {
        return a->count < b->count ? 1 : -1;
    }
    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    if (a->cpu != b->cpu) {
        return a->cpu < b->cpu ? -1 : 1;
    }
    return strcmp(a->comm, b->comm);
}

/* Text in a trace is bytes with a length, not a C string: copy it before it is used as one. */
static void copy_text(char *out, size_t size, struct lull_text text)
{
    size_t length = text.length < size - 1 ? text.length : size - 1;
    if (length > 0) {
        memcpy(out, text.data, length);
    }
    out[length] = '\0';
}

static void count(GHashTable *rows, const struct lull_event *event)
{
    const struct switch_fields *fields = event->fields;
    struct row key = {.host = event->host, .cpu = event->cpu};
    copy_text(key.comm, sizeof(key.comm), fields->next_comm);

    struct row *row = g_hash_table_lookup(rows, &key);
    if (!row) {
        row = g_new(struct row, 1);
        *row = key;
        g_hash_table_add(rows, row);
    }
    row->count++;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE...\n", argv[0]);
        return 2;
    }

    /* 1. Open: several traces, also of several machines, become one sequence in time order. */
    struct lull_session *session = lull_session_new();
    GError *error = NULL;
    for (int i = 1; i < argc; i++) {
        if (!lull_session_add(session, argv[i], &error)) {
            fprintf(stderr, "%s: %s\n", argv[0], error->message);
            g_error_free(error);
            lull_session_free(session);
            return 1;
        }
    }

    /* 2. Subscribe: these events, these fields. The rest of the trace is stepped over undecoded. */
    static const char *const names[] = {"sched_switch", NULL};
    static const char *const next_comm[] = {"next_comm", NULL};
    static const struct lull_binding bindings[] = {
        {next_comm, LULL_BIND_TEXT, offsetof(struct switch_fields, next_comm)},
    };
    lull_session_subscribe(session, names, bindings, 1, sizeof(struct switch_fields));

    /* 3. Read. What `event` points to is valid until the next call. */
    GHashTable *rows = g_hash_table_new_full(row_hash, row_equal, NULL, g_free);
    struct lull_event event;
    while (lull_session_next(session, &event) == 1) {
        count(rows, &event);
    }

    GPtrArray *sorted = g_ptr_array_new();
    GHashTableIter iter;
    gpointer row;
    g_hash_table_iter_init(&iter, rows);
    while (g_hash_table_iter_next(&iter, &row, NULL)) {
        g_ptr_array_add(sorted, row);
    }
    g_ptr_array_sort(sorted, row_compare);
    for (guint i = 0; i < sorted->len; i++) {
        const struct row *r = g_ptr_array_index(sorted, i);
        printf("%10" G_GUINT64_FORMAT "  cpu %d  %-16s %s\n", r->count, r->cpu, r->comm,
               lull_session_host(session, r->host)->name);
    }

    /* A partial answer must not look like a whole one. */
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        fprintf(stderr, "%s\n", lull_session_problem(session, i));
    }
    g_ptr_array_free(sorted, TRUE);
    g_hash_table_destroy(rows);
    lull_session_free(session);
    return 0;
}
