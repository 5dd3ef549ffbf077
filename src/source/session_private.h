/* What the files of the session share. */
#ifndef LULL_SOURCE_SESSION_PRIVATE_H
#define LULL_SOURCE_SESSION_PRIVATE_H

#include "source/live.h"
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
    uint32_t n_streams, n_classes; /* that the session knows of */
    int64_t delta_ns;              /* from its clock to that of the host's first trace */
    GHashTable *class_names;
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
    GHashTable *directories; /* "device:inode" of each trace, URLs of live sessions */
    GPtrArray *lives;        /* struct lull_live */
    GArray *subscriptions;   /* struct lull_subscription */
    struct session_notes *notes;

    int64_t begin_ns, end_ns;
    int32_t only_host, only_cpu;

    bool is_subscribed; /* the sources know the subscriptions */
    bool is_started;
    bool has_news; /* a live session has more than what we know of it */
    bool (*wait)(void *user);
    void *wait_user;
    struct lull_merge merge;
    struct lull_source_stream **merged; /* those that were selected */
};

void lull_session_note_problem(struct lull_session *session, const char *text);
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

/* A trace without source, to open one with its report. */
struct session_trace *lull_session_trace_new(struct lull_session *session);
/* Makes the trace, which has a source now, part of the session. */
void lull_session_trace_join(struct session_trace *trace);
/* Takes in classes and streams that the source has got since. */
void lull_session_trace_grow(struct session_trace *trace);

void lull_session_start_stream(const struct lull_session *session,
                               struct lull_source_stream *stream);
bool lull_session_selects(const struct lull_session *session,
                          const struct lull_source_stream *stream);
/* Tells the sources what is wanted: all of them, or those that ask for it. */
void lull_session_subscribe_sources(struct lull_session *session, bool all);

/* session_live.c */
bool lull_session_add_live(struct lull_session *session, const char *url, GError **error);
/* Takes in what live sessions have that is new. */
void lull_session_take_news(struct lull_session *session);
/* When nothing is left to read: waits for more. False if there will be none. */
bool lull_session_follow(struct lull_session *session);

void lull_session_trace_free(gpointer data);
void lull_session_host_free(gpointer data);

#endif
