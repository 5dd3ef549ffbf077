/* SPDX-License-Identifier: MIT */
/* The thread that carries records from the ring buffers to the file, in rounds: a round takes what
 * each buffer holds, and a mark ends it. Whatever a later round brings is younger than what the
 * round before had, so a reader sorts two rounds at a time, not the file. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "record/perf/perf.h"

/* As nice(2) has it: before all others that have no real-time priority. */
#define PUMP_NICE (-20)

struct perfrec_pump {
    GThread *thread;
    const struct perfrec_open *open;
    struct perfrec_file *file;
    int stop; /* an eventfd */
    struct perfrec_tally tally;
    /* The end of the last whole round in the file, and what there is until then, for a disk that is
     * full within the next; and when the last round started. */
    uint64_t whole_bytes;
    struct perfrec_tally whole;
    uint64_t round_ns;
    GMutex mutex; /* for what follows */
    GError *why;  /* it gave up */
    struct perfrec_filter *filter;
    /* With a filter, of each ring: this round and the one before, which is written only now. A
     * task's fork may be found in the round after that of its first events, not later. */
    GByteArray **now, **before;
    GByteArray *passed;
};

static bool append(struct perfrec_pump *pump, const struct perfrec_records *records, GError **error)
{
    uint64_t size = records->mask == UINT64_MAX ? UINT64_MAX : records->mask + 1;
    uint64_t first = records->start & records->mask, n = records->end - records->start;
    uint64_t straight = MIN(n, size - first);
    struct iovec parts[] = {{(void *)(records->data + first), straight},
                            {(void *)records->data, n - straight}};
    perfrec_tally_records(&pump->tally, records);
    return perfrec_file_append(pump->file, parts, G_N_ELEMENTS(parts), error);
}

/* A round without a filter: from the rings right to the file. */
static bool carry(struct perfrec_pump *pump, GError **error)
{
    bool is_any = false;
    for (uint32_t i = 0; i < pump->open->n_rings; i++) {
        struct perfrec_ring *ring = &pump->open->rings[i];
        struct perfrec_records records = perfrec_ring_look(ring);
        if (records.start == records.end) {
            continue;
        }
        if (!append(pump, &records, error)) {
            return false;
        }
        perfrec_ring_taken(ring, records.end);
        is_any = true;
    }
    return !is_any || perfrec_file_append_round(pump->file, error);
}

static struct perfrec_records records_of(const GByteArray *bytes)
{
    return (struct perfrec_records){bytes->data, UINT64_MAX, 0, bytes->len};
}

/* Takes all of a ring. */
static void take(struct perfrec_ring *ring, GByteArray *to)
{
    struct perfrec_records records = perfrec_ring_look(ring);
    uint64_t first = records.start & records.mask, n = records.end - records.start;
    uint64_t straight = MIN(n, ring->bytes - first);
    g_byte_array_set_size(to, 0);
    g_byte_array_append(to, records.data + first, (guint)straight);
    g_byte_array_append(to, records.data, (guint)(n - straight));
    perfrec_ring_taken(ring, records.end);
}

static bool carry_filtered(struct perfrec_pump *pump, GError **error)
{
    uint32_t n = pump->open->n_rings;
    struct perfrec_records *parts = g_new(struct perfrec_records, n);
    g_byte_array_set_size(pump->passed, 0);
    for (uint32_t i = 0; i < n; i++) {
        take(&pump->open->rings[i], pump->now[i]);
        parts[i] = records_of(pump->now[i]);
    }
    g_mutex_lock(&pump->mutex);
    perfrec_filter_learn(pump->filter, parts, n);
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = records_of(pump->before[i]);
        perfrec_filter_pass(pump->filter, &parts[i], pump->passed);
    }
    g_mutex_unlock(&pump->mutex);
    g_free(parts);
    GByteArray **before = pump->before;
    pump->before = pump->now;
    pump->now = before;
    struct perfrec_records passed = records_of(pump->passed);
    return pump->passed->len == 0 ||
           (append(pump, &passed, error) && perfrec_file_append_round(pump->file, error));
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A round with a filter writes what the one before it took. */
static bool do_round(struct perfrec_pump *pump, bool is_last, GError **error)
{
    const uint64_t start_ns = now_ns();
    if (pump->whole_bytes == 0) {
        pump->whole_bytes = pump->file->at;
        pump->whole = pump->tally;
        pump->round_ns = pump->whole.end_ns = start_ns;
    }
    const bool is_done =
        !pump->filter ? carry(pump, error)
                      : carry_filtered(pump, error) && (!is_last || carry_filtered(pump, error));
    if (is_done) {
        pump->whole_bytes = pump->file->at;
        pump->whole = pump->tally;
        pump->whole.end_ns = pump->filter ? pump->round_ns : start_ns;
        pump->round_ns = start_ns;
    }
    return is_done;
}

