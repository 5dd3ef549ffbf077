/* SPDX-License-Identifier: MIT */
/* States and arrows for a picture of so many columns: what is as wide as a column has its exact
 * times; what is narrower becomes columns of the state that most of the time was spent in. */
#include "server/states.h"

#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "server/state_facts.h"
#include "server/view.h"

enum {
    STATES_PER_ROW = 600,
    STATES_MOST = 40000,
    ARROWS_MOST = 5000,
    FILTERED_MOST = 2000000, /* intervals looked at by filters */
    STEPS_MOST = 160000,     /* and for arrows, */
    STEPS_LEAST = 16,        /* but at least so many in a cell */
    CELL_MOST = 64,
    COLUMNS_MOST = 1 << 17
};

/* ---- states ---- */

struct picture {
    const struct served *served;
    const struct served_entry *entry;
    const struct server_filters *filters; /* NULL: none */
    uint32_t *steps;                      /* intervals that filters may still look at */
    uint32_t row;
    enum lull_store_kind kind;
    int64_t start_ns, end_ns, first;
    unsigned shift;
    uint32_t count;
    uint32_t most; /* states */
    uint8_t *shares;
};

static void append_text(GString *out, const char *key, const char *text)
{
    g_string_append_printf(out, ",\"%s\":", key);
    lull_json_append(out, text, strlen(text));
}

static void append_state(GString *out, const struct picture *picture, int64_t start_ns,
                         int64_t end_ns, enum lull_store_state state, const char *label,
                         unsigned tags)
{
    g_string_append_printf(out, "%s{\"start\":%" PRId64 ",\"end\":%" PRId64,
                           out->str[out->len - 1] == '[' ? "" : ",", start_ns, end_ns);
    if (label) {
        append_text(out, "label", label);
    }
    server_append_style(out, picture->served, picture->row, state);
    if (tags) {
        g_string_append_printf(out, ",\"tags\":%u", tags);
    }
    g_string_append_c(out, '}');
}

static unsigned dominant(const uint8_t *shares)
{
    unsigned most = 0;
    for (unsigned s = 1; s < LULL_STORE_STATES; s++) {
        most = shares[s] > shares[most] ? s : most;
    }
    return most;
}

/* Where the run of columns with the same state ends. */
static int64_t end_of_run(const struct picture *picture, uint32_t column, unsigned state)
{
    do {
        column++;
    } while (column < picture->count &&
             dominant(picture->shares + (size_t)column * LULL_STORE_STATES) == state &&
             picture->shares[(size_t)column * LULL_STORE_STATES + state] < 255);
    return (picture->first + column) * (INT64_C(1) << picture->shift);
}

/* What most of a column is, of which the part before now_ns is drawn already, in one state. */
static unsigned dominant_rest(const struct picture *picture, uint32_t column, int64_t now_ns,
                              unsigned drawn)
{
    uint8_t rest[LULL_STORE_STATES];
    const int64_t start_ns = (picture->first + column) * (INT64_C(1) << picture->shift);
    const int64_t share = (int64_t)(((__int128)(now_ns - start_ns) * 255) >> picture->shift);
    memcpy(rest, picture->shares + (size_t)column * LULL_STORE_STATES, sizeof rest);
    rest[drawn] = (uint8_t)MAX(rest[drawn] - share, 0);
    return dominant(rest);
}

/* The interval at now_ns: the cursor's next one if it `follows`, else it is looked for. */
static bool find_interval(const struct picture *picture, int64_t now_ns, bool follows,
                          struct lull_store_cursor *cursor, const struct lull_store_interval **at,
                          GError **error)
{
    GError *failure = NULL;
    if (!follows && !lull_store_seek(picture->served->store, picture->row, now_ns, cursor, error)) {
        return false;
    }
    *at = lull_store_next(cursor, &failure);
    if (failure) {
        g_propagate_error(error, failure);
    }
    return !failure;
}

/* ---- filters ---- */

static unsigned tags_of(const struct picture *picture, enum lull_store_state state,
                        const struct lull_store_interval *at)
{
    struct server_state_facts facts;
    if (!picture->filters) {
        return 0;
    }
    server_state_facts(picture->served, picture->entry, state, at, &facts);
    return server_filters_tags(picture->filters, facts.all, facts.n);
}

