/* SPDX-License-Identifier: MIT */
/* The I/O calls themselves: the log by start time, and the longest of each category. */
#include <stdlib.h>
#include <string.h>

#include "analysis/io/io.h"
#include "kernel/errnos.h"

/* ---- taking ---- */

static int compare_longest(const void *a, const void *b)
{
    const struct io_call *x = a, *y = b;
    int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;
    if (x_ns != y_ns) {
        return x_ns > y_ns ? -1 : 1;
    }
    if (x->end_ns != y->end_ns) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

static int compare_start(const void *a, const void *b)
{
    const struct io_call *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->end_ns != y->end_ns) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

static void keep_longest(struct io_top *top, uint32_t limit)
{
    if (top->calls.count) {
        qsort(top->calls.items, top->calls.count, sizeof *top->calls.items, compare_longest);
    }
    if (limit && top->calls.count >= limit) {
        top->calls.count = limit;
        const struct io_call *least = &top->calls.items[limit - 1];
        top->least_ns = least->end_ns - least->start_ns;
    }
}

static void take_longest(struct io_top *top, const struct io_call *call, uint32_t limit)
{
    enum { SLACK = 64 }; /* sorting for each call would cost more than some memory */
    /* One as long as the last comes after it, as it ended later. */
    if (call->end_ns - call->start_ns <= top->least_ns) {
        return;
    }
    lull_vec_push(&top->calls, *call);
    if (limit && top->calls.count / 2 >= (size_t)limit + SLACK) {
        keep_longest(top, limit);
    }
}

void io_log_call(struct io_analysis *io, const struct io_call *call)
{
    const struct lull_question_params *params = io->head.params;
    if ((params->sections & LULL_SECTION_TOP) && call->category < IO_CATEGORIES) {
        take_longest(&io->top[call->category], call, params->limit);
    }
    if (params->sections & LULL_SECTION_LOG) {
        lull_vec_push(&io->log.calls, *call);
    }
}

void io_log_close(struct io_analysis *io)
{
    for (int i = 0; i < IO_CATEGORIES; i++) {
        keep_longest(&io->top[i], io->head.params->limit);
    }
    if (io->log.calls.count) {
        qsort(io->log.calls.items, io->log.calls.count, sizeof *io->log.calls.items, compare_start);
    }
}

void io_log_free(struct io_analysis *io)
{
    for (int i = 0; i < IO_CATEGORIES; i++) {
        lull_vec_free(&io->top[i].calls);
    }
    lull_vec_free(&io->log.calls);
}

/* ---- showing ---- */

static const struct lull_result_column call_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Call time range", "TIME", "time", LULL_CELL_TIME_RANGE, NULL, 0},
    {"System call out of range?", "OUT OF RANGE", "out_of_range", LULL_CELL_BOOL, NULL,
     LULL_USE_NOT_TEXT},
    {"Call duration", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, 0},
    {"System call", "SYSCALL", "syscall", LULL_CELL_SYSCALL, NULL, 0},
    {"Category", "CATEGORY", "category", LULL_CELL_STRING, NULL, LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"Read/write size", "SIZE", "bytes", LULL_CELL_SIZE, NULL, 0},
    {"Error", "ERROR", "error", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Process id", "PID", "pid", LULL_CELL_NUMBER, NULL,
     LULL_USE_OWN | LULL_USE_DETAIL | LULL_USE_TASK},
    {"File path", "FILE", "path", LULL_CELL_PATH, NULL, 0},
    {"File descriptor", "FD", "fd", LULL_CELL_FD, NULL, LULL_USE_DETAIL},
    {"Copied to", "TO", "to_path", LULL_CELL_PATH, NULL, LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {0},
};

const struct lull_result_class io_top_class = {
    .name = "top-syscall", .title = "Top system call latencies", .columns = call_columns};
const struct lull_result_class io_log_class = {
    .name = "log", .title = "I/O operations log", .columns = call_columns, .kind = LULL_TABLE_LOG};

struct call_table {
    const struct io_analysis *io;
    const struct io_call *calls;
};

static struct lull_cell bytes_cell(const struct io_call *call)
{
    if (call->bytes == IO_NO_BYTES) {
        return lull_cell_integer(LULL_CELL_EMPTY, 0);
    }
    return lull_cell_integer(call->bytes < 0 ? LULL_CELL_UNKNOWN : LULL_CELL_SIZE, call->bytes);
}

static struct lull_cell error_cell(const struct io_analysis *io, int16_t error)
{
    if (error == 0) {
        return lull_cell_integer(LULL_CELL_EMPTY, 0);
    }
    const char *name = lull_errno_name(error);
    if (!name) {
        g_string_printf(io->text, "-%d", error);
    }
    return lull_cell_text(LULL_CELL_STRING, name ? name : io->text->str);
}

static struct lull_cell path_cell(const struct lull_model *model, uint32_t file)
{
    uint32_t path = file == LULL_NONE ? LULL_NONE : lull_model_file(model, file)->path;
    return lull_cell_text(LULL_CELL_PATH, lull_model_label(model, path));
}

static void call_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct call_table *table = user;
    const struct io_analysis *io = table->io;
    const struct lull_model *model = io->head.model;
    const struct io_call *call = &table->calls[index];
    const struct lull_task *task = lull_model_task(model, call->task);
    *cells++ = lull_cell_host_of(&io->head, task->host);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, call->start_ns);
    cells++->end = call->end_ns;
    *cells++ = lull_cell_integer(LULL_CELL_BOOL, call->start_ns < io->head.start_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, call->end_ns - call->start_ns);
    *cells++ = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(model, call->name));
    *cells++ = lull_cell_text(LULL_CELL_STRING, io_category_name(call->category, true));
    *cells++ = bytes_cell(call);
    *cells++ = error_cell(io, call->error);
    *cells++ = lull_cell_task(model, call->task, call->end_ns, false);
    *cells++ = lull_cell_integer(task->pid < 0 ? LULL_CELL_UNKNOWN : LULL_CELL_NUMBER, task->pid);
    if (call->fd >= 0) {
        cells[0] = path_cell(model, call->file);
        cells[1] = lull_cell_integer(LULL_CELL_FD, call->fd);
    }
    if (call->has_to) {
        cells[2] = path_cell(model, call->to_file);
    }
}

void io_log_emit_top(struct io_analysis *io, struct lull_sink *sink)
{
    for (int i = 0; i < (io->head.params->is_lami ? IO_PEER_CATEGORIES : IO_CATEGORIES); i++) {
        const struct call_table table = {io, io->top[i].calls.items};
        sink->table(sink, &(struct lull_result_table){.class = &io_top_class,
                                                      .subtitle = io_category_name(i, true),
                                                      .n_rows = io->top[i].calls.count,
                                                      .row = call_row,
                                                      .user = &table});
    }
}

void io_log_emit(struct io_analysis *io, uint64_t n_rows, struct lull_sink *sink)
{
    const struct call_table table = {io, io->log.calls.items};
    sink->table(sink,
                &(struct lull_result_table){
                    .class = &io_log_class, .n_rows = n_rows, .row = call_row, .user = &table});
}
