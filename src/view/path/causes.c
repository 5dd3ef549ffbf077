/* SPDX-License-Identifier: MIT */
/* The causes of a path as rows for a person: on a busy machine a program waits for a CPU because of
 * many others, which is one cause to who reads it, not one for each of them; so are the many system
 * calls that each take little. */
#include "view/path/text.h"

#include "base/time.h"
#include "view/words.h"

#include <string.h>

enum { NAMED_PREEMPTORS = 2 };

/* A row that sums up being preempted, and who by, or short calls. */
struct joined_row {
    guint row;
    uint32_t n_parts;
    GString *text;
};

static bool is_preempted(const struct lull_cause_share *share)
{
    return share->state == LULL_STATE_PREEMPTED && share->cause == LULL_CAUSE_NONE;
}

static bool is_minor_call(const struct lull_path *path, const struct lull_cause_share *share)
{
    return share->state == LULL_STATE_RUNNING && share->mode == LULL_MODE_CALL &&
           share->duration_ns < (path->end_ns - path->start_ns) / 50;
}

static bool can_join(const struct lull_cause_share *a, const struct lull_cause_share *b)
{
    return a->host == b->host && a->state == b->state && strcmp(a->program, b->program) == 0 &&
           g_strcmp0(a->waiter, b->waiter) == 0 && g_strcmp0(a->waiter_kind, b->waiter_kind) == 0 &&
           g_strcmp0(a->waiter_call, b->waiter_call) == 0;
}

/* "by cc1 8.1 ms, ld 3.0 ms"; the longest come first. */
static void append_part(struct joined_row *row, const struct lull_cause_share *share)
{
    char duration[LULL_TIME_TEXT_SIZE];
    const char *detail = share->detail ? share->detail : "by unknown tasks";
    if (row->n_parts++ >= NAMED_PREEMPTORS) {
        return;
    }
    lull_duration_format(share->duration_ns, duration);
    g_string_append_printf(
        row->text, "%s%s %s", row->text->len ? ", " : "",
        row->text->len && g_str_has_prefix(detail, "by ") ? detail + strlen("by ") : detail,
        duration);
}

static void join(struct lull_cause_share *sum, const struct lull_cause_share *share)
{
    sum->duration_ns += share->duration_ns;
    sum->longest_ns = MAX(sum->longest_ns, share->longest_ns);
    sum->count += share->count;
    if (g_strcmp0(sum->waiter_object, share->waiter_object) != 0) {
        sum->waiter_object = NULL;
    }
}

static gint longest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_cause_share *x = a, *y = b;
    if (x->duration_ns != y->duration_ns) {
        return x->duration_ns < y->duration_ns ? 1 : -1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

static void add_joined(GArray *shown, GArray *rows, const struct lull_cause_share *share)
{
    for (guint i = 0; i < rows->len; i++) {
        struct joined_row *row = &g_array_index(rows, struct joined_row, i);
        struct lull_cause_share *sum = &g_array_index(shown, struct lull_cause_share, row->row);
        if (can_join(sum, share)) {
            append_part(row, share);
            join(sum, share);
            return;
        }
    }
    struct joined_row row = {.row = shown->len, .text = g_string_new(NULL)};
    append_part(&row, share);
    g_array_append_val(rows, row);
    g_array_append_val(shown, *share);
}

GArray *lull_causes_shown(const struct lull_path *path, bool full, GStringChunk *texts)
{
    GArray *shown = g_array_new(FALSE, FALSE, sizeof(struct lull_cause_share));
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct joined_row));
    for (uint32_t i = 0; i < path->n_by_cause; i++) {
        if (!full &&
            (is_preempted(&path->by_cause[i]) || is_minor_call(path, &path->by_cause[i]))) {
            add_joined(shown, rows, &path->by_cause[i]);
        } else {
            g_array_append_val(shown, path->by_cause[i]);
        }
    }
    for (guint i = 0; i < rows->len; i++) {
        const struct joined_row *row = &g_array_index(rows, struct joined_row, i);
        struct lull_cause_share *sum = &g_array_index(shown, struct lull_cause_share, row->row);
        if (sum->state == LULL_STATE_RUNNING) {
            g_string_printf(row->text, "in %u other system calls", row->n_parts);
        } else if (row->n_parts > NAMED_PREEMPTORS) {
            g_string_append_printf(row->text, " and %u other%s", row->n_parts - NAMED_PREEMPTORS,
                                   row->n_parts - NAMED_PREEMPTORS == 1 ? "" : "s");
        }
        if (row->n_parts > 1) {
            sum->detail = g_string_chunk_insert(texts, row->text->str);
        }
        g_string_free(row->text, TRUE);
    }
    g_array_sort(shown, longest_first);
    return shown;
}
