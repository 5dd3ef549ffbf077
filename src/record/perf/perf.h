/* SPDX-License-Identifier: MIT */
/* What the files of the tracer perf share. perf.c is the tracer; perfrec_classes.c says which
 * events there are, perf_open.c opens them, perf_ring.c reads their ring buffers, perf_pump.c
 * carries these to the file, perf_file.c and perf_features.c write that. Only perf_event_open(2) is
 * used: all that a tracer set up goes with its descriptors. */
#ifndef LULL_RECORD_PERF_H
#define LULL_RECORD_PERF_H

#include <linux/perf_event.h>
#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "record/keeper.h"
#include "record/tracer.h"

/* An attribute, and its events on all CPUs: one entry of the file's table of events. The first
 * class leads the others: it starts and stops them all, and has the ring buffer. */
struct perfrec_class {
    struct perf_event_attr attr;
    char *name;  /* "sched:sched_switch" */
    GArray *ids; /* uint64_t: of its events; they identify the class of a sample */
    /* Of a group of its own: the class that leads it, perhaps this. Its samples have the values of
     * all of the group. PERFREC_FIRST: of the first class's group. */
    uint32_t leader;
};

#define PERFREC_FIRST 0u

struct perfrec_classes {
    struct perfrec_class *all;
    uint32_t n;
    char *remark; /* which counters there are not; or NULL */
};

/* PERF_FORMAT_LOST, which some headers do not have yet. */
#define PERFREC_FORMAT_LOST (1 << 4)

/* Makes the last class the leader of a group, and appends those of the counters that can be opened;
 * *remark becomes a sentence about others, to be freed with g_free(). False and an error if there is
 * none. `add` appends a class. */
typedef struct perfrec_class *perfrec_add_class(GArray *all, char *name, uint32_t type,
                                                uint64_t config,
                                                const struct lull_tracer_request *request);
bool perfrec_counters_add(GArray *all, perfrec_add_class *add,
                          const struct lull_tracer_request *request, char **remark, GError **error);

/* The tracepoints of the request's purpose that this kernel has. False and an error if a needed one
 * cannot be had. */
bool perfrec_classes_make(struct perfrec_classes *classes,
                          const struct lull_tracer_request *request, GError **error);
void perfrec_classes_clear(struct perfrec_classes *classes);

/* Where tracefs is mounted; NULL and an error if nowhere. */
const char *perfrec_tracefs(GError **error);
/* The number by which perf_event_open knows a tracepoint. */
bool perfrec_tracepoint_id(const char *system, const char *name, uint64_t *id, GError **error);
/* Appends what perf calls tracing data: the formats of the classes, as tracefs gives them. */
bool perfrec_tracing_data(GByteArray *to, const struct perfrec_classes *classes, GError **error);

/* Appends the text of a file of tracefs, which states no size. LULL_ERROR_QUESTION: there is
 * none. */
bool perfrec_tracefs_read(const char *name, GByteArray *to, GError **error);

/* Records in memory, which may go round: byte `at` is data[at & mask]. A record, and all that it
 * holds, starts at a multiple of 8, and the memory has such a size. */
struct perfrec_records {
    const uint8_t *data;
    uint64_t mask, start, end;
};

/* The 8 bytes at `at`. */
static inline uint64_t perfrec_word(const struct perfrec_records *records, uint64_t at)
{
    return *(const uint64_t *)(const void *)(records->data + (at & records->mask));
}

/* The head of the record at `at`. Its size is 0 if it is not whole, which ends a walk. */
struct perf_event_header perfrec_head(const struct perfrec_records *records, uint64_t at);

/* The files that are mapped to run them. Times are CLOCK_MONOTONIC, `epoch_offset_ns` before those
 * of the wall clock. */
struct perfrec_objects;
struct perfrec_objects *perfrec_objects_new(int64_t epoch_offset_ns);
void perfrec_objects_free(struct perfrec_objects *objects);
/* Mapped by a process at `time_ns`; or before, by one that still runs. */
void perfrec_objects_add(struct perfrec_objects *objects, int pid, const char *path, uint64_t inode,
                         uint64_t time_ns, bool is_from_before);
/* The same of a record of type PERF_RECORD_MMAP2 of the kernel's. */
void perfrec_objects_add_record(struct perfrec_objects *objects,
                                const struct perfrec_records *records, uint64_t at);
