/* The thread that carries records from the ring buffers to the file, in rounds: a round takes what
 * each buffer holds, and a mark ends it. Whatever a later round brings is younger than what the
 * round before had, so a reader sorts two rounds at a time, not the file. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "record/perf.h"

struct perfrec_pump {
    GThread *thread;
    struct perfrec_ring *rings;
    uint32_t n_rings;
    int stop; /* an eventfd */
    struct perfrec_file *file;
    struct perfrec_tally tally;
    GMutex mutex;
    GError *why; /* it gave up; under the mutex */
};

static bool carry(struct perfrec_pump *pump, GError **error)
{
    bool is_any = false;
    for (uint32_t i = 0; i < pump->n_rings; i++) {
        struct iovec parts[2];
        uint64_t head;
        uint32_t n = perfrec_ring_look(&pump->rings[i], &head, parts, &pump->tally);
        if (n == 0)
            continue;
        if (!perfrec_file_append(pump->file, parts, n, error))
            return false;
        perfrec_ring_taken(&pump->rings[i], head);
        is_any = true;
    }
    return !is_any || perfrec_file_append_round(pump->file, error);
}

static void *run(void *data)
{
    struct perfrec_pump *pump = data;
    struct pollfd *polls = g_new(struct pollfd, pump->n_rings + 1);
    for (uint32_t i = 0; i < pump->n_rings; i++)
        polls[i] = (struct pollfd){.fd = pump->rings[i].fd, .events = POLLIN};
    struct pollfd *stop = &polls[pump->n_rings];
    *stop = (struct pollfd){.fd = pump->stop, .events = POLLIN};
    GError *why = NULL;
    bool is_over = false;
    while (!is_over && !why) {
        if (poll(polls, pump->n_rings + 1, -1) < 0 && errno != EINTR)
            g_set_error(&why, LULL_ERROR, LULL_ERROR_IO, "cannot wait for perf events: %s",
                        g_strerror(errno));
        /* Events stopped before this was told: the round that follows takes all. */
        is_over = stop->revents != 0;
        if (!why)
            carry(pump, &why);
    }
    g_mutex_lock(&pump->mutex);
    pump->why = why;
    g_mutex_unlock(&pump->mutex);
    g_free(polls);
    return NULL;
}

struct perfrec_pump *perfrec_pump_start(struct perfrec_ring *rings, uint32_t n_rings,
                                        struct perfrec_file *file, GError **error)
{
    struct perfrec_pump *pump = g_new0(struct perfrec_pump, 1);
    *pump = (struct perfrec_pump){.rings = rings,
                                  .n_rings = n_rings,
                                  .file = file,
                                  .tally.first_ns = UINT64_MAX,
                                  .stop = eventfd(0, EFD_CLOEXEC)};
    g_mutex_init(&pump->mutex);
    if (pump->stop < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot have an eventfd: %s",
                    g_strerror(errno));
    } else {
        /* Signals are for the threads of the one who records. */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pump->thread = g_thread_try_new("lull-perf", run, pump, error);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!pump->thread) {
        perfrec_pump_stop(pump, NULL, NULL);
        return NULL;
    }
    return pump;
}

bool perfrec_pump_check(struct perfrec_pump *pump, GError **error)
{
    g_mutex_lock(&pump->mutex);
    bool is_good = !pump->why;
    if (!is_good)
        g_propagate_error(error, g_error_copy(pump->why));
    g_mutex_unlock(&pump->mutex);
    return is_good;
}

bool perfrec_pump_stop(struct perfrec_pump *pump, struct perfrec_tally *tally, GError **error)
{
    if (pump->thread) {
        uint64_t one = 1;
        while (write(pump->stop, &one, sizeof one) < 0 && errno == EINTR)
            continue;
        g_thread_join(pump->thread);
    }
    if (pump->stop >= 0)
        close(pump->stop);
    if (tally)
        *tally = pump->tally;
    bool is_good = !pump->why;
    if (pump->why)
        g_propagate_error(error, pump->why);
    g_mutex_clear(&pump->mutex);
    g_free(pump);
    return is_good;
}
