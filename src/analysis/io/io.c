/* SPDX-License-Identifier: MIT */
/* I/O by system calls, disks and network devices: the class of the analysis, and which facts belong
 * to which part of it. A call or request counts where it ends. */
#include "analysis/io/io.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/vocabulary.h"

static const unsigned measuring =
    LULL_SECTION_STATS | LULL_SECTION_TOP | LULL_SECTION_FREQ | LULL_SECTION_LOG;

/* ---- what the parts share ---- */

struct lull_cell io_size_cell(uint64_t bytes)
{
    return lull_cell_integer(LULL_CELL_SIZE, (int64_t)bytes);
}

struct lull_cell io_count_cell(uint64_t count)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)count);
}

static int compare_ranks(const void *a, const void *b)
{
    const struct io_rank *x = a, *y = b;
    if (x->value != y->value) {
        return x->value > y->value ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

uint64_t io_rank_sort(const struct io_analysis *io, struct io_rank *ranks, size_t count)
{
    uint32_t limit = io->head.params->limit;
    if (count) {
        qsort(ranks, count, sizeof *ranks, compare_ranks);
    }
    return limit ? MIN(count, limit) : count;
}

bool io_wants_bytes(const struct io_analysis *io, int64_t bytes)
{
    return bytes >= io->head.params->min_bytes && bytes <= io->head.params->max_bytes;
}

const char *io_category_name(enum io_category category, bool is_subtitle)
{
    static const char *const names[][2] = {
        [IO_OPEN] = {"Open", "open"},    [IO_READ] = {"Read", "read"},
        [IO_WRITE] = {"Write", "write"}, [IO_SYNC] = {"Sync", "sync"},
        [IO_COPY] = {"Copy", "copy"},    [IO_ACCEPT] = {"Accept", "accept"},
        [IO_CLOSE] = {"Close", "close"},
    };
    return names[category][is_subtitle];
}

/* ---- facts ---- */

static void io_open(struct lull_analysis *analysis)
{
    struct io_analysis *io = (struct io_analysis *)analysis;
    const struct lull_question_params *params = analysis->params;
    io->has_task_filter = params->host >= 0 || params->tids.count || params->pids.count ||
                          params->comms || params->cpus.count;
    io->text = g_string_new(NULL);
    for (int i = 0; i < IO_CATEGORIES; i++) {
        io->latency[i].has_buckets = true;
        io->latency[i].keep_values =
            (params->sections & LULL_SECTION_FREQ) && !params->freq_logarithmic;
        io->top[i].least_ns = INT64_MIN;
    }
}

static void io_free(struct lull_analysis *analysis)
{
    struct io_analysis *io = (struct io_analysis *)analysis;
    io_usage_free(&io->usage);
    io_disks_free(&io->disks);
    io_log_free(io);
    for (int i = 0; i < IO_CATEGORIES; i++) {
        lull_distribution_clear(&io->latency[i]);
    }
    lull_slots_free(&io->opens);
    g_string_free(io->text, TRUE);
}

/* accept() and accept4() make descriptors as open() does, but only when a client comes. */
static enum io_category category_of_open(struct io_analysis *io, uint32_t name)
{
    uint32_t *slot = lull_slots_at(&io->opens, name);
    if (*slot == 0) {
        const char *text = lull_model_label(io->head.model, name);
        *slot = (g_str_has_prefix(text, "accept") ? IO_ACCEPT : IO_OPEN) + 1;
    }
    return *slot - 1;
}

static enum io_category category_of(struct io_analysis *io, const struct lull_syscall_fact *fact)
{
    static const uint8_t of_kind[] = {
        [LULL_IO_OTHER] = IO_NONE,  [LULL_IO_OPEN] = IO_OPEN, [LULL_IO_DUP] = IO_OPEN,
        [LULL_IO_CLOSE] = IO_CLOSE, [LULL_IO_READ] = IO_READ, [LULL_IO_WRITE] = IO_WRITE,
        [LULL_IO_COPY] = IO_COPY,   [LULL_IO_SYNC] = IO_SYNC, [LULL_IO_CONNECT] = IO_NONE};
    return fact->io->kind == LULL_IO_OPEN ? category_of_open(io, fact->name)
                                          : of_kind[fact->io->kind];
}

static int64_t bytes_of(const struct lull_io *moved, enum io_category category, bool has_failed)
{
    if (has_failed || (category != IO_READ && category != IO_WRITE && category != IO_COPY)) {
        return IO_NO_BYTES;
    }
    return moved->bytes < 0 ? IO_BYTES_UNTOLD : moved->bytes;
}

static struct io_call call_of(const struct lull_syscall_fact *fact, enum io_category category)
{
    const struct lull_io *moved = fact->io;
    /* Of a copied descriptor the new one is what the call was for. */
    bool is_new = moved->kind == LULL_IO_DUP && moved->to_fd >= 0;
    return (struct io_call){
        .start_ns = fact->start_ns,
        .end_ns = fact->end_ns,
        .bytes = bytes_of(moved, category, fact->error != 0),
        .task = fact->task,
        .name = fact->name,
        .file = is_new ? moved->to_file : moved->file,
        .to_file = moved->to_file,
        .fd = is_new ? moved->to_fd : moved->fd,
        .category = category,
        .has_to = category == IO_COPY && moved->to_fd >= 0,
        .error = (int16_t)MIN(fact->error, INT16_MAX),
    };
}

static void io_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct io_analysis *io = user;
    if (!fact->io || fact->is_open) {
        return;
    }
    enum io_category category = category_of(io, fact);
    if (category == IO_NONE) {
        return;
    }
    const struct lull_question_params *params = io->head.params;
    const struct lull_model *model = io->head.model;
    if (io->has_task_filter &&
        (!lull_params_want_task(params, model, fact->task, fact->end_ns) ||
         !lull_params_want_cpu(params, lull_model_task(model, fact->task)->host, fact->cpu))) {
        return;
    }
    if (params->sections & LULL_SECTION_USAGE) {
        io_usage_call(io, fact);
    }
    if (!(params->sections & measuring)) {
        return;
    }
    if (fact->start_ns == INT64_MIN) {
        io->n_unmeasured++;
        return;
    }
    struct io_call call = call_of(fact, category);
    if (!lull_params_want_duration(params, call.end_ns - call.start_ns) ||
        (call.bytes >= 0 && !io_wants_bytes(io, call.bytes))) {
        return;
    }
    io_latency_call(io, &call);
    io_log_call(io, &call);
}

static void io_block(void *user, const struct lull_block_fact *fact)
{
    struct io_analysis *io = user;
    if (fact->step == LULL_BLOCK_COMPLETE) {
        io_disks_block(io, fact);
    }
}

static void io_netif(void *user, const struct lull_netif_fact *fact)
{
    struct io_analysis *io = user;
    if (io->head.params->sections & LULL_SECTION_USAGE) {
        io_usage_netif(io, fact);
    }
}

static void io_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct io_analysis *io = (struct io_analysis *)analysis;
    (void)end_ns;
    io_disks_close(io);
    io_log_close(io);
}

