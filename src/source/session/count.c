/* SPDX-License-Identifier: MIT */
/* Reading all streams of a session apart from each other, by several threads: counting events, and
 * decoding every field. What comes out does not depend on the number of threads: sums have no
 * order, and what the streams report is kept for each and passed on in the order of the streams.
 * Large streams are shared out in parts, so that no thread waits long for the last one. */
#include <sched.h>

#include "base/sized.h"
#include "source/session/private.h"
#include "source/session/streams.h"

/* Some milliseconds of work. */
#define PART_BYTES (UINT64_C(4) << 20)

/* A stream, or the packets first … end - 1 of it. */
struct job {
    struct lull_source_stream *stream;
    int32_t clone; /* of the worker that reads it; -1: the whole stream is the job */
    uint32_t first, end;
    struct lull_note_keeper keeper;
    GArray *notes; /* struct lull_session_note */
};

struct work {
    const struct lull_session *session;
    GArray *job_list; /* struct job */
    struct job *jobs;
    uint32_t n_jobs;
    GPtrArray *shared; /* struct lull_source_stream: those in parts */
    uint32_t *order;   /* of the jobs: those of the largest stream first */
    int next;          /* index in order; atomic */
    uint32_t *first_class;
    uint32_t n_classes;
    bool sums;
};

/* A worker's own copy of a stream. */
struct clone {
    struct lull_source_stream *stream;
    bool is_started;
};

struct worker {
    struct work *work;
    struct clone *clones; /* of those that are shared */
    uint64_t *counts;     /* by class of the session */
    struct lull_source_tally tally;
};

static void keep_note(void *user, const struct lull_session_note *note)
{
    g_array_append_vals(((struct job *)user)->notes, note, 1);
}

/* Reports to the session what the job has found. Each part of a file finds again that it cannot be
 * read: `reported` is what was passed on of the parts before. */
static void pass_on(const struct lull_session *session, const struct job *job, GHashTable *reported)
{
    const struct lull_report *report =
        &lull_session_trace_at(session, job->stream->event.trace)->report;
    if (job->clone < 0 || job->first == 0) {
        g_hash_table_remove_all(reported);
    }
    for (guint i = 0; i < job->notes->len; i++) {
        const struct lull_session_note *note =
            &g_array_index(job->notes, struct lull_session_note, i);
        if (!note->text || !g_hash_table_contains(reported, note->text)) {
            lull_session_pass_note(report, note);
        }
    }
    for (guint i = 0; i < job->notes->len && job->clone >= 0; i++) {
        const struct lull_session_note *note =
            &g_array_index(job->notes, struct lull_session_note, i);
        if (note->text) {
            g_hash_table_add(reported, note->text);
        }
    }
}

static void clear_note(gpointer note)
{
    g_free(((struct lull_session_note *)note)->text);
}

/* The stream that the worker reads for the job, whose reports it hands over; only a copy goes on from part to part. */
static struct lull_source_stream *start_job(struct worker *worker, struct job *job)
{
    struct clone *clone = job->clone >= 0 ? &worker->clones[job->clone] : NULL;
    struct lull_source_stream *stream = clone ? clone->stream : job->stream;
    stream->ops->set_report(stream, &job->keeper.report);
    if (!clone || !clone->is_started) {
        lull_session_start_stream(worker->work->session, stream);
    }
    if (clone) {
        clone->is_started = true;
        stream->ops->limit(stream, job->first, job->end);
    }
    return stream;
}

