/* SPDX-License-Identifier: MIT */
/* What a report opens with: CPU quotas that were used up, CPU time that went to other virtual machines, what was killed
 * as no memory was left, the waits that cost most, the busiest disks, the longest waits for a CPU, each as a sentence and
 * with the command that shows more. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/quotas.h"
#include "analysis/report.h"
#include "analysis/waits.h"
#include "base/map.h"
#include "base/sums.h"
#include "base/time.h"
#include "base/vec.h"
#include "kernel/kills.h"
#include "kernel/vocabulary.h"

enum { MOST_KILLS = 3, MOST_QUOTAS = 3, MOST_WAITS = 3, MOST_RESTS = 2, MOST_DELAYS = 3 };

struct busy_span {
    int64_t start_ns, end_ns;
};

/* When requests were in a device. */
struct disk {
    uint32_t host, request; /* a request to it, for its name */
    uint64_t count, n_issued;
    int64_t busy_ns, in_device_ns;
    uint32_t last;                    /* the request issued last, or LULL_NONE if that has ended */
    LULL_VEC(struct busy_span) spans; /* the last that it was busy, apart from each other */
};

struct delay {
    uint32_t task, waker, before; /* before: had the CPU until then */
    int64_t wakeup_ns, switch_ns;
};

struct finding {
    const char *kind;
    char *text, *command;
    uint32_t host;
    int64_t time_ns, at_ns;
};

struct findings {
    struct lull_analysis head;
    struct lull_analysis *waits; /* an analysis of its own */
    LULL_VEC(struct disk) disks;
    struct lull_map by_dev; /* host, dev → index in `disks` */
    struct delay delays[MOST_DELAYS];
    uint32_t n_delays;
    LULL_VEC(struct finding) rows;
    int64_t end_ns; /* of the window, when it is over */
};

static void findings_open(struct lull_analysis *analysis)
{
    struct findings *findings = (struct findings *)analysis;
    findings->waits = g_malloc0(lull_analysis_waits.size);
    *findings->waits = *analysis;
    findings->waits->class = &lull_analysis_waits;
    lull_analysis_waits.open(findings->waits);
}

static void finding_clear(const struct finding *finding)
{
    g_free(finding->text);
    g_free(finding->command);
}

static void findings_free(struct lull_analysis *analysis)
{
    struct findings *findings = (struct findings *)analysis;
    lull_analysis_waits.free(findings->waits);
    g_free(findings->waits);
    for (size_t i = 0; i < findings->rows.count; i++) {
        finding_clear(&findings->rows.items[i]);
    }
    lull_vec_free(&findings->rows);
    for (size_t i = 0; i < findings->disks.count; i++) {
        lull_vec_free(&findings->disks.items[i].spans);
    }
    lull_vec_free(&findings->disks);
    lull_map_free(&findings->by_dev);
}

/* ---- facts ---- */

static void on_state(void *user, const struct lull_state_fact *fact)
{
    lull_analysis_waits.facts.state(((struct findings *)user)->waits, fact);
}

/* Keeps the longest, the longest first. */
static void add_delay(struct findings *findings, const struct delay *delay)
{
    const int64_t length_ns = delay->switch_ns - delay->wakeup_ns;
    uint32_t at = findings->n_delays;
    while (at > 0 &&
           length_ns > findings->delays[at - 1].switch_ns - findings->delays[at - 1].wakeup_ns) {
        at--;
    }
    if (at >= MOST_DELAYS) {
        return;
    }
    const uint32_t n_after = MIN(findings->n_delays - at, MOST_DELAYS - 1 - at);
    memmove(&findings->delays[at + 1], &findings->delays[at], n_after * sizeof *delay);
    findings->delays[at] = *delay;
    findings->n_delays = at + 1 + n_after;
}

