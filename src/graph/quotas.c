/* SPDX-License-Identifier: MIT */
/* When a CPU quota kept tasks off the CPU. No event of Linux says so, but the tasks of a control
 * group that has used up its quota are runnable, and none of them runs until the next period
 * starts. Only groups of which the kernel counted such times (recording.json) are looked at. */
#include "graph/quotas_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sums.h"
#include "base/time.h"
#include "source/files/recording.h"
#include "source/session/streams.h"

enum {
    LEAST_NS = 1000000,  /* what is shorter is no throttling */
    SLICE_NS = 5000000,  /* CPUs take them from the quota */
    TICK_NS = 4000000,   /* that a slice is used up is seen that much later */
    LEAVING_NS = 200000, /* tasks that may not run leave the kernel first, from Linux 6.18 on */
    PERIODS_BACK = 4,    /* who used more in one period gets less in the next */
};

/* ---- who is in which group ---- */

static char *key_of(uint32_t host, int64_t hierarchy, const char *path)
{
    return g_strdup_printf("%u %" G_GINT64_FORMAT " %s", host, hierarchy, path);
}

/* The quota of a group, or of the next one around it that has one. */
static uint32_t find_quota(const struct lull_quotas *quotas, uint32_t host, int64_t hierarchy,
                           const char *path)
{
    g_autofree char *key = key_of(host, hierarchy, path);
    char *start = key + strlen(key) - strlen(path);
    for (char *end = key + strlen(key); end; end = strrchr(start, '/')) {
        *end = '\0';
        const guint found = GPOINTER_TO_UINT(g_hash_table_lookup(quotas->by_path, key));
        if (found) {
            return found - 1;
        }
    }
    return LULL_NONE;
}

static void take_quotas(struct lull_quotas *quotas, const struct lull_recording_info *recording)
{
    for (uint32_t i = 0; i < recording->n_cpu_quotas; i++) {
        const struct lull_cpu_quota *info = &recording->cpu_quotas[i];
        char *key = key_of(recording->host, info->hierarchy, info->cgroup);
        if (info->throttled_ns == 0 || g_hash_table_contains(quotas->by_path, key)) {
            g_free(key);
            continue;
        }
        g_hash_table_insert(quotas->by_path, key, GUINT_TO_POINTER(quotas->all.count + 1));
        lull_vec_push(&quotas->all, (struct quota){.info = info,
                                                   .host = recording->host,
                                                   .within = LULL_NONE,
                                                   .phase_ns = -1});
    }
}

static void nest(struct lull_quotas *quotas)
{
    for (size_t i = 0; i < quotas->all.count; i++) {
        struct quota *quota = &quotas->all.items[i];
        g_autofree char *above = g_strdup(quota->info->cgroup);
        char *slash = strrchr(above, '/');
        if (slash) {
            *slash = '\0';
            quota->within = find_quota(quotas, quota->host, quota->info->hierarchy, above);
        }
    }
}

static uint64_t process_key(uint32_t host, int32_t pid)
{
    return (uint64_t)host << 32 | (uint32_t)pid;
}

static uint64_t process_of(const struct lull_model *model, uint32_t number)
{
    const struct lull_task *task = lull_model_task(model, number);
    return process_key(task->host, task->pid >= 0 ? task->pid : task->tid);
}

/* What processes were in: at the start or the end, and what they were moved to. */
struct homes {
    LULL_VEC(struct membership) all;
    struct lull_map by_process;
};

static void put_home(struct homes *homes, uint64_t process, struct membership home)
{
    lull_map_insert(&homes->by_process, process, (uint32_t)homes->all.count);
    lull_vec_push(&homes->all, home);
}

