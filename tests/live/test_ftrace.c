/* SPDX-License-Identifier: MIT */
/* Tracking over ftrace: pages of several CPUs become one sequence, and events of a story that is written down
 * here become the waits, chains and alarms of that story. */
#include <glib.h>
#include <sched.h>
#include <sys/socket.h>

#include "live/ftrace/pages.h"
#include "story.h"

/* ---- pages ---- */

struct queue {
    struct made_page page[CPUS][64];
    uint32_t n[CPUS], at[CPUS];
    uint64_t lost, lost_from, lost_until;
};

static ssize_t read_page(void *user, uint32_t cpu, uint8_t *page, uint32_t room, GError **error)
{
    struct queue *queue = user;
    if (queue->at[cpu] == queue->n[cpu]) {
        return 0;
    }
    g_assert_cmpuint(room, ==, MADE_PAGE);
    memcpy(page, queue->page[cpu][queue->at[cpu]++].bytes, room);
    return MADE_PAGE;
}

static void lost(void *user, uint32_t cpu, uint64_t from_ns, uint64_t until_ns, uint64_t n)
{
    struct queue *queue = user;
    queue->lost += MAX(n, 1);
    queue->lost_from = from_ns;
    queue->lost_until = until_ns;
}

static void add_record(struct queue *queue, uint32_t cpu, uint64_t ns, uint32_t number)
{
    uint8_t record[256] = {0};
    const uint32_t size = 4 + number % 200; /* also those whose length does not fit the head */
    memcpy(record, &number, sizeof number);
    if (queue->n[cpu] == 0) {
        made_start(&queue->page[cpu][queue->n[cpu]++], ns);
    }
    if (!made_add(&queue->page[cpu][queue->n[cpu] - 1], ns, record, size)) {
        made_end(&queue->page[cpu][queue->n[cpu] - 1], 0);
        made_start(&queue->page[cpu][queue->n[cpu]++], ns);
        g_assert_true(made_add(&queue->page[cpu][queue->n[cpu] - 1], ns, record, size));
    }
    made_end(&queue->page[cpu][queue->n[cpu] - 1], 0);
}

/* Each record has a number, in order of time; they are spread over the CPUs, with pauses of many lengths. */
static void test_order(void)
{
    g_autofree struct queue *queue = g_new0(struct queue, 1);
    g_autofree uint64_t *times = g_new(uint64_t, 3000);
    const struct lull_ftrace_pages_ops ops = {read_page, lost, queue};
    struct lull_ftrace_pages *pages = lull_ftrace_pages_new(CPUS, MADE_PAGE, &ops);
    struct lull_ftrace_record record;
    uint64_t ns = T0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        ns += 1 + (UINT64_C(1) << (i * 7 % 31));
        times[i] = ns;
        add_record(queue, i * i / 5 % CPUS, ns, i);
    }
    for (uint32_t upto = 0; upto < 3000; upto += 500) { /* asked for in parts */
        lull_ftrace_pages_start(pages, times[upto]);
        while (lull_ftrace_pages_next(pages, &record, NULL) > 0) {
            uint32_t number;
            memcpy(&number, record.record.data, sizeof number);
            g_assert_cmpuint(number, ==, n);
            g_assert_cmpuint(record.ns, ==, times[n]);
            g_assert_cmpuint(record.cpu, ==, n * n / 5 % CPUS);
            g_assert_cmpuint(record.record.size, ==, (4 + n % 200 + 3) / 4 * 4);
            n++;
        }
        g_assert_cmpuint(n, ==, upto + 1);
    }
    g_assert_cmpuint(lull_ftrace_pages_take_damaged(pages), ==, 0);
    lull_ftrace_pages_free(pages);
}