static void on_switched(void *user, const struct lull_switch_fact *fact)
{
    struct findings *findings = user;
    lull_analysis_waits.facts.switched(findings->waits, fact);
    if (fact->task != LULL_NONE && fact->wakeup_ns >= findings->head.start_ns &&
        lull_params_want_task(findings->head.params, findings->head.model, fact->task,
                              fact->time_ns) &&
        lull_params_want_cpu(findings->head.params, fact->host, fact->cpu)) {
        add_delay(findings, &(struct delay){fact->task, fact->waker, fact->previous,
                                            fact->wakeup_ns, fact->time_ns});
    }
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    lull_analysis_waits.facts.syscall(((struct findings *)user)->waits, fact);
}

static void on_paging(void *user, const struct lull_paging_fact *fact)
{
    lull_analysis_waits.facts.paging(((struct findings *)user)->waits, fact);
}

static void on_contention(void *user, const struct lull_contention_fact *fact)
{
    lull_analysis_waits.facts.contention(((struct findings *)user)->waits, fact);
}

static struct disk *disk_of(struct findings *findings, uint32_t request)
{
    const struct lull_block_request *known = lull_model_request(findings->head.model, request);
    const uint64_t key = (uint64_t)known->host << 32 | known->mapped_dev;
    uint32_t found = lull_map_find(&findings->by_dev, key);
    if (found == LULL_MAP_NONE) {
        found = (uint32_t)findings->disks.count;
        lull_map_insert(&findings->by_dev, key, found);
        lull_vec_push(&findings->disks, (struct disk){.host = known->host, .last = LULL_NONE});
    }
    findings->disks.items[found].request = request;
    return &findings->disks.items[found];
}

/* Spans come in the order of their ends. A request of which the end was lost makes none. */
static void add_busy(struct disk *disk, int64_t start_ns, int64_t end_ns)
{
    enum { MOST_SPANS = 1024 };
    while (disk->spans.count > 0 && disk->spans.items[disk->spans.count - 1].end_ns >= start_ns) {
        const struct busy_span last = lull_vec_pop(&disk->spans);
        disk->busy_ns -= last.end_ns - last.start_ns;
        start_ns = MIN(start_ns, last.start_ns);
    }
    if (disk->spans.count == MOST_SPANS) {
        disk->spans.count /= 2;
        memmove(disk->spans.items, disk->spans.items + disk->spans.count,
                disk->spans.count * sizeof *disk->spans.items);
    }
    lull_add(&disk->busy_ns, MAX(end_ns - start_ns, 0));
    lull_vec_push(&disk->spans, (struct busy_span){start_ns, end_ns});
}

static void on_block(void *user, const struct lull_block_fact *fact)
{
    struct findings *findings = user;
    const struct lull_block_request *request =
        lull_model_request(findings->head.model, fact->request);
    if (fact->step == LULL_BLOCK_INSERT || request->issue_ns < findings->head.start_ns ||
        (findings->head.params->host >= 0 &&
         request->host != (uint32_t)findings->head.params->host)) {
        return;
    }
    struct disk *disk = disk_of(findings, fact->request);
    if (fact->step == LULL_BLOCK_ISSUE) {
        disk->n_issued += request->issue_ns == fact->time_ns;
        disk->last = fact->request;
    } else {
        disk->count++;
        lull_add(&disk->in_device_ns, fact->time_ns - request->issue_ns);
        add_busy(disk, request->issue_ns, fact->time_ns);
        disk->last = disk->last == fact->request ? LULL_NONE : disk->last;
    }
}

/* ---- sentences ---- */

/* "postgres/589"; with its host's name if there are several */
static char *task_text(const struct findings *findings, uint32_t task, int64_t time_ns)
{
    const struct lull_model *model = findings->head.model;
    return g_strdup_printf("%s/%d", lull_model_comm(model, task, time_ns),
                           lull_model_task(model, task)->tid);
}

static const char *duration(int64_t ns, char out[static LULL_TIME_TEXT_SIZE])
{
    lull_duration_format(ns, out);
    return out;
}

/* "once, 5 ms"; "17 times, at most 5 ms" */
static char *times_text(const struct lull_wait_sum *wait)
{
    char longest[LULL_TIME_TEXT_SIZE];
    return wait->count == 1 ? g_strdup("once")
                            : g_strdup_printf("%" G_GUINT64_FORMAT " times, at most %s",
                                              wait->count, duration(wait->longest_ns, longest));
}