static void find_homes(const struct lull_execgraph *eg, const struct lull_quotas *quotas,
                       struct homes *homes)
{
    for (size_t i = 0; i < quotas->all.count; i++) {
        const struct quota *quota = &quotas->all.items[i];
        for (uint32_t k = 0; k < quota->info->n_pids; k++) {
            put_home(homes, process_key(quota->host, quota->info->pids[k]),
                     (struct membership){(uint32_t)i, INT64_MIN, INT64_MAX});
        }
    }
    for (size_t i = 0; i < eg->moves.count; i++) {
        const struct move_note *move = &eg->moves.items[i];
        const uint64_t process = process_of(eg->model, move->task);
        const uint32_t host = lull_model_task(eg->model, move->task)->host;
        const uint32_t quota =
            find_quota(quotas, host, move->hierarchy, lull_model_label(eg->model, move->path));
        const uint32_t known = lull_map_find(&homes->by_process, process);
        if (quota != LULL_NONE) {
            put_home(homes, process, (struct membership){quota, move->time_ns, INT64_MAX});
        } else if (known != LULL_MAP_NONE &&
                   quotas->all.items[homes->all.items[known].quota].info->hierarchy ==
                       move->hierarchy) {
            homes->all.items[known].until_ns = MIN(homes->all.items[known].until_ns, move->time_ns);
        }
    }
}

static void settle(const struct lull_execgraph *eg, struct lull_quotas *quotas)
{
    const struct membership none = {LULL_NONE, INT64_MIN, INT64_MAX};
    struct homes homes = {0};
    find_homes(eg, quotas, &homes);
    for (uint32_t i = 0; i < lull_model_task_count(eg->model); i++) {
        const struct lull_task *task = lull_model_task(eg->model, i);
        const uint32_t home = lull_map_find(&homes.by_process, process_of(eg->model, i));
        struct membership own = none;
        if (home != LULL_MAP_NONE) {
            own = homes.all.items[home];
        } else if (task->parent < i && task->birth_ns != INT64_MIN) {
            const struct membership *parent = &quotas->members.items[task->parent];
            const bool is_elsewhere = parent->quota != LULL_NONE &&
                                      lull_model_is_placed(eg->model, i) &&
                                      quotas->all.items[parent->quota].info->hierarchy == 0;
            if (!is_elsewhere && parent->since_ns <= task->birth_ns &&
                task->birth_ns < parent->until_ns) {
                own.quota = parent->quota;
            }
        }
        lull_vec_push(&quotas->members, own);
    }
    lull_vec_free(&homes.all);
    lull_map_free(&homes.by_process);
}

uint32_t lull_quotas_of(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns)
{
    if (!eg->quotas || task >= eg->quotas->members.count) {
        return LULL_NONE;
    }
    const struct membership *own = &eg->quotas->members.items[task];
    return own->since_ns <= time_ns && time_ns < own->until_ns ? own->quota : LULL_NONE;
}

/* ---- whom they may keep off CPUs ---- */

/* What was never used up may have been for the first time in the last period: the kernel counts that when it is over. Of a
 * group that is gone it is not known, nor who was in one of which no process was seen. */
static void rule_out(struct lull_execgraph *eg, const struct lull_recording_file *file,
                     bool is_first)
{
    const struct lull_recording_info *info = &file->info;
    struct host_notes *host = lull_execgraph_host(eg, info->host);
    int64_t last_ns = INT64_MIN, longest_ns = 0;
    bool is_known = file->has_all_quotas;
    for (size_t cpu = 0; cpu < host->cpus.count; cpu++) {
        const size_t n = host->cpus.items[cpu].switches.count;
        last_ns = n ? MAX(last_ns, host->cpus.items[cpu].switches.items[n - 1].time_ns) : last_ns;
    }
    for (uint32_t i = 0; i < info->n_cpu_quotas; i++) {
        const struct lull_cpu_quota *quota = &info->cpu_quotas[i];
        const bool is_used_up = quota->throttled_ns > 0;
        is_known &= is_used_up ? quota->n_pids > 0 : !quota->is_gone;
        longest_ns = MAX(longest_ns, is_used_up ? 0 : quota->period_us * 1000);
    }
    const int64_t until_ns = !is_known        ? INT64_MIN
                             : longest_ns > 0 ? lull_sum(last_ns, -longest_ns)
                                              : INT64_MAX;
    lull_add(&host->steal_ns, info->steal_ns);
    host->quotas_ns = is_first ? until_ns : MIN(host->quotas_ns, until_ns);
}

