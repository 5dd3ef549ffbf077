/* SPDX-License-Identifier: MIT */
/* Waits as `lull top` shows them: summed by who waited, in which call, and for whom. */
#include <string.h>
#include <unistd.h>

#include "live/ftrace/model.h"
#include "live/links.h"

/* ---- chains ---- */

static guint hash_chain(const void *data)
{
    const struct lull_track_chain *chain = data;
    guint hash = chain->tgid * 31 + (guint)chain->call;
    hash = hash * 31 + chain->state;
    for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
        const struct lull_track_link *link = &chain->link[i];
        hash = (hash * 31 + link->kind) * 31 + link->a;
    }
    return hash;
}

static gboolean same_chain(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct lull_track_chain)) == 0;
}

/* Adds a wait, of which only what is in this interval counts. */
static void add(struct lull_ftrace_model *model, const struct lull_track_chain *chain,
                uint64_t start, uint64_t end)
{
    struct lull_track_chain_sum *sum = g_hash_table_lookup(model->chains, chain);
    if (!sum && g_hash_table_size(model->chains) >= LULL_TRACK_MOST_CHAINS) {
        model->counts.kernel.unsummed++;
        return;
    }
    if (!sum) {
        sum = g_new0(struct lull_track_chain_sum, 1);
        g_hash_table_insert(model->chains, g_memdup2(chain, sizeof *chain), sum);
    }
    const uint64_t from = MAX(start, model->from_ns);
    sum->ns += end > from ? end - from : 0;
    sum->waits++;
    sum->longest_ns = MAX(sum->longest_ns, end - start);
}

/* ---- histograms ---- */

static void observe_wait(struct lull_ftrace_model *model, const struct lull_ftrace_wait *wait)
{
    struct lull_track_histogram *of = model->histograms.of;
    const struct lull_track_slot *slot = &wait->task->slot;
    const bool is_new = slot->flags & LULL_TRACK_IS_NEW;
    const enum lull_track_measure measure = slot->state ? LULL_TRACK_OFFCPU
                                            : is_new    ? LULL_TRACK_FORK
                                                        : LULL_TRACK_PREEMPT;
    lull_ftrace_observe(model, &of[measure], wait->now - slot->since);
    if (measure != LULL_TRACK_PREEMPT && wait->woken) {
        lull_ftrace_observe(model, &of[LULL_TRACK_WAKEUP], wait->now - wait->woken);
    }
}

/* ---- waits ---- */

void lull_ftrace_sum(struct lull_ftrace_model *model, const struct lull_ftrace_wait *wait)
{
    struct lull_ftrace_task *task = wait->task;
    struct lull_track_slot *slot = &task->slot;
    const uint64_t woken = wait->woken ? wait->woken : wait->now;
    const uint64_t least_ns = model->counts.least_ns;
    slot->sums.blocked_ns += woken - slot->since;
    slot->sums.runnable_ns += wait->now - woken;
    if (slot->tgid == (uint32_t)getpid()) {
        return;
    }
    if (!(slot->flags & LULL_TRACK_IS_OLDER)) {
        observe_wait(model, wait);
    }
    if (wait->now - slot->since <= least_ns) {
        return;
    }
    struct lull_track_chain chain;
    memset(&chain, 0, sizeof chain); /* also what lies between its members */
    chain.tgid = slot->tgid;
    chain.call = LULL_TRACK_NO_CALL;
    memcpy(chain.comm, task->comm, sizeof chain.comm);
    if (wait->now - woken > least_ns) {
        add(model, &chain, woken, wait->now);
    }
    if (slot->state && woken - slot->since > least_ns) {
        chain.call = task->call;
        const bool is_compat = task->call >= 0 && lull_ftrace_task_is_compat(task);
        chain.flags = (slot->flags & LULL_TRACK_IS_KERNEL) | (is_compat ? LULL_TRACK_IS_COMPAT : 0);
        chain.state = slot->state;
        lull_track_link_chain(&chain, slot);
        add(model, &chain, slot->since, woken);
    }
}

void lull_ftrace_sums_of_dead(struct lull_ftrace_model *model, const struct lull_ftrace_task *task)
{
    const struct lull_track_slot *slot = &task->slot;
    struct lull_track_ended *of = g_hash_table_lookup(model->ended, GUINT_TO_POINTER(slot->tgid));
    const struct lull_ftrace_task *first = lull_ftrace_task_find(model, slot->tgid);
    if (!model->question.has_sums) {
        return;
    }
    if (!of && g_hash_table_size(model->ended) >= LULL_TRACK_MOST_CHAINS) {
        model->counts.kernel.unended++;
        return;
    }
    if (!of) {
        of = g_new0(struct lull_track_ended, 1);
        memcpy(of->comm, task->comm, sizeof of->comm);
        g_hash_table_insert(model->ended, GUINT_TO_POINTER(slot->tgid), of);
    }
    if (first) { /* the process is called as its first thread is, whichever ends */
        memcpy(of->comm, first->comm, sizeof of->comm);
    }
    of->sums.ran_ns += slot->sums.ran_ns;
    of->sums.blocked_ns += slot->sums.blocked_ns;
    of->sums.runnable_ns += slot->sums.runnable_ns;
    of->sums.unknown_ns += slot->sums.unknown_ns;
}

/* ---- reading ---- */

void lull_ftrace_chains(struct lull_ftrace_model *model, GArray *chains)
{
    GHashTableIter iter;
    void *key, *sum;
    g_array_set_size(chains, 0);
    g_hash_table_iter_init(&iter, model->chains);
    while (g_hash_table_iter_next(&iter, &key, &sum)) {
        const struct lull_live_chain chain = {.key = *(const struct lull_track_chain *)key,
                                              .sum = *(const struct lull_track_chain_sum *)sum};
        g_array_append_val(chains, chain);
    }
    g_hash_table_remove_all(model->chains);
}

void lull_ftrace_ended(struct lull_ftrace_model *model,
                       void (*add_ended)(void *user, uint32_t pid,
                                         const struct lull_track_ended *ended),
                       void *user)
{
    GHashTableIter iter;
    void *pid, *ended;
    g_hash_table_iter_init(&iter, model->ended);
    while (g_hash_table_iter_next(&iter, &pid, &ended)) {
        add_ended(user, GPOINTER_TO_UINT(pid), ended);
    }
    g_hash_table_remove_all(model->ended);
}

void lull_ftrace_histograms(struct lull_ftrace_model *model, struct lull_track_histograms *all)
{
    *all = model->histograms;
    for (uint32_t i = 0; i < LULL_TRACK_HISTOGRAMS; i++) {
        lull_histograms_each(&model->histograms)[i].longest[0].ns = 0;
    }
}

void lull_ftrace_sums_init(struct lull_ftrace_model *model)
{
    model->chains = g_hash_table_new_full(hash_chain, same_chain, g_free, g_free);
    model->ended = g_hash_table_new_full(NULL, NULL, NULL, g_free);
}