/* Waits that are no rest: uninterruptible ones, for locks, and for a CPU. What a thread of the kernel waits for costs whoever
 * waits for that thread. */
static bool is_costly(const struct findings *findings, const struct lull_wait_sum *wait)
{
    static const char *const locks[] = {"flock", "fcntl", "semtimedop", "semop", NULL};
    const struct lull_model *model = findings->head.model;
    const char *call = lull_model_label(model, wait->key.call);
    const bool is_rest = wait->key.cause == LULL_CAUSE_TIMER || wait->key.letter == '?';
    const bool is_unseen = wait->key.letter == 'R' && wait->key.cause == LULL_CAUSE_UNKNOWN;
    return !lull_model_is_kernel_thread(model, wait->key.task) &&
           (wait->key.letter == 'D' || (wait->key.letter == 'R' && !is_unseen) ||
            (call && !is_rest && (wait->is_lock || g_strv_contains(locks, call))));
}

/* A task waited for another by a futex that need be no lock: for its result, or for work to do. */
static bool may_be_rest(const struct lull_wait_sum *wait)
{
    return wait->futex && !wait->is_lock && wait->key.cause == LULL_CAUSE_TASK;
}

/* What was waited for, after "for"; NULL: the wait had not ended. */
static const char *cause_text(const struct lull_wait_key *key)
{
    static const char *const words[] = {
        [LULL_CAUSE_TASK] = "another task",
        [LULL_CAUSE_TIMER] = "a timer",
        [LULL_CAUSE_DISK] = "a disk",
        [LULL_CAUSE_NETWORK] = "the network",
        [LULL_CAUSE_USER_INPUT] = "user input",
        [LULL_CAUSE_IPI] = "another CPU",
        [LULL_CAUSE_IRQ] = "an interrupt",
        [LULL_CAUSE_UNKNOWN] = "something unknown",
        [LULL_WAITS_NOT_ENDED] = NULL,
        [LULL_WAITS_DIRTY] = "a disk with too many dirty pages",
        [LULL_WAITS_LOCK] = "a kernel lock",
    };
    if (key->letter == 'R') {
        return "a CPU";
    }
    return key->cause < G_N_ELEMENTS(words) ? words[key->cause] : lull_waits_cause(key->cause);
}

/* Who was kept off CPUs by one was so whatever CPU was idle. */
static bool has_quota(const struct findings *findings, uint32_t host)
{
    for (size_t i = 0; i < findings->rows.count; i++) {
        const struct finding *row = &findings->rows.items[i];
        if (row->host == host && strcmp(row->kind, "quota") == 0) {
            return true;
        }
    }
    return false;
}

/* note: what else is to be said of the number of times. */
static void add_wait(struct findings *findings, const struct lull_wait_sum *wait, const char *note)
{
    enum { MOST_CHANCE_NS = 10000000 }; /* an idle CPU looks after the others at times only */
    char total[LULL_TIME_TEXT_SIZE];
    const struct lull_wait_key *key = &wait->key;
    const struct lull_task *task = lull_model_task(findings->head.model, key->task);
    const int64_t end_ns = wait->longest_at_ns + wait->longest_ns;
    const char *call = lull_model_label(findings->head.model, key->call);
    const char *object = lull_waits_object(findings->waits, key->object);
    g_autofree char *who = task_text(findings, key->task, wait->longest_at_ns);
    g_autofree char *by = key->by == LULL_NONE ? NULL : task_text(findings, key->by, end_ns);
    g_autofree char *what = g_strdup_printf("waits --tid %d --state %c", task->tid, key->letter);
    g_autofree char *times = times_text(wait);
    const char *cause = cause_text(key);
    const bool is_for_task = by && key->letter != 'R' && (!cause || key->cause == LULL_CAUSE_TASK);
    GString *text = g_string_new(who);
    g_string_append_printf(text, " waited %s", duration(wait->total_ns, total));
    if (cause || is_for_task) {
        g_string_append_printf(text, " for %s", is_for_task ? by : cause);
    }
    if (call) {
        g_string_append_printf(text, ", in %s", call);
    }
    if (object) {
        g_string_append_printf(text, "%s%s",
                               !call             ? ", "
                               : key->is_request ? " for "
                                                 : " on ",
                               object);
    }
    if (by && !is_for_task) {
        g_string_append_printf(text,
                               key->letter == 'R' ? ", which %s had longest" : ", ended by %s", by);
    }
    if (wait->idle_ns >= MOST_CHANCE_NS && wait->idle_ns > wait->total_ns / 2 &&
        !has_quota(findings, task->host)) {
        char idle[LULL_TIME_TEXT_SIZE];
        g_string_append_printf(
            text, ", though another was idle for %s: it may be bound to its own (taskset, cpuset)",
            duration(wait->idle_ns, idle));
    }
    g_string_append_printf(text, "%s (%s%s)", cause ? "" : ", and still did at the end", times,
                           note);
    lull_vec_push(&findings->rows,
                  (struct finding){"wait", g_string_free(text, FALSE),
                                   lull_report_command(findings->head.session, task->host, what),
                                   task->host, wait->total_ns, wait->longest_at_ns});
}

