/* SPDX-License-Identifier: MIT */
/* The calls in which a critical path was spent: in its summary, below its steps, as JSON. */
#include "view/path/calls.h"

#include <stdlib.h>

#include "base/time.h"
#include "calls/names.h"
#include "view/path/text.h"
#include "view/words.h"

enum { MOST_FUNCTIONS = 10, MOST_STACKS = 3, MOST_FRAMES = 8 };

static void append_name(GString *out, const struct lull_path_calls *calls, uint32_t function,
                        bool ascii)
{
    g_autoptr(GString) name = g_string_new(NULL);
    lull_calls_append_name(name, calls->model, NULL, lull_calls_function(calls->calls, function));
    lull_clean_append(out, name->str, ascii);
}

/* The function of a node; LULL_NONE at the root. */
static uint32_t function_of(const struct lull_path_calls *calls, uint32_t node)
{
    return lull_calls_node(calls->calls, node)->function;
}

static uint32_t parent_of(const struct lull_path_calls *calls, uint32_t node)
{
    return lull_calls_node(calls->calls, node)->parent;
}

/* ---- text ---- */

void text_add_functions(const struct text_view *view, struct lull_table *table)
{
    const struct lull_path_calls *calls = view->style->calls;
    const bool ascii = !view->style->unicode;
    uint32_t shown = calls ? calls->n_by_function : 0;
    int64_t rest_ns = 0;
    if (shown == 0) {
        return;
    }
    if (!view->style->full && shown > MOST_FUNCTIONS + 1) {
        shown = MOST_FUNCTIONS;
    }
    text_add_heading(view, table, "By function");
    for (uint32_t i = 0; i < calls->n_by_function; i++) {
        const struct lull_function_share *share = &calls->by_function[i];
        const struct lull_look *look = lull_look_of(share->state, share->cause);
        if (i >= shown) {
            rest_ns += share->duration_ns;
            continue;
        }
        g_autoptr(GString) what = g_string_new(NULL);
        if (share->function == LULL_NONE) {
            g_string_append(what, "in no recorded call");
        } else {
            append_name(what, calls, share->function, ascii);
        }
        g_string_append_printf(what, ": %s", look->phrase);
        text_add_share(view, table, what->str, share->duration_ns, look->ansi);
    }
    if (shown < calls->n_by_function) {
        g_autofree char *text = g_strdup_printf("%u others", calls->n_by_function - shown);
        text_add_share(view, table, text, rest_ns, NULL);
    }
}

struct stack_sum {
    uint32_t node;
    int64_t ns;
};

static gint by_node(gconstpointer a, gconstpointer b)
{
    const struct stack_sum *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static gint longest_first(gconstpointer a, gconstpointer b)
{
    const struct stack_sum *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : by_node(a, b);
}

/* By node, what the parts of the segments took; longest first. */
static GArray *sum_stacks(const struct lull_path_calls *calls, uint32_t first, uint32_t count)
{
    GArray *sums = g_array_new(FALSE, FALSE, sizeof(struct stack_sum));
    guint n = 0;
    for (uint32_t i = calls->firsts[first]; i < calls->firsts[first + count]; i++) {
        const struct lull_path_part *part = &calls->parts[i];
        const struct stack_sum sum = {part->node, part->end_ns - part->start_ns};
        g_array_append_val(sums, sum);
    }
    g_array_sort(sums, by_node);
    for (guint i = 0; i < sums->len; i++) {
        const struct stack_sum sum = g_array_index(sums, struct stack_sum, i);
        if (n > 0 && g_array_index(sums, struct stack_sum, n - 1).node == sum.node) {
            g_array_index(sums, struct stack_sum, n - 1).ns += sum.ns;
        } else {
            g_array_index(sums, struct stack_sum, n++) = sum;
        }
    }
    g_array_set_size(sums, n);
    g_array_sort(sums, longest_first);
    return sums;
}

/* "  1.06 ms in [nanosleep] ← sleeper ← main" */
static char *stack_text(const struct text_view *view, const struct stack_sum *sum)
{
    const struct lull_path_calls *calls = view->style->calls;
    GString *text = g_string_new("  ");
    char duration[LULL_TIME_TEXT_SIZE];
    uint32_t n = 0;
    lull_duration_format(sum->ns, duration);
    g_string_append_printf(text, "%s in ", duration);
    for (uint32_t node = sum->node; function_of(calls, node) != LULL_NONE;
         node = parent_of(calls, node), n++) {
        if (n < MOST_FRAMES || view->style->full) {
            g_string_append(text, n == 0 ? "" : view->style->unicode ? " ← " : " <- ");
            append_name(text, calls, function_of(calls, node), !view->style->unicode);
        }
    }
    if (n > MOST_FRAMES && !view->style->full) {
        g_string_append_printf(text, " and %u callers", n - MOST_FRAMES);
    }
    return g_string_free(text, FALSE);
}

GPtrArray *text_stacks(const struct text_view *view, uint32_t first, uint32_t count)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) sums = sum_stacks(view->style->calls, first, count);
    const guint shown = view->style->full ? sums->len : MIN(sums->len, MOST_STACKS);
    for (guint i = 0; i < shown; i++) {
        g_ptr_array_add(texts, stack_text(view, &g_array_index(sums, struct stack_sum, i)));
    }
    return texts;
}

