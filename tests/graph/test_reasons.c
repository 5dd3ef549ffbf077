/* SPDX-License-Identifier: MIT */
/* What a wait was for, said of calls that were fed with their arguments: task 1 waits in a call,
 * task 2 ends the wait in another. The sentences are written by hand from what the calls do
 * (man 2). */
#include "graph/reasons.h"

static const struct way {
    const char *name;
    struct {
        int number;
        uint64_t a, b, c;
    } waits, wakes; /* wakes.number -1: in no call */
    const char *kind, *sentence;
    int makes; /* descriptor 5: the call; 0: none does */
} ways[] = {
    {"futex",
     {FUTEX, 0x7f0010, 0, 0},
     {FUTEX, 0x7f0010, 1, 1},
     "futex",
     "in futex 0x7f0010, woken by t2/2",
     0},
    {"flock",
     {FLOCK, 9, 2, 0},
     {FLOCK, 4, 8, 0},
     "lock",
     "in flock of descriptor 9, released by t2/2",
     0},
    {"flock-of-file",
     {FLOCK, 5, 2, 0},
     {FLOCK, 4, 8, 0},
     "lock",
     "in flock of a file opened meanwhile (descriptor 5), released by t2/2",
     OPENAT},
    {"semop",
     {SEMOP, 1, 0, 0},
     {SEMOP, 1, 0, 0},
     "lock",
     "in semop of semaphore set 1, released by t2/2",
     0},
    {"queue",
     {MSGRCV, 3, 0x1000, 8},
     {MSGSND, 3, 0x1000, 8},
     "event",
     "in msgrcv from message queue 3 that t2/2 wrote to",
     0},
    {"full-queue",
     {MSGSND, 0, 0x1000, 8},
     {MSGRCV, 0, 0x1000, 8},
     "event",
     "in msgsnd to message queue 0 that t2/2 read from",
     0},
    {"child", {WAIT4, 0, 0, 0}, {EXIT_GROUP, 0, 0, 0}, "child", "in wait4 for its child t2/2", 0},
    {"vfork",
     {VFORK, 0, 0, 0},
     {EXECVE, 0, 0, 0},
     "child",
     "in vfork until its child t2/2 started a program",
     0},
    {"signal",
     {RT_SIGSUSPEND, 0, 0, 0},
     {KILL, 1, 10, 0},
     "signal",
     "in rt_sigsuspend, signalled by t2/2",
     0},
    {"killed",
     {READ, 5, 0, 8},
     {KILL, 1, 9, 0},
     "event",
     "in read of an eventfd, signalled by t2/2",
     EVENTFD2},
    {"eventfd",
     {READ, 5, 0, 8},
     {WRITE, 5, 0, 8},
     "event",
     "in read of an eventfd that t2/2 wrote to",
     EVENTFD2},
    {"closed",
     {READ, 8, 0, 8},
     {CLOSE, 3, 0, 0},
     NULL,
     "in read of descriptor 8 that t2/2 closed",
     0},
    {"poll",
     {POLL, 0x1000, 1, 500},
     {WRITE, 5, 0, 8},
     "ready",
     "in poll, woken by t2/2 in write",
     0},
    {"epoll",
     {EPOLL_WAIT, 7, 0, 0},
     {-1, 0, 0, 0},
     "ready",
     "in epoll_wait on descriptor 7, woken by t2/2",
     0},
    {"epoll-made",
     {EPOLL_WAIT, 5, 0, 0},
     {-1, 0, 0, 0},
     "ready",
     "in epoll_wait, woken by t2/2",
     EPOLL_CREATE1},
    {"in-vain",
     {RECVFROM, 8, 0, 8},
     {READ, 9, 0, 8},
     NULL,
     "in recvfrom from descriptor 8, woken in vain by t2/2, which read what it had sent",
     0},
    {"room",
     {SENDTO, 8, 0, 8},
     {READ, 9, 0, 8},
     NULL,
     "in sendto to descriptor 8 that t2/2 read from",
     0},
};