static void io_emit(struct lull_analysis *analysis, const struct lull_window *window,
                    struct lull_sink *sink)
{
    struct io_analysis *io = (struct io_analysis *)analysis;
    unsigned sections = analysis->params->sections;
    lull_note_count(sink, io->n_unmeasured,
                    "call is not measured, as its start was not seen; what it moved counts",
                    "calls are not measured, as their start was not seen; what they moved counts");
    lull_note_count(
        sink, io->disks.n_unmeasured,
        "block request is not measured, as its issue was not seen; its sectors count",
        "block requests are not measured, as their issue was not seen; their sectors count");
    lull_note_count(sink, io->usage.n_unreported,
                    "call moved a number of bytes that the trace does not record",
                    "calls moved a number of bytes that the trace does not record");
    const uint64_t n_log =
        lull_params_listed(analysis->params, io->log.calls.count, "calls of the log", sink);
    if (sections & LULL_SECTION_USAGE) {
        io_usage_emit(io, window->end_ns, sink);
    }
    if (sections & LULL_SECTION_STATS) {
        io_latency_emit_stats(io, sink);
    }
    if (sections & LULL_SECTION_TOP) {
        io_log_emit_top(io, sink);
    }
    if (sections & LULL_SECTION_FREQ) {
        io_latency_emit_freq(io, sink);
    }
    if (sections & LULL_SECTION_LOG) {
        io_log_emit(io, n_log, sink);
    }
}

static const char *const tags[] = {"io", "syscall", "stats", "freq", "log", "top", NULL};
static const struct lull_result_class *const tables[] = {&io_per_process_class,
                                                         &io_per_file_class,
                                                         &io_per_process_block_class,
                                                         &io_disk_sector_class,
                                                         &io_disk_request_class,
                                                         &io_disk_time_class,
                                                         &io_per_netif_class,
                                                         &io_call_stats_class,
                                                         &io_disk_stats_class,
                                                         &io_top_class,
                                                         &io_freq_class,
                                                         &io_log_class,
                                                         NULL};

const struct lull_analysis_class lull_analysis_io = {
    .name = "io",
    .title = "I/O analysis",
    .description = "System call/disk latency statistics, system call latency distribution, system "
                   "call top latencies, I/O usage top, and I/O operations log",
    .tags = tags,
    .tables = tables,
    .question = "io",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_SYSCALL | LULL_GROUP_IO |
              LULL_GROUP_BLOCK | LULL_GROUP_REMAP | LULL_GROUP_IRQ | LULL_GROUP_NETIF,
    .is_by_host = true,
    .size = sizeof(struct io_analysis),
    .facts = {.syscall = io_syscall, .block = io_block, .netif = io_netif},
    .open = io_open,
    .close = io_close,
    .emit = io_emit,
    .free = io_free,
};
