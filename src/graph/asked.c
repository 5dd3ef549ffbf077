/* SPDX-License-Identifier: MIT */
/* A task that waits for one of several descriptors, as servers do that have many requests under way: since when it has waited
 * for the one that became ready. That is since it first waited after it last used that, be it that it asked there for what has
 * come now, or that it took what came before; what it did after that first wait was for others. */
#include "graph/execgraph_private.h"

/* What brings something to whoever waits for it; a file on a disk is always ready. */
static bool is_awaited(const struct lull_execgraph *eg, uint32_t file)
{
    return file != LULL_NONE && lull_model_file(eg->model, file)->type > LULL_FILE_DISK;
}

/* When its user first waited after it last used the file; INT64_MAX: it has not, or nobody used it. */
static int64_t waited_since(const struct lull_execgraph *eg, uint32_t file)
{
    const uint32_t turn = file < eg->used_in.count ? eg->used_in.items[file] : LULL_NONE;
    return turn == LULL_NONE ? INT64_MAX : eg->turns.items[turn];
}

static void set_asked(struct lull_execgraph *eg, uint32_t task, int64_t ready_ns, int64_t asked_ns)
{
    const uint32_t host = lull_model_task(eg->model, task)->host;
    if (asked_ns > lull_execgraph_host(eg, host)->missing_ns) { /* else it may have used it since */
        lull_graph_wait_asked(eg->graph, task, ready_ns, asked_ns);
    }
}

/* Of several that were ready, epoll_wait() names the one first that was ready first; the others have an order of their own. */
static int64_t waited_since_of(const struct lull_execgraph *eg,
                               const struct lull_syscall_fact *fact)
{
    const struct lull_polled *polled = fact->polled;
    const bool is_ordered = g_str_has_prefix(lull_model_label(eg->model, fact->name), "epoll");
    int64_t asked_ns = waited_since(eg, polled->files[0]);
    for (uint32_t i = 1; i < polled->n && !is_ordered; i++) {
        asked_ns = MAX(asked_ns, waited_since(eg, polled->files[i]));
    }
    return asked_ns;
}

void lull_asked_ready(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                      struct wait_note *wait, int64_t start_ns, int64_t end_ns)
{
    wait->ready_ns = INT64_MIN;
    if (wait->turn != LULL_NONE) {
        eg->turns.items[wait->turn] = start_ns;
        wait->turn = LULL_NONE;
    }
    if (fact->is_open || !fact->has_ret || fact->ret <= 0 || fact->error) {
        return;
    }
    if (fact->polled && fact->polled->n) {
        set_asked(eg, fact->task, end_ns, waited_since_of(eg, fact));
    } else {
        wait->ready_ns = end_ns; /* it is what the task uses next */
    }
}

static void set_used(struct lull_execgraph *eg, uint32_t file, struct wait_note *wait)
{
    const bool is_known = file < eg->used_in.count && eg->used_in.items[file] != LULL_NONE;
    if (is_known && eg->used_in.items[file] == wait->turn) {
        return; /* nearly all */
    }
    if (!is_known && !is_awaited(eg, file)) {
        return;
    }
    if (wait->turn == LULL_NONE) {
        wait->turn = (uint32_t)eg->turns.count;
        lull_vec_push(&eg->turns, INT64_MAX);
    }
    while (eg->used_in.count <= file) {
        lull_vec_push(&eg->used_in, LULL_NONE);
    }
    eg->used_in.items[file] = wait->turn;
}

static void take_next(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                      struct wait_note *wait)
{
    const struct lull_io *io = fact->io;
    /* Of an epoll or a timerfd that is only set, nothing can be said. */
    const bool is_set =
        io->kind == LULL_IO_OTHER && lull_model_file(eg->model, io->file)->type == LULL_FILE_OTHER;
    if (io->kind == LULL_IO_OPEN) { /* accept(), as a rule: nothing was asked for */
        wait->ready_ns = INT64_MIN;
    } else if (is_awaited(eg, io->file) && !is_set) {
        set_asked(eg, fact->task, wait->ready_ns, waited_since(eg, io->file));
        wait->ready_ns = INT64_MIN;
    }
}

void lull_asked_use(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                    struct wait_note *wait)
{
    const struct lull_io *io = fact->io;
    if (G_UNLIKELY(wait->ready_ns != INT64_MIN)) {
        take_next(eg, fact, wait);
    }
    const bool has_moved = io->bytes > 0 || (io->bytes < 0 && fact->has_ret && fact->ret > 0);
    if (io->kind == LULL_IO_CONNECT ||
        (has_moved &&
         (io->kind == LULL_IO_WRITE || io->kind == LULL_IO_READ || io->kind == LULL_IO_COPY))) {
        set_used(eg, io->file, wait);
        set_used(eg, io->to_file, wait);
    }
}