static int compare_sums(const void *a, const void *b)
{
    const struct lull_wait_sum *left = *(const struct lull_wait_sum *const *)a;
    const struct lull_wait_sum *right = *(const struct lull_wait_sum *const *)b;
    return left->total_ns != right->total_ns
               ? (left->total_ns > right->total_ns ? -1 : 1)
               : (left->key.task > right->key.task) - (left->key.task < right->key.task);
}

/* ---- futexes ---- */

/* What waits on a word, of a process. */
struct word {
    uint64_t place; /* glibc's condition variables use two words by turns, which lie side by side */
    uint32_t host;
    int32_t pid;
    const struct lull_wait_sum *wait;
};

static int compare_words(const void *a, const void *b)
{
    const struct word *left = a, *right = b;
    return left->host != right->host ? (left->host > right->host ? 1 : -1)
           : left->pid != right->pid ? (left->pid > right->pid ? 1 : -1)
                                     : (left->place > right->place) - (left->place < right->place);
}

/* Threads that wait for work do so together, and others give it to them; who waits for a lock lets others have it, too. */
static bool is_pool(const struct word *words, size_t n)
{
    struct lull_map waiters = {0};
    bool is_released = false;
    for (size_t i = 0; i < n; i++) {
        lull_map_insert(&waiters, words[i].wait->key.task, 1);
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t by = words[i].wait->key.by;
        is_released |= by != LULL_NONE && lull_map_find(&waiters, by) != LULL_MAP_NONE;
    }
    const bool is_shared = waiters.count > 1;
    lull_map_free(&waiters);
    return is_shared && !is_released;
}

/* Puts into `waits` those of `sums` that may be rest, but not of threads that wait together for work; how many. */
static size_t take_rests(const struct findings *findings, const struct lull_wait_sum *sums,
                         size_t count, const struct lull_wait_sum **waits)
{
    g_autofree struct word *words = g_new(struct word, MAX(count, 1));
    size_t n = 0, taken = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lull_task *task = lull_model_task(findings->head.model, sums[i].key.task);
        if (sums[i].futex) {
            words[n++] = (struct word){sums[i].futex / 8, task->host, task->pid, &sums[i]};
        }
    }
    qsort(words, n, sizeof *words, compare_words);
    for (size_t first = 0, end = 0; first < n; first = end) {
        while (end < n && compare_words(&words[first], &words[end]) == 0) {
            end++;
        }
        const bool is_of_pool = is_pool(&words[first], end - first);
        for (size_t i = first; i < end; i++) {
            if (!is_of_pool && may_be_rest(words[i].wait)) {
                waits[taken++] = words[i].wait;
            }
        }
    }
    return taken;
}