static void test_ways(struct fixture *f, gconstpointer data)
{
    const struct way *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 10, 0, 1, 0);
    if (way->makes) {
        feed_call(model, 11, way->makes, 0, 0, 0);
        feed_return(model, 12, way->makes, 5);
    }
    feed_call(model, 20, way->waits.number, way->waits.a, way->waits.b, way->waits.c);
    feed_switch(model, 0, 0, 25, 1, 2, 1);
    if (way->wakes.number >= 0) {
        feed_call(model, 30, way->wakes.number, way->wakes.a, way->wakes.b, way->wakes.c);
    }
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 31, 1, 0);
    feed_switch(model, 0, 0, 40, 2, 1, 0);
    feed_return(model, 41, way->waits.number, 0);

    /* The wait is entered: its explanation is task 2. */
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    g_autoptr(GArray) hops = lull_critpath_find_waits(
        f->eg->graph, lull_model_find_tid(model, 0, 1), 20, 40, LULL_PATH_BOUNDED, waits);
    g_assert_cmpuint(waits->len, ==, 1);
    const struct lull_path_wait *known = &g_array_index(waits, struct lull_path_wait, 0);
    g_assert_cmpint(known->start_ns, ==, 25);
    struct lull_wait wait = {.end_ns = 31};
    lull_evidence_entered(f->eg, known->detail, strings, &wait);
    g_assert_cmpstr(wait.detail, ==, way->sentence);
    g_assert_cmpstr(wait.reason.kind, ==, way->kind);
    g_assert_cmpint(wait.other_tid, ==, 2);
    g_assert_cmpstr(wait.other_comm, ==, "t2");
    g_assert_cmpuint(wait.reason.address, ==, way->waits.number == FUTEX ? 0x7f0010 : 0);
    g_assert_false(wait.reason.timed_out);
}

/* Task 1 waits 2 ms at a time for a futex, as who polls a lock; the second time task 2 wakes it, at the
 * same word, at the one beside it (the other half of a condition variable), or elsewhere. */
static void test_tries(struct fixture *f, gconstpointer data)
{
    const int distance = GPOINTER_TO_INT(data);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    for (int i = 0; i < 2; i++) {
        const int64_t t = i * 2100000;
        feed_call(model, t + 1090000, FUTEX, 0x7f0010, 0, 0);
        feed_switch(model, 0, 0, t + 1100000, 1, 0, 1);
        feed_timer(model, t + 3100000);
        feed_switch(model, 0, 0, t + 3110000, 0, 1, 0);
        feed_return(model, t + 3120000, FUTEX, -110);
    }
    feed_call(model, 5290000, FUTEX, 0x7f0010 + (uint64_t)distance, 0, 0);
    feed_switch(model, 0, 0, 5300000, 1, 2, 1);
    feed_call(model, 32000000, FUTEX, 0x7f0010 + (uint64_t)distance, 1, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 33000000, 1, 0);
    feed_switch(model, 0, 0, 34000000, 2, 1, 0);
    feed_return(model, 35000000, FUTEX, 0);
    for (int i = 0; i < 2; i++) {
        const int64_t t = i * 2100000;
        const struct lull_segment step = wait_of(f, strings, t + 1100000, t + 3100000);
        g_assert_cmpstr(step.detail, ==,
                        distance < 8 ? "futex timed out after 2.010 ms, later woken by t2/2"
                                     : "futex timed out after 2.010 ms");
        g_assert_cmpstr(step.subject, ==,
                        distance < 8 ? "timed out in futex, later woken by t2"
                                     : "timed out in futex");
    }
}

/* Task 1 opens a file of which task 2 has a write lease: the kernel looks each 2 ms whether it is given up. What a FIFO
 * would wait for is none: the ticks are not for who wrote. */
static const struct lease {
    const char *name;
    int number, release; /* release -1: it is killed */
    int64_t start_ns;    /* of the wait that task 2 explains */
    const char *sentence;
} leases[] = {
    {"given-up", OPENAT, FCNTL, 1100000, "in openat, whose lease t2/2 gave up"},
    {"closed", OPENAT, CLOSE, 1100000, "in openat, woken by t2/2"},
    {"killed", OPENAT, -1, 1100000, "in openat, woken by t2/2"},
    {"truncate", TRUNCATE, FCNTL, 1100000, "in truncate, whose lease t2/2 gave up"},
    {"written", OPENAT, WRITE, 5300000, "in openat, woken by t2/2"},
    {"no-open", POLL, FCNTL, 5300000, "in poll, woken by t2/2 in fcntl"},
};