/* Leaves what is whole. */
static bool end_at_whole(struct perfrec_pump *pump, GError **error)
{
    g_clear_error(&pump->why);
    pump->tally = pump->whole;
    return perfrec_file_cut(pump->file, pump->whole_bytes, error);
}

static void *run(void *data)
{
    struct perfrec_pump *pump = data;
    /* On a busy machine it would get its turn too late. Without the right to this it goes on. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), PUMP_NICE);
    uint32_t n = pump->open->n_rings;
    struct pollfd *polls = g_new(struct pollfd, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        polls[i] = (struct pollfd){.fd = pump->open->rings[i].fd, .events = POLLIN};
    }
    polls[n] = (struct pollfd){.fd = pump->stop, .events = POLLIN};
    GError *why = NULL;
    bool is_over = false;
    while (!is_over && !why) {
        if (poll(polls, n + 1, -1) < 0 && errno != EINTR) {
            g_set_error(&why, LULL_ERROR, LULL_ERROR_IO, "cannot wait for perf events: %s",
                        g_strerror(errno));
        }
        /* Events stopped before this was set: the round that follows takes all. */
        is_over = polls[n].revents != 0;
        if (!why) {
            do_round(pump, is_over, &why);
        }
    }
    g_mutex_lock(&pump->mutex);
    pump->why = why;
    g_mutex_unlock(&pump->mutex);
    g_free(polls);
    return NULL;
}

/* Signals are for the threads of the one who records. */
static bool start_thread(struct perfrec_pump *pump, GError **error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pump->thread = g_thread_try_new("lull-perf", run, pump, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pump->thread != NULL;
}

struct perfrec_pump *perfrec_pump_start(const struct perfrec_open *open,
                                        struct perfrec_filter *filter,
                                        struct perfrec_objects *objects, struct perfrec_file *file,
                                        GError **error)
{
    struct perfrec_pump *pump = g_new0(struct perfrec_pump, 1);
    *pump = (struct perfrec_pump){.open = open,
                                  .file = file,
                                  .filter = filter,
                                  .tally = {.objects = objects, .first_ns = UINT64_MAX},
                                  .stop = eventfd(0, EFD_CLOEXEC)};
    g_mutex_init(&pump->mutex);
    pump->passed = g_byte_array_new();
    pump->now = g_new0(GByteArray *, open->n_rings);
    pump->before = g_new0(GByteArray *, open->n_rings);
    for (uint32_t i = 0; i < open->n_rings; i++) {
        pump->now[i] = g_byte_array_new();
        pump->before[i] = g_byte_array_new();
    }
    if (pump->stop < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot make an eventfd: %s",
                    g_strerror(errno));
    }
    if (pump->stop < 0 || !start_thread(pump, error)) {
        perfrec_pump_stop(pump, NULL, NULL);
        return NULL;
    }
    return pump;
}

void perfrec_pump_follow(struct perfrec_pump *pump, pid_t tid)
{
    g_mutex_lock(&pump->mutex);
    perfrec_filter_follow(pump->filter, tid);
    g_mutex_unlock(&pump->mutex);
}

bool perfrec_pump_check(struct perfrec_pump *pump, GError **error)
{
    g_mutex_lock(&pump->mutex);
    bool is_good = !pump->why;
    if (!is_good) {
        g_propagate_error(error, g_error_copy(pump->why));
    }
    g_mutex_unlock(&pump->mutex);
    return is_good;
}

bool perfrec_pump_stop(struct perfrec_pump *pump, struct perfrec_tally *tally, GError **error)
{
    if (pump->thread) {
        uint64_t one = 1;
        while (write(pump->stop, &one, sizeof one) < 0 && errno == EINTR) {
            continue;
        }
        g_thread_join(pump->thread);
    }
    if (pump->stop >= 0) {
        close(pump->stop);
    }
    bool is_good = !pump->why || (pump->file->is_full && end_at_whole(pump, error));
    if (tally) {
        *tally = pump->tally;
    }
    for (uint32_t i = 0; i < pump->open->n_rings; i++) {
        g_byte_array_free(pump->now[i], TRUE);
        g_byte_array_free(pump->before[i], TRUE);
    }
    g_free(pump->now);
    g_free(pump->before);
    g_byte_array_free(pump->passed, TRUE);
    if (pump->why) {
        g_propagate_error(error, pump->why);
    }
    g_mutex_clear(&pump->mutex);
    g_free(pump);
    return is_good;
}
