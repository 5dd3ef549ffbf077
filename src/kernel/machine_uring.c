/* SPDX-License-Identifier: MIT */
/* io_uring: requests from their submission to their end, and for which of them a task waited. Who waits for requests in
 * io_uring_enter() often ends them itself after it was woken, so what a wait was for is known only when the task waits
 * again or the call returns; who looks then finds the last ends of each ring. */
#include "kernel/current_task.h"

enum {
    KEPT = 16, /* ends of a ring's requests that are remembered: those of one wait, as a rule */
    OP_TIMEOUT = 11,
    OP_LINK_TIMEOUT = 15,
    ETIME_ = 62,
    ECANCELED_ = 125,
    CQE_MORE = 2, /* the request goes on, and will say so again */
};

struct uring_request {
    uint64_t pointer, user_data;
    uint32_t ring, file;
    uint32_t before, after; /* of the same ring, by submission; after: or the next free place */
    uint8_t operation;
};

struct uring_end {
    int64_t time_ns;
    uint64_t user_data;
    uint32_t file;
    int32_t result;
    uint8_t operation;
};

struct uring {
    struct uring_end ends[KEPT];
    uint64_t n_ends;
    uint32_t oldest, newest; /* of the requests that have not ended, or LULL_NONE */
};

struct uring_waiter {
    int64_t since_ns; /* when it started to wait for the ring last */
    uint32_t ring;
};

struct urings {
    LULL_VEC(struct uring) rings;
    LULL_VEC(struct uring_request) requests;
    uint32_t free_request;
    LULL_VEC(struct uring_waiter) waiters;
    struct lull_map by_task; /* → waiters */
};

void urings_free(struct urings *urings)
{
    if (urings) {
        lull_vec_free(&urings->rings);
        lull_vec_free(&urings->requests);
        lull_vec_free(&urings->waiters);
        lull_map_free(&urings->by_task);
        g_free(urings);
    }
}

static struct urings *urings_of(struct lull_model *model)
{
    if (!model->urings) {
        model->urings = g_new0(struct urings, 1);
        model->urings->free_request = LULL_NONE;
    }
    return model->urings;
}

static uint32_t ring_of(struct urings *urings, struct machine *machine, int64_t context)
{
    uint32_t ring = lull_map_find(&machine->rings, (uint64_t)context);
    if (ring == LULL_MAP_NONE) {
        ring = (uint32_t)urings->rings.count;
        lull_vec_push(&urings->rings, (struct uring){.oldest = LULL_NONE, .newest = LULL_NONE});
        lull_map_insert(&machine->rings, (uint64_t)context, ring);
    }
    return ring;
}

static void forget(struct urings *urings, struct machine *machine, uint32_t number)
{
    struct uring_request *request = &urings->requests.items[number];
    struct uring *ring = &urings->rings.items[request->ring];
    *(request->before == LULL_NONE ? &ring->oldest
                                   : &urings->requests.items[request->before].after) =
        request->after;
    *(request->after == LULL_NONE ? &ring->newest
                                  : &urings->requests.items[request->after].before) =
        request->before;
    lull_map_remove(&machine->uring_requests, request->pointer);
    request->after = urings->free_request;
    urings->free_request = number;
}

/* Another ring was at its address before. */
static void renew(struct urings *urings, struct machine *machine, uint32_t number)
{
    struct uring *ring = &urings->rings.items[number];
    while (ring->oldest != LULL_NONE) {
        forget(urings, machine, ring->oldest);
    }
    ring->n_ends = 0;
}

