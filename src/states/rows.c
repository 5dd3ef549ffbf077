/* SPDX-License-Identifier: MIT */
/* Rows: found by group, host and key in a hash table, with their state, what they keep, and what an
 * action does to them. */
#include <math.h>
#include <string.h>

#include "states/engine.h"

static const struct lull_value nothing = {.kind = LULL_VALUE_NONE};

/* ---- keys ---- */

static bool same_value(const struct lull_value *a, const struct lull_value *b)
{
    return lull_value_compare(a, LULL_RELATION_EQ, b) && a->kind == b->kind;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, struct lull_text text)
{
    uint32_t at = 0;
    for (; at + 8 <= text.length; at += 8) {
        uint64_t word;
        memcpy(&word, text.data + at, sizeof word);
        hash = mix(hash, word);
    }
    uint64_t rest = text.length;
    for (; at < text.length; at++) {
        rest = rest << 8 | (uint8_t)text.data[at];
    }
    return mix(hash, rest);
}

uint64_t states_key_hash(uint32_t group, uint32_t host, const struct lull_value *key, uint32_t n)
{
    uint64_t hash = mix(group, host);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = key[i].bits;
        if (key[i].kind == LULL_VALUE_REAL) {
            const double real = key[i].real + 0.0; /* -0.0 equals 0.0 */
            memcpy(&bits, &real, sizeof bits);
        }
        hash = key[i].kind == LULL_VALUE_TEXT ? hash_text(hash, key[i].text) : mix(hash, bits);
    }
    return hash;
}

/* mix() gives different words different hashes. */
enum states_key states_key_kind(const struct lull_value *key, uint32_t n)
{
    return n != 1 || key->kind != LULL_VALUE_INT ? STATES_KEY_ANY
           : key->is_signed                      ? STATES_KEY_SIGNED
                                                 : STATES_KEY_UNSIGNED;
}

uint32_t states_row_find(const struct lull_states_engine *engine, uint32_t group, uint32_t host,
                         const struct lull_value *key, uint32_t first)
{
    const uint32_t n = engine->states->groups[group].n_keys;
    const enum states_key kind = states_key_kind(key, n);
    uint32_t row = first;
    for (; row != LULL_MAP_NONE; row = engine->rows.items[row]->next_alike) {
        const struct lull_states_row *at = engine->rows.items[row];
        bool is_same = at->group == group && at->host == host;
        const bool is_known = is_same && kind != STATES_KEY_ANY && at->key == kind;
        for (uint32_t i = 0; is_same && !is_known && i < n; i++) {
            is_same = same_value(&at->values[i + 1], &key[i]);
        }
        if (is_same) {
            return row;
        }
    }
    return row;
}

/* ---- values ---- */

static struct lull_states_text *texts_of(const struct lull_states_engine *engine,
                                         const struct lull_states_row *row)
{
    return (struct lull_states_text *)((char *)row->values + engine->layouts[row->group].texts);
}

void *lull_states_row_room(const struct lull_states_engine *engine,
                           const struct lull_states_row *row)
{
    return (char *)row->values + engine->layouts[row->group].room;
}

/* Texts are copied; what was there before lives until the event is over, because other values may
 * refer to it. */
static void put(struct lull_states_engine *engine, struct lull_states_row *row, uint32_t index,
                struct lull_value value)
{
    char *old = NULL;
    /* Only what is a text has one of its own. */
    if (row->values[index].kind == LULL_VALUE_TEXT) {
        struct lull_states_text *text = &texts_of(engine, row)[index];
        old = text->data;
        text->data = NULL;
    }
    if (value.kind == LULL_VALUE_TEXT) {
        struct lull_states_text *text = &texts_of(engine, row)[index];
        text->data = g_malloc(value.text.length + 1);
        if (value.text.length) {
            memcpy(text->data, value.text.data, value.text.length);
        }
        value.text.data = text->data;
    }
    row->values[index] = value;
    if (old) {
        g_ptr_array_add(engine->retired, old);
    }
}

static void show_state(const struct lull_states_engine *engine, struct lull_states_row *row)
{
    const uint32_t n = engine->states->groups[row->group].n_states;
    row->values[0] = engine->layouts[row->group].shown[MIN(row->state, n)];
}

static __int128 wide(const struct lull_value *value)
{
    return value->is_signed ? (__int128)(int64_t)value->bits : (__int128)value->bits;
}

static struct lull_value narrow(__int128 sum)
{
    sum = MIN(MAX(sum, (__int128)INT64_MIN), (__int128)UINT64_MAX);
    return (struct lull_value){
        .kind = LULL_VALUE_INT, .is_signed = sum <= INT64_MAX, .bits = (uint64_t)sum};
}

static double real_of(const struct lull_value *value)
{
    return value->kind == LULL_VALUE_REAL ? value->real : (double)wide(value);
}