/* Of all intervals in a column together, as long as there are steps left. */
static bool tags_within(const struct picture *picture, int64_t start_ns, int64_t end_ns,
                        unsigned *tags, GError **error)
{
    struct lull_store_cursor cursor;
    const struct lull_store_interval *at;
    GError *failure = NULL;
    bool is_first = true;
    if (!lull_store_seek(picture->served->store, picture->row, start_ns, &cursor, error)) {
        return false;
    }
    while (*picture->steps > 0 && (at = lull_store_next(&cursor, &failure)) &&
           at->start_ns < end_ns) {
        const unsigned own = tags_of(picture, at->state, at);
        *tags = is_first ? own : server_tags_of_both(*tags, own);
        is_first = false;
        --*picture->steps;
    }
    if (failure) {
        g_propagate_error(error, failure);
    }
    return !failure;
}

/* Of a run of columns; if it is looked into, it ends where they become others. */
static bool tags_of_run(const struct picture *picture, enum lull_store_state state,
                        int64_t start_ns, int64_t *end_ns, unsigned *tags, GError **error)
{
    const int64_t run_ns = *end_ns;
    *tags = tags_of(picture, state, NULL);
    if (!server_filters_are_deep(picture->filters)) {
        return true;
    }
    for (int64_t now_ns = start_ns; now_ns < run_ns; now_ns = *end_ns) {
        unsigned next = tags_of(picture, state, NULL);
        const int64_t edge_ns = ((now_ns >> picture->shift) + 1) * (INT64_C(1) << picture->shift);
        if (!tags_within(picture, now_ns, edge_ns, &next, error)) {
            return false;
        }
        if (now_ns > start_ns && next != *tags) {
            break;
        }
        *tags = next;
        *end_ns = MIN(edge_ns, run_ns);
    }
    return true;
}

/* ---- rows ---- */

/* States of a row, touching each other. False if there are too many. */
static bool draw(const struct picture *picture, GString *out, GError **error)
{
    struct lull_store_cursor cursor;
    bool follows = false; /* an exact state ended now, */
    unsigned drawn = 0;   /* which was this one */
    uint32_t n = 0;
    for (int64_t now_ns = picture->start_ns; now_ns < picture->end_ns; n++) {
        const uint32_t column = (uint32_t)((now_ns >> picture->shift) - picture->first);
        const uint8_t *shares = picture->shares + (size_t)column * LULL_STORE_STATES;
        unsigned state = dominant(shares);
        const struct lull_store_interval *at = NULL;
        if (n == picture->most) {
            return false;
        }
        if ((follows || shares[state] == 255 || picture->shift == 0) &&
            !find_interval(picture, now_ns, follows, &cursor, &at, error)) {
            return false;
        }
        if (at && at->end_ns > now_ns &&
            at->end_ns - at->start_ns >= INT64_C(1) << picture->shift) {
            append_state(out, picture, now_ns, at->end_ns, at->state,
                         server_label_of(picture->served, picture->kind, at),
                         tags_of(picture, at->state, at));
            now_ns = at->end_ns;
            drawn = at->state;
            follows = true;
        } else {
            state = follows ? dominant_rest(picture, column, now_ns, drawn) : state;
            int64_t end_ns = end_of_run(picture, column, state);
            unsigned tags;
            if (!tags_of_run(picture, (enum lull_store_state)state, now_ns, &end_ns, &tags,
                             error)) {
                return false;
            }
            append_state(out, picture, now_ns, end_ns, (enum lull_store_state)state, NULL, tags);
            now_ns = end_ns;
            follows = false;
        }
    }
    return true;
}

/* Columns twice as wide until the states are few enough. */
static bool draw_row(struct picture *picture, unsigned shift, GString *out, GError **error)
{
    const size_t length = out->len;
    for (;; shift++) {
        GError *failure = NULL;
        picture->shift = shift;
        picture->first = picture->start_ns >> shift;
        const uint64_t count =
            (uint64_t)((picture->end_ns - 1) >> shift) - (uint64_t)picture->first + 1;
        if (count > COLUMNS_MOST) {
            continue;
        }
        picture->count = (uint32_t)count;
        picture->shares = g_malloc(count * LULL_STORE_STATES);
        g_string_truncate(out, length);
        const bool is_done =
            lull_store_columns(picture->served->store, picture->row, picture->first, shift,
                               picture->count, picture->shares, &failure) &&
            draw(picture, out, &failure);
        g_free(picture->shares);
        if (failure) {
            g_propagate_error(error, failure);
            return false;
        }
        if (is_done || shift > 60) {
            return true;
        }
    }
}