static void add_waits(struct findings *findings)
{
    size_t count, n = 0;
    const struct lull_wait_sum *sums = lull_waits_sums(findings->waits, &count);
    g_autofree const struct lull_wait_sum **waits =
        g_new0(const struct lull_wait_sum *, MAX(count, 1));
    for (size_t i = 0; i < count; i++) {
        if (is_costly(findings, &sums[i])) {
            waits[n++] = &sums[i];
        }
    }
    qsort(waits, n, sizeof *waits, compare_sums);
    for (size_t i = 0; i < MIN(n, MOST_WAITS); i++) {
        add_wait(findings, waits[i], "");
    }
    n = take_rests(findings, sums, count, waits);
    qsort(waits, n, sizeof *waits, compare_sums);
    for (size_t i = 0; i < MIN(n, MOST_RESTS); i++) {
        add_wait(findings, waits[i], "; it may have had nothing to do");
    }
}

/* Whether the window has all that was recorded of a host, of which the kernel counted something. */
static bool is_of_all(const struct findings *findings, uint32_t host)
{
    const struct lull_coverage *coverage = findings->head.coverage;
    return coverage && findings->head.start_ns <= coverage[host].first_ns &&
           findings->end_ns >= coverage[host].last_ns;
}

/* Which tasks a quota stopped, the model does not say; the kernel counted for how long, in the whole
 * recording. */
static void add_quota(void *user, uint32_t host, const struct lull_cpu_quota *quota)
{
    struct findings *findings = user;
    if (!is_of_all(findings, host)) {
        return;
    }
    char limit[LULL_TIME_TEXT_SIZE], period[LULL_TIME_TEXT_SIZE], off[LULL_TIME_TEXT_SIZE];
    char *text = g_strdup_printf(
        "the CPU quota of %s, %s per %s, kept its tasks off CPUs for %s (used up in %" PRId64
        " of %" PRId64 " periods of the recording)",
        quota->cgroup, duration(quota->quota_us * 1000, limit),
        duration(quota->period_us * 1000, period), duration(quota->throttled_ns, off),
        quota->throttled_periods, quota->periods);
    lull_vec_push(&findings->rows, (struct finding){"quota", text,
                                                    lull_report_command(findings->head.session,
                                                                        host, "waits --state R"),
                                                    host, quota->throttled_ns, INT64_MIN});
}

static int compare_findings(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    return (left->time_ns < right->time_ns) - (left->time_ns > right->time_ns);
}

/* Those that cost most. They come first of all: the waits below may be theirs. */
static void add_quotas(struct findings *findings)
{
    lull_quotas_each(&findings->head, add_quota, findings);
    if (findings->rows.count == 0) {
        return;
    }
    qsort(findings->rows.items, findings->rows.count, sizeof(struct finding), compare_findings);
    while (findings->rows.count > MOST_QUOTAS) {
        finding_clear(&findings->rows.items[--findings->rows.count]);
    }
}

/* The recording in which the hypervisor took most, if it was a hundredth of the time at least. No event says when: whoever
 * had such a CPU seems to run. */
static void add_steal(struct findings *findings)
{
    enum { LEAST_PART = 100 };
    const struct lull_session *session = findings->head.session;
    const struct lull_recording_info *most = NULL;
    for (uint32_t i = 0; session && i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *recording = lull_session_recording(session, i);
        const bool is_asked = findings->head.params->host < 0 ||
                              recording->host == (uint32_t)findings->head.params->host;
        if (is_asked && is_of_all(findings, recording->host) &&
            recording->start_ns < recording->end_ns &&
            recording->steal_ns > (most ? most->steal_ns : 0)) {
            most = recording;
        }
    }
    const int64_t length_ns = most ? lull_sum(most->end_ns, -most->start_ns) : 0;
    if (!most || most->steal_ns < length_ns / LEAST_PART) {
        return;
    }
    char steal[LULL_TIME_TEXT_SIZE], length[LULL_TIME_TEXT_SIZE];
    char *text = g_strdup_printf(
        "the hypervisor ran others for %s on CPUs of this machine that had something to do (the "
        "kernel's count in %s of recording)",
        duration(most->steal_ns, steal), duration(length_ns, length));
    lull_vec_push(&findings->rows,
                  (struct finding){"steal", text,
                                   lull_report_command(session, most->host, "waits --state R"),
                                   most->host, most->steal_ns, INT64_MIN});
}

