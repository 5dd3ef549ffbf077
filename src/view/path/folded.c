/* SPDX-License-Identifier: MIT */
/* A critical path as folded stacks, the input of flame graph tools: one line per distinct stack
 * with its nanoseconds. */
#include "view/view.h"

#include <string.h>

#include "view/out.h"
#include "view/path/calls.h"
#include "view/words.h"

#define SHORT_DETAIL 48 /* characters */

/* The detail up to the first bracket or comma: the rest is about one case (a sector, an
 * address) and would tear apart what belongs together. */
static void append_short_detail(GString *stack, const char *detail)
{
    size_t length = strcspn(detail, "(,[");
    GString *frame = g_string_new(NULL);

    g_autofree char *head = g_strndup(detail, length);
    path_append_folded_frame(frame, g_strstrip(head));
    if (frame->len == 0) {
        g_string_free(frame, TRUE);
        return;
    }
    if (g_utf8_strlen(frame->str, -1) > SHORT_DETAIL) {
        g_string_truncate(frame, g_utf8_offset_to_pointer(frame->str, SHORT_DETAIL) - frame->str);
    }
    g_string_append_printf(stack, ": %s", frame->str);
    g_string_free(frame, TRUE);
}

/* `node` of `calls`, LULL_NONE: none. */
static void append_stack(GString *stack, const struct lull_path *path,
                         const struct lull_segment *segment, const struct lull_path_calls *calls,
                         uint32_t node)
{
    const char *cause = lull_cause_name(segment->cause);
    GString *task = g_string_new(NULL);

    path_append_folded_frame(stack, lull_path_host_name(path, segment->host));
    g_string_append_c(stack, ';');
    lull_task_append(task, segment->comm, segment->tid, false);
    path_append_folded_frame(stack, task->str);
    g_string_free(task, TRUE);
    if (node != LULL_NONE) {
        path_calls_append_folded(stack, calls, node);
    }
    g_string_append_printf(stack, ";%s", lull_state_name(segment->state));
    if (cause) {
        g_string_append_printf(stack, " %s", cause);
    }
    if (segment->detail) {
        append_short_detail(stack, segment->detail);
    }
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct folded {
    const struct lull_path *path;
    const struct lull_path_calls *calls;
    GHashTable *sums; /* stack → nanoseconds */
    GString *stack;
};

static void add(struct folded *folded, const struct lull_segment *segment, uint32_t node,
                int64_t ns)
{
    if (ns <= 0) {
        return;
    }
    g_string_truncate(folded->stack, 0);
    append_stack(folded->stack, folded->path, segment, folded->calls, node);
    int64_t *sum = g_hash_table_lookup(folded->sums, folded->stack->str);
    if (!sum) {
        sum = g_new0(int64_t, 1);
        g_hash_table_insert(folded->sums, g_strdup(folded->stack->str), sum);
    }
    *sum += ns;
}

static void add_segment(struct folded *folded, uint32_t number)
{
    const struct lull_segment *segment = &folded->path->segments[number];
    const struct lull_path_calls *calls = folded->calls;
    int64_t left_ns = segment->end_ns - segment->start_ns;
    for (uint32_t i = calls ? calls->firsts[number] : 0; calls && i < calls->firsts[number + 1];
         i++) {
        const int64_t ns = calls->parts[i].end_ns - calls->parts[i].start_ns;
        add(folded, segment, calls->parts[i].node, ns);
        left_ns -= ns;
    }
    add(folded, segment, LULL_NONE, left_ns);
}

bool lull_view_path_folded(const struct lull_path *path, FILE *file,
                           const struct lull_view_style *style, GError **error)
{
    GHashTable *sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    struct folded folded = {path, style->calls, sums, g_string_new(NULL)};
    struct lull_out out;
    guint count;

    for (uint32_t i = 0; i < path->n_segments; i++) {
        add_segment(&folded, i);
    }
    g_string_free(folded.stack, TRUE);

    char **keys = (char **)g_hash_table_get_keys_as_array(sums, &count);
    if (count) {
        qsort(keys, count, sizeof *keys, compare_keys);
    }
    lull_out_start(&out, file);
    for (guint i = 0; i < count; i++) {
        lull_out_printf(&out, "%s %" G_GINT64_FORMAT "\n", keys[i],
                        *(const int64_t *)g_hash_table_lookup(sums, keys[i]));
    }
    g_free(keys);
    g_hash_table_unref(sums);
    return lull_out_end(&out, "folded stacks", error);
}