static gpointer run_worker(gpointer data)
{
    struct worker *worker = data;
    struct work *work = worker->work;
    int at;
    while ((at = g_atomic_int_add(&work->next, 1)) < (int)work->n_jobs) {
        struct job *job = &work->jobs[work->order[at]];
        struct lull_source_stream *stream = start_job(worker, job);
        uint64_t *counts = worker->counts + work->first_class[stream->event.trace];
        if (work->sums) {
            stream->ops->sum(stream, counts, &worker->tally);
        } else {
            lull_session_count_stream(work->session, stream, counts);
        }
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

static void add_job(struct work *work, const struct job *job)
{
    g_array_append_val(work->job_list, *job);
    GArray **notes = &g_array_index(work->job_list, struct job, work->job_list->len - 1).notes;
    *notes = g_array_new(FALSE, FALSE, sizeof(struct lull_session_note));
    g_array_set_clear_func(*notes, clear_note);
}

/* In parts if it is worth it and can be: a filter's tests may depend on what was before. */
static void add_stream(struct work *work, struct lull_source_stream *stream, uint32_t n_threads)
{
    struct job job = {.stream = stream, .clone = -1};
    bool is_shared = n_threads > 1 && stream->size_bytes >= 2 * PART_BYTES &&
                     !work->session->filter && stream->ops->clone;
    if (is_shared) {
        lull_session_start_stream(work->session, stream);
        job.end = stream->ops->part_end(stream, 0, PART_BYTES);
    }
    if (job.end == 0) {
        add_job(work, &job);
        return;
    }
    job.clone = (int32_t)work->shared->len;
    g_ptr_array_add(work->shared, stream);
    for (; job.end > job.first; job.end = stream->ops->part_end(stream, job.first, PART_BYTES)) {
        add_job(work, &job);
        job.first = job.end;
    }
}

static void collect_jobs(struct lull_session *session, struct work *work, uint32_t n_threads)
{
    bool has_live = false;
    work->job_list = g_array_new(FALSE, TRUE, sizeof(struct job));
    work->shared = g_ptr_array_new();
    for (uint32_t i = 0; i < session->streams->len; i++) {
        struct lull_source_stream *stream = session->streams->pdata[i];
        if (!lull_session_is_selected(session, stream)) {
            continue;
        }
        if (stream->ops->count) {
            add_stream(work, stream, n_threads);
        } else {
            has_live = true;
        }
    }
    work->n_jobs = work->job_list->len;
    work->jobs = (struct job *)(void *)work->job_list->data;
    work->order = g_new0(uint32_t, MAX(work->n_jobs, 1));
    for (uint32_t i = 0; i < work->n_jobs; i++) {
        lull_session_keep_notes(&work->jobs[i].keeper, keep_note, &work->jobs[i]);
        work->order[i] = i;
    }
    g_qsort_with_data(work->order, (gint)work->n_jobs, sizeof *work->order, by_size, work);
    work->first_class = g_new0(uint32_t, MAX(session->traces->len, 1));
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct lull_source *source = lull_session_trace_at(session, t)->source;
        work->first_class[t] = work->n_classes;
        work->n_classes += source->n_classes;
        if (work->sums && source->ops->prepare_sums) {
            source->ops->prepare_sums(source);
        }
    }
    if (has_live) {
        lull_session_note_remark(session, "a live session can be read only once, so its events "
                                          "cannot be counted first");
    }
}

static void start_worker(struct work *work, struct worker *worker)
{
    worker->work = work;
    worker->counts = g_new0(uint64_t, MAX(work->n_classes, 1));
    worker->clones = g_new0(struct clone, MAX(work->shared->len, 1));
    for (uint32_t i = 0; i < work->shared->len; i++) {
        const struct lull_source_stream *stream = work->shared->pdata[i];
        worker->clones[i].stream = stream->ops->clone(stream);
    }
}

static void end_worker(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->work->shared->len; i++) {
        struct lull_source_stream *stream = worker->clones[i].stream;
        stream->ops->free_clone(stream);
    }
    g_free(worker->clones);
}