static void add_disk(struct findings *findings, int64_t length_ns)
{
    char busy[LULL_TIME_TEXT_SIZE], mean[LULL_TIME_TEXT_SIZE];
    const struct disk *most = NULL;
    for (size_t i = 0; i < findings->disks.count; i++) {
        const struct disk *disk = &findings->disks.items[i];
        if (disk->n_issued && (!most || disk->busy_ns > most->busy_ns)) {
            most = disk;
        }
    }
    if (!most) {
        return;
    }
    const struct lull_block_request *request =
        lull_model_request(findings->head.model, most->request);
    const char *device = lull_model_device(findings->head.model, most->request);
    g_autofree char *number =
        g_strdup_printf("(%u,%u)", request->mapped_dev >> 20, request->mapped_dev & 0xfffff);
    GString *text = g_string_new(NULL);
    g_string_printf(text,
                    "disk %s was busy for %s, %.1f %% of the time: %" G_GUINT64_FORMAT " request%s",
                    device ? device : number, duration(most->busy_ns, busy),
                    100.0 * (double)most->busy_ns / (double)MAX(length_ns, 1), most->n_issued,
                    most->n_issued == 1 ? "" : "s");
    if (most->count) {
        g_string_append_printf(text, ", %s on average",
                               duration(most->in_device_ns / (int64_t)most->count, mean));
    }
    if (most->count < most->n_issued) {
        g_string_append_printf(text, "; the end of %" G_GUINT64_FORMAT " was not seen",
                               most->n_issued - most->count);
    }
    lull_vec_push(
        &findings->rows,
        (struct finding){"disk", g_string_free(text, FALSE),
                         lull_report_command(findings->head.session, most->host, "iolatencystats"),
                         most->host, most->busy_ns, INT64_MIN});
}

static void add_delays(struct findings *findings)
{
    char length[LULL_TIME_TEXT_SIZE];
    for (uint32_t i = 0; i < findings->n_delays; i++) {
        const struct delay *delay = &findings->delays[i];
        const struct lull_task *task = lull_model_task(findings->head.model, delay->task);
        const int64_t length_ns = delay->switch_ns - delay->wakeup_ns;
        g_autofree char *who = task_text(findings, delay->task, delay->switch_ns);
        g_autofree char *before = delay->before == LULL_NONE
                                      ? NULL
                                      : task_text(findings, delay->before, delay->switch_ns);
        g_autofree char *what = g_strdup_printf("schedtop --tid %d", task->tid);
        char *text = g_strdup_printf("%s was woken and got a CPU %s later%s%s%s", who,
                                     duration(length_ns, length), before ? ", when " : "",
                                     before ? before : "", before ? " left it" : "");
        lull_vec_push(&findings->rows, (struct finding){"delay", text,
                                                        lull_report_command(findings->head.session,
                                                                            task->host, what),
                                                        task->host, length_ns, delay->wakeup_ns});
    }
}

/* Who was killed first: what is killed later may be so for the same reason. */
static void add_kills(struct findings *findings, const struct lull_window *window)
{
    const struct lull_analysis *head = &findings->head;
    uint32_t n, n_shown = 0;
    const struct lull_kill *kills =
        lull_model_kills(head->model, window->start_ns, window->end_ns - 1, &n);
    for (uint32_t i = 0; i < n && n_shown < MOST_KILLS; i++) {
        const struct lull_kill *kill = &kills[i];
        const struct lull_task *task = lull_model_task(head->model, kill->task);
        if (kill->kind != LULL_KILL_OOM ||
            (head->params->host >= 0 && task->host != (uint32_t)head->params->host) ||
            !lull_params_want_task(head->params, head->model, kill->task, kill->time_ns)) {
            continue;
        }
        g_autofree char *who = task_text(findings, kill->task, kill->time_ns);
        g_autofree char *what = g_strdup_printf("critpath --tid %d", task->tid);
        GString *text = g_string_new(who);
        g_string_append_c(text, ' ');
        lull_kill_append(head->model, kill, text);
        lull_vec_push(&findings->rows,
                      (struct finding){"kill", g_string_free(text, FALSE),
                                       lull_report_command(head->session, task->host, what),
                                       task->host, INT64_MIN, kill->time_ns});
        n_shown++;
    }
}

