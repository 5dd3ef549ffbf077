/* SPDX-License-Identifier: MIT */
/* What the files of the session share. */
#ifndef LULL_SOURCE_SESSION_PRIVATE_H
#define LULL_SOURCE_SESSION_PRIVATE_H

#include "base/map.h"
#include "source/session/event_filter.h"
#include "source/session/event_watch.h"
#include "source/live/live.h"
#include "source/session/merge.h"
#include "source/session/symbols.h"
#include "source/files/recording.h"
#include "source/source.h"

struct session_host {
    struct lull_host info;
    bool has_clock_uuid;
    int64_t clock_offset_ns; /* of the first trace */
    GArray *traces;          /* uint32_t: numbers */
    uint32_t n_noted;        /* of the traces: lull_session_note_hosts() has seen them */
    bool is_doubted;         /* it has said that they may be of several machines */
    bool has_overlap;        /* and that some were recorded at the same time */
    struct lull_clock_transform transform;
};

struct session_trace {
    struct lull_session *session;
    struct lull_report report;
    struct lull_source *source;
    uint32_t index, first_stream;
    uint32_t n_streams, n_classes;          /* that the session knows of */
    int64_t delta_ns;                       /* from its clock to that of the host's first trace */
    int64_t common_start_ns, common_end_ns; /* in which all streams have packets, own clock */
    GHashTable *class_names; /* of classes that were wanted recorded; see lull_session_declares() */
    bool knows_names;        /* the source has been queried for them */
    char *
        record; /* what is the same if it recorded the same as another; or NULL: that is not known */
    GHashTable *task_names; /* tid → name as the source's text says; NULL: not needed yet */
    GPtrArray
        *class_filters; /* struct lull_class_filter, by class, while a filter is set; or NULL */
    bool is_wanted;     /* some class is subscribed to that the filter does not reject */
    bool is_exempt;     /* some class belongs to an exempt subscription */
    GPtrArray *class_watches; /* struct lull_class_watch, by class, while a watch is set; or NULL */
    bool is_watched;          /* the watch wants some class */
};

struct session_notes {
    GPtrArray *problems;
    GArray *remarks; /* uint32_t: those of the problems that are no damage */
    GArray *raw;     /* struct lull_loss, times on the trace's clock */
    GArray *losses;  /* the same on the joined clock, in order */
    bool is_stale;
    uint64_t n_problems;       /* found; those after the last that is kept are not kept */
    size_t problem_bytes;      /* of those that are */
    struct lull_map by_stream; /* stream → its last loss */
};

/* Many hosts read in turn; see lull_session_allow_slices(). */
struct session_slices {
    int64_t length_ns; /* 0: there are none, and all is read by time */
    int64_t start_ns;  /* no event is earlier */
    uint32_t n_hosts;
};

/* What a stream reported. */
struct lull_session_note {
    char *text; /* NULL: a loss */
    bool is_remark;
    uint32_t stream; /* of the trace, and what else lull_report.lost gets */
    int64_t start_ns, end_ns;
    uint64_t events, packets;
};

/* Has reports kept, to be passed on later: `keep` takes note->text, and frees it. */
struct lull_note_keeper {
    struct lull_report report;
    void (*keep)(void *user, const struct lull_session_note *note);
    void *user;
};

struct lull_session {
    GPtrArray *hosts;         /* struct session_host */
    GHashTable *host_names;   /* name → how often it was wanted */
    GHashTable *hosts_by_key; /* text of what a source says about its host → the first such, + 1 */
    uint32_t n_noted_hosts;   /* lull_session_note_hosts() has seen them */
    uint32_t n_classes;       /* of all traces */
    struct lull_ctf_kinds *ctf_kinds;
    bool is_separate;        /* no two traces share classes */
    GHashTable *first_like;  /* lull_source.shared → number of the first trace with it, + 1 */
    GPtrArray *traces;       /* struct session_trace */
    GPtrArray *streams;      /* struct lull_source_stream, owned by the sources */
    GHashTable *directories; /* "device:inode" of each trace, URLs of live sessions */
    GPtrArray *lives;        /* struct lull_live */
    GPtrArray *recordings;   /* struct lull_recording_file, references */
    void (*unpacking)(void *user, const char *path, uint64_t done, uint64_t size); /* or NULL */
    void *unpacking_user;
    int64_t live_since_ns; /* when the first of them was added; or 0 */
    struct lull_symbol_wishes symbols;
    const struct lull_nameless *nameless_kernel; /* see there */
    GArray *subscriptions;                       /* struct lull_subscription */
    GPtrArray *converted;                        /* bindings, see lull_session_subscribe_sized() */
    struct session_notes *notes;

    bool knows_origin;
    int64_t origin_ns; /* if so; see lull_session_origin() */
    int64_t start_ns, end_ns;
    int32_t only_host;
    GArray *only_cpus; /* int64_t; NULL: all */
    bool is_intersected;
    enum lull_order order;
    uint32_t n_threads; /* for streams that are read apart; 0: as many as CPUs */

    struct lull_event_filter *filter; /* or NULL */
    uint32_t filter_offset;           /* of its fields from lull_event.fields */
    bool has_exempt;
    struct lull_event_watch *watch; /* or NULL; borrowed */

    bool may_slice; /* see lull_session_allow_slices() */
    struct session_slices slices;
    bool wants_ahead;         /* it is read ahead, if it can be */
    struct lull_ahead *ahead; /* NULL: it is not */

