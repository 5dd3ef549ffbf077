/* SPDX-License-Identifier: MIT */
/* What the parts of the engine share: rules compiled for a class of events (classes.c), rows and their
 * keys (rows.c), what happens without an event (timers.c), and the events (engine.c). */
#ifndef LULL_STATES_ENGINE_H
#define LULL_STATES_ENGINE_H

#include "base/map.h"
#include "base/vec.h"
#include "filter/program.h"
#include "source/session/event_watch.h"
#include "states/states.h"

/* ---- classes of events ---- */

/* What a class of events means for one rule. */
struct states_part {
    const struct lull_states_group *group;
    const struct lull_states_rule *rule;
    uint32_t number;             /* of the rule among all */
    int32_t on, condition;       /* entries of the program */
    const struct lull_load *key; /* NULL: each */
    const struct lull_load *const *others;
    const struct lull_load *operands; /* of the actions */
    struct lull_load task;
};

struct states_class {
    struct lull_program *program;
    struct lull_who_class who;
    const struct states_part *parts; /* by group, then in order of rules */
    uint32_t n_parts;
};

/* ---- the engine ---- */

/* What lull_states_row.key says: a key that is one integer is known by its hash, which no other integer has. */
enum states_key { STATES_KEY_ANY, STATES_KEY_UNSIGNED, STATES_KEY_SIGNED };

struct lull_states_text {
    char *data;
};

struct states_timer {
    int64_t time_ns;
    uint64_t order, interval;
    uint32_t row;
};

/* A rule that is to be applied to a row. */
struct states_hit {
    const struct states_part *part;
    uint32_t row;
};

struct lull_states_engine {
    struct lull_event_watch base;
    const struct lull_states *states;
    struct lull_session *session;
    const int64_t *starts_ns, *ends_ns;
    struct lull_states_callbacks callbacks;
    void *user;
    int64_t edge_ns;
    uint32_t n_hosts, next_loss, countdown;
    struct lull_arena *programs, *records;
    struct lull_running_table running;
    LULL_VEC(struct lull_states_row) rows;
    struct lull_map by_hash;
    uint32_t *first_rows;                 /* by group and host; LULL_MAP_NONE: none */
    LULL_VEC(struct states_timer) timers; /* a heap */
    LULL_VEC(struct states_hit) hits;
    LULL_VEC(uint32_t) entered; /* rows, for the callback */
    GString *comm;
    bool has_after;     /* and somebody who wants to know at once */
    GPtrArray *retired; /* texts that values may still refer to until the event is over */
    uint64_t n_timers, n_intervals, most_timers;
    uint32_t most_rows;
    struct lull_states_counts counts;
    uint64_t *unmet;
    struct lull_value now[LULL_WHO_VALUES], others[LULL_STATES_MOST_OTHERS];
    struct lull_value *blank; /* of a row that is not there */
    const struct lull_value *given[LULL_STATES_GIVEN];
};

/* classes.c: lull_event_watch_ops.compile */
const void *states_compile(struct lull_event_watch *watch, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_fields *fields);

/* ---- rows ---- */

/* The row of this key, or LULL_MAP_NONE. */
uint32_t states_row_find(const struct lull_states_engine *engine, uint32_t group, uint32_t host,
                         const struct lull_value *key, uint64_t hash);
uint64_t states_key_hash(uint32_t group, uint32_t host, const struct lull_value *key, uint32_t n);
/* A new row; LULL_MAP_NONE if there are too many. */
uint32_t states_row_add(struct lull_states_engine *engine, uint32_t group, uint32_t host,
                        const struct lull_value *key, uint64_t hash);
void states_row_act(struct lull_states_engine *engine, uint32_t row,
                    const struct lull_states_action *action, const struct lull_value *operand,
                    int64_t time_ns);
/* Reports what entered new intervals. */
void states_rows_report(struct lull_states_engine *engine, const struct lull_states_moment *moment);
/* Nothing is known of it any more. */
void states_row_lose(struct lull_states_engine *engine, uint32_t row, int64_t time_ns);
void states_rows_free(struct lull_states_engine *engine);

/* ---- timers ---- */

void states_timer_add(struct lull_states_engine *engine, uint32_t row, int64_t time_ns);

#endif
