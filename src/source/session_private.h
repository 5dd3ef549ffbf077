/* What the files of the session share. */
#ifndef LULL_SOURCE_SESSION_PRIVATE_H
#define LULL_SOURCE_SESSION_PRIVATE_H

#include "source/event_filter.h"
#include "source/event_watch.h"
#include "source/merge.h"
#include "source/source.h"

struct session_host {
    struct lull_host info;
    const char *hostname; /* or NULL */
    bool has_clock_uuid;
    uint8_t clock_uuid[16];
    int64_t clock_offset_ns; /* of the first trace */
    struct lull_clock_transform transform;
};

struct session_trace {
    struct lull_session *session;
    struct lull_report report;
    struct lull_source *source;
    uint32_t index, first_stream;
    int64_t delta_ns;                       /* from its clock to that of the host's first trace */
    int64_t common_begin_ns, common_end_ns; /* in which all streams have packets, own clock */
    GHashTable *class_names;
    struct lull_class_filter *class_filters; /* by class, while a filter is set; or NULL */
    bool is_wanted;           /* some class is subscribed to that the filter does not reject */
    bool is_exempt;           /* some class belongs to an exempt subscription */
    GPtrArray *class_watches; /* struct lull_class_watch, by class, while a watch is set; or NULL */
    bool is_watched;          /* the watch wants some class */
};

struct session_notes {
    GPtrArray *problems;
    GArray *raw;    /* struct lull_loss, times on the trace's clock */
    GArray *losses; /* the same on the joined clock, in order */
    bool is_stale;
};

struct lull_session {
    GPtrArray *hosts;        /* struct session_host */
    uint32_t n_classes;      /* of all traces */
    GPtrArray *traces;       /* struct session_trace */
    GPtrArray *streams;      /* struct lull_source_stream, owned by the sources */
    GHashTable *directories; /* "device:inode" of each trace */
    GArray *subscriptions;   /* struct lull_subscription */
    struct session_notes *notes;

    int64_t begin_ns, end_ns;
    int32_t only_host, only_cpu;
    bool is_intersected;
    enum lull_order order;
    uint32_t n_threads; /* for streams that are read apart; 0: as many as CPUs */

    struct lull_event_filter *filter; /* or NULL */
    uint32_t filter_offset;           /* of its fields behind lull_event.fields */
    bool has_exempt;
    struct lull_event_watch *watch; /* or NULL; borrowed */

    bool is_subscribed; /* the sources know the subscriptions */
    bool is_started;
    struct lull_merge merge;
    struct lull_source_stream **merged; /* those that were selected */
};

struct session_notes *lull_session_notes_new(void);
void lull_session_notes_free(struct session_notes *notes);
/* Makes the sources' reports end up in the notes. */
void lull_session_trace_listen(struct session_trace *trace);

static inline struct session_trace *lull_session_trace_at(const struct lull_session *session,
                                                          uint32_t index)
{
    return session->traces->pdata[index];
}

static inline struct session_host *lull_session_host_at(const struct lull_session *session,
                                                        uint32_t index)
{
    return session->hosts->pdata[index];
}

/* Puts streams into the session's order for events of equal time. */
void lull_session_sort_streams(const struct lull_session *session,
                               struct lull_source_stream **streams, uint32_t n);

/* Makes the sources know the subscriptions, less what the filter rejects. */
void lull_session_subscribe_sources(struct lull_session *session);
/* Whether --host, --cpu and the filter leave anything of the stream. */
bool lull_session_is_selected(const struct lull_session *session,
                              const struct lull_source_stream *stream);
/* What of the stream is read, as limits, intersection and filter leave it. */
struct lull_source_window lull_session_window(const struct lull_session *session,
                                              const struct lull_source_stream *stream);
void lull_session_start_stream(const struct lull_session *session,
                               struct lull_source_stream *stream);
/* The stream's next event that passes the filter; false at its end. */
bool lull_session_next_passing(const struct lull_session *session,
                               struct lull_source_stream *stream);
/* Whether the filter passes the event, or its subscription is exempt. */
bool lull_session_hands_out(const struct lull_session *session, const struct lull_event *event);
/* Tells the filter, if there is one, that reading begins. */
void lull_session_start_filter(struct lull_session *session);
void lull_session_forget_filter(struct lull_session *session);

/* Counting ignores subscriptions, which are put aside meanwhile if there is a filter. */
GArray *lull_session_begin_count(struct lull_session *session);
void lull_session_end_count(struct lull_session *session, GArray *subscriptions);
/* Counts the stream's events that pass: adds to counts[class index]; what whole classes are
 * rejected may be in it until lull_session_drop_rejected(). */
void lull_session_count_stream(const struct lull_session *session,
                               struct lull_source_stream *stream, uint64_t *counts);
void lull_session_drop_rejected(const struct lull_session *session,
                                const struct session_trace *trace, uint64_t *counts);

/* session_watch.c: before and after the sources are told the subscriptions. */
void lull_session_begin_watch(struct lull_session *session);
void lull_session_end_watch(struct lull_session *session);
/* Puts the watch's wishes for the classes of a trace with the subscriber's and the filter's. */
void lull_session_watch_classes(struct lull_session *session, struct session_trace *trace,
                                int32_t *of_class, const struct lull_fields **extra,
                                uint32_t *extra_size);
/* Lets the watch see the event; false if nobody else wants it. */
bool lull_session_show_watch(struct lull_session *session, const struct lull_event *event);

void lull_session_trace_free(gpointer data);
void lull_session_host_free(gpointer data);

#endif
