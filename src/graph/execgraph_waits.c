/* SPDX-License-Identifier: MIT */
/* What is noted about each wait while the execution graph is built: why the task waited, who or what
 * ended it, and which of its waits were one wait with time-outs in between. */
#include "graph/execgraph_private.h"

static __attribute__((noinline)) void add_waits(struct lull_execgraph *eg, uint32_t task)
{
    while (eg->last_waits.count <= task) {
        lull_vec_push(&eg->last_waits, (struct wait_note){.evidence = LULL_NONE,
                                                          .refused = LULL_NONE,
                                                          .tries = LULL_NONE,
                                                          .left_ns = -1,
                                                          .loop = {.ready_ns = INT64_MIN,
                                                                   .slept_ns = INT64_MIN,
                                                                   .sent_on = LULL_NONE,
                                                                   .turn = LULL_NONE}});
        lull_vec_push(&eg->sent, (struct sent_note){.file = LULL_NONE});
    }
}

/* The last wait of a task in the call that it is in; its place in `sent` is made too. */
static inline struct wait_note *last_wait(struct lull_execgraph *eg, uint32_t task)
{
    if (G_UNLIKELY(eg->last_waits.count <= task)) {
        add_waits(eg, task);
    }
    return &eg->last_waits.items[task];
}

enum { EDEADLK_ = 35 };

/* A task that runs for more than one part in so many of the time that it tried before does not only try again. */
enum { TRY_SHARE = 10 };

/* glibc's condition variables use two words by turns, which lie side by side. */
static bool is_same_futex(uint64_t a, uint64_t b)
{
    return a && a / 8 == b / 8;
}

/* Whether a wait is for the same as one that timed out. What poll() waits for may not be known yet. */
static bool is_again(const struct timeout_note *tried, const struct lull_wait_reason *reason)
{
    return lull_wait_reason_is_imposed(reason) ? false
           : tried->address || reason->address
               ? is_same_futex(tried->address, reason->address)
               : tried->call == reason->call && tried->fd == reason->fd &&
                     (tried->file == reason->file ||
                      (reason->fd < 0 && (tried->file == LULL_NONE || reason->file == LULL_NONE)));
}

/* Who waits for a lock a little at a time, as Python does and Java, waited for who woke it in the
 * end. evidence: of the wait that ends. */
static void note_waker(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                       const struct lull_wait_reason *reason, uint32_t evidence)
{
    struct wait_note *wait = last_wait(eg, fact->task);
    uint32_t i = wait->tries;
    if (i == LULL_NONE || !fact->wakeup || !is_again(&eg->timeouts.items[i], reason)) {
        return;
    }
    bool is_try = wait->left_ns >= 0 && !wait->has_come;
    if (is_try) {
        lull_map_insert(&eg->tries_of, evidence, i);
    }
    wait->has_come |= reason->address == 0 && fact->wakeup->cause != LULL_CAUSE_TIMER;
    if (reason->address == 0 || reason->release != reason->call ||
        fact->wakeup->task == LULL_NONE) {
        return;
    }
    while (i != LULL_NONE && is_again(&eg->timeouts.items[i], reason)) {
        eg->timeouts.items[i].later = is_try ? fact->wakeup->task : LULL_NONE;
        is_try &= eg->timeouts.items[i].n_tries > 1;
        i = wait->tries = eg->timeouts.items[i].before;
    }
}

static bool is_polled(const struct lull_execgraph *eg, const struct lull_polled *polled,
                      const struct sent_note *sent)
{
    bool found = polled->n == 0;
    for (uint32_t i = 0; i < polled->n && !found; i++) {
        found = polled->files[i] == sent->file ||
                lull_model_file(eg->model, polled->files[i])->path == sent->path;
    }
    return found;
}

/* What a server sent last to one of many clients was an answer itself, as a rule. */
static bool is_answered(const struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                        const struct sent_note *sent)
{
    const bool is_for_it =
        fact->polled ? fact->polled->n == 1 : fact->io && fact->io->file == sent->file;
    return lull_model_file(eg->model, sent->file)->is_accepted && !is_for_it;
}

