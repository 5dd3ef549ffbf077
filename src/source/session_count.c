/* Reading all streams of a session apart from each other, by several threads: counting events, and
 * decoding every field. What comes out does not depend on the number of threads: sums have no
 * order, and what the streams report is kept for each and passed on in the order of the streams. */
#include "source/session_private.h"

struct note {
    char *text; /* NULL: a loss */
    uint32_t stream;
    int64_t begin_ns, end_ns;
    uint64_t events, packets;
};

struct job {
    struct lull_source_stream *stream;
    struct lull_report report;
    GArray *notes; /* struct note */
};

struct work {
    const struct lull_session *session;
    struct job *jobs;
    uint32_t n_jobs;
    uint32_t *order; /* of the jobs: the largest first */
    int next;        /* index in order; atomic */
    uint32_t *first_class;
    uint32_t n_classes;
    bool sums;
};

struct worker {
    struct work *work;
    uint64_t *counts; /* by class of the session */
    struct lull_source_tally tally;
};

static void keep_problem(void *user, const char *text)
{
    struct note note = {.text = g_strdup(text)};
    g_array_append_val(((struct job *)user)->notes, note);
}

static void keep_loss(void *user, uint32_t stream, int64_t begin_ns, int64_t end_ns,
                      uint64_t events, uint64_t packets)
{
    struct note note = {.stream = stream,
                        .begin_ns = begin_ns,
                        .end_ns = end_ns,
                        .events = events,
                        .packets = packets};
    g_array_append_val(((struct job *)user)->notes, note);
}

/* Tells the session what the stream has found. */
static void pass_on(const struct lull_session *session, struct job *job)
{
    const struct lull_report *report =
        &lull_session_trace_at(session, job->stream->event.trace)->report;
    for (guint i = 0; i < job->notes->len; i++) {
        const struct note *note = &g_array_index(job->notes, struct note, i);
        if (note->text != NULL)
            report->problem(report->user, note->text);
        else
            report->lost(report->user, note->stream, note->begin_ns, note->end_ns, note->events,
                         note->packets);
        g_free(note->text);
    }
    g_array_unref(job->notes);
}

static gpointer run_worker(gpointer data)
{
    struct worker *worker = data;
    struct work *work = worker->work;
    int at;
    while ((at = g_atomic_int_add(&work->next, 1)) < (int)work->n_jobs) {
        struct job *job = &work->jobs[work->order[at]];
        struct lull_source_stream *stream = job->stream;
        uint64_t *counts = worker->counts + work->first_class[stream->event.trace];
        stream->ops->set_report(stream, &job->report);
        lull_session_start_stream(work->session, stream);
        if (work->sums)
            stream->ops->sum(stream, counts, &worker->tally);
        else
            lull_session_count_stream(work->session, stream, counts);
        stream->ops->set_report(stream, NULL);
    }
    return NULL;
}

static int by_size(gconstpointer a, gconstpointer b, gpointer user)
{
    const struct work *work = user;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    uint64_t x = work->jobs[i].stream->size_bytes, y = work->jobs[j].stream->size_bytes;
    return x != y ? (x < y) - (x > y) : (i > j) - (i < j);
}

static void collect_jobs(struct lull_session *session, struct work *work)
{
    work->jobs = g_new0(struct job, MAX(session->streams->len, 1));
    work->order = g_new0(uint32_t, MAX(session->streams->len, 1));
    for (uint32_t i = 0; i < session->streams->len; i++) {
        struct lull_source_stream *stream = session->streams->pdata[i];
        if (!lull_session_is_selected(session, stream))
            continue;
        struct job *job = &work->jobs[work->n_jobs];
        work->order[work->n_jobs] = work->n_jobs;
        work->n_jobs++;
        job->stream = stream;
        job->notes = g_array_new(FALSE, FALSE, sizeof(struct note));
        job->report = (struct lull_report){keep_problem, keep_loss, job};
    }
    g_qsort_with_data(work->order, (gint)work->n_jobs, sizeof *work->order, by_size, work);
    work->first_class = g_new0(uint32_t, MAX(session->traces->len, 1));
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct lull_source *source = lull_session_trace_at(session, t)->source;
        work->first_class[t] = work->n_classes;
        work->n_classes += source->n_classes;
        if (work->sums)
            source->ops->prepare_sums(source);
    }
}