static void test_lease(struct fixture *f, gconstpointer data)
{
    const struct lease *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1090000, way->number, 0, 1, 0);
    for (int i = 0; i < 2; i++) {
        const int64_t t = i * 2100000;
        feed_switch(model, 0, 0, t + 1100000, 1, 0, 1);
        feed_timer(model, t + 3100000);
        feed_switch(model, 0, 0, t + 3110000, 0, 1, 0);
    }
    feed_switch(model, 0, 0, 5300000, 1, 2, 1);
    if (way->release >= 0) {
        feed_call(model, 5400000, way->release, 3, 1024, 2);
    }
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 6000000, 1, 0);
    feed_switch(model, 0, 0, 6100000, 2, 1, 0);
    feed_return(model, 6200000, way->number, 5);
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    g_autoptr(GArray) hops = lull_critpath_find_waits(
        f->eg->graph, lull_model_find_tid(model, 0, 1), 0, 6000000, LULL_PATH_BOUNDED, waits);
    g_assert_cmpuint(hops->len, >, 0);
    const struct lull_path_wait *known =
        &g_array_index(waits, struct lull_path_wait, waits->len - 1);
    g_assert_cmpint(known->start_ns, ==, way->start_ns);
    struct lull_wait wait = {.end_ns = 6000000};
    lull_evidence_entered(f->eg, known->detail, strings, &wait);
    g_assert_cmpstr(wait.detail, ==, way->sentence);
}

/* What task 1 does between its two tries and the wait that task 2 ends, and what of them is one wait then. */
enum deed { NOTHING, WAKES_ANOTHER, WRITES, SENDS, RUNS_LONG, LOOKS, WAITS_ELSEWHERE };
static const struct series {
    const char *name;
    int number, ret; /* of the call, and what it returns when the timer, or a signal, ends it */
    enum deed first, second; /* after the first try, and after the second */
    int64_t
        start_ns; /* of the wait that task 2 explains, with 2 ms for each try, 100 us after it */
    const char *sentence;
    int signal; /* of task 2 ends the tries, not a timer */
    int again;  /* 0, or the call that goes on after that */
} series[] = {
    {"tries", FUTEX, -110, NOTHING, NOTHING, 1100000,
     "in futex 0x7f0010, woken by t2/2, after 2 time-outs", 0, 0},
    {"woke", FUTEX, -110, WAKES_ANOTHER, NOTHING, 3200000,
     "in futex 0x7f0010, woken by t2/2, after 1 time-out", 0, 0},
    {"wrote", FUTEX, -110, WRITES, NOTHING, 3200000,
     "in futex 0x7f0010, woken by t2/2, after 1 time-out", 0, 0},
    {"ran", FUTEX, -110, RUNS_LONG, NOTHING, 3400000,
     "in futex 0x7f0010, woken by t2/2, after 1 time-out", 0, 0},
    {"wakes-late", FUTEX, -110, NOTHING, WAKES_ANOTHER, 5300000, "in futex 0x7f0010, woken by t2/2",
     0, 0},
    {"ticks", FUTEX, -110, WAKES_ANOTHER, WAKES_ANOTHER, 5300000,
     "in futex 0x7f0010, woken by t2/2", 0, 0},
    {"polls", POLL, 0, NOTHING, NOTHING, 1100000,
     "in poll, woken by t2/2 in futex, after 2 time-outs", 0, 0},
    {"poll-ticks", POLL, 0, NOTHING, WAKES_ANOTHER, 5300000, "in poll, woken by t2/2 in futex", 0,
     0},
    /* Signals whose handler writes what is the matter: EINTR, and ERESTART_RESTARTBLOCK. */
    {"signals", POLL, -4, NOTHING, WAKES_ANOTHER, 1100000,
     "in poll, woken by t2/2 in futex, interrupted by 2 signals", 0, 0},
    {"restarts", FUTEX, -516, WAKES_ANOTHER, WRITES, 1100000,
     "in futex 0x7f0010, woken by t2/2, interrupted by 2 signals", 0, 0},
    {"asks-again", POLL, -4, SENDS, NOTHING, 3200000,
     "in poll, woken by t2/2 in futex, interrupted by 1 signal", 0, 0},
    {"killed", POLL, -4, NOTHING, NOTHING, 1100000,
     "in poll, woken by t2/2 in futex, interrupted by 2 signals", 10, 0},
    {"killed-in-futex", FUTEX, -512, NOTHING, NOTHING, 1100000,
     "in futex 0x7f0010, woken by t2/2, interrupted by 2 signals", 10, 0},
    {"killed-looks", FUTEX, -512, LOOKS, LOOKS, 1100000,
     "in futex 0x7f0010, woken by t2/2, interrupted by 2 signals", 10, 0},
    /* Outside of calls it is the kernel that wakes others, as who waits for the task to be stopped. */
    {"killed-wakes", POLL, -4, NOTHING, WAKES_ANOTHER, 1100000,
     "in poll, woken by t2/2 in futex, interrupted by 2 signals", 10, 0},
    /* That signal was of use. */
    {"killed-waits", POLL, -4, WAITS_ELSEWHERE, NOTHING, 3200000,
     "in poll, woken by t2/2 in futex, interrupted by 1 signal", 10, 0},
    {"killed-writes", FUTEX, -512, WRITES, NOTHING, 3200000,
     "in futex 0x7f0010, woken by t2/2, interrupted by 1 signal", 10, 0},
    {"killed-asks-again", POLL, -4, SENDS, NOTHING, 3200000,
     "in poll, woken by t2/2 in futex, interrupted by 1 signal", 10, 0},
    {"killed-runs", POLL, -4, NOTHING, RUNS_LONG, 5500000, "in poll, woken by t2/2 in futex", 10,
     0},
    /* It was woken, and returned in no time: what it waits for then is another thing. */
    {"answered", POLL, 1, NOTHING, NOTHING, 5300000, "in poll, woken by t2/2 in futex", 10, 0},
    /* Without a handler the kernel goes on with the call, under a name of its own. */
    {"continued", FUTEX, -516, NOTHING, NOTHING, 1100000,
     "in futex 0x7f0010, woken by t2/2, interrupted by 2 signals", 18, RESTART_SYSCALL},
    {"continued-poll", POLL, -516, NOTHING, NOTHING, 1100000,
     "in poll, woken by t2/2 in futex, interrupted by 2 signals", 18, RESTART_SYSCALL},
    /* The last call was another: what is restarted is not known. */
    {"not-restarted", FUTEX, -516, NOTHING, WRITES, 5300000, "in restart_syscall, woken by t2/2",
     18, RESTART_SYSCALL},
    /* Who waits for signals had what it waited for. */
    {"pauses", PAUSE, -514, NOTHING, NOTHING, 5300000, "in pause, woken by t2/2", 10, 0},
    {"long-handler", POLL, -4, NOTHING, RUNS_LONG, 5500000, "in poll, woken by t2/2 in futex", 0,
     0},
    {"failed", POLL, -14, NOTHING, NOTHING, 5300000, "in poll, woken by t2/2 in futex", 0, 0},
};