/* The widest columns that the picture does not notice. */
static unsigned shift_of(const struct server_range *range)
{
    const uint64_t width = (uint64_t)(range->end_ns - range->start_ns) / MAX(range->n, 2);
    unsigned shift = 0;
    while (shift < 61 && width >> (shift + 1)) {
        shift++;
    }
    return shift;
}

bool server_states(const struct served *served, const struct served_tree *tree,
                   const struct server_range *range, const int64_t *items, uint32_t n_items,
                   const struct server_filters *filters, GString *out, GError **error)
{
    uint32_t steps = FILTERED_MOST;
    const unsigned shift = shift_of(range);
    const uint32_t most = CLAMP(STATES_MOST / MAX(n_items, 1), 1, STATES_PER_ROW);
    g_string_append(out, "{\"rows\":[");
    for (uint32_t i = 0; i < n_items; i++) {
        const struct served_entry *entry = served_find(served, tree, items[i]);
        if (!entry) {
            continue;
        }
        g_string_append_printf(out, "%s{\"entryId\":%" PRId64 ",\"states\":[",
                               out->str[out->len - 1] == '[' ? "" : ",", items[i]);
        struct picture picture = {.served = served,
                                  .entry = entry,
                                  .filters = filters,
                                  .steps = &steps,
                                  .row = entry->row,
                                  .most = most,
                                  .start_ns = MAX(range->start_ns, served->start_ns),
                                  .end_ns = MIN(range->end_ns, served->end_ns)};
        if (entry->row != LULL_NONE && picture.start_ns < picture.end_ns) {
            picture.kind = lull_store_row(served->store, entry->row).kind;
            if (!draw_row(&picture, shift, out, error)) {
                return false;
            }
        }
        g_string_append(out, "]}");
    }
    g_string_append(out, "]}");
    return true;
}

/* ---- arrows ---- */

/* The picture's cells: a CPU and a column. Each has so many arrows, of different tasks, and is read so far:
 * so a picture of much time has arrows everywhere. */
struct arrows {
    const struct served *served;
    const struct server_range *range;
    unsigned shift;
    uint32_t most, steps; /* in a cell */
    GString *out;
};

struct arrow {
    uint32_t source, target;
};

static void append_arrow(GString *out, struct arrow arrow, int64_t start_ns, int64_t end_ns)
{
    g_string_append_printf(
        out,
        "%s{\"sourceId\":%u,\"targetId\":%u,\"start\":%" PRId64 ",\"end\":%" PRId64
        ",\"style\":{\"parentKey\":\"CPU transition\",\"values\":{}}}",
        out->str[out->len - 1] == '[' ? "" : ",", arrow.source, arrow.target, start_ns, end_ns);
}

/* The task that the interval of a CPU shows, in TSP's numbers; 0: none. */
static uint32_t task_of(const struct served *served, const struct lull_store_interval *at)
{
    const bool is_task =
        at->state == LULL_STORE_USER && at->evidence < lull_store_row_count(served->store);
    const uint32_t entry = is_task ? served->tasks.by_row[at->evidence] : 0;
    return entry ? served_id(served, &served->tasks.entries.items[entry - 1]) : 0;
}

static bool is_among(const struct arrow *arrows, uint32_t n, struct arrow arrow)
{
    for (uint32_t i = 0; i < n; i++) {
        if (arrows[i].source == arrow.source && arrows[i].target == arrow.target) {
            return true;
        }
    }
    return false;
}

/* Those of one cell that the cursor is in. *next_ns: where the next one with something in it is. */
static bool add_cell(const struct arrows *arrows, struct lull_store_cursor *cursor, int64_t end_ns,
                     int64_t *next_ns, GError **error)
{
    struct arrow drawn[CELL_MOST], arrow = {0};
    const struct lull_store_interval *at = NULL;
    int64_t left_ns = 0;
    uint32_t n = 0;
    GError *failure = NULL;
    for (uint32_t step = 0; n < arrows->most && step < arrows->steps; step++) {
        at = lull_store_next(cursor, &failure);
        if (!at || at->start_ns >= end_ns) {
            break;
        }
        if (at->state == LULL_STORE_IDLE) {
            continue;
        }
        arrow.target = task_of(arrows->served, at);
        if (arrow.source && arrow.target && arrow.source != arrow.target &&
            !is_among(drawn, n, arrow)) {
            append_arrow(arrows->out, arrow, left_ns, at->start_ns);
            drawn[n++] = arrow;
        }
        arrow.source = arrow.target;
        left_ns = at->end_ns;
    }
    *next_ns = at ? MAX(end_ns, at->start_ns) : INT64_MAX;
    if (failure) {
        g_propagate_error(error, failure);
    }
    return !failure;
}

