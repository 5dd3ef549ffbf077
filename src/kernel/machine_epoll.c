/* SPDX-License-Identifier: MIT */
/* What epoll descriptors watch, from epoll_ctl(2), and from the state where it was recorded. Only a few names say what a wait is for:
 * who watches more waits for any of many, until the call ends and says which became ready. It says so by the number that the program
 * has given each, which may be an address. */
#include "kernel/machine.h"

enum { ADD = 1, DELETE = 2, MODIFY = 3, MOST_NAMED = LULL_POLLED_NAMED, MOST_COPIES = 64 };

/* What one watches. */
struct watch {
    uint32_t n; /* also those that are not in `files`; more than MOST_NAMED: or it is not known */
    uint32_t files[MOST_NAMED]; /* the first of them */
};

/* One of those that a descriptor watches, whose number is known. */
struct member {
    uint64_t data;
    uint32_t watch, file;
    bool is_shared; /* another had the number as well */
};

struct watches {
    LULL_VEC(struct watch) list;
    struct lull_map by_file; /* the oldest of the copies of an epoll descriptor → list */
    LULL_VEC(struct member) members;
    LULL_VEC(uint32_t) unused; /* members to be taken again */
    struct lull_map by_pair;   /* watch, file → members */
    struct lull_map by_data;   /* hash of watch, data → members */
};

void epoll_free(struct watches *watches)
{
    if (watches) {
        lull_vec_free(&watches->list);
        lull_map_free(&watches->by_file);
        lull_vec_free(&watches->members);
        lull_vec_free(&watches->unused);
        lull_map_free(&watches->by_pair);
        lull_map_free(&watches->by_data);
        g_free(watches);
    }
}

/* Copies of a descriptor are one epoll instance. LULL_NONE: it has too many to look at in each call. */
static uint32_t oldest(const struct lull_model *model, uint32_t file)
{
    uint32_t found = file, n = 0;
    for (uint32_t at = model->files.items[file].copies; at != file;
         at = model->files.items[at].copies) {
        if (++n > MOST_COPIES) {
            return LULL_NONE;
        }
        found = MIN(found, at);
    }
    return found;
}

/* Its number in the list, or LULL_NONE. */
static uint32_t number_of(const struct lull_model *model, uint32_t epoll)
{
    const uint32_t key = model->watches && epoll != LULL_NONE ? oldest(model, epoll) : LULL_NONE;
    return key != LULL_NONE ? lull_map_find(&model->watches->by_file, key) : LULL_NONE;
}

/* The same, of one that may be new. */
static uint32_t use(struct lull_model *model, uint32_t epoll, bool is_all_known)
{
    const uint32_t key = oldest(model, epoll);
    if (key == LULL_NONE) {
        return LULL_NONE;
    }
    if (!model->watches) {
        model->watches = g_new0(struct watches, 1);
    }
    uint32_t number = lull_map_find(&model->watches->by_file, key);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)model->watches->list.count;
        lull_map_insert(&model->watches->by_file, key, number);
        lull_vec_push(&model->watches->list, ((struct watch){.n = is_all_known ? 0 : UINT32_MAX}));
    }
    return number;
}

static bool is_open(const struct lull_model *model, uint32_t file)
{
    return model->files.items[file].close_ns == INT64_MAX;
}

/* What is closed is watched no more. Of those that are not named it is not known which are closed. */
static void drop(const struct lull_model *model, struct watch *watch, uint32_t gone)
{
    uint32_t n = 0;
    if (watch->n > MOST_NAMED) {
        return;
    }
    for (uint32_t i = 0; i < watch->n; i++) {
        if (watch->files[i] != gone && is_open(model, watch->files[i])) {
            watch->files[n++] = watch->files[i];
        }
    }
    watch->n = n;
}

/* ---- by the program's numbers ---- */

static uint64_t key_of_pair(uint32_t watch, uint32_t file)
{
    return (uint64_t)watch << 32 | file;
}

static uint64_t key_of_data(uint32_t watch, uint64_t data)
{
    return lull_hash_seeded(data, watch);
}

static void forget(struct watches *watches, uint32_t number)
{
    const struct member *member = &watches->members.items[number];
    const uint64_t key = key_of_data(member->watch, member->data);
    lull_map_remove(&watches->by_pair, key_of_pair(member->watch, member->file));
    if (lull_map_find(&watches->by_data, key) == number) {
        lull_map_remove(&watches->by_data, key);
    }
    lull_vec_push(&watches->unused, number);
}