/* Task 2, which is on the CPU, sends it to task 1. */
static void feed_signal(struct lull_model *model, int64_t t, int signal)
{
    feed_call(model, t - 1, KILL, 1, signal, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t, 1, 0);
    feed_return(model, t + 1, KILL, 0);
}

/* From 1.1 ms on task 1 waits 2 ms at a time, twice. Returns when it goes on. */
static int64_t feed_tries(struct lull_model *model, const struct series *way)
{
    const enum deed deeds[] = {way->first, way->second};
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1000, SOCKET, 2, 2, 0); /* of the internet */
    feed_return(model, 2000, SOCKET, 3);
    int64_t t = 1100000;
    for (int i = 0; i < 2; i++) {
        const int number = i && way->again ? way->again : way->number;
        feed_call(model, t - 50000, number, 0x7f0010, number == POLL, 0);
        feed_switch(model, 0, 0, t, 1, 2, 1);
        if (way->signal) {
            feed_signal(model, t + 2000000, way->signal);
        } else {
            feed_timer(model, t + 2000000);
        }
        feed_switch(model, 0, 0, t + 2005000, 2, 1, 0);
        feed_return(model, t + 2010000, number, way->ret);
        if (deeds[i] == SENDS) {
            feed_call(model, t + 2020000, SENDTO, 3, 0, 8);
            feed_return(model, t + 2030000, SENDTO, 8);
        } else if (deeds[i] == WRITES) {
            feed_call(model, t + 2020000, WRITE, 1, 0, 8);
            feed_return(model, t + 2030000, WRITE, 8);
        } else if (deeds[i] == WAITS_ELSEWHERE) {
            feed_call(model, t + 2020000, FUTEX, 0x7f9990, 0, 0);
            feed_switch(model, 0, 0, t + 2021000, 1, 2, 1);
            feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 2022000, 1, 0);
            feed_switch(model, 0, 0, t + 2023000, 2, 1, 0);
            feed_return(model, t + 2030000, FUTEX, 0);
        } else if (deeds[i] == LOOKS) {
            feed_call(model, t + 2020000, CLOCK_GETTIME, 1, 0, 0);
            feed_return(model, t + 2030000, CLOCK_GETTIME, 0);
        } else if (deeds[i] == WAKES_ANOTHER) {
            feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 2020000, 3 + i, 0);
        }
        t += deeds[i] == RUNS_LONG ? 2300000 : 2100000;
    }
    return t;
}