/* To who was there before, where the first arrow starts: the CPU may have been idle since. */
static bool seek_source(const struct lull_store *store, uint32_t row, int64_t time_ns,
                        struct lull_store_cursor *cursor, GError **error)
{
    GError *failure = NULL;
    if (!lull_store_seek(store, row, time_ns - 1, cursor, error)) {
        return false;
    }
    const struct lull_store_interval *at = lull_store_next(cursor, &failure);
    if (failure) {
        g_propagate_error(error, failure);
        return false;
    }
    if (at && at->state == LULL_STORE_IDLE) {
        return lull_store_seek(store, row, at->start_ns - 1, cursor, error);
    }
    cursor->at -= at != NULL; /* it is the next one again */
    return true;
}

static bool add_arrows(const struct arrows *arrows, uint32_t row, GError **error)
{
    const int64_t end_ns = MIN(arrows->range->end_ns, arrows->served->end_ns);
    int64_t now_ns = MAX(arrows->range->start_ns, arrows->served->start_ns);
    while (now_ns < end_ns) {
        struct lull_store_cursor cursor;
        const int64_t edge_ns = ((now_ns >> arrows->shift) + 1) * (INT64_C(1) << arrows->shift);
        if (!seek_source(arrows->served->store, row, now_ns, &cursor, error) ||
            !add_cell(arrows, &cursor, MIN(edge_ns, end_ns), &now_ns, error)) {
            return false;
        }
    }
    return true;
}

static uint32_t count_cpus(const struct served *served)
{
    uint32_t n = 0;
    for (uint32_t row = 0; row < lull_store_row_count(served->store); row++) {
        n += lull_store_row(served->store, row).kind == LULL_STORE_CPU_THREAD;
    }
    return n;
}

bool server_arrows(const struct served *served, const struct server_range *range, GString *out,
                   GError **error)
{
    struct arrows arrows = {served, range, shift_of(range), 0, 0, out};
    const uint64_t n_cpus = MAX(count_cpus(served), 1);
    const uint64_t length_ns = (uint64_t)range->end_ns - (uint64_t)range->start_ns;
    while (arrows.shift < 61 && n_cpus * ((length_ns >> arrows.shift) + 1) > ARROWS_MOST) {
        arrows.shift++;
    }
    const uint64_t cells = n_cpus * ((length_ns >> arrows.shift) + 1);
    arrows.most = (uint32_t)CLAMP(ARROWS_MOST / cells, 1, CELL_MOST);
    arrows.steps = (uint32_t)MAX(STEPS_MOST / cells, STEPS_LEAST);
    g_string_append_c(out, '[');
    for (uint32_t row = 0; row < lull_store_row_count(served->store); row++) {
        if (lull_store_row(served->store, row).kind == LULL_STORE_CPU_THREAD &&
            !add_arrows(&arrows, row, error)) {
            return false;
        }
    }
    g_string_append_c(out, ']');
    return true;
}

/* ---- tooltips ---- */

bool server_tooltip(const struct served *served, const struct served_tree *tree, int64_t item,
                    int64_t time_ns, GString *out, GError **error)
{
    const struct lull_store_interval *at = NULL;
    struct lull_store_cursor cursor;
    g_string_append(out, "{\"State\":");
    const struct served_entry *entry = served_find(served, tree, item);
    if (entry && entry->row != LULL_NONE) {
        if (!lull_store_seek(served->store, entry->row, time_ns, &cursor, error)) {
            return false;
        }
        GError *failure = NULL;
        at = lull_store_next(&cursor, &failure);
        if (failure) {
            g_propagate_error(error, failure);
            return false;
        }
        if (at) {
            struct server_state_facts facts;
            server_state_facts(served, entry, at->state, at, &facts);
            lull_json_append(out, facts.all[0].value, strlen(facts.all[0].value));
            for (uint32_t k = 1; k < facts.n_shown; k++) {
                append_text(out, facts.all[k].key, facts.all[k].value);
            }
        }
    }
    g_string_append(out, at ? "}" : "\"Unknown\"}");
    return true;
}
