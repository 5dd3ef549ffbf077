/* SPDX-License-Identifier: MIT */
/* What the parts of the tracker share: definitions compiled for a class of events (classes.c), open
 * instances and their keys (open.c), and the rules of opening and closing (tracker.c). */
#ifndef LULL_PERIOD_TRACKER_H
#define LULL_PERIOD_TRACKER_H

#include "base/vec.h"
#include "filter/program.h"
#include "kernel/running.h"
#include "period/definition.h"
#include "source/session/event_watch.h"

/* ---- keys ---- */

/* One part of a key: value `index` that an instance, or one of its ancestors, keeps. */
struct period_key_part {
    uint32_t up; /* 0: the instance itself, 1: its parent … */
    uint32_t index;
};

/* Open instances of one definition by the values of a key. */
struct period_index {
    uint32_t period;
    const struct period_key_part *parts;
    uint32_t n_parts;
    struct period_link **buckets;
    uint32_t n_buckets; /* 0 or a power of two */
    uint32_t n_links;
    struct period_link *odd; /* those whose key does not say what it equals */
};

/* A place of an open instance in an index. */
struct period_link {
    struct period_open *open;
    struct period_link *prev, *next;
    uint64_t hash;
    uint32_t n_alike; /* the link and those right after it with the same hash */
    bool is_odd, is_in;
};

/* ---- classes of events ---- */

/* How a condition finds the instances for which it may be true. */
struct period_search {
    int32_t entry;        /* of its tests; LULL_REJECT: it is never true */
    bool is_alike;        /* for all instances: what they keep is not needed */
    const int32_t *musts; /* tests of the event alone that it cannot be true without */
    uint32_t n_musts;
    uint32_t index;                /* of the tracker's indexes, or LULL_NO_PERIOD: all are tried */
    const struct lull_load *loads; /* by part of the key: what of the event is looked up */
};

/* What a class of events means for one definition. */
struct period_part {
    uint32_t period;
    struct period_search start, end; /* begin looks for instances of the parent */
    const struct lull_load *kept;
    const struct lull_load *captures[2];
};

/* A class of events that means something for some definition, or shows who runs. */
struct period_class {
    struct lull_program *program;
    const struct period_part *parts; /* in order of definition */
    uint32_t n_parts;
    struct lull_who_class who;
};

/* ---- open instances ---- */

struct period_open {
    uint32_t instance, period;
    struct period_open *parent;
    struct period_open *prev, *next; /* open ones of the definition, in order of opening */
    struct period_open *first_child, *last_child, *prev_sibling, *next_sibling;
    struct lull_value *kept;
    struct period_link *links; /* one for each index of the definition */
    uint64_t interval;         /* of the row that is in the state */
};

/* Instances of one definition that may be open at once if no key leads to those that an event
 * closes: each event looks at all of them. */
#define PERIOD_MOST_SEARCHED 1000u

/* What the tracker has for each definition. */
struct period_state {
    const struct lull_period_definition *definition;
    struct period_open *first, *last; /* open ones */
    uint32_t n_open;
    bool is_searched; /* some condition is tested for all that are open: few may be */
    LULL_VEC(uint32_t) indexes;
    struct period_open *unused; /* linked by next */
};

/* Works as a LULL_VEC. */
struct period_list {
    struct period_open **items;
    size_t count, capacity;
};

struct lull_period_tracker {
    struct lull_event_watch base;
    const struct lull_periods *periods;
    struct lull_session *session;
    struct lull_period_callbacks callbacks;
    void *user;
    int64_t start_ns, end_ns;
    uint32_t most_open, most_kept;
    struct lull_arena *programs, *records;
    GStringChunk *texts;
    GString *text; /* scratch */
    struct lull_running_table running;
    struct lull_container_history *places; /* if they are asked for; NULL: not known */
    struct period_state *states;           /* by definition */
    LULL_VEC(struct period_index) indexes;
    LULL_VEC(struct lull_period_instance) instances;
    LULL_VEC(struct lull_value) values; /* of captures */
    bool avoids_keys; /* for tests: every open instance is tried; the answer must be the same */
    uint32_t n_open;
    uint64_t n_refused;
    int64_t last_ns;
    struct period_list found, closing;
    struct lull_value now[LULL_NOW_COUNT];
    const struct lull_value *given[LULL_PERIOD_PARENT + LULL_PERIOD_MOST_DEEP];
    /* Of states; engine NULL: of events. */
    struct lull_states_engine *engine;
    LULL_VEC(struct period_open *) of_rows; /* what a row has open, or NULL */
    int64_t *row_starts_ns, *row_ends_ns;   /* by host */
};

/* tracker.c: what both kinds of periods need. The value is borrowed until it is kept. */
struct lull_value period_keep_value(struct lull_period_tracker *tracker, struct lull_value value);
/* False, and counted, if no more can be followed. */
bool period_has_room(struct lull_period_tracker *tracker, uint32_t period);
void period_open_instance(struct lull_period_tracker *tracker, struct period_open *open,
                          const struct lull_period_instance *instance);
void period_end_instance(struct lull_period_tracker *tracker, struct period_open *open,
                         int64_t end_ns, bool is_complete);

/* of_states.c: the engine of the states in the place of conditions. */
void period_follow_states(struct lull_period_tracker *tracker);

/* classes.c: lull_event_watch_ops.compile */
const void *period_compile(struct lull_event_watch *watch, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_fields *fields);

/* open.c */
struct period_open *period_open_new(struct lull_period_tracker *tracker, uint32_t period,
                                    struct period_open *parent);
/* Puts it, with what it keeps, where conditions look for it. */
void period_open_enter(struct lull_period_tracker *tracker, struct period_open *open);
/* Takes it out of all lists; it has no children any more. */
void period_open_leave(struct lull_period_tracker *tracker, struct period_open *open);
/* Adds to `found`, in order of opening, the open instances of a definition for which the search's
 * condition may be true of the event. */
void period_open_find(struct lull_period_tracker *tracker, uint32_t period,
                      const struct period_search *search, struct lull_run *run,
                      struct period_list *found);
/* The index of this key, made if there is none; or LULL_NO_PERIOD if it is too late for it. */
uint32_t period_index_of(struct lull_period_tracker *tracker, uint32_t period,
                         const struct period_key_part *parts, uint32_t n_parts);
void period_indexes_free(struct lull_period_tracker *tracker);

#endif