/* Those of its tries which are of use end a wait. */
static void test_series(struct fixture *f, gconstpointer data)
{
    const struct series *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    int64_t t = feed_tries(model, way);
    const int number = way->again ? way->again : way->number;
    feed_call(model, t - 50000, number, 0x7f0010, number == POLL, 0);
    feed_switch(model, 0, 0, t, 1, 2, 1);
    feed_call(model, t + 100000, FUTEX, 0x7f0010, 1, 1);
    const int64_t woken_ns = t + 200000;
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, woken_ns, 1, 0);
    feed_switch(model, 0, 0, t + 300000, 2, 1, 0);
    feed_return(model, t + 400000, number, 1);

    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    const uint32_t waiter = lull_model_find_tid(model, 0, 1);
    g_autoptr(GArray) hops =
        lull_critpath_find_waits(f->eg->graph, waiter, 0, woken_ns, LULL_PATH_BOUNDED, waits);
    /* The last wait is entered first; those before it are waits of their own if task 2 ended them, too. */
    const bool has_others = way->signal && way->start_ns > 1100000;
    g_assert_true(has_others ? waits->len > 1 : waits->len == 1);
    const struct lull_path_wait *known = &g_array_index(waits, struct lull_path_wait, 0);
    g_assert_cmpint(known->start_ns, ==, way->start_ns);
    struct lull_wait wait = {.end_ns = woken_ns};
    lull_evidence_entered(f->eg, known->detail, strings, &wait);
    g_assert_cmpstr(wait.detail, ==, way->sentence);
    /* All is covered once, and within the wait it is all task 2's. */
    t = 0;
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        g_assert_cmpint(hop->start_ns, ==, t);
        g_assert_true(hop->line == waiter || has_others || hop->start_ns >= way->start_ns);
        g_assert_true(hop->line != waiter || hop->end_ns <= way->start_ns);
        t = hop->end_ns;
    }
    g_assert_cmpint(t, ==, woken_ns);
}

/* Of a wait that signals interrupted and that no task ended then, all is its last part's, from its first start on: nobody who
 * sent a signal is followed. */
static void test_series_alone(struct fixture *f, gconstpointer data)
{
    const struct series *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    const int64_t t = feed_tries(model, way);
    const int number = way->again ? way->again : way->number;
    feed_call(model, t - 50000, number, 0x7f0010, number == POLL, 0);
    feed_switch(model, 0, 0, t, 1, 2, 1);
    feed_timer(model, t + 2000000);
    feed_switch(model, 0, 0, t + 2005000, 2, 1, 0);
    feed_return(model, t + 2010000, number, 0);
    const uint32_t waiter = lull_model_find_tid(model, 0, 1);
    for (int64_t end_ns = t + 2000000; end_ns > t; end_ns -= 1500000) { /* also of a part of it */
        g_autoptr(GArray) hops =
            lull_critpath_find(f->eg->graph, waiter, way->start_ns, end_ns, LULL_PATH_BOUNDED);
        g_assert_cmpuint(hops->len, ==, 1);
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, 0);
        g_assert_cmpint(hop->start_ns, ==, way->start_ns);
        g_assert_cmpint(hop->end_ns, ==, end_ns);
        g_assert_cmpint(hop->cause, ==, LULL_CAUSE_TIMER);
        struct lull_segment segment = {0};
        lull_evidence_wait(f->eg, hop, strings, &segment);
        g_assert_cmpstr(segment.detail, ==, way->sentence);
    }
    /* Who asks about the handler itself learns who sent the signal. */
    g_autoptr(GArray) before = lull_critpath_find(f->eg->graph, waiter, way->start_ns,
                                                  way->start_ns + 2007000, LULL_PATH_BOUNDED);
    g_assert_cmpuint(g_array_index(before, struct lull_hop, 0).line, ==,
                     lull_model_find_tid(model, 0, 2));
}