bool lull_quotas_may(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns)
{
    const uint32_t host = lull_model_task(eg->model, task)->host;
    return host >= eg->hosts.count || time_ns >= eg->hosts.items[host].quotas_ns ||
           lull_preemption_is_special(eg, task) ||
           (eg->quotas && (lull_model_is_placed(eg->model, task) ||
                           lull_quotas_of(eg, task, time_ns) != LULL_NONE));
}

void lull_quotas_switched(struct lull_execgraph *eg, const struct cpu_notes *notes, int64_t time_ns)
{
    const size_t n = notes->switches.count;
    const struct switch_note *last = n > 1 ? &notes->switches.items[n - 1] : NULL;
    if (last && last->previous_is_runnable && last->task == LULL_NONE && !last->is_unknown &&
        time_ns - last->time_ns >= LEAST_NS && last[-1].task != LULL_NONE) {
        lull_map_insert(&eg->kept_off, process_of(eg->model, last[-1].task), 1);
    }
}

bool lull_quotas_is_kept_off(const struct lull_execgraph *eg, uint32_t task)
{
    return lull_map_find(&eg->kept_off, process_of(eg->model, task)) != LULL_MAP_NONE;
}

/* ---- when they ran ---- */

static int by_time(const void *a, const void *b)
{
    const struct use_step *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->running > y->running) - (x->running < y->running);
}

static void add_use(struct lull_quotas *quotas, uint32_t number, size_t cpu, struct cpu_use use)
{
    for (; number != LULL_NONE; number = quotas->all.items[number].within) {
        struct quota *quota = &quotas->all.items[number];
        while (quota->cpus.count <= cpu) {
            lull_vec_push(&quota->cpus, (struct cpu_uses){0});
        }
        lull_vec_push(&quota->cpus.items[cpu].all, use);
        lull_vec_push(&quota->use, (struct use_step){use.start_ns, 0, 1});
        lull_vec_push(&quota->use, (struct use_step){use.end_ns, 0, -1});
    }
}

/* Whether the task, which leaves the CPU then, does not want it any more. */
static bool sleeps_from(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns)
{
    uint32_t n;
    const struct lull_graph_point *points = lull_graph_points(eg->graph, task, &n);
    const size_t after = LULL_LOWER_BOUND(i, n, points[i].time_ns <= time_ns);
    return after == n || points[after].state != LULL_STATE_PREEMPTED;
}

static void take_cpu(const struct lull_execgraph *eg, struct lull_quotas *quotas, size_t cpu,
                     const struct cpu_notes *notes, int64_t last_ns)
{
    const uint32_t n_lines = lull_graph_line_count(eg->graph);
    for (size_t i = 0; i < notes->switches.count; i++) {
        const struct switch_note *note = &notes->switches.items[i];
        if (note->is_unknown || note->task >= quotas->members.count) {
            continue;
        }
        const struct membership *own = &quotas->members.items[note->task];
        const bool has_next = i + 1 < notes->switches.count;
        const int64_t next_ns = has_next ? note[1].time_ns : last_ns;
        struct cpu_use use = {.start_ns = MAX(note->time_ns, own->since_ns),
                              .end_ns = MIN(next_ns, own->until_ns),
                              .task = note->task};
        if (own->quota != LULL_NONE && use.start_ns < use.end_ns) {
            use.sleeps =
                note->task < n_lines && has_next && sleeps_from(eg, note->task, use.end_ns);
            use.is_last = has_next && note[1].task == LULL_NONE && !note[1].is_unknown;
            add_use(quotas, own->quota, cpu, use);
        }
    }
}