static void test_losses(void)
{
    g_autofree struct queue *queue = g_new0(struct queue, 1);
    const struct lull_ftrace_pages_ops ops = {read_page, lost, queue};
    struct lull_ftrace_pages *pages = lull_ftrace_pages_new(CPUS, MADE_PAGE, &ops);
    struct lull_ftrace_record record;
    const uint8_t bytes[8] = {0};
    const unsigned long events = 4711;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct made_page *page = &queue->page[1][queue->n[1]++];
        made_start(page, T0 + i * MS);
        g_assert_true(made_add(page, T0 + i * MS + 5, bytes, sizeof bytes));
        made_end(page, i == 1 ? 3ul << 30 : 0);
        memcpy(page->bytes + page->end, &events, sizeof events);
    }
    memset(queue->page[1][2].bytes + 8, 0x7f, 4); /* more than there is room for */
    memset(queue->page[2][0].bytes, 0xff, MADE_PAGE);
    queue->n[2] = 1;
    lull_ftrace_pages_start(pages, 2 * T0);
    while (lull_ftrace_pages_next(pages, &record, NULL) > 0) {
        n++;
    }
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpuint(queue->lost, ==, events);
    g_assert_cmpuint(queue->lost_from, ==, T0 + 5);
    g_assert_cmpuint(queue->lost_until, ==, T0 + MS);
    g_assert_cmpuint(lull_ftrace_pages_take_damaged(pages), ==, 2);
    g_assert_cmpuint(lull_ftrace_pages_take_damaged(pages), ==, 0);
    lull_ftrace_pages_free(pages);
}

/* ---- a story ---- */

static void tell_request(struct story *story, uint64_t ns, enum lull_ftrace_kind kind,
                         uint64_t sector, uint32_t n, const char *does)
{
    uint8_t record[256];
    const uint32_t size = made_record(record, kind, 0, 0);
    made_set(record, kind, "dev", 8u << 20 | 1);
    made_set(record, kind, "sector", sector);
    made_set(record, kind, "nr_sector", n);
    made_text(record, kind, "rwbs", does);
    take(story, ns, 0, kind, record, size);
}

static void tell_stack(struct story *story, uint64_t ns, uint32_t cpu, uint32_t tid,
                       const uint64_t *frames, uint32_t n, uint32_t n_said)
{
    uint8_t record[MADE_HEAD + 8 + 64 * 8];
    const uint16_t id = 100 + LULL_FTRACE_STACK;
    memset(record, 0, sizeof record);
    memcpy(record, &id, sizeof id);
    memcpy(record + 4, &tid, sizeof tid);
    memcpy(record + MADE_HEAD, &n_said, sizeof n_said);
    memcpy(record + MADE_HEAD + 8, frames, n * sizeof *frames);
    take(story, ns, cpu, LULL_FTRACE_STACK, record, (uint32_t)(MADE_HEAD + 8 + n * sizeof *frames));
}

/* A waits for B, B for a timer on another CPU; each moment is chosen. */
static void tell_chain(struct story *story)
{
    change(story, T0, 0, 0, "swapper/0", 0, A, "a");
    change(story, T0, 1, 0, "swapper/1", 0, B, "b");
    tell(story, T0 + 1 * MS, 0, LULL_FTRACE_CALL_ENTRY, A, "id", 202, 0);
    change(story, T0 + 2 * MS, 0, A, "a", 1, 0, "swapper/0");
    change(story, T0 + 3 * MS, 1, B, "b", 2, 0, "swapper/1");
    tell(story, T0 + 7 * MS, 2, LULL_FTRACE_TIMER_ENTRY, 0, NULL, 0, LULL_FTRACE_IN_HARDIRQ);
    tell(story, T0 + 7 * MS + 1, 2, LULL_FTRACE_WAKING, 0, "pid", B, LULL_FTRACE_IN_HARDIRQ);
    tell(story, T0 + 7 * MS + 2, 2, LULL_FTRACE_TIMER_EXIT, 0, NULL, 0, LULL_FTRACE_IN_HARDIRQ);
    change(story, T0 + 8 * MS, 1, 0, "swapper/1", 0, B, "b");
    wake(story, T0 + 9 * MS, 1, B, A);
    change(story, T0 + 12 * MS, 0, 0, "swapper/0", 0, A, "a");
    tell(story, T0 + 13 * MS, 0, LULL_FTRACE_CALL_EXIT, A, "id", 202, 0);
}

