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

#include "record/tracer.h"

/* What a class is opened for. Those of one scope are a group: the first is its leader, which starts
 * and stops them all. */
enum perfrec_scope {
    PERFREC_MACHINE, /* each CPU, whatever runs there */
    PERFREC_TASK     /* a task and what it starts, on each CPU */
};

/* An attribute, and its events on all CPUs: one entry of the file's table of events. */
struct perfrec_class {
    enum perfrec_scope scope;
    struct perf_event_attr attr;
    char *name;         /* "sched:sched_switch" */
    const char *filter; /* of the tracepoint; NULL: none */
    GArray *ids;        /* uint64_t: of its events; samples tell by them of what class they are */
};

struct perfrec_classes {
    struct perfrec_class *all;
    uint32_t n;
};

/* The tracepoints of the request's purpose that this kernel has. False and an error if a needed one
 * cannot be had. */
bool perfrec_classes_make(struct perfrec_classes *classes,
                          const struct lull_tracer_request *request, GError **error);
void perfrec_classes_clear(struct perfrec_classes *classes);

/* Where tracefs is mounted; NULL and an error if nowhere. */
const char *perfrec_tracefs(GError **error);
/* The number by which perf_event_open knows a tracepoint. */
bool perfrec_tracepoint_id(const char *system, const char *name, uint64_t *id, GError **error);
/* Appends what perf calls tracing data: the formats of the classes, as tracefs tells them. */
bool perfrec_tracing_data(GByteArray *to, const struct perfrec_classes *classes, GError **error);

/* The ring buffer of a CPU. */
struct perfrec_ring {
    int fd; /* of the event it belongs to; borrowed */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    uint64_t bytes; /* of data: a power of two */
};

/* What a walk over records found. */
struct perfrec_tally {
    uint64_t samples, lost;
    uint64_t first_ns, last_ns; /* times of samples; first_ns is UINT64_MAX without any */
};

/* Maps a buffer of `bytes`, a power of two of at least a page. One that is overwritten keeps the
 * newest records. */
bool perfrec_ring_map(struct perfrec_ring *ring, int fd, uint64_t bytes, bool is_overwritten,
                      GError **error);
void perfrec_ring_unmap(struct perfrec_ring *ring);
/* What the kernel has written and nobody has taken: up to two parts, and counts it. */
uint32_t perfrec_ring_look(const struct perfrec_ring *ring, uint64_t *head, struct iovec parts[2],
                           struct perfrec_tally *tally);
/* Gives the space up to `head` back. */
void perfrec_ring_taken(struct perfrec_ring *ring, uint64_t head);

/* Events that are open. */
struct perfrec_open {
    GArray *fds;     /* int: all of them */
    GArray *leaders; /* int: those of the groups */
    struct perfrec_ring *rings;
    int *cpus; /* of the rings */
    uint32_t n_rings;
};

/* perf_event_open(2), with the descriptor closed on exec. */
int perfrec_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group);
/* Why it failed, and how to get it. */
void perfrec_open_error(int why, const char *name, GError **error);
/* Opens the group PERFREC_MACHINE on each CPU, stopped, with its ring buffer. */
bool perfrec_open_machine(struct perfrec_open *open, struct perfrec_classes *classes,
                          const struct lull_tracer_request *request, GError **error);
/* Recording begins and ends here. */
bool perfrec_open_enable(const struct perfrec_open *open, bool is_on, GError **error);
void perfrec_open_clear(struct perfrec_open *open);

/* The file while it is written: a head that says nothing yet, and records. */
struct perfrec_file {
    int fd;
    char *path;
    uint64_t at; /* its size */
};

bool perfrec_file_create(struct perfrec_file *file, const char *dir, GError **error);
bool perfrec_file_append(struct perfrec_file *file, const struct iovec *parts, uint32_t n,
                         GError **error);
/* A record of the kind of those that perf makes itself. */
bool perfrec_file_append_round(struct perfrec_file *file, GError **error);
/* Writes what follows the records, and the head that makes it a file of perf's. */
bool perfrec_file_finish(struct perfrec_file *file, const struct perfrec_classes *classes,
                         const struct perfrec_tally *tally, int64_t epoch_offset_ns,
                         GError **error);
/* Also removes the file if it was not finished. */
void perfrec_file_clear(struct perfrec_file *file);

/* What a feature section says, in the bytes of perfrec_features_make(). */
struct perfrec_feature {
    uint32_t bit;
    uint64_t begin, end;
};

/* Appends all sections to `to`, and to `features` (struct perfrec_feature) which and where, by bit.
 */
bool perfrec_features_make(GByteArray *to, GArray *features, const struct perfrec_classes *classes,
                           const struct perfrec_tally *tally, int64_t epoch_offset_ns,
                           GError **error);

/* Names of the tasks that there are, as records. */
bool perfrec_tasks_append(struct perfrec_file *file, GError **error);

/* The thread that carries records from the rings to the file. */
struct perfrec_pump;
struct perfrec_pump *perfrec_pump_start(struct perfrec_ring *rings, uint32_t n_rings,
                                        struct perfrec_file *file, GError **error);
/* False and an error if it had to give up. */
bool perfrec_pump_check(struct perfrec_pump *pump, GError **error);
/* Carries what is left, ends the thread and frees it. `tally` may be NULL. */
bool perfrec_pump_stop(struct perfrec_pump *pump, struct perfrec_tally *tally, GError **error);

#endif
