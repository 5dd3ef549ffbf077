/* SPDX-License-Identifier: MIT */
/* Rows of calls: for each task that calls functions, a row for each depth of its stack. A call is known
 * when it is over; what it is called, at the end alone: until then its text is empty. */
#include <inttypes.h>

#include "calls/names.h"
#include "store/build_private.h"

/* How functions of each layer are told apart by their slots; the last one is for calls during which
 * events were lost. */
static const struct {
    uint8_t first, count;
} slots[LULL_FUNCTION_LAYERS] = {
    [LULL_FUNCTION_NATIVE] = {LULL_CALL_SLOT_NATIVE, LULL_CALL_SLOT_PYTHON - LULL_CALL_SLOT_NATIVE},
    [LULL_FUNCTION_PYTHON] = {LULL_CALL_SLOT_PYTHON,
                              LULL_CALL_SLOT_SYSCALL - LULL_CALL_SLOT_PYTHON},
    [LULL_FUNCTION_RECORDING] = {LULL_CALL_SLOT_SYSCALL, 1},
    [LULL_FUNCTION_SYSCALL] = {LULL_CALL_SLOT_SYSCALL, 1},
    [LULL_FUNCTION_KERNEL] = {LULL_CALL_SLOT_KERNEL,
                              LULL_CALL_SLOT_UNCERTAIN - LULL_CALL_SLOT_KERNEL},
    [LULL_FUNCTION_INTERRUPT] = {LULL_CALL_SLOT_KERNEL,
                                 LULL_CALL_SLOT_UNCERTAIN - LULL_CALL_SLOT_KERNEL},
};

/* Where a program lies in memory changes from run to run, but not by parts of a page. */
static enum lull_store_state slot_of(const struct lull_calls_function *function, unsigned flags)
{
    const uint64_t hash = (function->key & 0xfff) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return lull_store_slot(flags & LULL_CALL_UNCERTAIN ? LULL_CALL_SLOT_UNCERTAIN
                                                       : slots[function->layer].first +
                                                             hash % slots[function->layer].count);
}

/* ---- rows and texts ---- */

static struct build_lanes *lanes_of(struct store_build *build, uint32_t line)
{
    while (build->lanes.count <= line) {
        lull_vec_push(&build->lanes, (struct build_lanes){0});
    }
    return &build->lanes.items[line];
}

/* LULL_NONE: it is too deep. Those above it are made too, so that each lies below its caller. */
static uint32_t row_of(struct store_build *build, const struct lull_call *call)
{
    struct build_lanes *lanes = lanes_of(build, call->line);
    const struct lull_calls_line *line = lull_calls_line(build->calls, call->line);
    if (call->depth >= LULL_STORE_CALL_DEPTHS) {
        lanes->are_cut = true;
        return LULL_NONE;
    }
    while (lanes->rows.count <= call->depth) {
        const struct store_row row = {.kind = LULL_STORE_CALL,
                                      .host = line->host,
                                      .cpu = (int32_t)lanes->rows.count,
                                      .tid = -1,
                                      .pid = -1,
                                      .ppid = -1};
        build_task_row(build, line->task);
        lull_vec_push(&lanes->rows, store_writer_row(build->writer, &row, build->start_ns));
    }
    return lanes->rows.items[call->depth];
}

static char *name_of(const struct store_build *build, uint32_t function)
{
    GString *name = g_string_new(NULL);
    lull_calls_append_name(name, build->model, NULL, lull_calls_function(build->calls, function));
    return g_string_free(name, FALSE);
}

static uint32_t text_of(struct store_build *build, uint32_t function)
{
    if (build->is_part) {
        g_autofree char *name = name_of(build, function);
        return store_writer_text(build->writer, name);
    }
    uint32_t *text = lull_slots_at(&build->call_texts, function);
    if (*text == 0) {
        *text = store_writer_blank(build->writer) + 1;
    }
    return *text - 1;
}

/* ---- calls ---- */

static void put(struct store_build *build, uint32_t row, const struct lull_call *call)
{
    const struct lull_calls_node *node = lull_calls_node(build->calls, call->node);
    const struct lull_calls_function *function = lull_calls_function(build->calls, node->function);
    const uint32_t task = lull_calls_line(build->calls, call->line)->task;
    store_writer_append(build->writer, row, call->start_ns, LULL_STORE_NONE, LULL_NONE, LULL_NONE);
    store_writer_append_apart(build->writer, row, call->end_ns, slot_of(function, call->flags),
                              text_of(build, node->function), build_task_row(build, task));
}

static void on_end(void *user, const struct lull_call *call)
{
    struct store_build *build = user;
    const uint32_t row = row_of(build, call);
    if (row != LULL_NONE) {
        put(build, row, call);
    }
}

/* Of a part, which has the rows that the whole has already. */
static void on_open(void *user, const struct lull_call *call)
{
    struct store_build *build = user;
    if (call->line < build->lanes.count &&
        call->depth < build->lanes.items[call->line].rows.count) {
        put(build, build->lanes.items[call->line].rows.items[call->depth], call);
    }
}

/* ---- the whole ---- */

unsigned lanes_groups(const struct store_build *build)
{
    return lull_calls_are_declared(build->session) ? LULL_CALLS_GROUPS : 0;
}

void lanes_start(struct store_build *build)
{
    build->calls = lull_calls_new(build->model, INT64_MIN, INT64_MAX, on_end, build);
}

static void name_lanes(struct store_build *build)
{
    for (uint32_t i = 0; i < build->lanes.count; i++) {
        const struct build_lanes *lanes = &build->lanes.items[i];
        for (uint32_t depth = 0; depth < lanes->rows.count; depth++) {
            const bool is_last = lanes->are_cut && depth + 1 == lanes->rows.count;
            const struct lull_task *task =
                lull_model_task(build->model, lull_calls_line(build->calls, i)->task);
            g_autofree char *name = g_strdup_printf("level %" PRIu32 "%s", depth + 1,
                                                    is_last ? "; deeper calls are left out" : "");
            store_writer_name(build->writer, lanes->rows.items[depth],
                              store_writer_text(build->writer, name), task->tid, task->pid, -1);
        }
    }
}

void lanes_finish(struct store_build *build)
{
    g_autofree int64_t *ends_ns = NULL;
    if (!build->calls) {
        return;
    }
    if (build->is_part) {
        lull_calls_each_open(build->calls, build->end_ns, on_open, build);
    } else {
        ends_ns = g_new(int64_t, MAX(lull_session_host_count(build->session), 1));
        for (uint32_t i = 0; i < lull_session_host_count(build->session); i++) {
            ends_ns[i] = build->coverage[i].last_ns;
        }
        lull_calls_finish(build->calls, ends_ns);
    }
    for (uint32_t i = 0; i < lull_calls_function_count(build->calls); i++) {
        const uint32_t text = lull_slots_get(&build->call_texts, i);
        if (text) {
            g_autofree char *name = name_of(build, i);
            store_writer_fill(build->writer, text - 1, name);
        }
    }
    name_lanes(build);
}

void lanes_free(struct store_build *build)
{
    lull_calls_free(build->calls);
    build->calls = NULL;
    for (size_t i = 0; i < build->lanes.count; i++) {
        lull_vec_free(&build->lanes.items[i].rows);
    }
    lull_vec_free(&build->lanes);
    lull_slots_free(&build->call_texts);
}