static void sum_use(struct quota *quota)
{
    int64_t used_ns = 0;
    int32_t running = 0;
    if (quota->use.count) {
        qsort(quota->use.items, quota->use.count, sizeof *quota->use.items, by_time);
    }
    for (size_t i = 0; i < quota->use.count; i++) {
        struct use_step *step = &quota->use.items[i];
        if (i > 0) {
            lull_add(&used_ns, lull_product(running, step->time_ns - step[-1].time_ns));
        }
        running += step->running;
        step->running = running;
        step->used_ns = used_ns;
    }
}

/* The last step that is not after the time; the count of steps if there is none. */
static size_t step_at(const struct quota *quota, int64_t time_ns)
{
    const size_t after =
        LULL_LOWER_BOUND(i, quota->use.count, quota->use.items[i].time_ns <= time_ns);
    return after ? after - 1 : quota->use.count;
}

static int64_t used_until(const struct quota *quota, int64_t time_ns)
{
    const size_t at = step_at(quota, time_ns);
    if (at == quota->use.count) {
        return 0;
    }
    const struct use_step *step = &quota->use.items[at];
    return lull_sum(step->used_ns, lull_product(step->running, time_ns - step->time_ns));
}

/* The last time before that in which the group had the CPU, or NULL. */
static const struct cpu_use *use_before(const struct quota *quota, size_t cpu, int64_t time_ns)
{
    const struct cpu_uses *uses = cpu < quota->cpus.count ? &quota->cpus.items[cpu] : NULL;
    const size_t n =
        uses ? LULL_LOWER_BOUND(i, uses->all.count, uses->all.items[i].start_ns < time_ns) : 0;
    return n ? &uses->all.items[n - 1] : NULL;
}

/* On how many CPUs it ran in that time. */
static int64_t count_cpus(const struct quota *quota, int64_t start_ns, int64_t end_ns)
{
    int64_t n = 0;
    for (size_t cpu = 0; cpu < quota->cpus.count; cpu++) {
        const struct cpu_use *use = use_before(quota, cpu, end_ns);
        n += use && use->end_ns > start_ns;
    }
    return n;
}

/* ---- when they could not ---- */

/* When the last period started that starts before the time or as good as then. Without a known
 * rhythm, while that is looked for, one ends then. */
static int64_t boundary_before(const struct quota *quota, int64_t time_ns)
{
    const int64_t ns = quota_period_ns(quota);
    const size_t n = LULL_LOWER_BOUND(i, quota->refills.count, quota->refills.items[i] <= time_ns);
    if (quota->refills.count) {
        return n ? quota->refills.items[n - 1] : INT64_MIN;
    }
    if (quota->phase_ns < 0) {
        return time_ns;
    }
    const int64_t late_ns = time_ns + ns / (2 * PHASE_PART);
    const int64_t rest_ns = ((late_ns - quota->phase_ns) % ns + ns) % ns;
    return MIN(late_ns - rest_ns, time_ns);
}

/* Whether the group, which runs no more from start_ns on, has used up what it may use until end_ns,
 * a boundary between periods: in the last period, or in several. Each CPU but the last may have left
 * a part of its last slice. */
static bool is_used_up(const struct quota *quota, int64_t start_ns, int64_t end_ns)
{
    const int64_t ns = quota_period_ns(quota), quota_ns = quota->info->quota_us * 1000;
    const int64_t first_ns = end_ns - lull_sum(end_ns - start_ns, ns - 1) / ns * ns;
    const int64_t others = MAX(count_cpus(quota, first_ns, start_ns) - 1, 0);
    /* It uses the last one at least. */
    const int64_t slack_ns = MIN(LEAST_NS + others * SLICE_NS, quota_ns / 2);
    for (int back = 0; back < PERIODS_BACK; back++) {
        const int64_t used_ns =
            used_until(quota, start_ns) - used_until(quota, first_ns - back * ns);
        if (used_ns >= (back + 1) * quota_ns - slack_ns) {
            return true;
        }
    }
    return false;
}

