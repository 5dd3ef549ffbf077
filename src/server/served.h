/* SPDX-License-Identifier: MIT */
/* What is served: a store, the traces it was made of, and the trees of rows that views show. */
#ifndef LULL_SERVER_SERVED_H
#define LULL_SERVER_SERVED_H

#include "base/vec.h"
#include "states/definition.h"
#include "store/store.h"

/* A line of a tree. */
struct served_entry {
    int32_t parent; /* index, or -1 */
    uint32_t row;   /* LULL_NONE: it has no states */
    uint32_t host;
    char *name;
    int32_t tid, pid, ppid, cpu; /* -1: none */
    int32_t group;               /* of declared states; -1: none */
};

struct served_tree {
    LULL_VEC(struct served_entry) entries;
    uint32_t *by_row;   /* index + 1; hosts come first */
    uint32_t *by_group; /* the same, by host and group of declared states; NULL: it has none */
};

enum { SERVED_UUID = 37 };

struct lull_periods;
struct lull_session;

struct served_trace {
    char *path, *name;
    char uuid[SERVED_UUID];
};

/* What stays while a store is made. */
struct served_about {
    struct served_trace *traces;
    uint32_t n_traces;
    char *name;
    char uuid[SERVED_UUID];
    bool is_joined;                     /* the clocks of the traces are */
    const struct lull_periods *periods; /* of --period; or NULL */
    const struct lull_states *states;   /* of --states; or NULL */
    struct server_paths *paths;         /* paths.h */
    struct server_latencies *latencies; /* latencies.h */
    struct server_events *events;       /* events.h */
    struct server_bookmarks *bookmarks; /* bookmarks.h */
    struct served_changes *changes;     /* what is found out, and what clients change */
    struct server_visitors *visitors;   /* visitors.h */
};

/* The store, or as much of it as there is: it never changes; another one follows it (stage.h). */
struct served {
    const struct served_about *about;
    struct lull_store *store;
    int64_t start_ns, end_ns;
    int64_t until_ns; /* where it will end when it is whole */
    bool is_whole;
    struct served_tree tasks, resources, declared, calls;
    gatomicrefcount uses;
};

/* `is_joined`: the clocks of the traces are. `periods` and `states` (either may be NULL) are borrowed. */
struct served_about *served_about_new(const char *const *paths, uint32_t count, bool is_joined,
                                      const struct lull_periods *periods,
                                      const struct lull_states *states);
void served_about_free(struct served_about *about);
/* The traces, to be read once more. Their clocks are joined once; `joins`: anew, for who needs to know
 * how. */
struct lull_session *served_session(const struct served_about *about, bool joins, GError **error);
/* Whether a client has deleted the experiment; the traces stay, so it can be made again. */
bool served_is_deleted(const struct served_about *about);
void served_delete(const struct served_about *about, bool is_deleted);

/* `store` becomes the property of `served`; `about` is borrowed. */
struct served *served_new(const struct served_about *about, struct lull_store *store,
                          int64_t until_ns, bool is_whole);
struct served *served_use(struct served *served);
/* Lets go of what is mapped of the store, if that is much: for answers that read all rows. */
void served_trim(const struct served *served);
/* NULL is allowed. */
void served_unuse(struct served *served);

/* The group of a row or line of declared states; NULL: it is none. */
const struct lull_states_group *served_group(const struct served *served, uint32_t row);
/* The declared state in a slot of a row, or NULL. Of several in one slot the first. */
const struct lull_states_state *served_declared(const struct served *served, uint32_t row,
                                                enum lull_store_state slot);

/* Whether the traces show what tasks called. */
bool served_has_calls(const struct served *served);

/* The number of a line in TSP, which stays the same while the store grows: hosts, groups, then rows. */
uint32_t served_id(const struct served *served, const struct served_entry *entry);
/* NULL if there is none. */
const struct served_entry *served_find(const struct served *served, const struct served_tree *tree,
                                       int64_t id);

#endif