static const struct series series_alone[] = {
    {"timed-out", POLL, -4, NOTHING, NOTHING, 1100000, "poll timed out after 6.250 ms", 10, 0},
    {"timed-out-later", POLL, -516, NOTHING, NOTHING, 1100000, "poll timed out after 6.250 ms", 18,
     RESTART_SYSCALL},
    {"slept", NANOSLEEP, -516, NOTHING, NOTHING, 1100000, "hrtimer; in nanosleep", 18,
     RESTART_SYSCALL},
    {"slept-on", NANOSLEEP, -4, LOOKS, LOOKS, 1100000, "hrtimer; in nanosleep", 10, 0},
};

/* What task 1 waits for after what it had waited for came is another thing, though it is the same call. */
static void test_series_end(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    for (int i = 0; i < 3; i++) { /* a signal of a timer, then two waits that task 2 ends */
        const int64_t t = 1100000 + 2100000 * i;
        feed_call(model, t - 50000, POLL, 0x1000, 1, 500);
        feed_switch(model, 0, 0, t, 1, 2, 1);
        if (i == 0) {
            feed_timer(model, t + 2000000);
        } else {
            feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 2000000, 1, 0);
        }
        feed_switch(model, 0, 0, t + 2005000, 2, 1, 0);
        feed_return(model, t + 2010000, POLL, i == 0 ? -4 : 1);
    }
    const uint32_t waiter = lull_model_find_tid(model, 0, 1);
    uint32_t n, n_found = 0;
    const struct lull_graph_point *points = lull_graph_points(f->eg->graph, waiter, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (points[i].link != LULL_NONE) {
            g_assert_cmpint(lull_graph_wait_start(f->eg->graph, waiter, i), ==,
                            n_found == 0 ? 1100000 : 5300000);
            n_found++;
        }
    }
    g_assert_cmpuint(n_found, ==, 2);
}

/* A call that the state of the machine says task 1 sleeps in, of which no start was recorded. */
enum dumped { SLEEPS, RUNS, IN_ANOTHER, OF_ANOTHER, OF_NOBODY, NO_CALL };
static const struct asleep {
    const char *name;
    enum dumped dumped;
    const char *sentence;
} asleep[] = {
    {"sleeps", SLEEPS, "in futex 0x7f0010, woken by t2/2"},
    {"runs", RUNS, "woken by t2/2 in futex"},
    {"in-another", IN_ANOTHER, "in poll, woken by t2/2 in futex"},
    {"of-another", OF_ANOTHER, "woken by t2/2 in futex"},
    {"of-nobody", OF_NOBODY, "woken by t2/2 in futex"},
    {"no-call", NO_CALL, "woken by t2/2 in futex"},
};

static void test_asleep(struct fixture *f, gconstpointer data)
{
    const struct asleep *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    if (way->dumped == IN_ANOTHER) {
        feed_switch(model, 0, 0, 1, 0, 1, 0);
        feed_call(model, 2, POLL, 0x1000, 1, 0);
        feed_switch(model, 0, 0, 3, 1, 0, 1);
    } else if (way->dumped == RUNS) {
        feed_switch(model, 0, 0, 1, 0, 1, 0);
    }
    FEED(statedump_process, 0, 0, 10, .have = WITHOUT(statedump_process, table), .tid = 1, .pid = 1,
         .ppid = 1, .name = feed_text("t1"), .status = 5, .prio = 120);
    FEED(statedump_call, 0, 0, 11, .have = ALL,
         .tid = way->dumped == OF_ANOTHER  ? 3
                : way->dumped == OF_NOBODY ? -1
                                           : 1,
         .number = way->dumped == NO_CALL ? -1 : FUTEX, .arg0 = 0x7f0010);
    if (way->dumped == RUNS) {
        feed_switch(model, 0, 0, 15, 1, 0, 1);
    }
    feed_switch(model, 0, 0, 20, 0, 2, 0);
    feed_call(model, 30, FUTEX, 0x7f0010, 1, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 31, 1, 0);
    feed_switch(model, 0, 0, 40, 2, 1, 0);
    feed_return(model, 41, way->dumped == IN_ANOTHER ? POLL : FUTEX, 0);
    const struct lull_wait wait = entered_wait(f, strings, 16, 40, 31);
    g_assert_cmpstr(wait.detail, ==, way->sentence);
    /* It is over. */
    feed_switch(model, 0, 0, 50, 1, 2, 2);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 61, 1, 0);
    feed_switch(model, 0, 0, 70, 2, 1, 0);
    const struct lull_wait later = entered_wait(f, strings, 50, 70, 61);
    g_assert_null(later.reason.call);
}

