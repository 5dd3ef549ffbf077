/* SPDX-License-Identifier: MIT */
/* Compiles the definitions for a class of events: which conditions can be true of its events at
 * all, what of them has to be read, and which equalities make a key. */
#include "period/tracker.h"

#include <string.h>

#include "filter/compile.h"

/* Conditions with more tests are not searched for a key. */
#define MOST_KEY_TESTS 512
/* Equalities of a key beyond these are left to the tests. */
#define MOST_KEY_PARTS 8

struct maker {
    struct lull_period_tracker *tracker;
    struct lull_compiler compiler;
    GArray *parts; /* struct period_part */
};

/* ---- keys ---- */

static bool is_kept(const struct lull_load *load)
{
    return load->kind == LULL_LOAD_GIVEN && load->group != LULL_PERIOD_NOW;
}

static bool is_reachable(const struct lull_compiler *c, int32_t entry, bool *reached)
{
    bool is_kept_used = false;
    memset(reached, 0, c->tests->len);
    reached[entry] = true;
    for (int32_t i = entry; i >= 0; i--) {
        const struct lull_test *test = &g_array_index(c->tests, struct lull_test, i);
        if (!reached[i]) {
            continue;
        }
        if (test->yes >= 0) {
            reached[test->yes] = true;
        }
        if (test->no >= 0) {
            reached[test->no] = true;
        }
        is_kept_used |= is_kept(&test->left) || is_kept(&test->right);
    }
    return is_kept_used;
}

/* Whether the condition can be true without this test being so. Tests go on at earlier ones only,
 * so one pass from the first on decides. */
static bool can_do_without(const struct lull_compiler *c, int32_t entry, int32_t without, bool *can)
{
    for (int32_t i = 0; i <= entry; i++) {
        const struct lull_test *test = &g_array_index(c->tests, struct lull_test, i);
        bool yes = test->yes == LULL_ACCEPT || (test->yes >= 0 && can[test->yes]);
        bool no = test->no == LULL_ACCEPT || (test->no >= 0 && can[test->no]);
        can[i] = (yes && i != without) || no;
    }
    return can[entry];
}

struct key {
    struct period_key_part parts[MOST_KEY_PARTS];
    struct lull_load loads[MOST_KEY_PARTS];
    uint32_t n;
};

/* Adds the equality, in order of what is kept. */
static void add_to_key(struct key *key, uint32_t base, const struct lull_test *test)
{
    const struct lull_load *kept = is_kept(&test->left) ? &test->left : &test->right;
    const struct lull_load *load = kept == &test->left ? &test->right : &test->left;
    const struct period_key_part part = {.up = kept->group - base, .index = (uint32_t)kept->index};
    uint32_t at = 0;
    while (at < key->n && (key->parts[at].up < part.up ||
                           (key->parts[at].up == part.up && key->parts[at].index < part.index))) {
        at++;
    }
    bool is_double =
        at < key->n && key->parts[at].up == part.up && key->parts[at].index == part.index;
    if (is_double || key->n == MOST_KEY_PARTS) {
        return;
    }
    for (uint32_t i = key->n; i > at; i--) {
        key->parts[i] = key->parts[i - 1];
        key->loads[i] = key->loads[i - 1];
    }
    key->parts[at] = part;
    key->loads[at] = *load;
    key->n++;
}

/* Tests of the event alone that the condition cannot be true without: they are tried once, before
 * instances are looked for. */
static void find_musts(const struct lull_compiler *c, const bool *reached,
                       struct period_search *search)
{
    g_autofree bool *can = g_new(bool, c->tests->len);
    int32_t *musts = lull_arena_alloc_n(c->arena, (size_t)search->entry + 1, sizeof *musts);
    for (int32_t i = search->entry; i >= 0; i--) {
        const struct lull_test *test = &g_array_index(c->tests, struct lull_test, i);
        if (reached[i] && !is_kept(&test->left) && !is_kept(&test->right) &&
            !can_do_without(c, search->entry, i, can)) {
            musts[search->n_musts++] = i;
        }
    }
    search->musts = musts;
}

/* The equalities between what the event holds and what an instance keeps that the condition cannot
 * be true without. `base` is the group of the instances that are searched. */
static void find_key(const struct lull_compiler *c, int32_t entry, uint32_t base,
                     const bool *reached, struct key *key)
{
    g_autofree bool *can = g_new(bool, c->tests->len);
    for (int32_t i = entry; i >= 0; i--) {
        const struct lull_test *test = &g_array_index(c->tests, struct lull_test, i);
        if (!reached[i] || test->kind != LULL_NODE_COMPARE || test->relation != LULL_RELATION_EQ ||
            is_kept(&test->left) == is_kept(&test->right)) {
            continue;
        }
        if (!can_do_without(c, entry, i, can)) {
            add_to_key(key, base, test);
        }
    }
}

