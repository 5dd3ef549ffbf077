/* SPDX-License-Identifier: MIT */
/* Processes that the kernel kills by itself: it sends them SIGKILL, and right after reports which of them were chosen
 * as no memory was left (mm/oom_kill.c). That report alone may also be of a process that ends already. */
#include "base/search.h"
#include "kernel/current_task.h"
#include "kernel/kills.h"

enum { SIGKILL_ = 9, SI_KERNEL_ = 128, KIBI = 1024 };

/* The report comes right after the signal. */
#define AT_ONCE_NS INT64_C(1000000000)

void kills_reclaimed(struct lull_model *model, const struct cpu *cpu, enum lull_kill_limit limit)
{
    const uint32_t task = model_on_cpu(model, cpu);
    if (task != LULL_NONE) {
        model->tasks.items[task].reclaimed = (uint8_t)limit;
    }
}

static struct lull_kill *add(struct lull_model *model, uint32_t task, int64_t t,
                             enum lull_kill_kind kind)
{
    lull_vec_push(&model->kills, (struct lull_kill){.time_ns = t,
                                                    .resident_bytes = -1,
                                                    .task = task,
                                                    .asker = LULL_NONE,
                                                    .kind = (uint8_t)kind});
    return &model->kills.items[model->kills.count - 1];
}

void kills_signal(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  const struct lull_ev_signal_generate *ev)
{
    SCHED_CURRENT(model, machine, c, t, ev, signal_generate);
    machine->has_signals = true;
    const bool is_delivered = !LULL_HAS(ev, signal_generate, result) || ev->result == 0;
    if (ev->sig == SIGKILL_ && ev->code == SI_KERNEL_ && is_delivered && ev->tid > 0 &&
        ev->tid <= INT32_MAX) {
        add(model, model_task(model, machine, (int32_t)ev->tid, c), t, LULL_KILL_OTHER);
    }
}

/* The kill of the task that was seen right before, or NULL. */
static struct lull_kill *kill_of(struct lull_model *model, uint32_t task, int64_t t)
{
    enum { MOST_LOOKED_AT = 64 };
    for (size_t n = 1; n <= MIN(model->kills.count, MOST_LOOKED_AT); n++) {
        struct lull_kill *kill = &model->kills.items[model->kills.count - n];
        if (kill->task == task && kill->time_ns > t - AT_ONCE_NS) {
            return kill;
        }
    }
    return NULL;
}

static int64_t resident_bytes(const struct lull_ev_oom_victim *ev)
{
    const bool is_reported = LULL_HAS(ev, oom_victim, anon_kib) &&
                             LULL_HAS(ev, oom_victim, file_kib) &&
                             LULL_HAS(ev, oom_victim, shmem_kib);
    const int64_t parts[] = {ev->anon_kib, ev->file_kib, ev->shmem_kib};
    int64_t sum = 0;
    for (size_t i = 0; is_reported && i < G_N_ELEMENTS(parts); i++) {
        if (parts[i] < 0 || parts[i] > INT64_MAX / KIBI / 4) {
            return -1;
        }
        sum += parts[i] * KIBI;
    }
    return is_reported ? sum : -1;
}

void kills_victim(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  const struct lull_ev_oom_victim *ev)
{
    const uint32_t current = SCHED_CURRENT(model, machine, c, t, ev, oom_victim);
    if (ev->tid <= 0 || ev->tid > INT32_MAX) {
        return;
    }
    const uint32_t task = model_task(model, machine, (int32_t)ev->tid, c);
    struct lull_kill *kill = kill_of(model, task, t);
    if (!kill && !machine->has_signals && !model->tasks.items[task].is_exiting) {
        kill = add(model, task, t, LULL_KILL_OOM);
    }
    if (!kill) {
        return;
    }
    kill->kind = LULL_KILL_OOM;
    kill->resident_bytes = resident_bytes(ev);
    if (current != LULL_NONE && !model->tasks.items[current].is_idle) {
        kill->asker = current;
        kill->limit = model->tasks.items[current].reclaimed;
    }
}

const struct lull_kill *lull_model_kills(const struct lull_model *model, int64_t start_ns,
                                         int64_t end_ns, uint32_t *n)
{
    const struct lull_kill *kills = model->kills.items;
    const size_t first = LULL_LOWER_BOUND(i, model->kills.count, kills[i].time_ns < start_ns);
    size_t end = first;
    while (end < model->kills.count && kills[end].time_ns <= end_ns) {
        end++;
    }
    *n = (uint32_t)(end - first);
    return *n ? kills + first : NULL;
}

const char *lull_kill_kind_name(enum lull_kill_kind kind)
{
    return kind == LULL_KILL_OOM ? "oom" : "kernel";
}

void lull_kill_append(const struct lull_model *model, const struct lull_kill *kill, GString *out)
{
    static const char *const places[] = {
        [LULL_KILL_LIMIT_UNKNOWN] = "no memory was left",
        [LULL_KILL_LIMIT_MACHINE] = "the machine had no memory left",
        [LULL_KILL_LIMIT_GROUP] = "its control group had no memory left"};
    enum { MEBI = 1 << 20 };
    if (kill->kind != LULL_KILL_OOM) {
        g_string_append(out, "was killed by the kernel");
        return;
    }
    g_string_append_printf(out, "was killed by the OOM killer, as %s", places[kill->limit]);
    if (kill->asker != LULL_NONE && kill->asker != kill->task) {
        g_string_append_printf(out, " for %s/%d",
                               lull_model_comm(model, kill->asker, kill->time_ns),
                               lull_model_task(model, kill->asker)->tid);
    }
    if (kill->resident_bytes >= 0) {
        g_string_append_printf(out, "; it held %.1f MiB", (double)kill->resident_bytes / MEBI);
    }
}