/* Task 1 is stopped (prev_state 4: by a signal, 8: by a debugger; sched(7) of the kernel's sources),
 * whether the system call that it was in has returned or not; task 2 continues it. */
static void test_stopped(struct fixture *f, gconstpointer data)
{
    const bool is_traced = GPOINTER_TO_INT(data);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 10, 0, 1, 0);
    feed_call(model, 11, READ, 5, 0, 8);
    if (!is_traced) {
        feed_return(model, 12, READ, 8);
    }
    feed_switch(model, 0, 0, 25, 1, 2, is_traced ? 8 : 4);
    feed_call(model, 30, KILL, 1, 18, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 31, 1, 0);
    feed_switch(model, 0, 0, 40, 2, 1, 0);
    const struct lull_wait wait = entered_wait(f, strings, 20, 40, 31);
    g_assert_cmpstr(wait.reason.kind, ==, "stop");
    g_assert_null(wait.reason.call);
    g_assert_cmpstr(wait.detail, ==,
                    is_traced ? "stopped by a debugger until t2/2 continued it"
                              : "stopped by a signal until t2/2 continued it");
}

static void feed_path(struct lull_model *model, int64_t t, int tid, const char *path)
{
    FEED(call_path, 0, 0, t, .have = ALL, .tid = tid, .path = feed_text(path));
}

/* The state of the machine says what a task asks for that sleeps in poll(): that counts until it is said what became ready. Of a call
 * that does something else it says nothing. */
static const struct asked {
    const char *name;
    int number, ready; /* its call; -1: nothing is said to be ready */
    const char *sentence;
} asked[] = {
    {"asks", POLL, -1, "in poll of /run/a or /run/b, woken by t2/2"},
    {"ready", POLL, 5, "in poll of /run/b, woken by t2/2"},
    {"other-call", FUTEX, -1, "in futex 0x7f0010, woken by t2/2"},
};

static void test_asked(struct fixture *f, gconstpointer data)
{
    static const char *const paths[] = {"/run/a", "/run/b"};
    const struct asked *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    for (int i = 0; i < 2; i++) {
        feed_call(model, 1 + 3 * i, OPENAT, 0, 0, 0);
        feed_path(model, 2 + 3 * i, 1, paths[i]);
        feed_return(model, 3 + 3 * i, OPENAT, 4 + i);
    }
    feed_call(model, 8, way->number, 0x7f0010, 0, 0);
    feed_switch(model, 0, 0, 10, 1, 2, 1);
    FEED(statedump_poll, 0, 0, 12, .have = ALL, .tid = 1, .fd = 4);
    FEED(statedump_poll, 0, 0, 12, .have = ALL, .tid = 1, .fd = 5);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 31, 1, 0);
    feed_switch(model, 0, 0, 40, 2, 1, 0);
    if (way->ready >= 0) {
        FEED(call_poll, 0, 0, 41, .have = ALL, .tid = 1, .fd = way->ready);
    }
    feed_return(model, 42, way->number, 1);
    const struct lull_wait wait = entered_wait(f, strings, 9, 40, 31);
    g_assert_cmpstr(wait.detail, ==, way->sentence);
}

/* A thread of the kernel makes no calls: what it waited for is what whoever woke it did. Outside of a call that is not known. */
static void test_work_for_the_kernel(struct fixture *f, gconstpointer data)
{
    const bool is_in_call = GPOINTER_TO_INT(data);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_switch(model, 0, 0, 20, 1, 2, 2);
    feed_call(model, 21, OPENAT, 0, 0, 0);
    feed_path(model, 22, 2, "/dev/ptmx");
    feed_return(model, 23, OPENAT, 5);
    if (is_in_call) {
        feed_call(model, 30, WRITE, 5, 0, 3);
    }
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 31, 1, 0);
    feed_switch(model, 0, 0, 40, 2, 1, 0);
    const struct lull_wait wait = entered_wait(f, strings, 20, 40, 31);
    g_assert_null(wait.reason.kind);
    g_assert_null(wait.reason.call);
    g_assert_cmpstr(wait.reason.release, ==, is_in_call ? "write" : NULL);
    g_assert_cmpstr(wait.detail, ==,
                    is_in_call ? "woken by t2/2 in write to /dev/ptmx" : "woken by t2/2");
}