/* Shares the jobs out among threads; the first worker holds all results afterwards. */
static void run_workers(const struct lull_session *session, struct work *work,
                        struct worker *workers, uint32_t n_workers)
{
    g_autofree GThread **threads = g_new0(GThread *, n_workers);
    for (uint32_t i = 0; i < n_workers; i++) {
        workers[i].work = work;
        workers[i].counts = g_new0(uint64_t, MAX(work->n_classes, 1));
    }
    for (uint32_t i = 1; i < n_workers; i++) /* without it, the others do its work */
        threads[i] = g_thread_try_new("lull-reader", run_worker, &workers[i], NULL);
    run_worker(&workers[0]);
    for (uint32_t i = 1; i < n_workers; i++) {
        if (threads[i] != NULL)
            g_thread_join(threads[i]);
        for (uint32_t c = 0; c < work->n_classes; c++)
            workers[0].counts[c] += workers[i].counts[c];
        workers[0].tally.fields += workers[i].tally.fields;
        workers[0].tally.checksum += workers[i].tally.checksum;
        g_free(workers[i].counts);
    }
    for (uint32_t i = 0; i < work->n_jobs; i++)
        pass_on(session, &work->jobs[i]);
}

static struct lull_source_tally read_apart(struct lull_session *session, bool sums,
                                           void (*visit)(void *user, uint32_t trace,
                                                         const struct lull_event_class *event_class,
                                                         uint64_t count),
                                           void *user)
{
    struct work work = {.session = session, .sums = sums};
    session->is_started = false;
    GArray *subscriptions = lull_session_begin_count(session);
    collect_jobs(session, &work);
    uint32_t n_workers =
        session->n_threads != 0 ? session->n_threads : (uint32_t)g_get_num_processors();
    n_workers = CLAMP(n_workers, 1, MAX(work.n_jobs, 1));
    g_autofree struct worker *workers = g_new0(struct worker, n_workers);
    run_workers(session, &work, workers, n_workers);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct lull_source *source = lull_session_trace_at(session, t)->source;
        uint64_t *counts = workers[0].counts + work.first_class[t];
        lull_session_drop_rejected(session, lull_session_trace_at(session, t), counts);
        for (uint32_t i = 0; i < source->n_classes; i++)
            if (counts[i] > 0)
                visit(user, t, &source->classes[i], counts[i]);
    }
    lull_session_end_count(session, subscriptions);
    g_free(workers[0].counts);
    g_free(work.jobs);
    g_free(work.order);
    g_free(work.first_class);
    return workers[0].tally;
}

void lull_session_set_threads(struct lull_session *session, uint32_t n_threads)
{
    session->n_threads = n_threads;
}

void lull_session_count(struct lull_session *session,
                        void (*visit)(void *user, uint32_t trace,
                                      const struct lull_event_class *event_class, uint64_t count),
                        void *user)
{
    read_apart(session, false, visit, user);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

void lull_session_decode_all(struct lull_session *session, struct lull_decoded *decoded)
{
    decoded->events = 0;
    /* A filter would have to look at each event first. */
    struct lull_event_filter *filter =
        session->filter != NULL ? lull_session_take_filter(session) : NULL;
    struct lull_source_tally tally = read_apart(session, true, add_count, &decoded->events);
    if (filter != NULL)
        lull_session_set_filter(session, filter);
    decoded->fields = tally.fields;
    decoded->checksum = tally.checksum;
}
