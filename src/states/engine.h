/* SPDX-License-Identifier: MIT */
/* What the parts of the engine share: rules compiled for a class of events (classes.c), rows and their
 * keys (rows.c), what happens without an event (timers.c), and the events (engine.c). */
#ifndef LULL_STATES_ENGINE_H
#define LULL_STATES_ENGINE_H

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "filter/program.h"
#include "source/session/event_watch.h"
#include "source/session/streams.h"
#include "states/states.h"

/* ---- classes of events ---- */

/* What a class of events means for one rule. */
struct states_part {
    const struct lull_states_group *group;
    const struct lull_states_rules *block;
    const struct lull_states_rule *rule;
    uint32_t number;             /* of the rule among all */
    int32_t on, condition;       /* entries of the program */
    const struct lull_load *key; /* NULL: each */
    const struct lull_load *const *others;
    const struct lull_load *operands; /* of the actions */
    bool has_operands;
    struct lull_load task;
};

/* Of a class. */
enum { STATES_HINTS = 4 };

struct states_class {
    struct lull_program *program;
    struct lull_who_class who;
    const struct states_part *parts; /* by block, then in order of rules */
    uint32_t n_parts;
    bool asks_running; /* $tid or $comm, of the task that the last sched_switch said */
    /* Nothing that its rules read goes away with the event: only integers. */
    bool can_wait;
    uint32_t field_bytes;
    const struct states_part
        *hints[STATES_HINTS]; /* whose rows its events need, most likely; the key
                                                      is one integer */
    uint32_t n_hints;
};

/* ---- the engine ---- */

/* What lull_states_row.key says: a key that is one integer is known by its hash, which no other integer has. */
enum states_key { STATES_KEY_ANY, STATES_KEY_UNSIGNED, STATES_KEY_SIGNED };

struct lull_states_text {
    char *data;
};

struct lull_states_stack {
    LULL_VEC(uint16_t) states;
};

/* Where the parts of a row of a group are in its memory, in bytes from its values, which follow the row
 * itself: texts that they own, then the user's room. */
struct states_layout {
    uint32_t texts, room, cells, cell; /* cells: of the room, those of states */
    size_t size;
    struct lull_value *shown; /* names of the states, then nothing */
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

/* An event that waits (ahead.c): a copy, and what was found of its rows. */
enum { STATES_WAITING = 16, STATES_WAITING_BYTES = 256 };

struct states_waiting {
    const struct states_class *class;
    struct lull_event event;
    struct states_found {
        uint64_t hash;
        uint32_t row;  /* one with that hash; LULL_MAP_NONE: none */
        uint8_t key;   /* enum states_key; ANY: there is none */
        bool is_there; /* `row` is that of the key */
    } found[STATES_HINTS];
    _Alignas(8) uint8_t fields[STATES_WAITING_BYTES];
};

struct lull_states_engine {
    struct lull_event_watch base;
    const struct lull_states *states;
    struct lull_session *session;
    const int64_t *starts_ns, *ends_ns;
    struct lull_states_callbacks callbacks;
    void *user;
    int64_t edge_ns;
    struct lull_missing missing;
    uint32_t n_hosts, countdown;
    int64_t quiet_ns; /* nothing happens without an event before, but for what is missing */
    bool follows_running;
    struct states_waiting *waiting; /* NULL: events do not wait */
    uint32_t n_waiting;
    const struct states_waiting *at; /* what is followed now; NULL: an event that did not wait */
    struct lull_arena *programs, *records;
    struct lull_running_table running;
    struct lull_container_history *places; /* if they are asked for; NULL: not known */
    LULL_VEC(struct lull_states_row *) rows;
    struct states_layout *layouts; /* by group */
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

/* ---- events ---- */

/* engine.c: what an event does. */
void states_follow(struct lull_states_engine *engine, const struct states_class *class,
                   const struct lull_event *event, const uint8_t *fields);
/* False if the event lacks a part of the key. */
bool states_read_key(struct lull_run *run, const struct lull_load *loads, uint32_t n,
                     struct lull_value *key);
/* timers.c: what happens without an event until time_ns. */
void states_advance(struct lull_states_engine *engine, int64_t time_ns);

/* ahead.c */
void states_wait(struct lull_states_engine *engine, const struct states_class *class,
                 const struct lull_event *event, const uint8_t *fields);
void states_finish_waiting(struct lull_states_engine *engine);

static inline struct lull_value states_value(struct lull_run *run, const struct lull_load *load)
{
    if (load->kind != LULL_LOAD_INT || load->have || load->labels) {
        return lull_run_value(run, load);
    }
    struct lull_value value = {.kind = LULL_VALUE_INT, .is_signed = load->is_signed};
    memcpy(&value.bits, run->fields + load->offset, sizeof value.bits);
    return value;
}

/* ---- rows ---- */

/* The row of this key, or LULL_MAP_NONE; `first` is what by_hash has for its hash. */
uint32_t states_row_find(const struct lull_states_engine *engine, uint32_t group, uint32_t host,
                         const struct lull_value *key, uint32_t first);
enum states_key states_key_kind(const struct lull_value *key, uint32_t n);
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