static void note_timeout(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                         const struct wait_note *wait, const struct lull_wait_reason *reason,
                         bool is_signalled)
{
    struct wait_note *now = last_wait(eg, fact->task);
    const struct timeout_note *before =
        now->tries != LULL_NONE && is_again(&eg->timeouts.items[now->tries], reason)
            ? &eg->timeouts.items[now->tries]
            : NULL;
    const bool is_try = before && now->left_ns >= 0;
    /* What was asked for in this call has no answer, whatever it sent before. */
    const struct sent_note asked = {fact->start_ns, -1, reason->file, reason->path};
    const bool is_connect = lull_wait_reason_is_connect(eg->model, reason);
    struct sent_note sent = is_connect ? asked : eg->sent.items[fact->task];
    if (sent.file != LULL_NONE &&
        ((fact->polled && !is_polled(eg, fact->polled, &sent)) || is_answered(eg, fact, &sent))) {
        sent.file = LULL_NONE; /* it waited for another */
    }
    const bool is_cut = is_try && before->cut_ns != INT64_MAX;
    const int64_t cut_ns = is_cut ? before->cut_ns : wait->start_ns;
    const struct timeout_note note = {.start_ns = is_cut ? before->start_ns : fact->start_ns,
                                      .end_ns = wait->end_ns,
                                      .sent = sent,
                                      .address = reason->address,
                                      .call = reason->call,
                                      .file = reason->file,
                                      .fd = reason->fd,
                                      .since_ns = is_try ? before->since_ns : wait->start_ns,
                                      .cut_ns = is_signalled ? cut_ns : INT64_MAX,
                                      .n_tries = is_try ? before->n_tries + 1 : 1,
                                      .n_signals = (is_try ? before->n_signals : 0) + is_signalled,
                                      .before = before ? now->tries : LULL_NONE,
                                      .later = LULL_NONE};
    now->tries = (uint32_t)eg->timeouts.count;
    now->left_ns = (wait->end_ns - wait->start_ns) / TRY_SHARE;
    now->is_ticked = is_signalled && wait->is_by_timer;
    now->is_cut = is_signalled && !wait->is_by_timer;
    if (!is_signalled) {
        lull_map_insert(&eg->timeout_of, wait->evidence, (uint32_t)eg->timeouts.count);
    }
    lull_vec_push(&eg->timeouts, note);
}

/* A wait in io_uring_enter() is over, as is known when the call returns or waits again, at until_ns: says for which
 * request it was. Returns whether its own time-out ended it. */
static bool name_request(struct lull_execgraph *eg, uint32_t task, const struct wait_note *wait,
                         int64_t call_ns, int64_t until_ns)
{
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, wait->evidence);
    const struct lull_uring_times times = {call_ns, wait->start_ns, wait->end_ns, until_ns};
    struct evidence *evidence = &eg->evidence.items[wait->evidence];
    struct lull_uring_wait found;
    if (!reason || !lull_model_uring_wait(eg->model, task, &times, &found) ||
        !lull_wait_reason_is_uring(eg->model, reason)) {
        return false;
    }
    struct lull_wait_reason named = *reason;
    lull_wait_reason_set_uring(&named, &found);
    evidence->reason = lull_wait_reasons_add(&eg->reasons, &named);
    if (found.operation && (found.user_data || found.n_ended > 1)) {
        lull_map_insert(&eg->uring_of, wait->evidence, (uint32_t)eg->urings.count);
        lull_vec_push(&eg->urings, (struct uring_note){found.user_data, found.n_ended});
    }
    return found.timed_out || (found.n_ended == 0 && evidence->waker == LULL_NONE &&
                               evidence->index == LULL_NONE && !evidence->is_open);
}

