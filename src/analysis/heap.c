/* SPDX-License-Identifier: MIT */
/* Which paths of calls allocated how much memory in which processes, and what of it was not freed. */
#include "analysis/heap.h"

#include <stdlib.h>
#include <string.h>

#include <lull/error.h>

#include "analysis/limit.h"
#include "base/map.h"
#include "base/sums.h"
#include "calls/names.h"
#include "filter/glob.h"

/* Of deeper paths the outer calls are not shown, and those that differ in nothing else are one. */
enum { MOST_FRAMES = 128 };

struct patterns {
    struct lull_arena *arena;
    LULL_VEC(const struct lull_glob *) items;
};

static bool compile(struct patterns *patterns, const char *const *texts, GError **error)
{
    for (; texts && *texts; texts++) {
        const size_t length = strlen(*texts);
        bool *is_escaped = lull_arena_alloc_n(patterns->arena, length + 1, sizeof *is_escaped);
        size_t at;
        const char *reason;
        memset(is_escaped, 0, length + 1);
        const struct lull_glob *glob =
            lull_glob_new(patterns->arena, *texts, length, is_escaped, &at, &reason);
        if (!glob) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "“%s”: byte %zu: %s", *texts, at,
                        reason);
            return false;
        }
        lull_vec_push(&patterns->items, glob);
    }
    return true;
}

static bool matches(const struct patterns *patterns, const char *text)
{
    for (size_t i = 0; text && i < patterns->items.count; i++) {
        if (lull_glob_matches(patterns->items.items[i],
                              (struct lull_text){text, (uint32_t)strlen(text)})) {
            return true;
        }
    }
    return false;
}

/* ---- what is wanted ---- */

static uint64_t process_key(uint32_t host, int32_t pid)
{
    return (uint64_t)host << 32 | (uint32_t)pid;
}

/* Processes of which a thread with calls is wanted. */
static struct lull_map list_wanted(const struct heap_report *report)
{
    const struct lull_question_params *params = report->question->calls.params;
    const struct lull_calls_reading *reading = &report->reading;
    struct lull_map wanted = {0};
    for (uint32_t i = 0; i < lull_calls_line_count(reading->calls); i++) {
        const struct lull_calls_line *line = lull_calls_line(reading->calls, i);
        if (lull_params_want_task(params, reading->model, line->task, reading->end_ns)) {
            lull_map_insert(&wanted, process_key(line->host, line->pid), 0);
        }
    }
    return wanted;
}

/* A process is, if one of its threads is. */
static bool is_wanted(const struct heap_report *report, const struct lull_map *of_threads,
                      const struct lull_heap_process *process)
{
    const struct lull_calls_reading *reading = &report->reading;
    return lull_heap_process_did(process) &&
           (lull_params_want_task(report->question->calls.params, reading->model, process->task,
                                  reading->end_ns) ||
            (process->pid > 0 &&
             lull_map_find(of_threads, process_key(process->host, process->pid)) != LULL_MAP_NONE));
}

/* ---- paths ---- */

/* "alloc_a < leaker < main". False: it is to be ignored. */
static bool name_path(const struct heap_report *report, const struct patterns *ignored,
                      uint32_t node, GString *text)
{
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_model *model = report->reading.model;
    g_autoptr(GString) name = g_string_new(NULL);
    g_string_truncate(text, 0);
    for (uint32_t n = 0; lull_calls_node(calls, node)->function != LULL_NONE; n++) {
        const struct lull_calls_node *it = lull_calls_node(calls, node);
        const struct lull_calls_function *function = lull_calls_function(calls, it->function);
        const char *object = lull_calls_object(model, function);
        const char *slash = object ? strrchr(object, '/') : NULL;
        g_string_truncate(name, 0);
        lull_calls_append_name(name, model, report->question->calls.others, function);
        if (matches(ignored, name->str) || matches(ignored, object) ||
            matches(ignored, slash ? slash + 1 : NULL)) {
            return false;
        }
        if (n <= MOST_FRAMES) {
            g_string_append(text, n ? " < " : "");
            g_string_append(text, n < MOST_FRAMES ? name->str : "…");
        }
        node = it->parent;
    }
    return true;
}

static void add_path(struct heap_row *row, const struct lull_heap_path *path)
{
    row->n_paths++;
    row->sums.allocations += path->sums.allocations;
    lull_add_unsigned(&row->sums.bytes, path->sums.bytes);
    row->sums.temporary += path->sums.temporary;
    row->sums.live_blocks += path->sums.live_blocks;
    row->sums.live_bytes += path->sums.live_bytes;
    row->sums.peak_bytes += path->sums.peak_bytes;
    row->at_peak_bytes += path->at_peak_bytes;
}

/* Two that weigh the same: what else they have, then the order of their names. */
static int compare_rows(const void *a, const void *b, void *user)
{
    const enum lull_heap_weight *order = user;
    const struct heap_row *x = a, *y = b;
    const enum lull_heap_weight keys[] = {*order, LULL_HEAP_LIVE, LULL_HEAP_PEAK,
                                          LULL_HEAP_ALLOCATED, LULL_HEAP_ALLOCATIONS};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const uint64_t p = lull_heap_weigh(&x->sums, x->at_peak_bytes, keys[i]);
        const uint64_t q = lull_heap_weigh(&y->sums, y->at_peak_bytes, keys[i]);
        if (p != q) {
            return p > q ? -1 : 1;
        }
    }
    const int names = strcmp(x->path, y->path);
    return names ? names : (x->process > y->process) - (x->process < y->process);
}

