/* SPDX-License-Identifier: MIT */
/* What epoll descriptors watch, from epoll_ctl(2): of those that were made in the recording, as of others it is not known what they
 * watched before. Only a few names say what a wait is for: who watches more waits for any of many. */
#include "kernel/machine.h"

enum { ADD = 1, DELETE = 2, MOST_NAMED = LULL_POLLED_NAMED, MOST_COPIES = 64 };

/* What one watches. */
struct watch {
    uint32_t n;                 /* also those that are not in `files` */
    uint32_t files[MOST_NAMED]; /* the first of them */
};

struct watches {
    LULL_VEC(struct watch) list;
    struct lull_map by_file; /* the oldest of the copies of an epoll descriptor → list */
};

void epoll_free(struct watches *watches)
{
    if (watches) {
        lull_vec_free(&watches->list);
        lull_map_free(&watches->by_file);
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

static struct watch *watch_of(const struct lull_model *model, uint32_t file)
{
    const uint32_t key = model->watches && file != LULL_NONE ? oldest(model, file) : LULL_NONE;
    const uint32_t number =
        key != LULL_NONE ? lull_map_find(&model->watches->by_file, key) : LULL_MAP_NONE;
    return number == LULL_MAP_NONE ? NULL : &model->watches->list.items[number];
}

static bool is_open(const struct lull_model *model, uint32_t file)
{
    return model->files.items[file].close_ns == INT64_MAX;
}

/* What is closed is watched no more. Of those that are not named it is not known which are closed. */
static void drop(const struct lull_model *model, struct watch *watch, uint32_t gone)
{
    const uint32_t n_named = MIN(watch->n, MOST_NAMED);
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_named; i++) {
        if (watch->files[i] != gone && is_open(model, watch->files[i])) {
            watch->files[n++] = watch->files[i];
        }
    }
    if (watch->n <= MOST_NAMED) {
        watch->n = n;
    }
}

void epoll_controlled(struct lull_model *model, uint32_t epoll, uint32_t operation, uint32_t file)
{
    const uint32_t key = oldest(model, epoll);
    if (file == LULL_NONE || key == LULL_NONE || model->files.items[key].open_ns == INT64_MIN) {
        return;
    }
    if (!model->watches) {
        model->watches = g_new0(struct watches, 1);
    }
    struct watch *watch = watch_of(model, epoll);
    if (!watch) {
        lull_map_insert(&model->watches->by_file, key, model->watches->list.count);
        lull_vec_push(&model->watches->list, (struct watch){0});
        watch = &model->watches->list.items[model->watches->list.count - 1];
    }
    drop(model, watch, operation == DELETE ? file : LULL_NONE);
    if (operation == ADD && watch->n < MOST_NAMED) {
        watch->files[watch->n] = file;
    }
    watch->n += operation == ADD && watch->n < UINT32_MAX;
}

uint32_t epoll_label(struct lull_model *model, uint32_t epoll)
{
    struct watch *watch = watch_of(model, epoll);
    if (!watch || watch->n > MOST_NAMED) {
        return LULL_NONE;
    }
    drop(model, watch, LULL_NONE);
    return polled_alternatives(model, watch->files, watch->n);
}