/* Shares the jobs out among threads; the first worker holds all results afterwards. */
static void run_workers(const struct lull_session *session, struct work *work,
                        struct worker *workers, uint32_t n_workers)
{
    g_autofree GThread **threads = g_new0(GThread *, n_workers);
    for (uint32_t i = 0; i < n_workers; i++) {
        start_worker(work, &workers[i]);
    }
    for (uint32_t i = 1; i < n_workers; i++) { /* without it, the others do its work */
        threads[i] = g_thread_try_new("lull-reader", run_worker, &workers[i], NULL);
    }
    run_worker(&workers[0]);
    for (uint32_t i = 1; i < n_workers; i++) {
        if (threads[i]) {
            g_thread_join(threads[i]);
        }
        for (uint32_t c = 0; c < work->n_classes; c++) {
            workers[0].counts[c] += workers[i].counts[c];
        }
        workers[0].tally.fields += workers[i].tally.fields;
        workers[0].tally.checksum += workers[i].tally.checksum;
        g_free(workers[i].counts);
    }
    for (uint32_t i = 0; i < n_workers; i++) {
        end_worker(&workers[i]);
    }
    g_autoptr(GHashTable) reported = g_hash_table_new(g_str_hash, g_str_equal);
    for (uint32_t i = 0; i < work->n_jobs; i++) {
        pass_on(session, &work->jobs[i], reported);
    }
    for (uint32_t i = 0; i < work->n_jobs; i++) {
        g_array_unref(work->jobs[i].notes);
    }
}

static struct lull_source_tally read_apart(struct lull_session *session, bool sums,
                                           void (*visit)(void *user, uint32_t trace,
                                                         const struct lull_event_class *event_class,
                                                         uint64_t count),
                                           void *user)
{
    struct work work = {.session = session, .sums = sums};
    lull_session_halt(session);
    GArray *subscriptions = lull_session_start_count(session);
    uint32_t n_workers = lull_session_threads(session);
    collect_jobs(session, &work, n_workers);
    n_workers = CLAMP(n_workers, 1, MAX(work.n_jobs, 1));
    g_autofree struct worker *workers = g_new0(struct worker, n_workers);
    run_workers(session, &work, workers, n_workers);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct lull_source *source = lull_session_trace_at(session, t)->source;
        uint64_t *counts = workers[0].counts + work.first_class[t];
        lull_session_drop_rejected(session, lull_session_trace_at(session, t), counts);
        for (uint32_t i = 0; i < source->n_classes; i++) {
            if (counts[i] > 0) {
                visit(user, t, source->classes[i], counts[i]);
            }
        }
    }
    lull_session_end_count(session, subscriptions);
    g_free(workers[0].counts);
    g_array_unref(work.job_list);
    g_ptr_array_unref(work.shared);
    g_free(work.order);
    g_free(work.first_class);
    return workers[0].tally;
}

/* g_get_num_processors() also counts CPUs on which this process may not run. */
uint32_t lull_session_threads(const struct lull_session *session)
{
    cpu_set_t cpus;
    if (session->n_threads != 0) {
        return session->n_threads;
    }
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (uint32_t)CPU_COUNT(&cpus)
                                                         : (uint32_t)g_get_num_processors();
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
    lull_session_separate(session);
    lull_session_count_shared(session, visit, user);
}

void lull_session_count_shared(struct lull_session *session,
                               void (*visit)(void *user, uint32_t trace,
                                             const struct lull_event_class *event_class,
                                             uint64_t count),
                               void *user)
{
    read_apart(session, false, visit, user);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

void lull_session_decode_all_sized(struct lull_session *session, struct lull_decoded *decoded,
                                   size_t size)
{
    struct lull_decoded known = {0};
    /* A filter would have to look at each event first. */
    struct lull_event_filter *filter = session->filter ? lull_session_take_filter(session) : NULL;
    struct lull_source_tally tally = read_apart(session, true, add_count, &known.events);
    if (filter) {
        lull_session_set_filter(session, filter);
    }
    known.fields = tally.fields;
    known.checksum = tally.checksum;
    lull_sized_fill(decoded, size, &known, sizeof known);
}