static void test_chain(void)
{
    const char *const rules[] = {"offcpu > 9999999ns", "offcpu > 10ms",
                                 "wakeup > 2999999ns", "syscall(futex) > 11999999ns",
                                 "offcpu(D) > 1ms",    NULL};
    struct story story;
    begin(&story, rules, true);
    tell_chain(&story);
    /* B's 5 ms in D; A's 10 ms are longer than 9999999 ns, but not than 10 ms. */
    g_assert_cmpuint(story.records->len, ==, 4);
    const struct lull_track_record *b = alarm_at(&story, 0), *a = alarm_at(&story, 1);
    g_assert_cmpuint(b->rule, ==, 4);
    g_assert_cmpuint(b->tid, ==, B);
    g_assert_cmpuint(b->hop[0].kind, ==, LULL_TRACK_HOP_TIMER);
    g_assert_cmpuint(b->end_ns - b->since_ns, ==, 5 * MS);
    g_assert_cmpuint(a->rule, ==, 0);
    g_assert_cmpuint(a->since_ns, ==, T0 + 2 * MS);
    g_assert_cmpuint(a->woken_ns, ==, T0 + 9 * MS);
    g_assert_cmpuint(a->end_ns, ==, T0 + 12 * MS);
    g_assert_cmpint(a->call, ==, 202);
    g_assert_cmpstr(a->comm, ==, "a");
    g_assert_cmpuint(a->hop[0].kind, ==, LULL_TRACK_HOP_TASK);
    g_assert_cmpuint(a->hop[0].b, ==, B);
    g_assert_cmpstr(a->hop[0].comm, ==, "b");
    g_assert_cmpuint(a->hop[0].start_ns, ==, T0 + 7 * MS + 1);
    g_assert_cmpuint(a->hop[1].kind, ==, LULL_TRACK_HOP_TIMER);
    g_assert_cmpuint(g_array_index(story.parts, uint32_t, 1), ==, 2);
    g_assert_cmpuint(alarm_at(&story, 2)->rule, ==, 2);
    g_assert_cmpuint(alarm_at(&story, 3)->rule, ==, 3);
    g_assert_cmpuint(alarm_at(&story, 3)->end_ns - alarm_at(&story, 3)->since_ns, ==, 12 * MS);

    g_autoptr(GArray) chains = g_array_new(FALSE, FALSE, sizeof(struct lull_live_chain));
    lull_ftrace_chains(story.model, chains);
    int64_t waited[2] = {0}, on_cpu = 0;
    for (guint i = 0; i < chains->len; i++) {
        const struct lull_live_chain *chain = &g_array_index(chains, struct lull_live_chain, i);
        g_assert_true(lull_live_chain_is_sound(chain));
        if (chain->key.state) {
            waited[chain->key.tgid == B] += (int64_t)chain->sum.ns;
        } else {
            on_cpu += (int64_t)chain->sum.ns;
        }
    }
    g_assert_cmpint(waited[0], ==, 7 * MS);
    g_assert_cmpint(waited[1], ==, 4 * MS + 1);
    g_assert_cmpint(on_cpu, ==, 3 * MS + MS - 1);
    const struct lull_track_slot *slot = &lull_ftrace_task_find(story.model, A)->slot;
    const struct lull_track_sums sums = lull_sums_of_slot(slot, T0 + 13 * MS);
    g_assert_cmpuint(sums.ran_ns, ==, 2 * MS + MS);
    g_assert_cmpuint(sums.blocked_ns, ==, 7 * MS);
    g_assert_cmpuint(sums.runnable_ns, ==, 3 * MS);
    g_assert_cmpuint(sums.unknown_ns, ==, 0);
    end(&story);
}

