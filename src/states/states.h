/* SPDX-License-Identifier: MIT */
/* States that users declare: a file of groups, whose rules say which event puts which row into which
 * state. docs/STATES.md describes the language. An engine follows the rows of a session while its events
 * are read. */
#ifndef LULL_STATES_STATES_H
#define LULL_STATES_STATES_H

#include "filter/ast.h"
#include "states/definition.h"

/* ---- the file ---- */

/* Parses the text of a file; `name` is for messages. NULL and LULL_ERROR_USAGE: up to twenty mistakes,
 * each as FILE:LINE:COLUMN, reason, line and caret. `warnings` gets a line each. */
struct lull_states *lull_states_parse(const char *text, size_t length, const char *name,
                                      GString *warnings, GError **error);
/* The same from a file, which can also be a state provider of Trace Compass (XML); with is_partial without what
 * of that cannot be translated, which `warnings` names. */
struct lull_states *lull_states_read(const char *path, bool is_partial, GString *warnings,
                                     GError **error);
/* The text that is parsed then: as it is, or translated. Free with g_free(). */
char *lull_states_text(const char *path, bool is_partial, gsize *length, bool *is_translated,
                       GString *warnings, GError **error);
void lull_states_free(struct lull_states *states);
/* A warning for each event and field that no trace declares, and that some rule needs. */
void lull_states_check(const struct lull_states *states, const struct lull_session *session,
                       GString *warnings);

/* ---- following ---- */

/* In the place of a state's number. */
enum {
    LULL_ROW_UNKNOWN = 255,
    LULL_ROW_NONE,  /* the row lives, but is in no state */
    LULL_ROW_ENDED, /* the row is over */
};

struct lull_states_row {
    /* One line of the cache. */
    uint32_t group, host;
    uint16_t state;
    uint8_t key;               /* the engine's: enum states_key */
    int64_t since_ns;          /* of the state */
    int64_t tid;               /* of the task that it is about; -1: not known */
    struct lull_value *values; /* state, parts of the key, what is kept, numbers */
    /* The engine's own. */
    uint64_t interval; /* which one the state is */
    uint32_t next_alike, next_of_group;
    struct lull_states_stack *stack; /* NULL: nothing was pushed yet */
};

/* Bytes of each row that are the user's, zeroed at first and aligned for 64-bit numbers: some of the row,
 * then some for each state, for unknown, and for none. */
struct lull_states_room {
    size_t of_row, of_state;
};

/* When rows came into new states, and who ran where the event happened. */
struct lull_states_moment {
    const struct lull_event *event; /* NULL: an `after`, or a loss */
    int64_t tid;                    /* -1: not known */
    const char *comm;               /* NULL: not known; borrowed */
    bool is_loss;
};

/* All of a row as it was until time_ns. */
struct lull_states_callbacks {
    /* Its state, or one of its numbers, is about to change. */
    void (*changes)(void *user, uint32_t row, int64_t time_ns);
    /* Its interval is over. */
    void (*ends)(void *user, uint32_t row, int64_t time_ns);
    /* Before the first event at or after the edge: returns the next edge. */
    int64_t (*edge)(void *user, int64_t edge_ns);
    /* Or NULL: how much room rows of the group have. */
    struct lull_states_room (*room)(void *user, const struct lull_states_group *group);
    /* Events may be followed a few events later: what is done and told is the same. Not with `entered`. */
    bool may_wait;
    void (*progress)(void *user); /* or NULL */
    void *progress_user;
    /* Or NULL: rows that are in new intervals, when all of the event is done. A row may be twice in
     * the list. With it, what happens without an event is done before every event of the session. */
    void (*entered)(void *user, const uint32_t *rows, size_t n,
                    const struct lull_states_moment *moment);
};

/* Why something was not done. */
struct lull_states_counts {
    uint64_t refused_rows, deep_pushes, empty_pops, refused_timers;
    const uint64_t *unmet; /* by rule of all groups in order: events of which it was not applied */
};

struct lull_states_engine;

/* Follows the session's next events until it is freed; everything is borrowed. `starts_ns` and
 * `ends_ns` are the first and the last event of each host. One watch a session. */
struct lull_states_engine *lull_states_engine_new(const struct lull_states *states,
                                                  struct lull_session *session,
                                                  const int64_t *starts_ns, const int64_t *ends_ns,
                                                  const struct lull_states_callbacks *callbacks,
                                                  void *user, int64_t edge_ns);
void lull_states_engine_free(struct lull_states_engine *engine);
/* What happens without an event until time_ns. */
void lull_states_engine_advance(struct lull_states_engine *engine, int64_t time_ns);
uint32_t lull_states_row_count(const struct lull_states_engine *engine);
/* Borrowed until the next event. */
const struct lull_states_row *lull_states_row(const struct lull_states_engine *engine,
                                              uint32_t row);
void lull_states_engine_counts(const struct lull_states_engine *engine,
                               struct lull_states_counts *counts);
/* Its room: what is of the row. */
void *lull_states_row_room(const struct lull_states_engine *engine,
                           const struct lull_states_row *row);
/* Bounds for tests: rows, timers. */
void lull_states_engine_bound(struct lull_states_engine *engine, uint32_t rows, uint64_t timers);

/* The colour of a state, "#rrggbb": what the file says, else one of those that all kinds of colour vision
 * tell apart. */
const char *lull_states_colour(const struct lull_states_group *group, uint32_t state);
/* Order of rows of one group by key: numbers, then texts. */
int lull_states_compare_keys(const struct lull_states_group *group, const struct lull_states_row *a,
                             const struct lull_states_row *b);
/* The title of a row: its template, or its key. */
void lull_states_append_title(GString *text, const struct lull_states_group *group,
                              const struct lull_states_row *row);

#endif