    bool is_subscribed; /* the sources know the subscriptions */
    bool is_started;
    bool has_news;      /* a live session has more than what we know of it */
    bool is_from_start; /* live sessions: from what the relay still has */
    bool (*wait)(void *user);
    void *wait_user;
    struct lull_merge merge;
    struct lull_source_stream **selected; /* what is read, n_selected streams */
    uint32_t n_selected, n_started;       /* the merge has the last of the first n_started */
    struct lull_source_stream **merged;   /* there */
    uint32_t n_together;                  /* streams that are read at a time; 0: one */
    bool has_many_files;                  /* more than may be open: each is while it is read */

    struct lull_sync *sync; /* how the clocks were joined; NULL: they were not */
    void (*free_sync)(struct lull_sync *sync);
};

void lull_session_note_problem(struct lull_session *session, const char *text);
/* `keeper` must outlive the use of keeper->report, which becomes its own. */
void lull_session_keep_notes(struct lull_note_keeper *keeper,
                             void (*keep)(void *user, const struct lull_session_note *note),
                             void *user);
void lull_session_pass_note(const struct lull_report *report, const struct lull_session_note *note);
void lull_session_note_remark(struct lull_session *session, const char *text);
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

/* Decides about slices, before the first n of session->merged are played. */
void lull_session_slice(struct lull_session *session, uint32_t n);
int64_t lull_session_slice_turn(const struct session_slices *slices, uint32_t host,
                                int64_t time_ns);

/* What the merge puts an event of `stream` in order by: its time, unless there are slices. */
static inline int64_t lull_session_turn(const struct lull_session *session,
                                        const struct lull_source_stream *stream, int64_t time_ns)
{
    return G_LIKELY(session->slices.length_ns == 0)
               ? time_ns
               : lull_session_slice_turn(&session->slices, stream->event.host, time_ns);
}

/* A trace without source, to open one with its report. */
struct session_trace *lull_session_trace_new(struct lull_session *session);
/* Makes the trace, which has a source now, part of the session. */
void lull_session_trace_join(struct session_trace *trace);
/* Takes in classes and streams that the source has got since. */
void lull_session_trace_grow(struct session_trace *trace);

/* Gives each trace classes of its own, numbered in order. */
void lull_session_separate(struct lull_session *session);

/* What is read next starts anew. Before anybody changes what is read, or touches the streams. */
void lull_session_halt(struct lull_session *session);

/* Makes the sources know the subscriptions, less what the filter rejects. */
void lull_session_subscribe_sources(struct lull_session *session);
/* Makes those know them whose metadata has grown. What the filter has said of a class remains
 * valid: events of it may be under way. */
void lull_session_subscribe_grown(struct lull_session *session);
/* Starts the stream, or leaves it if nothing of it is selected: then false. */
bool lull_session_start_selected(const struct lull_session *session,
                                 struct lull_source_stream *stream);
/* Plays the merge of the first n of session->merged anew, each from its bound_ns on. */
void lull_session_play(struct lull_session *session, uint32_t n);
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
/* Notifies the filter, if there is one, that reading starts. */
void lull_session_start_filter(struct lull_session *session);
void lull_session_forget_filter(struct lull_session *session);

/* How many threads may read it. */
uint32_t lull_session_threads(const struct lull_session *session);
/* Counting ignores subscriptions, which are put aside meanwhile if there is a filter. */
GArray *lull_session_start_count(struct lull_session *session);
void lull_session_end_count(struct lull_session *session, GArray *subscriptions);
/* Counts the stream's events that pass: adds to counts[class index]; what whole classes are
 * rejected may be in it until lull_session_drop_rejected(). */
void lull_session_count_stream(const struct lull_session *session,
                               struct lull_source_stream *stream, uint64_t *counts);
void lull_session_drop_rejected(const struct lull_session *session,
                                const struct session_trace *trace, uint64_t *counts);

/* session_watch.c: before and after the sources get the subscriptions. */
void lull_session_start_watch(struct lull_session *session, bool forgets);
void lull_session_end_watch(struct lull_session *session);
/* Puts the watch's wishes for the classes of a trace with the subscriber's and the filter's. */
void lull_session_watch_classes(struct lull_session *session, struct session_trace *trace,
                                int32_t *of_class, const struct lull_fields **extra,
                                uint32_t *extra_size);
/* Lets the watch see the event; false if nobody else wants it. */
bool lull_session_show_watch(struct lull_session *session, const struct lull_event *event);

/* session_live.c */
bool lull_session_add_live(struct lull_session *session, const char *url, GError **error);
/* Takes in what live sessions have that is new. */
void lull_session_take_news(struct lull_session *session);
/* When nothing is left to read: waits for more. False if there will be none. */
bool lull_session_follow(struct lull_session *session);

/* The host that the source is of, perhaps a new one. The source gets the boot id of a host that was
 * started at the same moment. */
uint32_t lull_session_find_host(struct lull_session *session, struct lull_source *source);
/* Notes hosts that have one name, and those whose traces may be of several machines. */
void lull_session_note_hosts(struct lull_session *session);

/* What the recording says of what its trace holds. */
void lull_session_note_record(struct session_trace *trace,
                              const struct lull_recording_file *recording);
/* Has each moment read once that several recordings of the host hold. */
void lull_session_part_records(struct lull_session *session, struct session_host *host);

void lull_session_trace_free(gpointer data);
void lull_session_host_free(gpointer data);

#endif