/* The group runs nowhere from quiet_ns on, as its quota is used up. On this CPU it may have been used
 * up before: others had slices left. */
static int64_t used_up_since(const struct quota *quota, int32_t cpu, int64_t since_ns,
                             int64_t quiet_ns)
{
    const struct cpu_use *last = cpu >= 0 ? use_before(quota, (size_t)cpu, quiet_ns) : NULL;
    while (last && last->start_ns >= since_ns && last->end_ns - last->start_ns < LEAVING_NS) {
        last = use_before(quota, (size_t)cpu, last->start_ns);
    }
    const int64_t start_ns = MAX(last ? last->end_ns : quiet_ns, since_ns);
    const int64_t others = count_cpus(quota, start_ns, quiet_ns);
    const int64_t used_ns = used_until(quota, quiet_ns) - used_until(quota, start_ns);
    return start_ns < quiet_ns && used_ns <= others * (SLICE_NS + TICK_NS) ? start_ns : quiet_ns;
}

/* The first of the pauses of that CPU that ends within since_ns to until_ns and after start_ns. */
static bool find_pause(const struct quota *quota, int32_t cpu, int64_t since_ns, int64_t until_ns,
                       int64_t start_ns, struct throttling *found)
{
    const struct lull_bandwidth_pause *all = quota->pauses.all.items;
    const size_t n = quota->pauses.all.count;
    size_t i = LULL_LOWER_BOUND(k, n, all[k].end_ns <= MAX(start_ns, since_ns));
    for (; i < n && all[i].end_ns <= until_ns; i++) {
        const int64_t from_ns = MAX(all[i].start_ns, since_ns);
        if ((cpu < 0 || all[i].cpu == (uint32_t)cpu) && all[i].end_ns - from_ns >= LEAST_NS) {
            found->start_ns = from_ns;
            found->end_ns = all[i].end_ns;
            return true;
        }
    }
    return false;
}

/* Where it is not known when periods start: the first time from start_ns on, within since_ns to
 * until_ns, in which no task of the group runs and its quota is used up. */
static bool find_throttling(const struct quota *quota, int32_t cpu, int64_t since_ns,
                            int64_t until_ns, int64_t start_ns, struct throttling *found)
{
    size_t i = step_at(quota, since_ns);
    for (i = i == quota->use.count ? 0 : i; i < quota->use.count; i++) {
        const struct use_step *step = &quota->use.items[i];
        if (step->time_ns >= until_ns) {
            break;
        }
        const int64_t quiet_ns = MAX(step->time_ns, since_ns);
        const int64_t end_ns = boundary_before(
            quota, i + 1 < quota->use.count ? MIN(step[1].time_ns, until_ns) : until_ns);
        if (step->running == 0 && end_ns > MAX(start_ns, quiet_ns) &&
            end_ns - quiet_ns >= LEAST_NS && is_used_up(quota, step->time_ns, end_ns)) {
            found->start_ns = used_up_since(quota, cpu, since_ns, quiet_ns);
            found->end_ns = end_ns;
            return true;
        }
    }
    return false;
}

bool lull_quotas_next(const struct lull_execgraph *eg, uint32_t task, int32_t cpu, int64_t since_ns,
                      int64_t until_ns, int64_t start_ns, struct throttling *found)
{
    bool has_found = false;
    for (uint32_t i = lull_quotas_of(eg, task, since_ns); i != LULL_NONE;
         i = eg->quotas->all.items[i].within) {
        const struct quota *quota = &eg->quotas->all.items[i];
        struct throttling one = {.quota = i};
        if ((quota->refills.count ? find_pause : find_throttling)(quota, cpu, since_ns, until_ns,
                                                                  start_ns, &one) &&
            (!has_found || one.start_ns < found->start_ns)) {
            *found = one;
            has_found = true;
        }
    }
    return has_found;
}

