/* SPDX-License-Identifier: MIT */
/* Parts of the analysis of I/O: what tasks moved (io_usage.c, with the disks in io_disks.c), how
 * long their calls took (io_latency.c), and the calls themselves (io_log.c). For src/analysis/io*.c
 * only.
 */
#ifndef LULL_ANALYSIS_IO_H
#define LULL_ANALYSIS_IO_H

#include "analysis/analysis.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"

/* Kinds of calls with latencies of their own. accept() is none of Open, as it waits for somebody to
 * connect. */
enum io_category {
    IO_OPEN,
    IO_READ,
    IO_WRITE,
    IO_SYNC,
    IO_PEER_CATEGORIES, /* those of lttng-analyses; the rest is Lull's own */
    IO_COPY = IO_PEER_CATEGORIES,
    IO_ACCEPT,
    IO_CATEGORIES,
    IO_CLOSE = IO_CATEGORIES, /* in the log only */
    IO_NONE,                  /* not I/O */
};

enum { IO_FILE_TYPES = LULL_FILE_OTHER + 1 };

/* What one task moved in its calls, by enum lull_file_type. */
struct io_task {
    uint32_t task;
    int64_t last_ns; /* end of its last call: the time of the name it is shown with */
    uint64_t bytes[2][IO_FILE_TYPES]; /* read, written */
};

struct io_file {
    uint32_t file;
    uint64_t bytes[2];
};

/* What a task moved through a file whose type was not known then: a state dump may still report
 * it. */
struct io_untyped {
    uint32_t task, file; /* task: index in usage.tasks */
    uint64_t bytes[2];
};

struct io_netif {
    uint32_t host, device;
    uint64_t bytes[2], packets[2]; /* received, sent */
};

struct io_usage {
    struct lull_slots tasks_by_number, files_by_number;
    LULL_VEC(struct io_task) tasks;
    LULL_VEC(struct io_file) files;
    LULL_VEC(struct io_untyped) untyped;
    struct lull_map untyped_by_key;
    LULL_VEC(struct io_netif) netifs;
    struct lull_map netif_numbers; /* host, device → index */
    uint64_t unknown_bytes[2];     /* moved by calls on descriptors of which nothing is known */
    uint64_t n_unreported;         /* calls that moved an unreported number of bytes */
};

enum io_direction { IO_READS, IO_WRITES, IO_DISCARDS, IO_UNTOLD_DIRECTION, IO_DIRECTIONS };

/* A disk, made when the window closes. */
/* The times of all requests with data, which --min and the like do not choose from. */
struct io_time_sum {
    uint64_t count;
    double total_ns;
};

struct io_disk {
    uint32_t host;
    char *name;
    uint64_t requests, flushes;
    uint64_t sectors[IO_DIRECTIONS];
    struct io_time_sum all_device, all_queue;
    struct lull_distribution device;  /* issue → complete */
    struct lull_distribution queue;   /* insert → issue */
    struct lull_distribution flush;   /* issue → complete of requests without data: flushes, */
    struct lull_distribution command; /* and all others, which query or configure the device */
};

struct io_submitter {
    uint32_t task; /* or LULL_NONE */
    uint64_t bytes[2];
};

/* A write with a flush after it completes again when that is done; what counts here is when its
 * data were. */
struct io_completed {
    uint32_t request;
    int64_t time_ns;
};

struct io_disks {
    LULL_VEC(struct io_completed) completed; /* in the window */
    uint64_t n_unmeasured;                   /* those whose issue was not seen */
    LULL_VEC(struct io_disk) disks;
    struct lull_map by_label, by_dev; /* host and name, or number if it has none → disk */
    LULL_VEC(struct io_submitter) submitters;
};

/* One call. */
struct io_call {
    int64_t start_ns;
    int64_t end_ns;
    int64_t bytes; /* moved; IO_NO_BYTES, IO_BYTES_UNTOLD */
    uint32_t task;
    uint32_t name; /* label */
    uint32_t file, to_file;
    int32_t fd;
    uint8_t category; /* enum io_category */
    bool has_to;      /* a copy: `to_file` was written */
    int16_t error;    /* errno; 0: none; beyond its range: INT16_MAX */
};
_Static_assert(sizeof(struct io_call) <= 48, "a log holds one for every call");

enum { IO_NO_BYTES = -1, IO_BYTES_UNTOLD = -2 };

struct io_log {
    LULL_VEC(struct io_call) calls;
};

/* The longest calls of a category. When there are twice as many as wanted, half is dropped. */
struct io_top {
    LULL_VEC(struct io_call) calls;
    int64_t least_ns; /* shorter ones cannot be among the longest */
};

struct io_analysis {
    struct lull_analysis head;
    bool has_task_filter;
    struct lull_slots opens; /* label of a call that makes descriptors → its category + 1 */
    struct io_usage usage;
    struct io_disks disks;
    struct lull_distribution latency[IO_CATEGORIES];
    uint64_t n_unmeasured; /* calls whose start was not seen */
    struct io_top top[IO_CATEGORIES];
    struct io_log log;
    GString *text; /* of the cell made last */
};

/* A row of a table that is sorted by value. */
struct io_rank {
    uint32_t index;
    uint64_t value;
};

/* Largest value first, equal ones by index. Returns how many rows are shown of them. */
uint64_t io_rank_sort(const struct io_analysis *io, struct io_rank *ranks, size_t count);
struct lull_cell io_size_cell(uint64_t bytes);
struct lull_cell io_count_cell(uint64_t count);
/* Whether the size of a request passes --minsize and --maxsize. */
bool io_wants_bytes(const struct io_analysis *io, int64_t bytes);
const char *io_category_name(enum io_category category, bool is_subtitle);

void io_usage_call(struct io_analysis *io, const struct lull_syscall_fact *fact);
void io_usage_netif(struct io_analysis *io, const struct lull_netif_fact *fact);
void io_usage_emit(struct io_analysis *io, int64_t end_ns, struct lull_sink *sink);
void io_usage_free(struct io_usage *usage);

void io_disks_block(struct io_analysis *io, const struct lull_block_fact *fact);
void io_disks_close(struct io_analysis *io);
void io_disks_emit_usage(struct io_analysis *io, int64_t end_ns, struct lull_sink *sink);
void io_disks_free(struct io_disks *disks);

void io_latency_call(struct io_analysis *io, const struct io_call *call);
void io_latency_emit_stats(struct io_analysis *io, struct lull_sink *sink);
void io_latency_emit_freq(struct io_analysis *io, struct lull_sink *sink);

void io_log_call(struct io_analysis *io, const struct io_call *call);
void io_log_close(struct io_analysis *io);
void io_log_emit_top(struct io_analysis *io, struct lull_sink *sink);
void io_log_emit(struct io_analysis *io, uint64_t n_rows, struct lull_sink *sink);
void io_log_free(struct io_analysis *io);

extern const struct lull_result_class io_per_process_class, io_per_file_class, io_per_netif_class,
    io_per_process_block_class, io_disk_sector_class, io_disk_request_class, io_disk_time_class,
    io_disk_stats_class, io_call_stats_class, io_freq_class, io_top_class, io_log_class;

#endif