/* What is no number counts as 0 before; a sum with what is none is none at all. */
static bool add(const struct lull_value *before, const struct lull_value *operand, bool is_minus,
                struct lull_value *sum)
{
    const struct lull_value zero = lull_value_int(0);
    const bool was_number = before->kind == LULL_VALUE_INT || before->kind == LULL_VALUE_REAL;
    const struct lull_value *base = was_number ? before : &zero;
    if (operand->kind != LULL_VALUE_INT && operand->kind != LULL_VALUE_REAL) {
        return false;
    }
    if (base->kind == LULL_VALUE_INT && operand->kind == LULL_VALUE_INT) {
        *sum = narrow(is_minus ? wide(base) - wide(operand) : wide(base) + wide(operand));
        return true;
    }
    const double other = real_of(operand);
    *sum = (struct lull_value){.kind = LULL_VALUE_REAL,
                               .real = is_minus ? real_of(base) - other : real_of(base) + other};
    return true;
}

/* ---- rows ---- */

uint32_t states_row_add(struct lull_states_engine *engine, uint32_t group, uint32_t host,
                        const struct lull_value *key, uint64_t hash)
{
    const struct lull_states_group *of = &engine->states->groups[group];
    const uint32_t number = (uint32_t)engine->rows.count;
    uint32_t *first = &engine->first_rows[group * engine->n_hosts + host];
    if (number >= engine->most_rows) {
        engine->counts.refused_rows++;
        return LULL_MAP_NONE;
    }
    struct lull_states_row *row = lull_arena_alloc(engine->records, engine->layouts[group].size);
    *row = (struct lull_states_row){
        .group = group,
        .host = host,
        .state = of->start,
        .key = states_key_kind(key, of->n_keys),
        .since_ns = engine->starts_ns[host],
        .tid = -1,
        .values = (struct lull_value *)(row + 1),
        .interval = ++engine->n_intervals,
        .next_alike = lull_map_find(&engine->by_hash, hash),
        .next_of_group = *first,
    };
    for (uint32_t i = 0; i < of->n_keys; i++) {
        put(engine, row, i + 1, key[i]);
    }
    show_state(engine, row);
    lull_map_insert(&engine->by_hash, hash, number);
    *first = number;
    lull_vec_push(&engine->rows, row);
    return number;
}

void states_rows_free(struct lull_states_engine *engine)
{
    for (size_t i = 0; i < engine->rows.count; i++) {
        struct lull_states_row *row = engine->rows.items[i];
        for (uint32_t v = 0; v <= engine->states->groups[row->group].n_names; v++) {
            g_free(texts_of(engine, row)[v].data);
        }
        if (row->stack) {
            lull_vec_free(&row->stack->states);
        }
    }
    lull_vec_free(&engine->rows);
    lull_map_free(&engine->by_hash);
}

static void forget_kept(struct lull_states_engine *engine, struct lull_states_row *row)
{
    const struct lull_states_group *group = &engine->states->groups[row->group];
    for (uint32_t i = group->n_keys; i < group->n_names; i++) {
        put(engine, row, i + 1, nothing);
    }
}

static void enter(struct lull_states_engine *engine, uint32_t number, uint16_t state, bool is_fresh,
                  int64_t time_ns)
{
    struct lull_states_row *row = engine->rows.items[number];
    const struct lull_states_group *group = &engine->states->groups[row->group];
    if (row->state == state && !is_fresh) {
        return;
    }
    engine->callbacks.changes(engine->user, number, time_ns);
    if (row->state != LULL_ROW_ENDED && row->since_ns < time_ns) {
        engine->callbacks.ends(engine->user, number, time_ns);
    }
    row->state = state;
    row->since_ns = time_ns;
    row->interval = ++engine->n_intervals;
    if (engine->callbacks.entered) {
        lull_vec_push(&engine->entered, number);
    }
    show_state(engine, row);
    if (state == LULL_ROW_ENDED) {
        forget_kept(engine, row);
    }
    int64_t due_ns;
    if (state < group->n_states && group->after[state].after_ns &&
        !__builtin_add_overflow(time_ns, group->after[state].after_ns, &due_ns)) {
        states_timer_add(engine, number, due_ns);
    }
}

static void empty_stack(struct lull_states_row *row)
{
    if (row->stack) {
        row->stack->states.count = 0;
    }
}

static void push(struct lull_states_engine *engine, uint32_t number, uint16_t state,
                 int64_t time_ns)
{
    struct lull_states_row *row = engine->rows.items[number];
    if (!row->stack) {
        row->stack = lull_arena_alloc(engine->records, sizeof *row->stack);
    }
    if (row->stack->states.count >= LULL_STATES_MOST_DEEP) {
        engine->counts.deep_pushes++;
        return;
    }
    lull_vec_push(&row->stack->states, row->state == LULL_ROW_ENDED ? LULL_ROW_NONE : row->state);
    enter(engine, number, state, false, time_ns);
}