/* Has the keeper add their functions to the recording, and those of the kernel that programs call without it; if it
 * `wants_frames`, also how these call each other. False and an error if it is gone. */
bool perfrec_objects_save(const struct perfrec_objects *objects, const struct lull_keeper *keeper,
                          bool wants_frames, GError **error);

/* What a walk over records found. */
struct perfrec_tally {
    struct perfrec_objects *objects; /* which get what is mapped; borrowed; NULL: none are wanted */
    uint64_t samples, lost;
    uint64_t first_ns, last_ns; /* times of samples; first_ns is UINT64_MAX without any */
    uint64_t end_ns; /* the disk is full: until then all were carried; CLOCK_MONOTONIC. Else 0 */
};

void perfrec_tally_records(struct perfrec_tally *tally, const struct perfrec_records *records);

/* The ring buffer of a CPU. */
struct perfrec_ring {
    int fd; /* of the event it belongs to; borrowed */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    uint64_t bytes; /* of data: a power of two */
};

/* Maps a buffer of `bytes`, a power of two of at least a page. One that is overwritten keeps the
 * newest records. */
bool perfrec_ring_map(struct perfrec_ring *ring, int fd, uint64_t bytes, bool is_overwritten,
                      GError **error);
void perfrec_ring_unmap(struct perfrec_ring *ring);
/* What the kernel has written and nobody has taken. */
struct perfrec_records perfrec_ring_look(const struct perfrec_ring *ring);
/* Gives the space up to `end` back. */
void perfrec_ring_taken(struct perfrec_ring *ring, uint64_t end);

/* Events that are open. */
struct perfrec_open {
    GArray *fds;     /* int: all of them */
    GArray *late;    /* int: those that may stay open for a while */
    GArray *leaders; /* int: those of further groups */
    struct perfrec_ring *rings;
    int *cpus; /* of the rings */
    uint32_t n_rings;
};

/* CPUs that are on (int); false and an error. */
bool perfrec_online_cpus(GArray *cpus, GError **error);

/* Whether events are still recorded on all CPUs; zero at first. */
struct perfrec_cpus {
    bool *was_off; /* by ring; NULL: nobody looks */
    int64_t looked_ns, asleep_ns;
};

void perfrec_cpus_start(struct perfrec_cpus *cpus, const struct perfrec_open *open);
/* Looks once a second. False and an error if a CPU was switched off and is back, or the machine was suspended. */
bool perfrec_cpus_check(struct perfrec_cpus *cpus, const struct perfrec_open *open, GError **error);
void perfrec_cpus_clear(struct perfrec_cpus *cpus);

/* perf_event_open(2), with the descriptor closed on exec. */
int perfrec_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group);
/* Why it failed, and how to get it. */
void perfrec_open_error(int why, const char *name, GError **error);
/* The size of the ring buffer of a CPU: what is requested, as the next power of two. */
uint64_t perfrec_buffer_bytes(const struct lull_tracer_request *request);
/* Opens the classes on each CPU, stopped, with its ring buffer. */
bool perfrec_open_all(struct perfrec_open *open, const struct perfrec_classes *classes,
                      const struct lull_tracer_request *request, GError **error);
/* Recording starts and ends here. */
bool perfrec_open_enable(const struct perfrec_open *open, bool is_on, GError **error);
/* How many records the kernel had no room for; 0 if it does not count them. */
uint64_t perfrec_open_lost(const struct perfrec_open *open);
void perfrec_open_clear(struct perfrec_open *open);

/* The file while it is written: a head that says nothing yet, and records. */
struct perfrec_file {
    int fd;
    char *path;
    uint64_t at;  /* its size */
    bool is_full; /* so is the disk: something could not be appended */
};

bool perfrec_file_create(struct perfrec_file *file, const struct lull_keeper *keeper,
                         GError **error);
bool perfrec_file_append(struct perfrec_file *file, const struct iovec *parts, uint32_t n,
                         GError **error);
/* Takes back what comes after `at`. */
bool perfrec_file_cut(struct perfrec_file *file, uint64_t at, GError **error);
/* A record of the kind of those that perf makes itself. */
bool perfrec_file_append_round(struct perfrec_file *file, GError **error);
/* A record of losses that no kernel record reports: it writes one when there is room again. */
bool perfrec_file_append_lost(struct perfrec_file *file, uint64_t lost, uint64_t time_ns,
                              GError **error);
