/* The interface behind which every kind of input lies. A source is one trace; it has streams, each
 * in order of time, which the session merges. A new input is one file that implements this. */
#ifndef LULL_SOURCE_SOURCE_H
#define LULL_SOURCE_SOURCE_H

#include <lull/session.h>

#include "base/report.h"

struct lull_event_class {
    const char *name;
    uint32_t index;  /* within the source */
    uint32_t number; /* within the session */
};

/* What of a trace is wanted; the same for all its streams. */
struct lull_source_window {
    int64_t begin_ns, end_ns; /* joined clock */
    int64_t delta_ns;         /* from the trace's clock to that of the host's first trace */
    int32_t only_cpu;         /* or -1; for streams that cannot say theirs before they are read */
    struct lull_clock_transform transform;
};

#define LULL_CPU_LATER (-2)

struct lull_source_stream;

struct lull_source_stream_ops {
    void (*start)(struct lull_source_stream *stream, const struct lull_source_window *window);
    /* Fills stream->event; false at the end. A live stream that cannot tell yet sets event.time_ns
     * alone, before which no event comes, and leaves has_event false. */
    bool (*next)(struct lull_source_stream *stream);
    /* Counts what is left: adds to counts[class index]. */
    void (*count)(struct lull_source_stream *stream, uint64_t *counts);
    uint64_t (*progress)(const struct lull_source_stream *stream); /* bytes */
    bool (*visit)(const struct lull_source_stream *stream, const struct lull_visitor *visitor,
                  void *user, GError **error);
};

/* One sequence of events. Implementations put it first in a structure of their own. */
struct lull_source_stream {
    const struct lull_source_stream_ops *ops;
    struct lull_event
        event;        /* the next one, if has_event; host, trace, stream set by the session */
    int64_t bound_ns; /* after start(): no event comes before; INT64_MAX: there is none */
    bool has_event;
    int32_t cpu; /* that all its events have, or -1; LULL_CPU_LATER: only their packets say it */
    uint64_t size_bytes;
};

/* A subscription as the session keeps it. */
struct lull_subscription {
    const char *const *names;
    const struct lull_binding *bindings;
    uint32_t n_bindings;
    uint32_t fields_size;
};

struct lull_source;

struct lull_source_ops {
    void (*free)(struct lull_source *source);
    /* Replaces all subscriptions. of_class[i] is the subscription of class i, or -1. */
    void (*subscribe)(struct lull_source *source, const struct lull_subscription *subscriptions,
                      const int32_t *of_class, uint32_t max_fields_size);
};

/* One trace. All but `ops` is filled by its opener and constant afterwards, except that live traces
 * get more classes and streams (see lull_live_hooks.news). */
struct lull_source {
    const struct lull_source_ops *ops;
    struct lull_trace info; /* host, begin_ns and end_ns are completed by the session */
    const char *hostname;   /* or NULL */
    bool has_clock_uuid;
    uint8_t clock_uuid[16];
    struct lull_event_class *
        *classes; /* by stream class and id; later ones of a live trace behind */
    uint32_t n_classes;
    struct lull_source_stream **streams;
    uint32_t n_streams;
    bool wants_subscription; /* its metadata has grown: subscribe() is to be called again */
};

/* Opens a trace directory with a `metadata` file. `report` is borrowed for the life of the source.
 * NULL and an error if nothing can be read. */
struct lull_source *lull_ctf_source_open(const char *path, const struct lull_report *report,
                                         GError **error);

#endif