/* How instances of `period`, whose kept values are group `base`, are found for the condition. */
static void make_search(struct maker *m, uint32_t period, uint32_t base,
                        struct period_search *search)
{
    struct lull_compiler *c = &m->compiler;
    struct key key = {.n = 0};
    search->index = LULL_NO_PERIOD;
    search->is_alike = true;
    if (search->entry < 0) {
        return;
    }
    g_autofree bool *reached = g_new(bool, c->tests->len);
    lull_compiler_position(c, search->entry);
    search->is_alike = !is_reachable(c, search->entry, reached);
    if (search->is_alike || m->tracker->avoids_keys) {
        return;
    }
    if (c->tests->len <= MOST_KEY_TESTS) {
        find_musts(c, reached, search);
        find_key(c, search->entry, base, reached, &key);
    }
    if (key.n == 0) {
        m->tracker->states[period].is_searched = true;
        return;
    }
    search->index = period_index_of(m->tracker, period, key.parts, key.n);
    m->tracker->states[period].is_searched |= search->index == LULL_NO_PERIOD;
    search->loads = lull_arena_copy(c->arena, key.loads, key.n * sizeof key.loads[0]);
}

/* ---- parts ---- */

static const struct lull_load *kept_loads(struct lull_compiler *c, const GArray *kept)
{
    struct lull_load *loads = lull_arena_alloc_n(c->arena, kept->len, sizeof *loads);
    for (uint32_t i = 0; i < kept->len; i++) {
        loads[i] = lull_compiler_load_or_none(c, &g_array_index(kept, struct lull_operand, i));
    }
    return loads;
}

static const struct lull_load *capture_loads(struct lull_compiler *c,
                                             const struct lull_period_capture *captures, uint32_t n)
{
    struct lull_load *loads = lull_arena_alloc_n(c->arena, n, sizeof *loads);
    for (uint32_t i = 0; i < n; i++) {
        loads[i] = lull_compiler_load_or_none(c, &captures[i].operand);
    }
    return loads;
}

static void add_part(struct maker *m, uint32_t period)
{
    struct lull_compiler *c = &m->compiler;
    const struct lull_period_definition *definition =
        lull_period_definition(m->tracker->periods, period);
    const struct lull_period *public = &definition->public;
    struct period_part part = {.period = period,
                               .start.entry = lull_compiler_add(c, definition->start),
                               .end.entry = lull_compiler_add(c, definition->end)};
    if (part.start.entry == LULL_REJECT && part.end.entry == LULL_REJECT) {
        return;
    }
    if (public->parent != LULL_NO_PERIOD) {
        make_search(m, public->parent, LULL_PERIOD_PARENT, &part.start);
    } else {
        lull_compiler_position(c, part.start.entry);
    }
    make_search(m, period, LULL_PERIOD_OWN, &part.end);
    if (part.start.entry != LULL_REJECT) {
        part.kept = kept_loads(c, definition->kept);
        part.captures[0] = capture_loads(c, definition->captures[0], public->n_start_captures);
    }
    if (part.end.entry != LULL_REJECT) {
        part.captures[1] = capture_loads(c, definition->captures[1], public->n_end_captures);
    }
    g_array_append_val(m->parts, part);
}

const void *period_compile(struct lull_event_watch *watch, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_fields *fields)
{
    struct maker m = {.tracker = (struct lull_period_tracker *)watch};
    struct lull_compiler *c = &m.compiler;
    const struct lull_periods *periods = m.tracker->periods;
    lull_compiler_start(c, &periods->terms, source, class_index, host, -1, m.tracker->programs);
    c->first_bit = fields->n_bindings;
    c->size = MAX(c->size, fields->size);
    m.parts = g_array_new(FALSE, FALSE, sizeof(struct period_part));
    for (uint32_t i = 0; i < lull_periods_count(periods); i++) {
        add_part(&m, i);
    }
    struct period_class *class = NULL;
    struct lull_who_class who;
    lull_who_compile(c, &who);
    if (m.parts->len > 0 || who.is_switch) {
        class = lull_arena_alloc(c->arena, sizeof *class);
        class->who = who;
        class->n_parts = m.parts->len;
        class->parts =
            lull_arena_copy(c->arena, m.parts->data, m.parts->len * sizeof(struct period_part));
        class->program = lull_compiler_end(c, LULL_REJECT, fields);
    } else {
        lull_compiler_free(c);
    }
    g_array_unref(m.parts);
    return class;
}