/* ---- the table ---- */

static const struct lull_result_column finding_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Kind", "KIND", "kind", LULL_CELL_STRING, NULL, LULL_USE_NOT_TEXT},
    {"Time", "TIME", "time_ns", LULL_CELL_DURATION, NULL, 0},
    {"Finding", "FINDING", "finding", LULL_CELL_STRING, NULL, 0},
    {"Start of the longest", "AT", "at_ns", LULL_CELL_TIMESTAMP, NULL, LULL_USE_NOT_TEXT},
    {"What shows more", "MORE", "command", LULL_CELL_STRING, NULL, 0},
    {0},
};
static const struct lull_result_class findings_class = {
    .name = "findings", .title = "What cost most", .columns = finding_columns, .is_own = true};

static void finding_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct findings *findings = user;
    const struct finding *finding = &findings->rows.items[row];
    *cells++ = lull_cell_host_of(&findings->head, finding->host);
    *cells++ = lull_cell_text(LULL_CELL_STRING, finding->kind);
    if (finding->time_ns != INT64_MIN) {
        *cells = lull_cell_integer(LULL_CELL_DURATION, finding->time_ns);
    }
    cells++;
    *cells++ = lull_cell_text(LULL_CELL_STRING, finding->text);
    if (finding->at_ns != INT64_MIN) {
        *cells = lull_cell_integer(LULL_CELL_TIMESTAMP, finding->at_ns);
    }
    cells++;
    *cells = lull_cell_text(LULL_CELL_STRING, finding->command);
}

static void findings_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct findings *findings = (struct findings *)analysis;
    findings->end_ns = end_ns;
    lull_analysis_waits.close(findings->waits, end_ns);
    for (size_t i = 0; i < findings->disks.count; i++) {
        struct disk *disk = &findings->disks.items[i];
        const int64_t issue_ns = disk->last != LULL_NONE
                                     ? lull_model_request(analysis->model, disk->last)->issue_ns
                                     : INT64_MIN;
        /* Of one before, the end was lost; one that the device did not take is not in it. */
        if (issue_ns != INT64_MIN) {
            add_busy(disk, issue_ns, end_ns);
        }
    }
}

static void findings_emit(struct lull_analysis *analysis, const struct lull_window *window,
                          struct lull_sink *sink)
{
    struct findings *findings = (struct findings *)analysis;
    add_quotas(findings);
    add_steal(findings);
    add_kills(findings, window);
    add_waits(findings);
    add_disk(findings, window->end_ns - window->start_ns);
    add_delays(findings);
    sink->table(sink, &(struct lull_result_table){.class = &findings_class,
                                                  .n_rows = findings->rows.count,
                                                  .row = finding_row,
                                                  .user = findings});
}

const struct lull_analysis_class lull_analysis_findings = {
    .name = "findings",
    .title = "Findings",
    .description =
        "CPU quotas that were used up, CPU time that went to other virtual machines, what was killed "
        "as no memory was left, the waits that cost most, the busiest disk, the longest waits for a CPU",
    .tags = (const char *const[]){"sched", "io", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&findings_class, NULL},
    .question = "cpu",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_BLOCK |
              LULL_GROUP_CALLS | LULL_GROUP_PAGING | LULL_GROUP_KILLS | LULL_GROUP_LOCKS,
    .is_by_host = true,
    .size = sizeof(struct findings),
    .facts = {.state = on_state,
              .switched = on_switched,
              .block = on_block,
              .syscall = on_syscall,
              .paging = on_paging,
              .contention = on_contention},
    .open = findings_open,
    .close = findings_close,
    .emit = findings_emit,
    .free = findings_free,
};
