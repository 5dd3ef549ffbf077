/* SPDX-License-Identifier: MIT */
/* Each call over time in Chrome's JSON trace format, complete events ("X") on a thread for each task.
 * Times count from the first call. */
#include <inttypes.h>

#include "base/json.h"
#include "calls/names.h"
#include "view/flame/flame.h"
#include "view/out.h"

/* Microseconds with three decimals, in exact digits. */
static void append_time(GString *text, const char *key, int64_t ns)
{
    const uint64_t size = (uint64_t)MAX(ns, 0);
    g_string_append_printf(text, ",\"%s\":%" PRIu64 ".%03u", key, size / 1000,
                           (unsigned)(size % 1000));
}

/* Perfetto names a process by its thread of the same number: lines have numbers of their own. */
static void write_names(struct lull_out *out, const struct lull_calls *calls,
                        const struct lull_model *model)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < lull_calls_line_count(calls); i++) {
        const struct lull_calls_line *line = lull_calls_line(calls, i);
        g_autofree char *name =
            g_strdup_printf("%s/%d", lull_model_comm(model, line->task, INT64_MAX),
                            lull_model_task(model, line->task)->tid);
        g_string_printf(text,
                        "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%" PRIu32
                        ",\"args\":{\"name\":",
                        i ? ",\n" : "", i + 2);
        lull_json_append(text, name, strlen(name));
        g_string_append(text, "}}");
        lull_out_bytes(out, text->str, text->len);
    }
}

bool lull_view_calls_perfetto(const struct lull_calls *calls, const struct lull_model *model,
                              const struct lull_symbol_table *others, const struct lull_call *log,
                              size_t n, FILE *file, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GString) name = g_string_new(NULL);
    int64_t first_ns = INT64_MAX;
    struct lull_out out;
    lull_out_start(&out, file);
    lull_out_text(&out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_names(&out, calls, model);
    for (size_t i = 0; i < n; i++) {
        first_ns = MIN(first_ns, log[i].start_ns);
    }
    for (size_t i = 0; i < n; i++) {
        const struct lull_calls_node *node = lull_calls_node(calls, log[i].node);
        g_string_truncate(name, 0);
        lull_calls_append_name(name, model, others, lull_calls_function(calls, node->function));
        g_string_printf(
            text, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%" PRIu32 ",\"name\":", log[i].line + 2);
        lull_json_append(text, name->str, name->len);
        append_time(text, "ts", log[i].start_ns - first_ns);
        append_time(text, "dur", log[i].end_ns - log[i].start_ns);
        g_string_append_c(text, '}');
        lull_out_bytes(&out, text->str, text->len);
    }
    lull_out_text(&out, "\n]}\n");
    return lull_out_end(&out, "the calls", error);
}
