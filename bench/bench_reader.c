/* SPDX-License-Identifier: MIT */
/* Measures reading: opening, counting everything, and the merged reading of what the critical path
 * needs. Usage: bench_reader TRACE [ROUNDS]; prints milliseconds, best of the rounds. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <lull/session.h>

struct switch_fields {
    uint64_t have;
    int64_t prev_tid, next_tid, prev_state;
};

static const struct lull_binding switch_bindings[] = {
    {(const char *const[]){"prev_tid", NULL}, LULL_BIND_INT,
     offsetof(struct switch_fields, prev_tid)},
    {(const char *const[]){"next_tid", NULL}, LULL_BIND_INT,
     offsetof(struct switch_fields, next_tid)},
    {(const char *const[]){"prev_state", NULL}, LULL_BIND_INT,
     offsetof(struct switch_fields, prev_state)},
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

static void keep_best(double *best, double start)
{
    double took = now_ms() - start;
    if (*best == 0 || took < *best) {
        *best = took;
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE [ROUNDS]\n", argv[0]);
        return 2;
    }
    int rounds = argc > 2 ? atoi(argv[2]) : 3;
    double open_ms = 0, count_ms = 0, next_ms = 0;
    uint64_t counted = 0, read = 0, checksum = 0;
    for (int i = 0; i < rounds; i++) {
        g_autoptr(GError) error = NULL;
        struct lull_session *session = lull_session_new();
        double start = now_ms();
        if (!lull_session_add(session, argv[1], &error)) {
            fprintf(stderr, "%s\n", error->message);
            return 1;
        }
        keep_best(&open_ms, start);
        counted = read = checksum = 0;
        start = now_ms();
        lull_session_count(session, add_count, &counted);
        keep_best(&count_ms, start);

        uint32_t sched_switch = lull_session_subscribe(
            session, (const char *const[]){"sched_switch", NULL}, switch_bindings,
            G_N_ELEMENTS(switch_bindings), sizeof(struct switch_fields));
        lull_session_subscribe(
            session, (const char *const[]){"sched_waking", "irq_*", "syscall_*", NULL}, NULL, 0, 0);
        struct lull_event event;
        start = now_ms();
        while (lull_session_next(session, &event)) {
            read++;
            if (event.subscription == sched_switch) {
                const struct switch_fields *f = event.fields;
                checksum += (uint64_t)(f->prev_tid + f->next_tid * 3 + f->prev_state * 5);
            }
        }
        keep_best(&next_ms, start);
        for (uint32_t p = 0; i == 0 && p < lull_session_problem_count(session); p++) {
            fprintf(stderr, "%s\n", lull_session_problem(session, p));
        }
        lull_session_free(session);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("open   %8.1f ms\n", open_ms);
    printf("count  %8.1f ms  %" PRIu64 " events\n", count_ms, counted);
    printf("merged %8.1f ms  %" PRIu64 " events, checksum %" PRIu64 "\n", next_ms, read, checksum);
    printf("memory %8.1f MiB\n", (double)usage.ru_maxrss / 1024);
    return 0;
}
