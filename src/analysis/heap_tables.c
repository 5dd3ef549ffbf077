/* SPDX-License-Identifier: MIT */
/* The tables of memory that programs allocated. */
#include "analysis/heap.h"

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN}
#define PROCESS {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, LULL_USE_OWN}
#define SIZE(title, heading, key, use)                                                             \
    {title, heading, key, LULL_CELL_SIZE, NULL, LULL_USE_OWN | (use)}
#define COUNT(title, heading, key, unit, use)                                                      \
    {title, heading, key, LULL_CELL_NUMBER, unit, LULL_USE_OWN | (use)}
#define LIVE                                                                                       \
    SIZE("Not freed when the process or the trace ended", "LIVE", "live_bytes", 0),                \
        COUNT("In so many blocks", "BLOCKS", "live_blocks", "blocks", 0)
#define ALLOCATED                                                                                  \
    COUNT("Allocations", "COUNT", "allocations", "allocations", 0),                                \
        SIZE("Bytes of all of them", "ALLOCATED", "bytes", 0)
#define TEMPORARY                                                                                  \
    COUNT("Freed by the thread before it allocated again", "TEMPORARY", "temporary",               \
          "allocations", LULL_USE_DETAIL)

static struct lull_cell size_cell(uint64_t bytes)
{
    return lull_cell_integer(LULL_CELL_SIZE, (int64_t)MIN(bytes, INT64_MAX));
}

static struct lull_cell count_cell(uint64_t count)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)MIN(count, INT64_MAX));
}

/* Host and process, by the name that it had when it had most memory: its task may execute other
 * programs. */
static struct lull_cell *put_process(const struct heap_report *report, uint32_t number,
                                     struct lull_cell *cells)
{
    const struct lull_heap_process *process = lull_heap_process(report->reading.heap, number);
    *cells++ =
        lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, process->host)->name);
    *cells = lull_cell_task(
        report->reading.model, process->task,
        process->peak_ns != INT64_MIN ? process->peak_ns : report->reading.end_ns, true);
    if (process->pid > 0) {
        cells->pid = cells->tid = process->pid;
    }
    return cells + 1;
}

/* ---- paths ---- */

static const struct lull_result_column path_columns[] = {
    HOST,
    PROCESS,
    LIVE,
    SIZE("Not freed when the process had most", "AT PEAK", "at_peak_bytes", 0),
    SIZE("Most that was not freed at one time; null if several places of one name share the row",
         "PEAK", "peak_bytes", LULL_USE_NOT_TEXT),
    ALLOCATED,
    TEMPORARY,
    {"Calls that allocated it, innermost first", "PATH", "path", LULL_CELL_STRING, NULL,
     LULL_USE_OWN},
    {0},
};
static const struct lull_result_class path_class = {.name = "paths",
                                                    .title = "Memory by what allocated it",
                                                    .columns = path_columns,
                                                    .is_own = true};

static void path_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct heap_report *report = user;
    const struct heap_row *row = &report->rows.items[at];
    cells = put_process(report, row->process, cells);
    *cells++ = size_cell(row->sums.live_bytes);
    *cells++ = count_cell(row->sums.live_blocks);
    *cells++ = size_cell(row->at_peak_bytes);
    *cells++ = row->n_paths == 1 ? size_cell(row->sums.peak_bytes)
                                 : (struct lull_cell){.class = LULL_CELL_UNKNOWN};
    *cells++ = count_cell(row->sums.allocations);
    *cells++ = size_cell(row->sums.bytes);
    *cells++ = count_cell(row->sums.temporary);
    *cells = lull_cell_text(LULL_CELL_STRING, row->path);
}

/* ---- processes ---- */

static const struct lull_result_column process_columns[] = {
    HOST,
    PROCESS,
    LIVE,
    SIZE("Most that was not freed at one time", "PEAK", "peak_bytes", 0),
    {"When that was", "PEAK AT", "peak", LULL_CELL_TIMESTAMP, NULL, LULL_USE_OWN | LULL_USE_DETAIL},
    ALLOCATED,
    TEMPORARY,
    COUNT("Frees of memory of which the allocation was not recorded", "UNKNOWN", "unknown_frees",
          "frees", 0),
    COUNT("Blocks of which the free was not recorded: another block was allocated there", "LOST",
          "lost_frees", "frees", LULL_USE_DETAIL),
    COUNT("Allocations that got no memory", "FAILED", "failed", "allocations", LULL_USE_NOT_TEXT),
    COUNT("Blocks of the parent process that it started with; they count nowhere else", "INHERITED",
          "inherited_blocks", "blocks", LULL_USE_NOT_TEXT),
    SIZE("Bytes of these", "INHERITED BYTES", "inherited_bytes", LULL_USE_NOT_TEXT),
    {0},
};
static const struct lull_result_class process_class = {
    .name = "processes", .title = "Memory by process", .columns = process_columns, .is_own = true};

static void process_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct heap_report *report = user;
    const uint32_t number = report->processes.items[at];
    const struct lull_heap_process *process = lull_heap_process(report->reading.heap, number);
    cells = put_process(report, number, cells);
    *cells++ = size_cell(process->sums.live_bytes);
    *cells++ = count_cell(process->sums.live_blocks);
    *cells++ = size_cell(process->sums.peak_bytes);
    if (process->peak_ns != INT64_MIN) {
        *cells = lull_cell_integer(LULL_CELL_TIMESTAMP, process->peak_ns);
    }
    cells++;
    *cells++ = count_cell(process->sums.allocations);
    *cells++ = size_cell(process->sums.bytes);
    *cells++ = count_cell(process->sums.temporary);
    *cells++ = count_cell(process->unknown_frees);
    *cells++ = count_cell(process->lost_frees);
    *cells++ = count_cell(process->failed);
    *cells++ = count_cell(process->inherited_blocks);
    *cells = size_cell(process->inherited_bytes);
}

/* ---- the whole ---- */

void heap_emit(const struct heap_report *report, struct lull_sink *sink)
{
    const struct lull_question_params *params = report->question->calls.params;
    calls_emit_table(&path_class, report->rows.count, path_row, report, params->limit, sink);
    calls_emit_table(&process_class, report->processes.count, process_row, report, params->limit,
                     sink);
}

const struct lull_analysis_class lull_analysis_heap = {
    .name = "heap",
    .title = "Memory of programs",
    .description = "What programs allocated, what they had at most, and what they did not free",
    .tags = (const char *const[]){"memory", "heap", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&path_class, &process_class, NULL},
};