/* Writes what follows the records, and the head that makes it a file of perf's. */
bool perfrec_file_finish(struct perfrec_file *file, const struct perfrec_classes *classes,
                         const struct perfrec_tally *tally, int64_t epoch_offset_ns,
                         GError **error);
void perfrec_file_clear(struct perfrec_file *file);

/* What a feature section says, in the bytes of perfrec_features_make(). */
struct perfrec_feature {
    uint32_t bit;
    uint64_t start, end;
};

/* Appends all sections to `to`, and to `features` (struct perfrec_feature) which and where, by bit.
 */
bool perfrec_features_make(GByteArray *to, GArray *features, const struct perfrec_classes *classes,
                           const struct perfrec_tally *tally, int64_t epoch_offset_ns,
                           GError **error);

/* Which records a filtered recording keeps: those of the tasks that are followed and of idle CPUs,
 * what switches to or wakes up a followed task, and interrupts. Perf events of a task would not do:
 * they do not see who wakes it up, nor that it is switched to. */
struct perfrec_filter;
struct perfrec_filter *perfrec_filter_new(const struct perfrec_classes *classes, GError **error);
void perfrec_filter_free(struct perfrec_filter *filter);
/* Follows a task, and what it starts. */
void perfrec_filter_follow(struct perfrec_filter *filter, pid_t tid);
bool perfrec_filter_follows(const struct perfrec_filter *filter, pid_t tid);
/* Learns what was started from all records of a round, whose `n` parts have an order each. */
void perfrec_filter_learn(struct perfrec_filter *filter, const struct perfrec_records *parts,
                          uint32_t n);
/* Appends what is to be kept. The records do not go round. */
void perfrec_filter_pass(const struct perfrec_filter *filter, const struct perfrec_records *records,
                         GByteArray *to);

/* What is mapped where, as records, so that addresses can be resolved, and to `objects`; of what
 * `filter` follows, if it is given. The kernel's functions become a file of the keeper's. */
bool perfrec_maps_append(struct perfrec_file *file, struct perfrec_objects *objects,
                         const struct perfrec_filter *filter, const struct lull_keeper *keeper,
                         GError **error);
/* Names of the tasks that there are, as records; of those that `filter` follows, if it is given. */
bool perfrec_tasks_append(struct perfrec_file *file, const struct perfrec_filter *filter,
                          GError **error);

/* Follows what the followed tasks have started, as far as it lives and they do: for recordings
 * whose records of forks may be gone. */
bool perfrec_tasks_learn(struct perfrec_filter *filter, GError **error);

/* The buffers of a flight recorder keep what they hold; what happens until they thaw is lost, and counted
 * in the next snapshot. Thawing what is not frozen does nothing. */
bool perfrec_freeze(const struct perfrec_open *open, GError **error);
void perfrec_thaw(const struct perfrec_open *open);

/* Appends what the frozen buffers hold, in the order of time on each CPU, and thaws them once they are
 * copied. `tally` is zero before, but for its objects. */
bool perfrec_snapshot(const struct perfrec_open *open, struct perfrec_filter *filter,
                      struct perfrec_file *file, struct perfrec_tally *tally, GError **error);

/* The thread that carries records from the rings to the file, through `filter` if it is given.
 * `objects`, which may be NULL, get what is mapped, until it is stopped. */
struct perfrec_pump;
struct perfrec_pump *perfrec_pump_start(const struct perfrec_open *open,
                                        struct perfrec_filter *filter,
                                        struct perfrec_objects *objects, struct perfrec_file *file,
                                        GError **error);
/* Follows one more task. */
void perfrec_pump_follow(struct perfrec_pump *pump, pid_t tid);
/* False and an error if it had to give up. */
bool perfrec_pump_check(struct perfrec_pump *pump, GError **error);
/* Carries what is left, ends the thread and frees it. If the disk is full, the file ends with what
 * all buffers held at one time. `tally` may be NULL. */
bool perfrec_pump_stop(struct perfrec_pump *pump, struct perfrec_tally *tally, GError **error);

#endif
