/* SPDX-License-Identifier: MIT */
/* A critical path as folded stacks, the input of flame graph tools: one line per distinct stack
 * with its nanoseconds. */
#include "view/view.h"

#include <string.h>

#include "view/out.h"
#include "view/words.h"

#define SHORT_DETAIL 48 /* characters */

/* Frames are separated by semicolons and the number follows the last space. */
static void append_frame(GString *stack, const char *text)
{
    gsize start = stack->len;

    lull_clean_append(stack, text, false);
    for (char *c = stack->str + start; *c; c++) {
        if (*c == ';') {
            *c = ',';
        }
    }
}

/* The detail up to the first bracket or comma: the rest is about one case (a sector, an
 * address) and would tear apart what belongs together. */
static void append_short_detail(GString *stack, const char *detail)
{
    size_t length = strcspn(detail, "(,[");
    GString *frame = g_string_new(NULL);

    g_autofree char *head = g_strndup(detail, length);
    append_frame(frame, g_strstrip(head));
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

static void append_stack(GString *stack, const struct lull_path *path,
                         const struct lull_segment *segment)
{
    const char *cause = lull_cause_name(segment->cause);
    GString *task = g_string_new(NULL);

    append_frame(stack, lull_path_host_name(path, segment->host));
    g_string_append_c(stack, ';');
    lull_task_append(task, segment->comm, segment->tid, false);
    append_frame(stack, task->str);
    g_string_free(task, TRUE);
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

bool lull_view_path_folded(const struct lull_path *path, FILE *file,
                           const struct lull_view_style *style, GError **error)
{
    GHashTable *sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GString *stack = g_string_new(NULL);
    struct lull_out out;
    guint count;

    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        g_string_truncate(stack, 0);
        append_stack(stack, path, segment);
        int64_t *sum = g_hash_table_lookup(sums, stack->str);
        if (!sum) {
            sum = g_new0(int64_t, 1);
            g_hash_table_insert(sums, g_strdup(stack->str), sum);
        }
        *sum += segment->end_ns - segment->start_ns;
    }
    g_string_free(stack, TRUE);

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