static void submitted(struct urings *urings, struct machine *machine,
                      const struct lull_ev_io_uring_submit *ev)
{
    const uint32_t ring = ring_of(urings, machine, ev->ring);
    const uint32_t same = lull_map_find(&machine->uring_requests, (uint64_t)ev->request);
    if (!LULL_HAS(ev, io_uring_submit, request) || !LULL_HAS(ev, io_uring_submit, operation)) {
        return;
    }
    if (same != LULL_MAP_NONE) {
        forget(urings, machine, same); /* its end was lost */
    }
    uint32_t number = urings->free_request;
    if (number == LULL_NONE) {
        number = (uint32_t)urings->requests.count;
        lull_vec_add(&urings->requests);
    } else {
        urings->free_request = urings->requests.items[number].after;
    }
    struct uring *at = &urings->rings.items[ring];
    urings->requests.items[number] =
        (struct uring_request){.pointer = (uint64_t)ev->request,
                               .user_data = (uint64_t)ev->user_data,
                               .ring = ring,
                               .file = LULL_NONE,
                               .before = at->newest,
                               .after = LULL_NONE,
                               .operation = (uint8_t)MIN((uint64_t)ev->operation + 1, UINT8_MAX)};
    *(at->newest == LULL_NONE ? &at->oldest : &urings->requests.items[at->newest].after) = number;
    at->newest = number;
    lull_map_insert(&machine->uring_requests, (uint64_t)ev->request, number);
}

/* The request uses a descriptor of the task that submits it. */
static void has_file(struct lull_model *model, struct machine *machine, uint32_t task,
                     const struct lull_ev_io_uring_file *ev)
{
    const uint32_t number = lull_map_find(&machine->uring_requests, (uint64_t)ev->request);
    if (number != LULL_MAP_NONE && task != LULL_NONE && model->follows_files && ev->fd >= 0 &&
        ev->fd <= INT32_MAX) {
        model->urings->requests.items[number].file = files_use(model, task, (int32_t)ev->fd);
    }
}

static void ended(struct urings *urings, struct machine *machine, int64_t t,
                  const struct lull_ev_io_uring_complete *ev)
{
    const uint32_t context = ring_of(urings, machine, ev->ring); /* which may move the rings */
    struct uring *ring = &urings->rings.items[context];
    struct uring_end *end = &ring->ends[ring->n_ends++ % KEPT];
    const uint32_t number = LULL_HAS(ev, io_uring_complete, request)
                                ? lull_map_find(&machine->uring_requests, (uint64_t)ev->request)
                                : LULL_MAP_NONE;
    *end = (struct uring_end){.time_ns = t,
                              .user_data = (uint64_t)ev->user_data,
                              .file = LULL_NONE,
                              .result = (int32_t)ev->result};
    if (number != LULL_MAP_NONE) {
        end->file = urings->requests.items[number].file;
        end->operation = urings->requests.items[number].operation;
        if (!(ev->flags & CQE_MORE)) {
            forget(urings, machine, number);
        }
    }
}

static void waits(struct urings *urings, struct machine *machine, uint32_t task, int64_t t,
                  int64_t context)
{
    if (task == LULL_NONE) {
        return;
    }
    uint32_t number = lull_map_find(&urings->by_task, task);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)urings->waiters.count;
        lull_vec_add(&urings->waiters);
        lull_map_insert(&urings->by_task, task, number);
    }
    urings->waiters.items[number] =
        (struct uring_waiter){.since_ns = t, .ring = ring_of(urings, machine, context)};
}

void urings_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  enum lull_event_id id, const void *event)
{
    struct urings *urings = urings_of(model);
    switch (id) {
    case LULL_EVENT_io_uring_create: {
        const struct lull_ev_io_uring_create *ev = event;
        renew(urings, machine, ring_of(urings, machine, ev->ring));
        break;
    }
    case LULL_EVENT_io_uring_submit:
        submitted(urings, machine, event);
        break;
    case LULL_EVENT_io_uring_file: {
        const struct lull_ev_io_uring_file *ev = event;
        const uint32_t task = SCHED_CURRENT(model, machine, c, t, ev, io_uring_file);
        has_file(model, machine, task, ev);
        break;
    }
    case LULL_EVENT_io_uring_wait: {
        const struct lull_ev_io_uring_wait *ev = event;
        const uint32_t task = SCHED_CURRENT(model, machine, c, t, ev, io_uring_wait);
        waits(urings, machine, task, t, ev->ring);
        break;
    }
    default:
        ended(urings, machine, t, event);
    }
}