/* What --ignore left out. */
static void sum_paths(struct heap_report *report, const struct patterns *ignored,
                      const bool *wanted, struct heap_row *left_out)
{
    const struct lull_heap *heap = report->reading.heap;
    g_autoptr(GHashTable) by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    enum lull_heap_weight order = report->question->order;
    for (uint32_t i = 0; i < lull_heap_path_count(heap); i++) {
        const struct lull_heap_path path = lull_heap_path(heap, i);
        if (!wanted[path.process]) {
            continue;
        }
        if (!name_path(report, ignored, path.node, text)) {
            add_path(left_out, &path);
            continue;
        }
        char *key = g_strdup_printf("%u %s", path.process, text->str);
        uint32_t row = GPOINTER_TO_UINT(g_hash_table_lookup(by_name, key));
        if (row == 0) {
            lull_vec_push(&report->rows,
                          (struct heap_row){.process = path.process, .path = g_strdup(text->str)});
            row = (uint32_t)report->rows.count;
            g_hash_table_insert(by_name, key, GUINT_TO_POINTER(row));
        } else {
            g_free(key);
        }
        add_path(&report->rows.items[row - 1], &path);
    }
    if (report->rows.count) {
        qsort_r(report->rows.items, report->rows.count, sizeof *report->rows.items, compare_rows,
                &order);
    }
}

static int compare_processes(const void *a, const void *b, void *user)
{
    const struct heap_report *report = user;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct lull_heap_process *x = lull_heap_process(report->reading.heap, i);
    const struct lull_heap_process *y = lull_heap_process(report->reading.heap, k);
    const uint64_t p = lull_heap_weigh(&x->sums, x->sums.peak_bytes, report->question->order);
    const uint64_t q = lull_heap_weigh(&y->sums, y->sums.peak_bytes, report->question->order);
    return p != q ? (p > q ? -1 : 1) : (i > k) - (i < k);
}

/* ---- the whole ---- */

static void note_facts(const struct heap_report *report, const struct lull_window *window,
                       const struct heap_row *left_out, struct lull_sink *sink)
{
    const struct lull_heap *heap = report->reading.heap;
    bool has_pids = true;
    for (size_t i = 0; i < report->processes.count; i++) {
        has_pids &= lull_heap_process(heap, report->processes.items[i])->pid > 0;
    }
    if (report->processes.count == 0) {
        sink->note(sink, "no allocation was recorded; docs/CALLS.md says how to record them");
    }
    if (!has_pids) {
        sink->note(sink, "the trace does not say which threads share their memory (context vpid): "
                         "what one allocates and another frees looks as if it was never freed");
    }
    if (window->lost_events > 0) {
        sink->note(sink, "events were lost: memory whose free was lost looks as if it was not "
                         "freed");
    }
    if (left_out->n_paths > 0) {
        g_autofree char *text = g_strdup_printf(
            "left out by --ignore: %" G_GUINT64_FORMAT " allocations, of which %" G_GUINT64_FORMAT
            " bytes in %" G_GUINT64_FORMAT " blocks were not freed",
            left_out->sums.allocations, left_out->sums.live_bytes, left_out->sums.live_blocks);
        sink->note(sink, text);
    }
    lull_note_count(sink, lull_heap_nobodys(heap),
                    "event does not say of which thread it is (context vtid), and is left out",
                    "events do not say of which thread they are (context vtid), and are left out");
    lull_note_count(sink, lull_heap_not_copied(heap),
                    "child process started without its parent's memory: too many blocks",
                    "child processes started without their parents' memory: too many blocks");
}

static void show(struct heap_report *report, const struct patterns *ignored, struct lull_sink *sink)
{
    const struct lull_heap *heap = report->reading.heap;
    const uint32_t n = lull_heap_process_count(heap);
    g_autofree bool *wanted = g_new0(bool, MAX(n, 1));
    struct lull_map of_threads = list_wanted(report);
    struct heap_row left_out = {0};
    const struct lull_window window =
        lull_calls_window(report->session, report->question->calls.params->host, &report->reading);
    sink->start(sink, lull_analysis_heap.name, &window);
    for (uint32_t i = 0; i < n; i++) {
        wanted[i] = is_wanted(report, &of_threads, lull_heap_process(heap, i));
        if (wanted[i]) {
            lull_vec_push(&report->processes, i);
        }
    }
    lull_map_free(&of_threads);
    sum_paths(report, ignored, wanted, &left_out);
    if (report->processes.count) {
        qsort_r(report->processes.items, report->processes.count, sizeof(uint32_t),
                compare_processes, report);
    }
    note_facts(report, &window, &left_out, sink);
    heap_emit(report, sink);
    sink->end(sink);
}

bool lull_heap_report(const struct lull_heap_question *question, struct lull_session *session,
                      struct lull_sink *sink, void (*progress)(void *user), void *user,
                      GError **error)
{
    struct heap_report report = {
        .question = question,
        .session = session,
        .reading = {.wants_heap = true,
                    .wants_containers = question->calls.params->containers != NULL}};
    struct patterns ignored = {.arena = lull_arena_new()};
    const struct lull_calls_question *calls = &question->calls;
    const bool is_good = compile(&ignored, question->ignored, error);
    const bool has_events =
        is_good && lull_calls_read(&report.reading, session, calls->params->host, calls->start_ns,
                                   calls->end_ns, NULL, NULL, progress, user);
    if (is_good && (!calls->check || calls->check(calls->check_user, report.reading.model)) &&
        has_events) {
        show(&report, &ignored, sink);
    }
    lull_calls_reading_clear(&report.reading);
    for (size_t i = 0; i < report.rows.count; i++) {
        g_free(report.rows.items[i].path);
    }
    lull_vec_free(&report.rows);
    lull_vec_free(&report.processes);
    lull_vec_free(&ignored.items);
    lull_arena_free(ignored.arena);
    return is_good;
}
