/* SPDX-License-Identifier: MIT */
#include "kernel/faults.h"

#include "kernel/calls.h"

static struct lull_fault_note *note_for(struct lull_faults *faults, uint32_t task)
{
    static const struct lull_fault_note nothing = {.fault_ns = INT64_MIN,
                                                   .dirty_ns = INT64_MIN,
                                                   .group_ns = INT64_MIN,
                                                   .path = LULL_NONE,
                                                   .disk = LULL_NONE};
    while (faults->tasks.count <= task) {
        lull_vec_push(&faults->tasks, nothing);
    }
    return &faults->tasks.items[task];
}

void lull_faults_paging(struct lull_faults *faults, const struct lull_paging_fact *fact)
{
    if (fact->step != LULL_PAGING_FILE && fact->step != LULL_PAGING_DIRTY &&
        fact->step != LULL_PAGING_GROUP_RECLAIM_END) {
        return;
    }
    struct lull_fault_note *note = note_for(faults, fact->task);
    if (fact->step == LULL_PAGING_GROUP_RECLAIM_END) {
        note->group_ns = fact->time_ns;
        return;
    }
    if (fact->step == LULL_PAGING_DIRTY) {
        note->dirty_ns = fact->time_ns;
        note->disk = fact->path;
        return;
    }
    while (faults->hosts.count <= fact->host) {
        lull_vec_push(&faults->hosts, false);
    }
    faults->hosts.items[fact->host] = true;
    note->fault_ns = fact->time_ns;
    note->inode = fact->inode;
    note->path = fact->path;
}

/* Meanwhile it may have wanted another, as the spin lock of the list of who waits, and has that: it waits on. */
void lull_faults_contention(struct lull_faults *faults, const struct lull_contention_fact *fact)
{
    struct lull_fault_note *note = note_for(faults, fact->task);
    if (fact->lock != LULL_KERNEL_LOCK_NONE) {
        note->lock = fact->lock;
        note->lock_ns = fact->time_ns;
        note->lock_address = fact->address;
    } else if (note->lock_address == fact->address) {
        note->lock = LULL_KERNEL_LOCK_NONE;
    }
}

void lull_faults_free(struct lull_faults *faults)
{
    lull_vec_free(&faults->tasks);
    lull_vec_free(&faults->hosts);
}

uint32_t lull_faults_disk(const struct lull_faults *faults, uint32_t task)
{
    return task < faults->tasks.count ? faults->tasks.items[task].disk : LULL_NONE;
}

static const struct lull_fault_note *note_of(const struct lull_faults *faults, uint32_t task)
{
    return task < faults->tasks.count ? &faults->tasks.items[task] : NULL;
}

/* The kernel says so, and lets the task sleep right then, so that only the time or a deadly signal ends it. */
static bool is_dirty(const struct lull_faults *faults, const struct lull_state_fact *fact)
{
    enum { SOON_NS = 1000000 };
    const struct lull_wakeup *wakeup = fact->wakeup;
    const struct lull_fault_note *note = note_of(faults, fact->task);
    return note && note->dirty_ns != INT64_MIN && fact->letter == 'D' &&
           fact->start_ns - note->dirty_ns < SOON_NS &&
           (!wakeup || wakeup->cause == LULL_CAUSE_TIMER || wakeup->cause == LULL_CAUSE_IRQ ||
            wakeup->cause == LULL_CAUSE_UNKNOWN);
}

/* Whoever has the lock ends the wait, or sends a signal; a call that started since then wants none, so that events were lost. */
static enum lull_kernel_lock lock_of(const struct lull_faults *faults,
                                     const struct lull_state_fact *fact)
{
    const struct lull_wakeup *wakeup = fact->wakeup;
    const struct lull_fault_note *note = note_of(faults, fact->task);
    const bool can_be =
        !wakeup || wakeup->cause == LULL_CAUSE_TASK || wakeup->cause == LULL_CAUSE_UNKNOWN;
    return note && can_be && note->lock_ns <= fact->start_ns &&
                   !(fact->call && note->lock_ns < fact->call->start_ns)
               ? note->lock
               : LULL_KERNEL_LOCK_NONE;
}

/* It sleeps right after it used a page of a file, which is not there. */
static bool has_faulted(const struct lull_faults *faults, const struct lull_state_fact *fact)
{
    enum { SOON_NS = 100000 };
    const struct lull_fault_note *note = note_of(faults, fact->task);
    return note && note->fault_ns != INT64_MIN && fact->start_ns >= note->fault_ns &&
           fact->start_ns - note->fault_ns < SOON_NS &&
           !(fact->call && note->fault_ns < fact->call->start_ns);
}

/* Whether who ended the wait is a file system (fuse(4)), or provides pages of another program's memory (userfaultfd(2)). */
static bool is_provided(const struct lull_model *model, const struct lull_wakeup *wakeup)
{
    const bool has_file = wakeup && wakeup->cause == LULL_CAUSE_TASK && wakeup->file != LULL_NONE;
    const uint32_t path = has_file ? lull_model_file(model, wakeup->file)->path : LULL_NONE;
    return has_file && (g_strcmp0(lull_model_label(model, path), "/dev/fuse") == 0 ||
                        lull_wait_file_is(model, wakeup->file, "a userfaultfd"));
}

