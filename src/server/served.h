/* SPDX-License-Identifier: MIT */
/* What is served: a store, the traces it was made of, and the trees of rows that views show. */
#ifndef LULL_SERVER_SERVED_H
#define LULL_SERVER_SERVED_H

#include "base/vec.h"
#include "store/store.h"

/* A line of a tree. Its number in TSP is its index + 1. */
struct served_entry {
    int32_t parent; /* index, or -1 */
    uint32_t row;   /* LULL_NONE: it has no states */
    uint32_t host;
    char *name;
    int32_t tid, pid, ppid, cpu; /* -1: none */
};

struct served_tree {
    LULL_VEC(struct served_entry) entries;
    uint32_t *by_row; /* index + 1 */
};

enum { SERVED_UUID = 37 };

struct served_trace {
    char *path, *name;
    char uuid[SERVED_UUID];
};

struct served {
    struct lull_store *store;
    struct served_trace *traces;
    uint32_t n_traces;
    char *name;
    char uuid[SERVED_UUID];
    int64_t start_ns, end_ns;
    struct served_tree tasks, resources;
    struct server_paths *paths;       /* paths.h */
    struct server_visitors *visitors; /* visitors.h */
};

/* `store` becomes the property of `served`, which borrows nothing. `is_joined`: the clocks of the
 * traces are. */
struct served *served_new(struct lull_store *store, const char *const *paths, uint32_t count,
                          bool is_joined);
void served_free(struct served *served);

#endif
