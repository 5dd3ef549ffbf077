/* SPDX-License-Identifier: MIT */
/* Each call over time for www.speedscope.app: an "evented" profile for each task, in which calls open and
 * close, in order of time. Times count from the first call. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "calls/names.h"
#include "view/flame/flame.h"
#include "view/out.h"

struct opening {
    int64_t time_ns;
    uint32_t frame;
    bool is_open; /* or closes */
};

struct openings {
    struct opening *items;
    size_t count, capacity;
};

struct document {
    struct lull_out out;
    const struct lull_calls *calls;
    const struct lull_model *model;
    const struct lull_symbol_table *others;
    const struct lull_call *log;
    size_t n;
    int64_t first_ns;
    GHashTable *numbers; /* name → number of its frame + 1 */
    uint32_t *frames;    /* number of each function, or LULL_NONE */
    size_t *before;      /* of each call: the one of its line before it in the log, + 1, or 0 */
    size_t *last;        /* of each line: its last one, + 1, or 0 */
};

/* Functions of one name are one frame; its source is that of the first. */
static uint32_t add_frame(struct document *document, uint32_t number)
{
    const struct lull_calls_function *function = lull_calls_function(document->calls, number);
    g_autoptr(GString) name = g_string_new(NULL), text = g_string_new(NULL);
    lull_calls_append_name(name, document->model, document->others, function);
    const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(document->numbers, name->str));
    if (known) {
        return known - 1;
    }
    const guint n = g_hash_table_size(document->numbers);
    g_hash_table_insert(document->numbers, g_strdup(name->str), GUINT_TO_POINTER(n + 1));
    g_string_append(text, n ? ",\n{\"name\":" : "{\"name\":");
    lull_json_append(text, name->str, name->len);
    const struct lull_source_line start = lull_calls_start(document->model, function);
    if (start.file) {
        g_string_append(text, ",\"file\":");
        lull_json_append(text, start.file, strlen(start.file));
        g_string_append_printf(text, ",\"line\":%" PRIu32, start.line);
    }
    g_string_append_c(text, '}');
    lull_out_bytes(&document->out, text->str, text->len);
    return n;
}

static void write_frames(struct document *document)
{
    for (size_t i = 0; i < document->n; i++) {
        const uint32_t function = lull_calls_node(document->calls, document->log[i].node)->function;
        if (document->frames[function] == LULL_NONE) {
            document->frames[function] = add_frame(document, function);
        }
        document->first_ns = MIN(document->first_ns, document->log[i].start_ns);
        document->before[i] = document->last[document->log[i].line];
        document->last[document->log[i].line] = i + 1;
    }
}

static struct opening opening_of(const struct document *document, const struct lull_call *call,
                                 bool is_open)
{
    const uint32_t function = lull_calls_node(document->calls, call->node)->function;
    return (struct opening){(is_open ? call->start_ns : call->end_ns) - document->first_ns,
                            document->frames[function], is_open};
}

/* The log has each call when it ended, after those that it made: backwards, time runs backwards, too. */
static void collect(const struct document *document, uint32_t line, struct openings *found)
{
    LULL_VEC(const struct lull_call *) stack = {0};
    for (size_t i = document->last[line]; i > 0; i = document->before[i - 1]) {
        const struct lull_call *call = &document->log[i - 1];
        while (stack.count && stack.items[stack.count - 1]->depth >= call->depth) {
            const struct lull_call *over = lull_vec_pop(&stack);
            lull_vec_push(found, opening_of(document, over, true));
        }
        lull_vec_push(&stack, call);
        lull_vec_push(found, opening_of(document, call, false));
    }
    while (stack.count) {
        const struct lull_call *over = lull_vec_pop(&stack);
        lull_vec_push(found, opening_of(document, over, true));
    }
    lull_vec_free(&stack);
}

static void write_profile(struct document *document, uint32_t line, const struct openings *found,
                          bool is_first)
{
    const uint32_t task = lull_calls_line(document->calls, line)->task;
    g_autofree char *name =
        g_strdup_printf("%s/%d", lull_model_comm(document->model, task, INT64_MAX),
                        lull_model_task(document->model, task)->tid);
    g_autoptr(GString) text = g_string_new(is_first ? "" : ",\n");
    g_string_append(text, "{\"type\":\"evented\",\"name\":");
    lull_json_append(text, name, strlen(name));
    g_string_append_printf(
        text, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%" PRId64 ",\"events\":[",
        found->items[0].time_ns);
    lull_out_bytes(&document->out, text->str, text->len);
    for (size_t i = found->count; i-- > 0;) {
        const struct opening *it = &found->items[i];
        lull_out_printf(
            &document->out, "%s{\"type\":\"%c\",\"frame\":%" PRIu32 ",\"at\":%" PRId64 "}",
            i + 1 < found->count ? ",\n" : "", it->is_open ? 'O' : 'C', it->frame, it->time_ns);
    }
    lull_out_text(&document->out, "]}");
}

bool lull_view_calls_speedscope(const struct lull_calls *calls, const struct lull_model *model,
                                const struct lull_symbol_table *others, const struct lull_call *log,
                                size_t n, FILE *file, GError **error)
{
    const size_t n_functions = lull_calls_function_count(calls);
    g_autoptr(GHashTable) numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree uint32_t *frames = g_new(uint32_t, MAX(n_functions, 1));
    g_autofree size_t *before = g_new(size_t, MAX(n, 1));
    g_autofree size_t *last = g_new0(size_t, MAX(lull_calls_line_count(calls), 1));
    struct document document = {.calls = calls,
                                .model = model,
                                .others = others,
                                .log = log,
                                .n = n,
                                .first_ns = INT64_MAX,
                                .numbers = numbers,
                                .frames = frames,
                                .before = before,
                                .last = last};
    bool is_first = true;
    memset(frames, 0xff, n_functions * sizeof *frames);
    lull_out_start(&document.out, file);
    lull_out_text(&document.out,
                  "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                  "\"exporter\":\"lull\",\"shared\":{\"frames\":[");
    write_frames(&document);
    lull_out_text(&document.out, "]},\n\"profiles\":[");
    for (uint32_t line = 0; line < lull_calls_line_count(calls); line++) {
        struct openings found = {0};
        collect(&document, line, &found);
        if (found.count) {
            write_profile(&document, line, &found, is_first);
            is_first = false;
        }
        lull_vec_free(&found);
    }
    lull_out_text(&document.out, "]}\n");
    return lull_out_end(&document.out, "the profile", error);
}