/* What nobody saw is unknown: no alarm of a wait in which events were lost. */
static void test_lost(void)
{
    const char *const rules[] = {"offcpu > 1ms", NULL};
    struct story story;
    begin(&story, rules, true);
    change(&story, T0, 0, 0, "swapper/0", 0, A, "a");
    change(&story, T0 + 2 * MS, 0, A, "a", 1, 0, "swapper/0");
    lull_ftrace_model_lose(story.model, 1, T0 + 5 * MS, T0 + 6 * MS, 3);
    wake(&story, T0 + 9 * MS, 1, 0, A);
    change(&story, T0 + 10 * MS, 0, 0, "swapper/0", 0, A, "a");
    g_assert_cmpuint(story.records->len, ==, 0);
    g_assert_cmpuint(story.model->counts.missed, ==, 3);
    const struct lull_track_sums sums =
        lull_sums_of_slot(&lull_ftrace_task_find(story.model, A)->slot, T0 + 11 * MS);
    g_assert_cmpuint(sums.ran_ns, ==, 3 * MS);
    g_assert_cmpuint(sums.blocked_ns, ==, 3 * MS);
    g_assert_cmpuint(sums.unknown_ns, ==, 5 * MS);
    end(&story);
}

/* Events of CPU 1 are lost from 5 to 8 ms: what starts meanwhile on another may have ended there, and started again. */
static void test_lost_elsewhere(void)
{
    const char *const rules[] = {"offcpu > 1ms", "syscall(futex) > 1ms", NULL};
    struct story story;
    begin(&story, rules, true);
    change(&story, T0, 0, 0, "swapper/0", 0, A, "a");
    lull_ftrace_model_lose(story.model, 1, T0 + 5 * MS, T0 + 8 * MS, 3);
    tell(&story, T0 + 5 * MS, 0, LULL_FTRACE_CALL_ENTRY, A, "id", 202, 0);
    change(&story, T0 + 6 * MS, 0, A, "a", 1, 0, "swapper/0");
    wake(&story, T0 + 11 * MS, 1, B, A);
    change(&story, T0 + 12 * MS, 0, 0, "swapper/0", 0, A, "a");
    tell(&story, T0 + 13 * MS, 0, LULL_FTRACE_CALL_EXIT, A, "id", 202, 0);
    g_assert_cmpuint(story.records->len, ==, 0);
    tell(&story, T0 + 13 * MS, 0, LULL_FTRACE_CALL_ENTRY, A, "id", 202, 0);
    change(&story, T0 + 14 * MS, 0, A, "a", 1, 0, "swapper/0");
    wake(&story, T0 + 16 * MS, 1, B, A);
    change(&story, T0 + 17 * MS, 0, 0, "swapper/0", 0, A, "a");
    tell(&story, T0 + 18 * MS, 0, LULL_FTRACE_CALL_EXIT, A, "id", 202, 0);
    g_assert_cmpuint(story.records->len, ==, 2);
    const struct lull_track_sums sums =
        lull_sums_of_slot(&lull_ftrace_task_find(story.model, A)->slot, T0 + 18 * MS);
    g_assert_cmpuint(sums.unknown_ns, ==, MS + 6 * MS);
    g_assert_cmpuint(sums.ran_ns, ==, 5 * MS + 2 * MS + MS);
    g_assert_cmpuint(story.model->counts.kernel.unseen, ==, 0);
    g_assert_cmpuint(story.model->counts.kernel.unknown_wakers, ==, 0);
    end(&story);
}