void lull_execgraph_watch_quotas(struct lull_execgraph *eg, const struct lull_session *session)
{
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *recording = lull_session_recording(session, i);
        const uint64_t function = lull_session_recording_file(session, i)->quota_timer;
        if (function && recording->n_cpu_quotas) {
            lull_vec_push(&eg->quota_clocks, (struct quota_clock){recording->host, function});
        }
    }
}

void lull_execgraph_learn_quotas(struct lull_execgraph *eg, const struct lull_session *session)
{
    struct lull_quotas *quotas = g_new0(struct lull_quotas, 1);
    g_autoptr(GHashTable) hosts = g_hash_table_new(NULL, NULL);
    int64_t first_ns, last_ns;
    eg->quotas = quotas;
    quotas->by_path = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        const struct lull_recording_file *file = lull_session_recording_file(session, i);
        rule_out(eg, file, g_hash_table_add(hosts, GUINT_TO_POINTER(file->info.host)));
        take_quotas(quotas, &file->info);
    }
    if (quotas->all.count == 0) {
        g_clear_pointer(&eg->quotas, lull_quotas_free);
        return;
    }
    nest(quotas);
    settle(eg, quotas);
    lull_model_range(eg->model, &first_ns, &last_ns);
    for (size_t h = 0; h < eg->hosts.count; h++) {
        for (size_t c = 0; c < eg->hosts.items[h].cpus.count; c++) {
            take_cpu(eg, quotas, c, &eg->hosts.items[h].cpus.items[c], last_ns);
        }
    }
    for (size_t i = 0; i < quotas->all.count; i++) {
        sum_use(&quotas->all.items[i]);
    }
    quotas_find_periods(eg, quotas);
}

void lull_quotas_free(struct lull_quotas *quotas)
{
    if (quotas) {
        for (size_t i = 0; i < quotas->all.count; i++) {
            struct quota *quota = &quotas->all.items[i];
            for (size_t cpu = 0; cpu < quota->cpus.count; cpu++) {
                lull_vec_free(&quota->cpus.items[cpu].all);
            }
            lull_vec_free(&quota->cpus);
            lull_vec_free(&quota->use);
            lull_vec_free(&quota->refills);
            lull_vec_free(&quota->pauses.all);
        }
        lull_vec_free(&quotas->all);
        lull_vec_free(&quotas->members);
        g_hash_table_unref(quotas->by_path);
        g_free(quotas);
    }
}

const struct lull_cpu_quota *lull_quotas_at(const struct lull_execgraph *eg, uint32_t quota)
{
    return eg->quotas->all.items[quota].info;
}

void lull_quotas_list(const struct lull_execgraph *eg, struct lull_path *path)
{
    g_autofree bool *is_of_path = eg->quotas ? g_new0(bool, eg->quotas->all.count) : NULL;
    if (!eg->quotas) {
        return;
    }
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        const uint32_t task = path->by_task[i].task;
        uint32_t number =
            task < eg->quotas->members.count ? eg->quotas->members.items[task].quota : LULL_NONE;
        for (; number != LULL_NONE; number = eg->quotas->all.items[number].within) {
            is_of_path[number] = true;
        }
    }
    path->quotas = g_new0(const struct lull_cpu_quota *, eg->quotas->all.count);
    for (uint32_t i = 0; i < eg->quotas->all.count; i++) {
        if (is_of_path[i]) {
            path->quotas[path->n_quotas++] = lull_quotas_at(eg, i);
        }
    }
}

void lull_quotas_append(const struct lull_execgraph *eg, uint32_t quota, GString *out)
{
    const struct lull_cpu_quota *info = lull_quotas_at(eg, quota);
    char limit[LULL_TIME_TEXT_SIZE], period[LULL_TIME_TEXT_SIZE];
    lull_duration_format(info->quota_us * 1000, limit);
    lull_duration_format(info->period_us * 1000, period);
    g_string_append_printf(out, "of %s, %s per %s", info->cgroup, limit, period);
}