static void remember(const struct lull_model *model, uint32_t watch, uint32_t file, uint64_t data)
{
    struct watches *watches = model->watches;
    const uint64_t key = key_of_data(watch, data);
    const uint32_t other = lull_map_find(&watches->by_data, key);
    struct member member = {.data = data, .watch = watch, .file = file};
    struct member *found = other == LULL_MAP_NONE ? NULL : &watches->members.items[other];
    if (found && found->watch == watch && found->data == data) {
        if (is_open(model, found->file)) {
            found->is_shared = member.is_shared = true;
        } else {
            forget(watches, other);
        }
    }
    uint32_t number;
    if (watches->unused.count) {
        number = lull_vec_pop(&watches->unused);
        watches->members.items[number] = member;
    } else {
        number = (uint32_t)watches->members.count;
        lull_vec_push(&watches->members, member);
    }
    lull_map_insert(&watches->by_pair, key_of_pair(watch, file), number);
    lull_map_insert(&watches->by_data, key, number);
}

/* LULL_NONE: not known, or several have that number. */
static uint32_t find_ready(const struct lull_model *model, uint32_t watch, uint64_t data)
{
    const uint32_t number = lull_map_find(&model->watches->by_data, key_of_data(watch, data));
    const struct member *member =
        number == LULL_MAP_NONE ? NULL : &model->watches->members.items[number];
    return member && member->watch == watch && member->data == data && !member->is_shared &&
                   is_open(model, member->file)
               ? member->file
               : LULL_NONE;
}

/* ---- calls ---- */

static void control(struct lull_model *model, uint32_t number, uint32_t operation, uint32_t file,
                    const uint64_t *data)
{
    struct watches *watches = model->watches;
    const uint32_t member = lull_map_find(&watches->by_pair, key_of_pair(number, file));
    const bool is_known = member != LULL_MAP_NONE;
    if (is_known && operation != DELETE && data && watches->members.items[member].data == *data) {
        return; /* only what it is watched for is another */
    }
    struct watch *watch = &watches->list.items[number];
    drop(model, watch, operation == DELETE ? file : LULL_NONE);
    if (operation == ADD && !is_known) {
        if (watch->n < MOST_NAMED) {
            watch->files[watch->n] = file;
        }
        watch->n += watch->n < UINT32_MAX;
    }
    if (is_known && (operation != MODIFY || data)) { /* else it is called as before */
        forget(watches, member);
    }
    if (operation != DELETE && data) {
        remember(model, number, file, *data);
    }
}

void epoll_controlled(struct lull_model *model, uint32_t epoll, uint32_t operation, uint32_t file,
                      const uint64_t *data)
{
    if (file == LULL_NONE) {
        return;
    }
    /* Of one that was there before it is not known what it watched then. */
    const bool is_all_known = model->files.items[epoll].open_ns != INT64_MIN;
    const uint32_t number = use(model, epoll, is_all_known);
    if (number != LULL_NONE) {
        control(model, number, operation, file, data);
    }
}

void epoll_dumped(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_epoll *ev)
{
    const uint32_t epoll = files_dumped_as(model, machine, ev->table, ev->epoll);
    const uint32_t file = files_dumped_as(model, machine, ev->table, ev->fd);
    const uint64_t data = (uint64_t)ev->data;
    if (epoll == LULL_NONE) {
        return;
    }
    const uint32_t number = use(model, epoll, true);
    if (number == LULL_NONE) {
        return;
    }
    if (file == LULL_NONE) {
        model->watches->list.items[number].n = UINT32_MAX; /* whatever that is */
    } else {
        control(model, number, ADD, file, &data);
    }
}

uint32_t epoll_label(struct lull_model *model, uint32_t epoll)
{
    const uint32_t number = number_of(model, epoll);
    if (number == LULL_NONE) {
        return LULL_NONE;
    }
    struct watch *watch = &model->watches->list.items[number];
    if (watch->n > MOST_NAMED) {
        return LULL_NONE;
    }
    drop(model, watch, LULL_NONE);
    return polled_alternatives(model, watch->files, watch->n);
}

static void add_ready(const struct lull_model *model, struct call *call, uint32_t number,
                      uint64_t data)
{
    polled_add_file(call, number == LULL_NONE ? LULL_NONE : find_ready(model, number, data));
}

void epoll_ready(const struct lull_model *model, struct call *call, uint64_t data)
{
    add_ready(model, call, number_of(model, call->file), data);
}

void epoll_ended(const struct lull_model *model, const struct call_class *call_class,
                 struct call *call, const struct lull_ev_epoll_exit *ev)
{
    const uint64_t n = ev->n_ready > 0 ? (uint64_t)ev->n_ready : 0;
    const uint32_t size = n ? (uint32_t)(ev->ready.length / n) : 0;
    const uint32_t number = number_of(model, call->file);
    for (uint64_t i = 0; size >= 8 && i < n && call->polled.n <= LULL_POLLED_NAMED; i++) {
        const struct lull_text record = {ev->ready.data + i * size, size};
        add_ready(model, call, number, calls_number_at(record, 0, 8, call_class->is_big_endian));
    }
}