static bool is_time_out(const struct uring_end *end)
{
    return (end->operation == OP_TIMEOUT + 1 || end->operation == OP_LINK_TIMEOUT + 1) &&
           end->result == -ETIME_;
}

/* What of the ends since a wait started says what it was for. */
struct found {
    /* The last while it waited, by another task or an interrupt; the first afterwards, by itself. */
    const struct uring_end *within, *after;
    const struct uring_end *cancelled;
    uint32_t n;
    bool timed_out;
};

static struct found find_ends(const struct uring *ring, int64_t start_ns, int64_t end_ns,
                              int64_t until_ns)
{
    struct found found = {.n = 0};
    const uint64_t first = ring->n_ends > KEPT ? ring->n_ends - KEPT : 0;
    for (uint64_t i = first; i < ring->n_ends; i++) {
        const struct uring_end *end = &ring->ends[i % KEPT];
        if (end->time_ns < start_ns || end->time_ns > until_ns) {
            continue;
        }
        found.n++;
        if (end->time_ns <= end_ns) {
            found.within = end;
        } else if (!found.after) {
            found.after = end;
        }
        found.timed_out |= is_time_out(end);
        if (end->result == -ECANCELED_) {
            found.cancelled = end;
        }
    }
    return found;
}

/* Whether ends since then are not kept any more. */
static bool has_lost(const struct uring *ring, int64_t since_ns)
{
    return ring->n_ends > KEPT && ring->ends[ring->n_ends % KEPT].time_ns >= since_ns;
}

/* The request that waits longest of those that are no time-outs themselves. */
static const struct uring_request *oldest(const struct urings *urings, const struct uring *ring)
{
    enum { LOOKED_AT = 64 };
    uint32_t number = ring->oldest;
    for (int i = 0; i < LOOKED_AT && number != LULL_NONE; i++) {
        const struct uring_request *request = &urings->requests.items[number];
        if (request->operation != OP_TIMEOUT + 1 && request->operation != OP_LINK_TIMEOUT + 1) {
            return request;
        }
        number = request->after;
    }
    return NULL;
}

bool lull_model_uring_wait(const struct lull_model *model, uint32_t task,
                           const struct lull_uring_times *times, struct lull_uring_wait *out)
{
    const struct urings *urings = model->urings;
    const uint32_t number = urings ? lull_map_find(&urings->by_task, task) : LULL_MAP_NONE;
    if (number == LULL_MAP_NONE || urings->waiters.items[number].since_ns < times->call_ns ||
        urings->waiters.items[number].since_ns > times->start_ns) {
        return false;
    }
    const struct uring *ring = &urings->rings.items[urings->waiters.items[number].ring];
    const struct found found = find_ends(ring, times->start_ns, times->end_ns, times->until_ns);
    const bool is_lost = has_lost(ring, found.within ? times->start_ns : times->end_ns);
    const struct uring_end *end = found.within ? found.within : found.after;
    *out = (struct lull_uring_wait){.file = LULL_NONE, .n_ended = is_lost ? UINT32_MAX : found.n};
    if (end && is_lost && !found.within) {
        return true; /* which was the first is not known */
    }
    if (end && found.timed_out && (is_time_out(end) || end == found.cancelled)) {
        out->timed_out = true;
        end = found.cancelled;
    }
    if (end) {
        out->operation = end->operation;
        out->file = end->file;
        out->user_data = end->user_data;
        return true;
    }
    const struct uring_request *request = oldest(urings, ring);
    if (request) {
        out->operation = request->operation;
        out->file = request->file;
        out->user_data = request->user_data;
    }
    return true;
}