/* The kernel uses a page that a call is given, and sleeps for that, not for what the call is about: so deeply that no signal ends
 * it, but where a program provides pages, and for a disk only where it reads none itself. */
static bool needs_page(const struct lull_faults *faults, const struct lull_model *model,
                       const struct lull_state_fact *fact)
{
    if (!has_faulted(faults, fact)) {
        return false;
    }
    if (fact->wakeup && fact->wakeup->cause == LULL_CAUSE_DISK) {
        const char *call = lull_model_label(model, fact->syscall);
        return fact->letter == 'D' && call && call_kind_find(call)->io == LULL_IO_WRITE;
    }
    return fact->letter == 'D' || is_provided(model, fact->wakeup);
}

static enum lull_fault of_file(const struct lull_fault_note *note, struct lull_wait_reason *reason)
{
    reason->address = note->inode;
    reason->path = note->path;
    return LULL_FAULT_FILE;
}

/* A task that makes calls, and is in none, reads from a disk because memory that it used is there: of a file that it has
 * mapped, or in swap. */
static enum lull_fault of_disk(const struct lull_faults *faults, uint32_t host, uint32_t rwbs,
                               const struct lull_fault_note *note, int64_t start_ns,
                               struct lull_wait_reason *reason)
{
    enum { AT_ONCE_NS = 1000000 };
    /* Only for files the kernel reads ahead, or where their blocks are; that may take it longer. */
    const bool is_file = rwbs & (LULL_RWBS_READ_AHEAD | LULL_RWBS_META);
    if (!(rwbs & LULL_RWBS_READ)) {
        return LULL_FAULT_NONE;
    }
    if (host >= faults->hosts.count || !faults->hosts.items[host]) {
        return LULL_FAULT_ANY;
    }
    if (note && note->fault_ns != INT64_MIN &&
        (is_file || start_ns - note->fault_ns < AT_ONCE_NS)) {
        return of_file(note, reason);
    }
    return is_file ? LULL_FAULT_FILE : LULL_FAULT_SWAP;
}

static enum lull_fault fault_of(const struct lull_faults *faults, const struct lull_model *model,
                                const struct lull_state_fact *fact, struct lull_wait_reason *reason)
{
    enum { AFTER_RECLAIM_NS = 1000000 };
    const struct lull_wakeup *wakeup = fact->wakeup;
    const struct lull_fault_note *note = note_of(faults, fact->task);
    /* Before it returns to user space, the kernel has it free memory of its group, computes how long it has to sleep, and
     * lets it do so, so that no signal but a deadly one ends it. */
    if (wakeup && wakeup->cause == LULL_CAUSE_TIMER && fact->letter == 'D' && note &&
        !reason->is_dirty && note->group_ns != INT64_MIN &&
        fact->start_ns - note->group_ns < AFTER_RECLAIM_NS) {
        return LULL_FAULT_HIGH;
    }
    if (!lull_model_makes_calls(model, fact->task)) {
        return LULL_FAULT_NONE;
    }
    if (wakeup && wakeup->cause == LULL_CAUSE_DISK && wakeup->request != LULL_NONE) {
        return of_disk(faults, lull_model_task(model, fact->task)->host,
                       lull_model_request(model, wakeup->request)->rwbs, note, fact->start_ns,
                       reason);
    }
    /* Whoever provides pages of another program by userfaultfd(2) wakes who used one. */
    if (wakeup && wakeup->cause == LULL_CAUSE_TASK &&
        lull_wait_file_is(model, wakeup->file, "a userfaultfd")) {
        return LULL_FAULT_ANY;
    }
    /* Not for a disk: another program provides the page, or reads it, and is asked for it right away. */
    if (has_faulted(faults, fact)) {
        return of_file(note, reason);
    }
    /* It writes to a file by memory; or changes of the memory of its process are under way, or have to wait until it is there. */
    return reason->is_dirty || reason->lock == LULL_KERNEL_RWSEM_READ ? LULL_FAULT_ANY
                                                                      : LULL_FAULT_NONE;
}

struct lull_wait_reason lull_faults_reason(const struct lull_faults *faults,
                                           const struct lull_model *model,
                                           const struct lull_state_fact *fact)
{
    struct lull_wait_reason reason;
    if (lull_wait_reason_is_stop(fact, &reason) ||
        lull_wait_reason_is_freeze(model, fact, &reason)) {
        return reason;
    }
    reason = lull_wait_reason_of(fact);
    reason.is_dirty = is_dirty(faults, fact);
    reason.lock = lock_of(faults, fact);
    if (fact->syscall == LULL_NONE || (!reason.lock && needs_page(faults, model, fact))) {
        reason.fault = (uint8_t)fault_of(faults, model, fact, &reason);
    }
    return reason;
}