/* A kernel that hides switches: each wait of which nobody saw the end is counted, and its time is unknown. */
static void test_hidden(void)
{
    const char *const rules[] = {"offcpu > 1ms", NULL};
    struct story story;
    begin(&story, rules, true);
    const uint64_t *unseen = &story.model->counts.kernel.unseen;
    change(&story, T0, 2, D, "d", 1, 0, "swapper/2"); /* it was there before: nothing is hidden */
    change(&story, T0, 0, 0, "swapper/0", 0, A, "a");
    change(&story, T0, 1, 0, "swapper/1", 0, B, "b");
    change(&story, T0 + 1 * MS, 1, B, "b", 1, 0, "swapper/1");
    g_assert_cmpuint(*unseen, ==, 0);
    change(&story, T0 + 4 * MS, 0, B, "b", 1, 0, "swapper/0"); /* so A left before that, unseen */
    g_assert_cmpuint(*unseen, ==, 1);
    change(&story, T0 + 9 * MS, 0, A, "a", 1, 0, "swapper/0"); /* and came back unseen */
    g_assert_cmpuint(*unseen, ==, 2);
    change(&story, T0 + 9 * MS, 1, 0, "swapper/1", 0, C, "c");
    change(&story, T0 + 12 * MS, 2, C, "c", 0x10, 0,
           "swapper/2"); /* it ends where it never came to */
    g_assert_cmpuint(*unseen, ==, 3);
    change(&story, T0 + 13 * MS, 0, 0, "swapper/0", 0, D, "d");
    change(&story, T0 + 15 * MS, 0, D, "d", 1, 0, "swapper/0");
    g_assert_cmpuint(*unseen, ==, 3);
    change(&story, T0 + 16 * MS, 0, 0, "swapper/0", 0, D, "d");
    lull_ftrace_model_lose(story.model, 0, T0 + 17 * MS, T0 + 18 * MS, 1);
    change(&story, T0 + 19 * MS, 0, D, "d", 1, 0, "swapper/0"); /* lost is not hidden */
    g_assert_cmpuint(*unseen, ==, 3);
    static const struct {
        uint32_t tid;
        uint64_t ran_ms, unknown_ms; /* until T0 + 19 ms; B sleeps from the fourth on */
    } wanted[] = {{A, 0, 9}, {B, 1, 3}, {D, 3, 2}};
    for (uint32_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        const struct lull_track_sums *sums =
            &lull_ftrace_task_find(story.model, wanted[i].tid)->slot.sums;
        g_assert_cmpuint(sums->ran_ns, ==, wanted[i].ran_ms * MS);
        g_assert_cmpuint(sums->unknown_ns, ==, wanted[i].unknown_ms * MS);
    }
    end(&story);
}

/* A worker that the kernel makes for a process, as io_uring's, uses no memory of a program: it waits for no page. */
static void test_workers(void)
{
    const char *const rules[] = {"fault > 1ms", NULL};
    struct story story;
    begin(&story, rules, false);
    for (int is_worker = 0; is_worker < 2; is_worker++) {
        const uint32_t tid = is_worker ? D : C;
        const uint64_t ns = T0 + (uint64_t)is_worker * 5 * MS;
        start_task(&story, ns, tid, A, CLONE_THREAD | (is_worker ? CLONE_UNTRACED : 0), "a");
        tell(&story, ns + 1, 0, LULL_FTRACE_STARTED, A, "pid", tid, 0);
        change(&story, ns + 2, 0, 0, "swapper/0", 0, tid, "a");
        change(&story, ns + 1 * MS, 0, tid, "a", 1, 0, "swapper/0");
        change(&story, ns + 4 * MS, 0, 0, "swapper/0", 0, tid, "a");
        change(&story, ns + 4 * MS + 1, 0, tid, "a", 0x10, 0, "swapper/0"); /* it ends */
    }
    g_assert_cmpuint(story.records->len, ==, 1);
    g_assert_cmpuint(alarm_at(&story, 0)->tid, ==, C);
    end(&story);
}

