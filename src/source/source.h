/* SPDX-License-Identifier: MIT */
/* The interface that every kind of input implements. A source is one trace; it has streams, each
 * in order of time, which the session merges. A new input is one file that implements this. */
#ifndef LULL_SOURCE_H
#define LULL_SOURCE_H

#include <lull/session.h>

#include "base/clock.h"
#include "base/report.h"
#include "base/layout.h"
#include "base/numbers.h"

struct lull_class_filter;
struct lull_class_watch;
struct lull_format_record;
struct lull_formats;
struct lull_source;

struct lull_event_class {
    const char *name;
    const char *model_uri; /* or NULL */
    int64_t log_level;     /* or -1 */
    uint32_t index;        /* within the source */
    uint32_t number;       /* within the session */
    const struct lull_source *source;
    const struct lull_class_filter *filter; /* of the session; NULL: none is set */
    const struct lull_class_watch *watch;   /* of the session; NULL: it is not watched */
};

/* What is known of a field before reading. */
struct lull_field_type {
    struct lull_field_info info; /* without path; structures and variants are LULL_INFO_ARRAY */
    uint8_t element_bytes; /* of arrays that can be bound, also those that are texts; else 0 */
    const void *labels;    /* of an enumeration or its array, for lull_source_ops.label; or NULL */
};

/* Fields that are wanted besides those of the subscription. */
struct lull_fields {
    const struct lull_binding *bindings; /* offsets count from the start of these fields */
    uint32_t n_bindings;
    uint32_t size; /* a multiple of 8 */
};

/* What of a trace is wanted; the same for all its streams. */
struct lull_source_window {
    int64_t start_ns, end_ns;      /* joined clock */
    int64_t delta_ns;              /* from the trace's clock to that of the host's first trace */
    struct lull_numbers only_cpus; /* for streams that cannot say theirs before they are read */
    struct lull_clock_transform transform;
    bool in_doubles;       /* times are computed as babeltrace2 does, see lull_clock_map */
    uint64_t memory_bytes; /* that the stream should take at most while others are read with it */
    bool is_brief; /* there are more of these than files may be open: see struct lull_bytes */
};

#define LULL_CPU_LATER (-2)

/* What decoding every field came to: their number, and the sum of their values modulo 2^64. */
struct lull_source_tally {
    uint64_t fields;
    uint64_t checksum;
};

struct lull_ctf_plan;
struct lull_ctf_stream;
struct lull_source_stream;

struct lull_source_stream_ops {
    void (*start)(struct lull_source_stream *stream, const struct lull_source_window *window);
    /* Fills stream->event; false at the end. A live stream that does not know yet sets only
     * event.time_ns, before which no event comes, and leaves has_event false. */
    bool (*next)(struct lull_source_stream *stream);
    /* After start() over all times: when its last event is, of whatever class; INT64_MIN: there is
     * none. Ends the stream. NULL: only reading can tell. */
    int64_t (*last)(struct lull_source_stream *stream);
    /* Counts what is left: adds to counts[class index]. NULL if the stream can be read once only:
     * it has no sum() and set_report() then. */
    void (*count)(struct lull_source_stream *stream, uint64_t *counts);
    /* The same, and decodes every field: adds to *tally. */
    void (*sum)(struct lull_source_stream *stream, uint64_t *counts,
                struct lull_source_tally *tally);
    /* Where it reports what it finds from now on; NULL: where its source does. Streams with
     * reports of their own can be counted and summed by several threads at a time. */
    void (*set_report)(struct lull_source_stream *stream, const struct lull_report *report);
    /* Instead of start(), or after it: nothing of the stream is wanted, or nothing more. May be NULL. */
    void (*leave)(struct lull_source_stream *stream);
    /* For counting and summing one stream by several threads; all NULL if it cannot be. See
     * lull_ctf_stream_part_end() and what follows it. */
    uint32_t (*part_end)(const struct lull_source_stream *stream, uint32_t first, uint64_t bytes);
    struct lull_source_stream *(*clone)(const struct lull_source_stream *stream);
    void (*limit)(struct lull_source_stream *clone, uint32_t first, uint32_t end);
    void (*free_clone)(struct lull_source_stream *clone);
    uint64_t (*progress)(const struct lull_source_stream *stream); /* bytes */
    bool (*visit)(const struct lull_source_stream *stream, const struct lull_visitor *visitor,
                  void *user, GError **error);
    bool (*visit_packet)(const struct lull_source_stream *stream,
                         const struct lull_visitor *visitor, void *user, GError **error);
    bool (*cycles)(const struct lull_source_stream *stream, uint64_t *cycles);
    /* When each of its packets starts and ends, on the trace's own clock, in the order of the file; false: not of all is that
     * known. May be NULL. */
    bool (*each_packet)(const struct lull_source_stream *stream,
                        void (*visit)(void *user, int64_t start_ns, int64_t end_ns), void *user);
    /* For event_layout.h. */
    struct lull_layout *(*layout)(const struct lull_source_stream *stream, uint32_t flags);
    void (*bytes)(const struct lull_source_stream *stream, struct lull_event_bytes *bytes);
    /* Of the event that was handed out last, if the source has formats; else NULL. */
    const struct lull_format_record *(*record)(const struct lull_source_stream *stream);
};