uint32_t lull_waits_note(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                         uint32_t packet)
{
    const struct lull_wakeup *wakeup = fact->wakeup;
    struct evidence evidence = {.label = LULL_NONE,
                                .reason = LULL_NONE,
                                .index = packet,
                                .waker = LULL_NONE,
                                .is_open = !wakeup};
    const struct lull_wait_reason reason = lull_faults_reason(&eg->faults, eg->model, fact);
    if (reason.call != LULL_NONE || reason.release != LULL_NONE || reason.fault || reason.stopped ||
        reason.is_dirty || reason.lock) {
        evidence.reason = lull_wait_reasons_add(&eg->reasons, &reason);
    }
    if (reason.call != LULL_NONE) {
        struct wait_note *wait = last_wait(eg, fact->task);
        wait->loop.ready_ns = INT64_MIN; /* what was ready, others use */
        if (wait->evidence != LULL_NONE) {
            name_request(eg, fact->task, wait, fact->call ? fact->call->start_ns : INT64_MIN,
                         fact->start_ns);
        }
        if (wait->evidence != LULL_NONE) {
            lull_map_insert(&eg->before_of, (uint32_t)eg->evidence.count, wait->evidence);
        }
        if (wait->evidence == LULL_NONE || !wait->is_by_timer) {
            wait->polled_ns = fact->start_ns;
        }
        wait->is_by_timer = wakeup && wakeup->cause == LULL_CAUSE_TIMER;
        wait->evidence = (uint32_t)eg->evidence.count;
        wait->start_ns = fact->start_ns;
        wait->end_ns = fact->end_ns;
        note_waker(eg, fact, &reason, wait->evidence);
    }
    if (wakeup) {
        evidence.label = wakeup->label;
        evidence.waker = wakeup->task;
        if (wakeup->cause != LULL_CAUSE_NETWORK) {
            evidence.index = wakeup->request;
            evidence.is_request = wakeup->cause == LULL_CAUSE_DISK;
        }
    }
    if (reason.is_dirty) {
        evidence.is_dirty = true;
        evidence.label = lull_faults_disk(&eg->faults, fact->task);
    }
    if (wakeup && (wakeup->raiser != LULL_NONE || wakeup->raiser_label != LULL_NONE)) {
        lull_map_insert(&eg->raiser_of, (uint32_t)eg->evidence.count, (uint32_t)eg->raisers.count);
        lull_vec_push(&eg->raisers, (struct raiser_note){wakeup->raiser, wakeup->raiser_label});
    }
    if (!wakeup) {
        lull_map_insert(&eg->open_of, fact->task, (uint32_t)eg->open_waits.count);
        lull_vec_push(
            &eg->open_waits,
            (struct open_note){.start_ns = fact->start_ns,
                               .end_ns = fact->end_ns,
                               .task = fact->task,
                               .is_older = fact->call && fact->call->start_ns == INT64_MIN,
                               .refused = last_wait(eg, fact->task)->refused,
                               .evidence = (uint32_t)eg->evidence.count,
                               .holder = LULL_NONE});
    }
    lull_vec_push(&eg->evidence, evidence);
    if (fact->chain != LULL_NONE) {
        while (eg->chains.count + 1 < eg->evidence.count) {
            lull_vec_push(&eg->chains, LULL_NONE);
        }
        lull_vec_push(&eg->chains, fact->chain);
    }
    return eg->evidence.count - 1;
}

/* The task does something for others. */
static void note_use(struct wait_note *wait)
{
    if (!wait->is_ticked && !wait->is_cut) {
        wait->left_ns = -1;
    }
}

void lull_waits_activity(struct lull_execgraph *eg, const struct lull_state_fact *fact)
{
    if (fact->state == LULL_STATE_RUNNING && fact->task < eg->last_waits.count) {
        eg->last_waits.items[fact->task].left_ns -= fact->end_ns - fact->start_ns;
    } else if (fact->state == LULL_STATE_NONE && fact->task < eg->last_waits.count) {
        eg->last_waits.items[fact->task].left_ns = -1;
    }
    if (fact->wakeup && fact->wakeup->cause == LULL_CAUSE_TASK &&
        fact->wakeup->task < eg->last_waits.count) {
        note_use(&eg->last_waits.items[fact->wakeup->task]);
    }
}

/* Who is interrupted and asks again, over the network or where it waits, waits for the answer to that. */
static bool asks_again(const struct lull_execgraph *eg, const struct wait_note *wait, uint32_t file)
{
    return wait->tries != LULL_NONE && (lull_model_file(eg->model, file)->type == LULL_FILE_NET ||
                                        eg->timeouts.items[wait->tries].file == file);
}