/* What a call is given, and what it opens, is known at its end: both of its waits were for that. */
static const struct path_way {
    const char *name;
    int number;
    int64_t ret;
    const char *detail;
} path_ways[] = {
    {"opened", OPENAT, 5, "in openat of /mnt/far, woken by t2/2"},
    {"not-opened", OPENAT, -2, "in openat of /mnt/far, woken by t2/2"},
    {"executed", EXECVE, 0, "in execve of /mnt/far, woken by t2/2"},
    {"looked-at", STAT, -2, "in stat of /mnt/far, woken by t2/2"},
};

static void test_path(struct fixture *f, gconstpointer data)
{
    const struct path_way *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    feed_switch(model, 0, 0, 10, 0, 1, 0);
    feed_call(model, 20, way->number, 0, 0, 0);
    for (int64_t t = 25; t <= 45; t += 20) {
        feed_switch(model, 0, 0, t, 1, 2, 1);
        feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 6, 1, 0);
        feed_switch(model, 0, 0, t + 10, 2, 1, 0);
    }
    feed_path(model, 60, 1, "/mnt/far");
    feed_return(model, 61, way->number, way->ret);
    g_autoptr(GArray) hops = lull_critpath_find_waits(
        f->eg->graph, lull_model_find_tid(model, 0, 1), 20, 60, LULL_PATH_BOUNDED, waits);
    g_assert_cmpuint(waits->len, ==, 2);
    for (guint i = 0; i < waits->len; i++) {
        struct lull_wait wait = {.end_ns = 60};
        lull_evidence_entered(f->eg, g_array_index(waits, struct lull_path_wait, i).detail, strings,
                              &wait);
        g_assert_cmpstr(wait.detail, ==, way->detail);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/%s", ways[i].name);
        g_test_add(name, struct fixture, &ways[i], set_up, test_ways, tear_down);
    }
    for (int distance = 0; distance <= 8; distance += 4) {
        g_autofree char *name = g_strdup_printf("/reasons/tries-%d", distance);
        g_test_add(name, struct fixture, GINT_TO_POINTER(distance), set_up, test_tries, tear_down);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(leases); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/lease/%s", leases[i].name);
        g_test_add(name, struct fixture, &leases[i], set_up, test_lease, tear_down);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(series); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/series/%s", series[i].name);
        g_test_add(name, struct fixture, &series[i], set_up, test_series, tear_down);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(asleep); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/asleep/%s", asleep[i].name);
        g_test_add(name, struct fixture, &asleep[i], set_up, test_asleep, tear_down);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(series_alone); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/series-alone/%s", series_alone[i].name);
        g_test_add(name, struct fixture, &series_alone[i], set_up, test_series_alone, tear_down);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/asked/%s", asked[i].name);
        g_test_add(name, struct fixture, &asked[i], set_up, test_asked, tear_down);
    }
    g_test_add("/reasons/series-end", struct fixture, NULL, set_up, test_series_end, tear_down);
    g_test_add("/reasons/work-for-the-kernel", struct fixture, GINT_TO_POINTER(true), set_up,
               test_work_for_the_kernel, tear_down);
    g_test_add("/reasons/woken-in-no-call", struct fixture, GINT_TO_POINTER(false), set_up,
               test_work_for_the_kernel, tear_down);
    g_test_add("/reasons/stopped", struct fixture, GINT_TO_POINTER(false), set_up, test_stopped,
               tear_down);
    g_test_add("/reasons/traced", struct fixture, GINT_TO_POINTER(true), set_up, test_stopped,
               tear_down);
    for (size_t i = 0; i < G_N_ELEMENTS(path_ways); i++) {
        g_autofree char *name = g_strdup_printf("/reasons/path/%s", path_ways[i].name);
        g_test_add(name, struct fixture, &path_ways[i], set_up, test_path, tear_down);
    }
    return g_test_run();
}