/* One sequence of events. Implementations put it first in a structure of their own. */
struct lull_source_stream {
    const struct lull_source_stream_ops *ops;
    struct lull_event
        event;        /* the next one, if has_event; host, trace, stream set by the session */
    int64_t bound_ns; /* after start(): no event comes before; INT64_MAX: there is none */
    bool has_event;
    int32_t cpu; /* that all its events have, or -1; LULL_CPU_LATER: only its packets say it */
    uint64_t class_id, instance; /* as the trace numbers them; files without a number are numbered
                                    in the order of their names */
    uint64_t size_bytes;
    int64_t start_ns, end_ns; /* of its packets, on the trace's own clock; start > end: none */
    bool is_clipped;          /* by the session: what is before from_ns is read from another */
    int64_t from_ns;          /* on the trace's own clock */
};

/* A subscription as the session keeps it. */
struct lull_subscription {
    const char *const *names;
    const struct lull_binding *bindings;
    uint32_t n_bindings;
    uint32_t fields_size;
    bool is_exempt; /* from the session's filter */
    bool is_typed;  /* its reader does not mind whose classes its events have */
};

struct lull_source_ops {
    /* While one thread reads the streams of a source, another may call all that is here, until it
     * subscribes or frees: reading changes nothing that these look at. */
    bool reads_apart;
    void (*free)(struct lull_source *source);
    /* Replaces all subscriptions. of_class[i] is the subscription of class i, or -1. Its fields may
     * take max_fields_size bytes, a multiple of 8; those of extra[i] (may be NULL) follow them,
     * whose bits are set for optional fields only; max_extra_size is the largest. */
    void (*subscribe)(struct lull_source *source, const struct lull_subscription *subscriptions,
                      const int32_t *of_class, uint32_t max_fields_size,
                      const struct lull_fields *const *extra, uint32_t max_extra_size);
    /* Instead of subscribe(): a source with the same `shared` was subscribed to. NULL, as the next,
     * if `shared` always is. */
    void (*follow)(struct lull_source *source);
    /* Gives the source classes of its own, so that it can be subscribed to in its own way. */
    void (*separate)(struct lull_source *source);
    /* Makes the streams able to sum. */
    void (*prepare_sums)(struct lull_source *source);
    /* For lull_event_class_each_field(). */
    void (*each_field)(const struct lull_source *source, uint32_t class_index,
                       void (*visit)(void *user, const struct lull_field_info *field), void *user);
    /* The first field that a binding of this path would find, of whatever kind it is, or false. */
    bool (*describe)(const struct lull_source *source, uint32_t class_index, const char *path,
                     struct lull_field_type *type);
    /* The label of a value, or NULL; `labels` is not NULL. */
    const char *(*label)(const void *labels, uint64_t value);
    /* Marks the classes, by index, of which there are events; NULL: all may be wanted ones. */
    void (*find_used)(const struct lull_source *source, bool *used);
    /* The formats that its records have, by index of the class; NULL: it has none. */
    const struct lull_formats *(*formats)(const struct lull_source *source);
    /* The list of the kernel's symbols that it holds, as /proc/kallsyms has it; free with g_free(). NULL, as the
     * function may be: it holds none. */
    char *(*symbols)(const struct lull_source *source, gsize *length);
};

/* One trace. All but `ops` is filled by its opener and constant afterwards, except that live traces
 * get more classes and streams (see lull_live_hooks.news). */
struct lull_source {
    const struct lull_source_ops *ops;
    struct lull_trace info; /* host, start_ns and end_ns are completed by the session */
    const char *hostname;   /* or NULL */
    const char *host_name;  /* what people call the machine, if it is something else; or NULL */
    bool has_clock_uuid;
    uint8_t clock_uuid[16];
    GHashTable *build_ids; /* path → build-id of the file that was mapped, in hexadecimal digits;
                              "": there were several; NULL: none is known */
    const char *joined_clock; /* names the joined clock its times were exported on, or NULL */
    bool has_uuid;
    uint8_t uuid[16];
    const char
        *task_names; /* as the tracer knew them by the end, a line "TID NAME" each; or NULL */
    const char *const *environment; /* key, value, key, value, …, NULL */
    /* By stream class and id; those that a live trace gets later are at the end. */
    struct lull_event_class **classes;
    uint32_t n_classes;
    const void *shared; /* sources with the same have their classes and subscriptions in common;
                           NULL: the classes are its own */
    struct lull_source_stream **streams;
    uint32_t n_streams;
    bool wants_subscription; /* its metadata has grown: subscribe() is to be called again */
};

struct lull_location;

/* What the CTF traces of a session have in common. */
struct lull_ctf_kinds;
struct lull_ctf_kinds *lull_ctf_kinds_new(void);
void lull_ctf_kinds_free(struct lull_ctf_kinds *kinds);

/* Opens a trace that lies in one or more places, whose metadata have been read and belong to the
 * same trace: one text starts with the other. `report` and `kinds` are borrowed for the life of the
 * source, the places only for the call. NULL and an error if nothing can be read. */
struct lull_source *lull_ctf_source_open(struct lull_location *const *locations,
                                         uint32_t n_locations, struct lull_ctf_kinds *kinds,
                                         const struct lull_report *report, GError **error);

/* For writing what was read as CTF again: the plans of a trace, and the cursor of a stream. NULL if
 * the source is of another kind. */
const struct lull_ctf_plan *lull_ctf_source_plan(const struct lull_source *source);
const struct lull_ctf_stream *lull_ctf_source_cursor(const struct lull_source_stream *stream);

/* The environment entry that an export of joined clocks leaves in each of its traces. */
#define LULL_ENV_JOINED_CLOCK "lull_joined_clock"

/* And the one in which an export keeps lull_source.task_names. */
#define LULL_ENV_TASK_NAMES "lull_task_names"

#endif