/* ---- folded ---- */

void path_append_folded_frame(GString *stack, const char *text)
{
    gsize start = stack->len;
    lull_clean_append(stack, text, false);
    for (char *c = stack->str + start; *c; c++) {
        if (*c == ';') {
            *c = ',';
        }
    }
}

void path_calls_append_folded(GString *out, const struct lull_path_calls *calls, uint32_t node)
{
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof node);
    g_autoptr(GString) name = g_string_new(NULL);
    for (; function_of(calls, node) != LULL_NONE; node = parent_of(calls, node)) {
        g_array_append_val(nodes, node);
    }
    for (guint i = nodes->len; i-- > 0;) {
        g_string_truncate(name, 0);
        append_name(name, calls, function_of(calls, g_array_index(nodes, uint32_t, i)), false);
        g_string_append_c(out, ';');
        path_append_folded_frame(out, name->str);
    }
}

/* ---- JSON ---- */

static void add_function(struct json_object *object, const struct lull_path_calls *calls,
                         uint32_t function)
{
    if (function == LULL_NONE) {
        lull_json_add_text(object, "function", NULL);
        lull_json_add_text(object, "kind", NULL);
        lull_json_add_text(object, "object", NULL);
        return;
    }
    const struct lull_calls_function *it = lull_calls_function(calls->calls, function);
    g_autoptr(GString) name = g_string_new(NULL);
    lull_calls_append_name(name, calls->model, NULL, it);
    lull_json_add_text(object, "function", name->str);
    lull_json_add_text(object, "kind", lull_calls_kind(it));
    lull_json_add_text(object, "object", lull_calls_object(calls->model, it));
}

void path_calls_write_shares(struct lull_out *out, const struct lull_path *path,
                             const struct lull_path_calls *calls)
{
    lull_out_text(out, "],\n\"by_function\":[");
    for (uint32_t i = 0; i < calls->n_by_function; i++) {
        const struct lull_function_share *share = &calls->by_function[i];
        struct json_object *object = json_object_new_object();
        add_function(object, calls, share->function);
        lull_json_add_text(object, "state", lull_state_name(share->state));
        lull_json_add_text(object, "cause", lull_cause_name(share->cause));
        lull_json_add_number(object, "duration_ns", share->duration_ns);
        json_object_object_add(
            object, "share",
            lull_decimal_json(lull_share(share->duration_ns, path->end_ns - path->start_ns), 6));
        lull_out_text(out, i ? ",\n" : "\n");
        lull_out_json(out, object);
    }
}

/* Numbers the node and those above it that have no number yet, and writes them, callers first. */
static void write_nodes(struct lull_out *out, const struct lull_path_calls *calls, uint32_t node,
                        uint32_t *numbers, uint32_t *count)
{
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof node);
    for (; function_of(calls, node) != LULL_NONE && numbers[node] == 0;
         node = parent_of(calls, node)) {
        g_array_append_val(nodes, node);
    }
    for (guint i = nodes->len; i-- > 0;) {
        const uint32_t it = g_array_index(nodes, uint32_t, i), above = parent_of(calls, it);
        const bool is_outermost = function_of(calls, above) == LULL_NONE;
        struct json_object *object = json_object_new_object();
        json_object_object_add(object, "parent",
                               is_outermost ? NULL : json_object_new_int64(numbers[above] - 1));
        add_function(object, calls, function_of(calls, it));
        lull_out_text(out, *count ? ",\n" : "\n");
        lull_out_json(out, object);
        numbers[it] = ++*count;
    }
}

void path_calls_write_parts(struct lull_out *out, const struct lull_path_calls *calls)
{
    const uint32_t n = calls->calls ? lull_calls_node_count(calls->calls) : 0;
    g_autofree uint32_t *numbers = g_new0(uint32_t, MAX(n, 1));
    uint32_t count = 0;
    lull_out_text(out, "],\n\"calls\":{\"nodes\":[");
    for (uint32_t i = 0; i < calls->n_parts; i++) {
        write_nodes(out, calls, calls->parts[i].node, numbers, &count);
    }
    lull_out_text(out, "],\n\"parts\":[");
    for (uint32_t i = 0; i < calls->n_parts; i++) {
        const struct lull_path_part *part = &calls->parts[i];
        struct json_object *object = json_object_new_object();
        lull_json_add_number(object, "segment", part->segment);
        lull_json_add_number(object, "begin_ns", part->start_ns);
        lull_json_add_number(object, "end_ns", part->end_ns);
        lull_json_add_number(object, "node", numbers[part->node] - 1);
        json_object_object_add(object, "uncertain", json_object_new_boolean(part->is_uncertain));
        lull_out_text(out, i ? ",\n" : "\n");
        lull_out_json(out, object);
    }
    lull_out_text(out, "]}");
}