/* A socket that was to be connected without waiting: whether the task asks how that ended, or does not want to know. */
static bool asks_of_connection(const struct lull_execgraph *eg,
                               const struct lull_syscall_fact *fact)
{
    enum { EALREADY_ = 114 };
    const char *call = lull_model_label(eg->model, fact->name);
    return fact->io->kind == LULL_IO_CLOSE || strcmp(call, "getsockopt") == 0 ||
           (strcmp(call, "connect") == 0 && fact->has_ret && fact->error != EALREADY_);
}

static void note_connection(struct lull_execgraph *eg, const struct lull_syscall_fact *fact)
{
    const struct lull_io *io = fact->io;
    if (io->kind == LULL_IO_CONNECT) {
        last_wait(eg, fact->task); /* makes the place in `sent` */
        eg->has_asked = true;
        eg->sent.items[fact->task] = (struct sent_note){fact->end_ns, ASKED_TO_CONNECT, io->file,
                                                        lull_model_file(eg->model, io->file)->path};
        return;
    }
    struct sent_note *sent = fact->task < eg->sent.count ? &eg->sent.items[fact->task] : NULL;
    if (sent && sent->bytes == ASKED_TO_CONNECT && sent->file == io->file &&
        asks_of_connection(eg, fact)) {
        sent->file = LULL_NONE;
    }
}

/* What a task sent and nothing has answered yet. */
static void note_sent(struct lull_execgraph *eg, const struct lull_syscall_fact *fact)
{
    const struct lull_io *io = fact->io;
    if (!io || io->file == LULL_NONE) {
        return;
    }
    struct wait_note *wait = last_wait(eg, fact->task); /* makes the place in `sent`, too */
    if (io->kind >= LULL_IO_OPEN ||
        wait->loop.ready_ns != INT64_MIN) { /* not epoll_ctl() and the like */
        lull_asked_use(eg, fact, &wait->loop);
    }
    if (io->kind != LULL_IO_WRITE && io->kind != LULL_IO_READ) {
        if (G_UNLIKELY(io->kind == LULL_IO_CONNECT || eg->has_asked)) {
            note_connection(eg, fact);
        }
        return;
    }
    /* sendmmsg() says how many messages there were, not how long they are. */
    if (io->bytes == 0 || (io->bytes < 0 && (!fact->has_ret || fact->ret <= 0))) {
        return;
    }
    struct sent_note *sent = &eg->sent.items[fact->task];
    const struct lull_file *file = lull_model_file(eg->model, io->file);
    if (io->kind == LULL_IO_WRITE && asks_again(eg, wait, io->file)) {
        wait->left_ns = -1;
    } else if (io->kind == LULL_IO_WRITE) {
        note_use(wait);
    }
    if (io->kind == LULL_IO_WRITE &&
        (file->type == LULL_FILE_NET || file->type == LULL_FILE_SOCKET)) {
        *sent = (struct sent_note){fact->end_ns, io->bytes, io->file, file->path};
    } else if (io->kind == LULL_IO_READ && sent->file == io->file) {
        sent->file = LULL_NONE;
    }
}

/* Of the call, or of the one that the kernel has restarted with it. */
static uint32_t name_of(const struct lull_syscall_fact *fact)
{
    return fact->cut ? fact->cut->name : fact->name;
}

/* What a call opens, or whom it connects with, is known when it ends: for that were its waits, from the last back to
 * the first. */
static void name_object(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                        uint32_t evidence)
{
    while (evidence < eg->evidence.count) {
        const struct lull_wait_reason *reason = lull_evidence_reason(eg, evidence);
        struct lull_wait_reason named;
        if (!reason || reason->call != name_of(fact)) {
            return;
        }
        named = *reason;
        if (lull_wait_reason_learn(eg->model, &named, fact)) {
            eg->evidence.items[evidence].reason = lull_wait_reasons_add(&eg->reasons, &named);
        } else if (!reason->fault) {
            return;
        }
        evidence = lull_map_find(&eg->before_of, evidence); /* LULL_MAP_NONE: it was the first */
    }
}

/* Timers ended the wait that an opener has for a lease, while its holder kept that: it was for the holder all the same. */
static void name_holder(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                        const struct wait_note *wait)
{
    uint32_t holder, evidence = wait->evidence;
    if ((!wait->is_by_timer && wait->polled_ns == wait->start_ns) ||
        !lull_model_lease(eg->model, fact->task, fact->start_ns, &holder)) {
        return;
    }
    while (evidence < eg->evidence.count) { /* LULL_MAP_NONE: it was the first */
        lull_map_insert(&eg->lease_of, evidence, holder == LULL_NONE ? UNKNOWN_HOLDER : holder);
        evidence = lull_map_find(&eg->before_of, evidence);
    }
}

