/* SPDX-License-Identifier: MIT */
/* Names of the functions on call stacks: of their files if these have them, else what is known of
 * their place. */
#include "calls/names.h"

#include <inttypes.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/table.h"

static bool has_place(const struct lull_calls_function *function)
{
    return function->layer == LULL_FUNCTION_NATIVE || function->layer == LULL_FUNCTION_KERNEL;
}

struct lull_calls_identity lull_calls_identify(const struct lull_calls *calls,
                                               const struct lull_calls_function *function)
{
    const bool is_placed = has_place(function) && function->place != LULL_NONE;
    return (struct lull_calls_identity){.what = is_placed ? function->place : function->key,
                                        .host = lull_calls_line(calls, function->line)->host,
                                        .layer = function->layer +
                                                 (is_placed ? LULL_FUNCTION_LAYERS : 0u)};
}

const struct lull_frame *lull_calls_place(const struct lull_model *model,
                                          const struct lull_calls_function *function, uint32_t *n)
{
    *n = 0;
    return has_place(function) ? lull_model_frames(model, function->place, n) : NULL;
}

/* The last: what was put in line at its start is not the function. */
static const struct lull_frame *frame_of(const struct lull_model *model,
                                         const struct lull_calls_function *function)
{
    uint32_t n;
    const struct lull_frame *frames = lull_calls_place(model, function, &n);
    return n > 0 ? &frames[n - 1] : NULL;
}

const char *lull_calls_kind(const struct lull_calls_function *function)
{
    static const char *const kinds[LULL_FUNCTION_LAYERS] = {"native",  "python", "recording",
                                                            "syscall", "kernel", "irq"};
    return kinds[function->layer];
}

const char *lull_calls_object(const struct lull_model *model,
                              const struct lull_calls_function *function)
{
    const struct lull_frame *frame = frame_of(model, function);
    return frame ? frame->object : NULL;
}

struct lull_source_line lull_calls_start(const struct lull_model *model,
                                         const struct lull_calls_function *function)
{
    uint32_t n;
    lull_calls_place(model, function, &n);
    return n > 0 ? lull_model_start(model, function->place, n - 1)
                 : (struct lull_source_line){.file = NULL};
}

static void append_place(GString *text, const struct lull_model *model,
                         const struct lull_frame *frame, const struct lull_symbol_table *others,
                         const struct lull_calls_function *function)
{
    uint64_t offset;
    const char *name = frame && frame->object ? NULL
                       : others ? lull_symbol_table_find(others, function->key, &offset)
                                : NULL;
    if (function->key == 0) {
        g_string_append_c(text, '?');
    } else if (name && lull_model_wants_raw_names(model)) {
        g_string_append(text, name);
    } else if (name) {
        lull_demangle_append(name, text);
    } else if (frame && frame->object) {
        const char *slash = strrchr(frame->object, '/');
        g_string_append_printf(text, "%s+0x%" PRIx64, slash ? slash + 1 : frame->object,
                               frame->offset);
    } else {
        g_string_append_printf(text, "0x%" PRIx64, function->key);
    }
}

void lull_calls_append_name(GString *text, const struct lull_model *model,
                            const struct lull_symbol_table *others,
                            const struct lull_calls_function *function)
{
    const struct lull_frame *frame = frame_of(model, function);
    const char *label = has_place(function) || function->key >= LULL_NONE
                            ? NULL
                            : lull_model_label(model, (uint32_t)function->key);
    if (has_place(function)) {
        if (frame && frame->symbol) {
            g_string_append(text, frame->symbol);
        } else {
            append_place(text, model, frame, others, function);
        }
    } else if (function->layer == LULL_FUNCTION_RECORDING) {
        g_string_append(text, "[recording]");
    } else if (function->layer >= LULL_FUNCTION_SYSCALL) {
        g_string_append_printf(text, "[%s]", label ? label : "?");
    } else {
        g_string_append(text, label ? label : "?");
    }
}
