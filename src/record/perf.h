/* What the files of the tracer perf share. perf.c is the tracer; perf_classes.c says which events
 * there are, perf_open.c opens them, perf_ring.c reads their ring buffers, perf_pump.c carries
 * these to the file, perf_file.c and perf_features.c write that. Only perf_event_open(2) is used:
 * all that a tracer set up goes with its descriptors. */
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
enum perf_scope {
    PERF_MACHINE, /* each CPU, whatever runs there */
    PERF_TASK     /* a task and what it starts, on each CPU */
};

/* An attribute, and its events on all CPUs: one entry of the file's table of events. */
struct perf_class {
    enum perf_scope scope;
    struct perf_event_attr attr;
    char *name;         /* "sched:sched_switch" */
    const char *filter; /* of the tracepoint; NULL: none */
    GArray *ids;        /* uint64_t: of its events; samples tell by them of what class they are */
};

struct perf_classes {
    struct perf_class *all;
    uint32_t n;
};

/* The tracepoints of the request's purpose that this kernel has. False and an error if a needed one
 * cannot be had. */
bool perf_classes_make(struct perf_classes *classes, const struct lull_tracer_request *request,
                       GError **error);
void perf_classes_clear(struct perf_classes *classes);

/* Where tracefs is mounted; NULL and an error if nowhere. */
const char *perf_tracefs(GError **error);
/* The number by which perf_event_open knows a tracepoint. */
bool perf_tracepoint_id(const char *system, const char *name, uint64_t *id, GError **error);
/* Appends what perf calls tracing data: the formats of the classes, as tracefs tells them. */
bool perf_tracing_data(GByteArray *to, const struct perf_classes *classes, GError **error);

/* The ring buffer of a CPU. */
struct perf_ring {
    int fd; /* of the event it belongs to; borrowed */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    uint64_t bytes; /* of data: a power of two */
};

/* What a walk over records found. */
struct perf_tally {
    uint64_t samples, lost;
    uint64_t first_ns, last_ns; /* times of samples; first_ns is UINT64_MAX without any */
};

/* Maps a buffer of `bytes`, a power of two of at least a page. One that is overwritten keeps the
 * newest records. */
bool perf_ring_map(struct perf_ring *ring, int fd, uint64_t bytes, bool is_overwritten,
                   GError **error);
void perf_ring_unmap(struct perf_ring *ring);
/* What the kernel has written and nobody has taken: up to two parts, and counts it. */
uint32_t perf_ring_look(const struct perf_ring *ring, uint64_t *head, struct iovec parts[2],
                        struct perf_tally *tally);
/* Gives the space up to `head` back. */
void perf_ring_taken(struct perf_ring *ring, uint64_t head);

/* Events that are open. */
struct perf_open {
    GArray *fds;     /* int: all of them */
    GArray *leaders; /* int: those of the groups */
    struct perf_ring *rings;
    int *cpus; /* of the rings */
    uint32_t n_rings;
};

/* perf_event_open(2), with the descriptor closed on exec. */
int perf_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group);
/* Why it failed, and how to get it. */
void perf_open_error(int why, const char *name, GError **error);
/* Opens the group PERF_MACHINE on each CPU, stopped, with its ring buffer. */
bool perf_open_machine(struct perf_open *open, struct perf_classes *classes,
                       const struct lull_tracer_request *request, GError **error);
/* Recording begins and ends here. */
bool perf_open_enable(const struct perf_open *open, bool is_on, GError **error);
void perf_open_clear(struct perf_open *open);

/* The file while it is written: a head that says nothing yet, and records. */
struct perf_file {
    int fd;
    char *path;
    uint64_t at; /* its size */
};

bool perf_file_create(struct perf_file *file, const char *dir, GError **error);
bool perf_file_append(struct perf_file *file, const struct iovec *parts, uint32_t n,
                      GError **error);
/* A record of the kind of those that perf makes itself. */
bool perf_file_append_round(struct perf_file *file, GError **error);
/* Writes what follows the records, and the head that makes it a file of perf's. */
bool perf_file_finish(struct perf_file *file, const struct perf_classes *classes,
                      const struct perf_tally *tally, int64_t epoch_offset_ns, GError **error);
/* Also removes the file if it was not finished. */
void perf_file_clear(struct perf_file *file);

/* What a feature section says, in the bytes of perf_features_make(). */
struct perf_feature {
    uint32_t bit;
    uint64_t begin, end;
};

/* Appends all sections to `to`, and to `features` (struct perf_feature) which and where, by bit. */
bool perf_features_make(GByteArray *to, GArray *features, const struct perf_classes *classes,
                        const struct perf_tally *tally, int64_t epoch_offset_ns, GError **error);

/* Names of the tasks that there are, as records. */
bool perf_tasks_append(struct perf_file *file, GError **error);

/* The thread that carries records from the rings to the file. */
struct perf_pump;
struct perf_pump *perf_pump_start(struct perf_ring *rings, uint32_t n_rings, struct perf_file *file,
                                  GError **error);
/* False and an error if it had to give up. */
bool perf_pump_check(struct perf_pump *pump, GError **error);
/* Carries what is left, ends the thread and frees it. `tally` may be NULL. */
bool perf_pump_stop(struct perf_pump *pump, struct perf_tally *tally, GError **error);

#endif
