/* SPDX-License-Identifier: MIT */
/* Leases of files (fcntl(2), F_SETLEASE): who took one, and who has to wait until it is given up, or until the kernel
 * takes it away. */
#include "kernel/current_task.h"

struct lease {
    uint64_t inode;
    uint32_t dev, host;
    uint32_t holder; /* who took it last, or LULL_NONE */
};

struct lease_breaker {
    int64_t time_ns;
    uint32_t holder; /* then */
};

struct leases {
    LULL_VEC(struct lease) leases;
    LULL_VEC(struct lease_breaker) breakers;
    struct lull_map
        by_file; /* hash of host, dev, inode → the lease on such a file that was met last */
    struct lull_map by_task; /* → breakers */
};

void leases_free(struct leases *leases)
{
    if (leases) {
        lull_vec_free(&leases->leases);
        lull_vec_free(&leases->breakers);
        lull_map_free(&leases->by_file);
        lull_map_free(&leases->by_task);
        g_free(leases);
    }
}

static uint32_t lease_of(struct leases *leases, uint32_t host, int64_t dev, int64_t inode)
{
    const struct lease wanted = {(uint64_t)inode, (uint32_t)dev, host, LULL_NONE};
    const uint64_t words[] = {wanted.inode, (uint64_t)wanted.dev << 32 | host};
    const uint64_t key = lull_hash_words(words, sizeof words);
    const uint32_t found = lull_map_find(&leases->by_file, key);
    if (found != LULL_MAP_NONE) {
        const struct lease *lease = &leases->leases.items[found];
        if (lease->inode == wanted.inode && lease->dev == wanted.dev && lease->host == host) {
            return found;
        }
    }
    lull_vec_push(&leases->leases, wanted);
    lull_map_insert(&leases->by_file, key, (uint32_t)leases->leases.count - 1);
    return (uint32_t)leases->leases.count - 1;
}

static void broken(struct leases *leases, uint32_t task, int64_t t, uint32_t holder)
{
    if (task == LULL_NONE) {
        return;
    }
    uint32_t number = lull_map_find(&leases->by_task, task);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)leases->breakers.count;
        lull_vec_add(&leases->breakers);
        lull_map_insert(&leases->by_task, task, number);
    }
    leases->breakers.items[number] = (struct lease_breaker){t, holder};
}

_Static_assert(sizeof(struct lull_ev_lease_take) == sizeof(struct lull_ev_lease_give) &&
                   sizeof(struct lull_ev_lease_take) == sizeof(struct lull_ev_lease_break),
               "the three events have the same fields");

void leases_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  enum lull_event_id id, const void *event)
{
    const struct lull_ev_lease_take *ev = event;
    const uint32_t task = SCHED_CURRENT(model, machine, c, t, ev, lease_take);
    if (!LULL_HAS(ev, lease_take, inode) || !LULL_HAS(ev, lease_take, dev)) {
        return;
    }
    if (!model->leases) {
        model->leases = g_new0(struct leases, 1);
    }
    const uint32_t number = lease_of(model->leases, machine->host, ev->dev, ev->inode);
    struct lease *lease = &model->leases->leases.items[number];
    if (id == LULL_EVENT_lease_break) {
        broken(model->leases, task, t, lease->holder);
    } else if (id == LULL_EVENT_lease_take) {
        lease->holder = task;
    } else if (lease->holder == task) {
        lease->holder = LULL_NONE;
    }
}

bool lull_model_lease(const struct lull_model *model, uint32_t task, int64_t since_ns,
                      uint32_t *holder)
{
    const struct leases *leases = model->leases;
    const uint32_t number = leases ? lull_map_find(&leases->by_task, task) : LULL_MAP_NONE;
    if (number == LULL_MAP_NONE || leases->breakers.items[number].time_ns < since_ns) {
        return false;
    }
    *holder = leases->breakers.items[number].holder;
    return true;
}