static void assign(struct lull_states_engine *engine, uint32_t number,
                   const struct lull_states_action *action, const struct lull_value *operand,
                   int64_t time_ns)
{
    struct lull_states_row *row = engine->rows.items[number];
    const struct lull_states_group *group = &engine->states->groups[row->group];
    struct lull_value value = *operand;
    if (action->kind != LULL_STATES_SET &&
        !add(&row->values[action->value], operand, action->kind == LULL_STATES_SUBTRACT, &value)) {
        return;
    }
    if (group->names[action->value - 1].kind == LULL_STATES_NUMBER) {
        engine->callbacks.changes(engine->user, number, time_ns);
    }
    put(engine, row, action->value, value);
}

void states_row_act(struct lull_states_engine *engine, uint32_t number,
                    const struct lull_states_action *action, const struct lull_value *operand,
                    int64_t time_ns)
{
    struct lull_states_row *row = engine->rows.items[number];
    switch (action->kind) {
    case LULL_STATES_ENTER:
        if (action->state >= LULL_ROW_UNKNOWN) {
            empty_stack(row);
        }
        enter(engine, number, action->state, action->is_fresh, time_ns);
        break;
    case LULL_STATES_PUSH:
        push(engine, number, action->state, time_ns);
        break;
    case LULL_STATES_POP:
        if (row->stack && row->stack->states.count) {
            enter(engine, number, lull_vec_pop(&row->stack->states), false, time_ns);
        } else {
            engine->counts.empty_pops++;
        }
        break;
    case LULL_STATES_SET:
    case LULL_STATES_ADD:
    case LULL_STATES_SUBTRACT:
        assign(engine, number, action, operand, time_ns);
        break;
    }
}

void states_rows_report(struct lull_states_engine *engine, const struct lull_states_moment *moment)
{
    if (engine->entered.count) {
        engine->callbacks.entered(engine->user, engine->entered.items, engine->entered.count,
                                  moment);
        engine->entered.count = 0;
    }
}

void states_row_lose(struct lull_states_engine *engine, uint32_t number, int64_t time_ns)
{
    struct lull_states_row *row = engine->rows.items[number];
    if (row->state == LULL_ROW_ENDED) {
        return;
    }
    engine->callbacks.changes(engine->user, number, time_ns);
    empty_stack(row);
    enter(engine, number, LULL_ROW_UNKNOWN, false, time_ns);
    forget_kept(engine, row);
}

/* ---- for those who show rows ---- */

/* Numbers come before texts. */
int lull_states_compare_keys(const struct lull_states_group *group, const struct lull_states_row *a,
                             const struct lull_states_row *b)
{
    for (uint32_t i = 1; i <= group->n_keys; i++) {
        const struct lull_value *x = &a->values[i], *y = &b->values[i];
        const bool is_text = x->kind == LULL_VALUE_TEXT;
        if (is_text != (y->kind == LULL_VALUE_TEXT)) {
            return is_text ? 1 : -1;
        }
        if (lull_value_compare(x, LULL_RELATION_LT, y)) {
            return -1;
        }
        if (lull_value_compare(x, LULL_RELATION_GT, y)) {
            return 1;
        }
    }
    return 0;
}

static void append_value(GString *text, const struct lull_value *value)
{
    if (value->text.data) {
        g_autofree char *valid = g_utf8_make_valid(value->text.data, value->text.length);
        g_string_append(text, valid);
    } else if (value->kind == LULL_VALUE_INT && value->is_signed) {
        g_string_append_printf(text, "%" G_GINT64_FORMAT, (int64_t)value->bits);
    } else if (value->kind == LULL_VALUE_INT) {
        g_string_append_printf(text, "%" G_GUINT64_FORMAT, value->bits);
    } else if (value->kind == LULL_VALUE_REAL) {
        g_string_append_printf(text, "%g", value->real);
    } else {
        g_string_append_c(text, '?');
    }
}

/* {NAME} is replaced by what the row has of this name; any other brace is itself. */
static const char *append_braced(GString *text, const struct lull_states_group *group,
                                 const struct lull_states_row *row, const char *at)
{
    for (uint32_t i = 0; i < group->n_names; i++) {
        const size_t length = strlen(group->names[i].name);
        if (strncmp(at + 1, group->names[i].name, length) == 0 && at[1 + length] == '}') {
            append_value(text, &row->values[i + 1]);
            return at + length + 2;
        }
    }
    g_string_append_c(text, '{');
    return at + 1;
}

void lull_states_append_title(GString *text, const struct lull_states_group *group,
                              const struct lull_states_row *row)
{
    if (!group->title) {
        for (uint32_t i = 0; i < group->n_keys; i++) {
            g_string_append(text, i ? ", " : "");
            append_value(text, &row->values[i + 1]);
        }
        return;
    }
    for (const char *at = group->title; *at;) {
        if (*at == '{') {
            at = append_braced(text, group, row, at);
        } else {
            g_string_append_c(text, *at++);
        }
    }
}