/* What slept when tracking began has waited since then; but what an event says of an earlier moment counts. */
static void test_found(void)
{
    const char *const rules[] = {"offcpu > 1ms", NULL};
    struct story story;
    begin(&story, rules, true);
    for (uint32_t tid = A; tid <= C; tid++) {
        lull_ftrace_meet(story.model, tid, tid);
        lull_ftrace_found(story.model, tid, tid == C ? 'R' : 'S', T0 + 10 * MS);
    }
    wake(&story, T0 + 30 * MS, 0, C, A);
    change(&story, T0 + 31 * MS, 1, 0, "swapper/1", 0, A, "a");
    change(&story, T0 + 5 * MS, 2, 0, "swapper/2", 0, B, "b"); /* before it was found asleep */
    change(&story, T0 + 8 * MS, 2, B, "b", 0x1, C, "c");
    change(&story, T0 + 28 * MS, 2, C, "c", 0x1, B, "b");
    const struct lull_track_sums of[] = {
        lull_sums_of_slot(&lull_ftrace_task_find(story.model, A)->slot, T0 + 31 * MS),
        lull_sums_of_slot(&lull_ftrace_task_find(story.model, B)->slot, T0 + 28 * MS),
        lull_sums_of_slot(&lull_ftrace_task_find(story.model, C)->slot, T0 + 28 * MS)};
    g_assert_cmpuint(of[0].blocked_ns, ==, 20 * MS);
    g_assert_cmpuint(of[0].runnable_ns, ==, 1 * MS);
    g_assert_cmpuint(of[1].blocked_ns, ==, 20 * MS);
    g_assert_cmpuint(of[1].ran_ns, ==, 3 * MS);
    g_assert_cmpuint(of[2].ran_ns, ==, 20 * MS);
    for (uint32_t i = 0; i < 3; i++) {
        g_assert_cmpuint(of[i].unknown_ns, ==, 0);
    }
    g_assert_cmpuint(story.records->len, ==, 1); /* nobody knows how long A had slept before */
    g_assert_cmpuint(alarm_at(&story, 0)->tid, ==, B);
    end(&story);
}

/* Losing the CPU is no sleep; a wake-up that precedes the switch belongs to the sleep; who is started waits. */
static void test_kinds(void)
{
    const char *const rules[] = {"preempt > 1ms", "fork > 1ms", "offcpu > 1ms", NULL};
    struct story story;
    begin(&story, rules, false);
    change(&story, T0, 0, 0, "swapper/0", 0, A, "a");
    change(&story, T0 + 1 * MS, 0, A, "a", 0x100, B, "b");
    change(&story, T0 + 4 * MS, 0, B, "b", 0x1, A, "a");
    g_assert_cmpuint(story.records->len, ==, 1);
    g_assert_cmpuint(alarm_at(&story, 0)->rule, ==, 0);
    start_task(&story, T0 + 5 * MS, C, A, CLONE_THREAD, "a");
    tell(&story, T0 + 5 * MS + 1, 0, LULL_FTRACE_STARTED, A, "pid", C, 0);
    change(&story, T0 + 7 * MS, 1, 0, "swapper/1", 0, C, "a");
    g_assert_cmpuint(alarm_at(&story, 1)->rule, ==, 1);
    g_assert_cmpuint(alarm_at(&story, 1)->tgid, ==, A);
    wake(&story, T0 + 8 * MS, 1, C, A); /* it is about to sleep on CPU 0 */
    change(&story, T0 + 8 * MS + 500, 0, A, "a", 1, 0, "swapper/0");
    change(&story, T0 + 11 * MS, 0, 0, "swapper/0", 0, A, "a");
    const struct lull_track_record *early = alarm_at(&story, 2);
    g_assert_cmpuint(early->rule, ==, 2);
    g_assert_cmpuint(early->woken_ns, ==, early->since_ns);
    g_assert_cmpuint(early->hop[0].b, ==, C);
    g_assert_cmpuint(story.model->counts.kernel.unknown_wakers, ==, 0);
    /* A thread that replaces the program takes the process's number, and its own is free. */
    uint8_t record[256];
    const uint32_t size = made_record(record, LULL_FTRACE_EXEC, A, 0);
    made_set(record, LULL_FTRACE_EXEC, "pid", A);
    made_set(record, LULL_FTRACE_EXEC, "old_pid", C);
    take(&story, T0 + 12 * MS, 1, LULL_FTRACE_EXEC, record, size);
    g_assert_null(lull_ftrace_task_find(story.model, C));
    change(&story, T0 + 13 * MS, 1, A, "new", 0x20, 0, "swapper/1"); /* and dies */
    g_assert_null(lull_ftrace_task_find(story.model, A));
    end(&story);
}