/* Whether a signal interrupted the wait, which was not for one. */
static bool is_signalled(const struct lull_execgraph *eg, const struct lull_wait_reason *reason,
                         struct lull_wait_end end)
{
    return lull_wait_is_interrupted(end) &&
           lull_wait_reason_kind(eg->model, reason) != LULL_WAIT_SIGNAL;
}

/* The task has waited in the call: `last`, which is over with it. */
static __attribute__((noinline)) void
end_wait(struct lull_execgraph *eg, const struct lull_syscall_fact *fact, struct wait_note *last)
{
    const struct wait_note wait = *last;
    last->evidence = LULL_NONE;
    last->has_come = false;
    name_object(eg, fact, wait.evidence);
    name_holder(eg, fact, &wait);
    const struct lull_wait_end end = {fact->has_ret, fact->ret == 0, fact->error};
    const bool timed_out = name_request(eg, fact->task, &wait, fact->start_ns, fact->end_ns) &&
                           fact->has_ret && !fact->error;
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, wait.evidence);
    const bool is_named = reason && reason->call == name_of(fact);
    if (is_named && is_signalled(eg, reason, end)) {
        note_timeout(eg, fact, &wait, reason, true);
        return;
    }
    if (wait.has_come) {
        last->left_ns = -1; /* what it waits for next is another thing */
    }
    if (!is_named) {
        return;
    }
    if (lull_asked_is_loop(eg, reason)) {
        lull_asked_ready(eg, fact, &last->loop, wait.start_ns, wait.end_ns);
    }
    const struct timeout_note *tried =
        wait.tries == LULL_NONE ? NULL : lull_evidence_tries(eg, wait.evidence);
    if (tried && tried->cut_ns != INT64_MAX) {
        lull_graph_edge_since(eg->graph, fact->task, wait.end_ns, tried->cut_ns);
    }
    if (eg->evidence.items[wait.evidence].waker == LULL_NONE &&
        eg->evidence.items[wait.evidence].index == LULL_NONE &&
        (timed_out || lull_wait_reason_timed_out(eg->model, reason, end))) {
        note_timeout(eg, fact, &wait, reason, false);
    }
}

/* Whether the call that the task has waited in, if it has, is for the same as the last that was interrupted. */
static bool goes_on(const struct lull_execgraph *eg, const struct wait_note *last)
{
    const struct lull_wait_reason *reason =
        last->evidence == LULL_NONE ? NULL : lull_evidence_reason(eg, last->evidence);
    return reason && last->tries != LULL_NONE && is_again(&eg->timeouts.items[last->tries], reason);
}

/* Whether a call says nothing of what a signal was good for: it is the end of its handler, or who interrupted a wait looks at the
 * clock before going on. */
static bool is_of_handling(const struct lull_execgraph *eg, uint32_t name)
{
    static const char *const names[] = {"rt_sigreturn",    "sigreturn",     "rt_sigprocmask",
                                        "rt_sigaction",    "clock_gettime", "gettimeofday",
                                        "clock_gettime64", "time"};
    const char *call = lull_model_label(eg->model, name);
    bool found = false;
    for (size_t i = 0; i < G_N_ELEMENTS(names) && !found; i++) {
        found = strcmp(call, names[i]) == 0;
    }
    return found;
}

void lull_waits_syscall(struct lull_execgraph *eg, const struct lull_syscall_fact *fact)
{
    note_sent(eg, fact);
    lull_modes_note(eg, fact);
    struct wait_note *last = last_wait(eg, fact->task);
    if (G_UNLIKELY(last->is_cut) && !goes_on(eg, last) && !is_of_handling(eg, fact->name)) {
        last->is_cut = false;
        last->left_ns = -1;
    }
    if (!fact->is_open) {
        last->refused = fact->has_ret && fact->error == EDEADLK_ ? fact->name : LULL_NONE;
    }
    if (G_UNLIKELY(last->evidence != LULL_NONE)) {
        end_wait(eg, fact, last);
    }
}