static void test_requests(void)
{
    const char *const rules[] = {"block > 3ms", "queue > 1ms", NULL};
    struct story story;
    begin(&story, rules, false);
    tell_request(&story, T0, LULL_FTRACE_BLOCK_INSERT, 100, 16, "WS");
    tell_request(&story, T0, LULL_FTRACE_BLOCK_INSERT, 300, 8, "R");
    tell_request(&story, T0 + 1, LULL_FTRACE_BLOCK_MERGE, 300, 8, "R");
    tell_request(&story, T0 + 2 * MS, LULL_FTRACE_BLOCK_ISSUE, 100, 16, "WS");
    tell_request(&story, T0 + 2 * MS, LULL_FTRACE_BLOCK_ISSUE, 300, 8, "R");
    tell_request(&story, T0 + 2 * MS, LULL_FTRACE_BLOCK_ISSUE, 500, 8, "N"); /* a program's own */
    tell_request(&story, T0 + 3 * MS, LULL_FTRACE_BLOCK_COMPLETE, 100, 6, "WS");
    tell_request(&story, T0 + 5 * MS, LULL_FTRACE_BLOCK_COMPLETE, 300, 8,
                 "R"); /* 3 ms: not longer */
    tell_request(&story, T0 + 6 * MS, LULL_FTRACE_BLOCK_COMPLETE, 106, 10, "WS");
    tell_request(&story, T0 + 9 * MS, LULL_FTRACE_BLOCK_COMPLETE, 500, 8, "N");
    g_assert_cmpuint(story.records->len, ==, 2);
    g_assert_cmpuint(alarm_at(&story, 0)->rule, ==, 1);
    g_assert_cmpuint(alarm_at(&story, 0)->hop[0].sector, ==, 100);
    const struct lull_track_record *block = alarm_at(&story, 1);
    g_assert_cmpuint(block->end_ns - block->since_ns, ==, 4 * MS);
    g_assert_cmpuint(block->hop[0].a, ==, 8u << 20 | 1);
    g_assert_cmpuint(block->hop[0].b, ==, 1);
    g_assert_cmpuint(story.model->counts.kernel.events, ==, 3);
    end(&story);
}

/* A rule with "worst" says each record once; a short wait is not one. */
static void test_worst(void)
{
    static const uint64_t waits_ms[] = {3, 2, 3, 5, 4, 6};
    const char *const rules[] = {"offcpu worst", NULL};
    struct story story;
    uint64_t now = T0;
    begin(&story, rules, false);
    change(&story, now, 0, 0, "swapper/0", 0, A, "a");
    for (uint32_t i = 0; i < G_N_ELEMENTS(waits_ms); i++) {
        change(&story, now, 0, A, "a", 1, 0, "swapper/0");
        now += waits_ms[i] * MS;
        wake(&story, now, 1, 0, A);
        change(&story, now, 0, 0, "swapper/0", 0, A, "a");
    }
    g_assert_cmpuint(story.records->len, ==, 3);
    g_assert_cmpuint(alarm_at(&story, 2)->end_ns - alarm_at(&story, 2)->since_ns, ==, 6 * MS);
    end(&story);
}

/* Calls: those that rules name, and whether others have to be seen. */
static void test_calls(void)
{
    static const struct {
        const char *rule;
        enum lull_ftrace_calls needed;
    } cases[] = {
        {"offcpu > 1ms", LULL_FTRACE_NO_CALLS},
        {"futex > 1ms", LULL_FTRACE_LISTED_CALLS},
        {"fault > 1ms", LULL_FTRACE_ALL_CALLS},
        {"syscall > 1ms", LULL_FTRACE_ALL_CALLS},
        {"irq > 1ms", LULL_FTRACE_NO_CALLS},
        {"syscall(read) > 1ms", LULL_FTRACE_LISTED_CALLS},
        {"offcpu: call == \"read\" > 1ms", LULL_FTRACE_ALL_CALLS},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct story story;
        begin(&story, (const char *const[]){cases[i].rule, NULL}, false);
        g_assert_cmpint(lull_ftrace_needed_calls(story.model), ==, cases[i].needed);
        end(&story);
    }
}

/* Calls are given up while starts of some are still in the buffer: their ends were not written. What rules name goes on. */
static void test_given_up(void)
{
    enum { READ = 0, FUTEX = 202 };
    static const char *const rules[] = {"offcpu > 1ms", "futex > 1ms", NULL};
    static const struct {
        enum lull_ftrace_calls kept;
        int64_t before;
        int32_t named;
    } cases[] = {{LULL_FTRACE_ALL_CALLS, READ, READ},
                 {LULL_FTRACE_NO_CALLS, READ, LULL_TRACK_NO_CALL},
                 {LULL_FTRACE_LISTED_CALLS, READ, LULL_TRACK_NO_CALL},
                 {LULL_FTRACE_LISTED_CALLS, FUTEX, FUTEX}};
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct story story;
        begin(&story, rules, false);
        change(&story, T0, 0, 0, "swapper/0", 0, A, "a");
        lull_ftrace_model_set_calls(story.model, cases[i].kept);
        tell(&story, T0 + 1 * MS, 0, LULL_FTRACE_CALL_ENTRY, A, "id", cases[i].before, 0);
        change(&story, T0 + 2 * MS, 0, A, "a", 1, 0, "swapper/0");
        wake(&story, T0 + 4 * MS, 1, 0, A);
        change(&story, T0 + 5 * MS, 0, 0, "swapper/0", 0, A, "a");
        g_assert_cmpuint(story.records->len, ==, 1 + (cases[i].named == FUTEX));
        g_assert_cmpint(alarm_at(&story, 0)->call, ==, cases[i].named);
        end(&story);
    }
}

/* The stack after a switch is of the task that left, as long as that wait lasts; it is as long as its record is. */
static void test_stacks(void)
{
    static const char *const rules[] = {"offcpu > 1ms", NULL};
    static const uint64_t frames[64] = {11, 12, 13, [31] = 32, [63] = 64};
    static const uint8_t cut[] = {100 + LULL_FTRACE_STACK, 0, 0, 0, 1, 0};
    const struct lull_format_record damaged = {.data = cut, .size = sizeof cut};
    struct lull_ftrace_fields fields;
    struct story story;
    begin(&story, rules, false);
    g_assert_cmpint(lull_ftrace_events_load(story.events, &damaged, &fields), ==,
                    LULL_FTRACE_KINDS);
    change(&story, T0, 0, 0, "swapper/0", 0, A, "a");
    const struct {
        uint32_t cpu, tid, n, n_said, kept;
    } cases[] = {
        {0, A, 3, 3, 3},    {0, A, 3, 2, 2}, {0, A, 2, 1000000, 2}, {0, A, 0, 8, 0},
        {0, A, 64, 64, 32}, {0, B, 3, 3, 0}, {1, A, 3, 3, 0},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const uint64_t at = T0 + (10 * i + 1) * MS;
        change(&story, at, 0, A, "a", 1, 0, "swapper/0");
        tell_stack(&story, at + 5, cases[i].cpu, cases[i].tid, frames, cases[i].n, cases[i].n_said);
        wake(&story, at + 4 * MS, 1, 0, A);
        change(&story, at + 5 * MS, 0, 0, "swapper/0", 0, A, "a");
        const struct lull_track_record *record = alarm_at(&story, i);
        g_assert_cmpmem(record->kernel.frame, (size_t)record->kernel.bytes, frames,
                        cases[i].kept * sizeof *frames);
    }
    end(&story);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/ftrace/order", test_order);
    g_test_add_func("/live/ftrace/losses", test_losses);
    g_test_add_func("/live/ftrace/chain", test_chain);
    g_test_add_func("/live/ftrace/lost", test_lost);
    g_test_add_func("/live/ftrace/lost-elsewhere", test_lost_elsewhere);
    g_test_add_func("/live/ftrace/hidden", test_hidden);
    g_test_add_func("/live/ftrace/found", test_found);
    g_test_add_func("/live/ftrace/kinds", test_kinds);
    g_test_add_func("/live/ftrace/workers", test_workers);
    g_test_add_func("/live/ftrace/requests", test_requests);
    g_test_add_func("/live/ftrace/worst", test_worst);
    g_test_add_func("/live/ftrace/calls", test_calls);
    g_test_add_func("/live/ftrace/given-up", test_given_up);
    g_test_add_func("/live/ftrace/stacks", test_stacks);
    return g_test_run();
}
