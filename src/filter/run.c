/* SPDX-License-Identifier: MIT */
/* Runs a program on an event: the tests of its expression, and how values compare. */
#include "filter/program.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

/* ---- comparing ---- */

enum order { BEFORE, EQUAL, AFTER, UNORDERED };

static __int128 wide(const struct lull_value *value)
{
    return value->is_signed ? (__int128)(int64_t)value->bits : (__int128)value->bits;
}

static enum order order_of(__int128 a, __int128 b)
{
    return a < b ? BEFORE : a > b ? AFTER : EQUAL;
}

/* Exact: no integer is rounded to a double. */
static enum order order_with_real(__int128 a, double b)
{
    if (isnan(b)) {
        return UNORDERED;
    }
    if (b >= 0x1p65) {
        return BEFORE;
    }
    if (b <= -0x1p65) {
        return AFTER;
    }
    double whole = floor(b);
    enum order order = order_of(a, (__int128)whole);
    return order == EQUAL && whole < b ? BEFORE : order;
}

static enum order order_of_reals(double a, double b)
{
    return a < b ? BEFORE : a > b ? AFTER : isunordered(a, b) ? UNORDERED : EQUAL;
}

static enum order order_of_texts(struct lull_text a, struct lull_text b)
{
    uint32_t common = MIN(a.length, b.length);
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    if (order == 0) {
        return order_of(a.length, b.length);
    }
    return order < 0 ? BEFORE : AFTER;
}

static enum order reversed(enum order order)
{
    return order == BEFORE ? AFTER : order == AFTER ? BEFORE : order;
}

static enum order order_of_values(const struct lull_value *a, const struct lull_value *b)
{
    if (a->kind == LULL_VALUE_INT && b->kind == LULL_VALUE_INT) {
        return order_of(wide(a), wide(b));
    }
    if (a->kind == LULL_VALUE_INT && b->kind == LULL_VALUE_REAL) {
        return order_with_real(wide(a), b->real);
    }
    if (a->kind == LULL_VALUE_REAL && b->kind == LULL_VALUE_INT) {
        return reversed(order_with_real(wide(b), a->real));
    }
    if (a->kind == LULL_VALUE_REAL && b->kind == LULL_VALUE_REAL) {
        return order_of_reals(a->real, b->real);
    }
    if (a->text.data && b->text.data) {
        return order_of_texts(a->text, b->text);
    }
    return UNORDERED;
}

bool lull_value_compare(const struct lull_value *left, enum lull_relation relation,
                        const struct lull_value *right)
{
    static const uint8_t accepted[] = {
        [LULL_RELATION_EQ] = 1 << EQUAL,  [LULL_RELATION_NE] = 1 << BEFORE | 1 << AFTER,
        [LULL_RELATION_LT] = 1 << BEFORE, [LULL_RELATION_LE] = 1 << BEFORE | 1 << EQUAL,
        [LULL_RELATION_GT] = 1 << AFTER,  [LULL_RELATION_GE] = 1 << AFTER | 1 << EQUAL,
    };
    return accepted[relation] >> order_of_values(left, right) & 1;
}

/* ---- loading ---- */

static const struct lull_value nothing = {.kind = LULL_VALUE_NONE};

static struct lull_value integer(const struct lull_load *load, uint64_t bits)
{
    struct lull_value value = {.kind = LULL_VALUE_INT, .is_signed = load->is_signed, .bits = bits};
    if (load->labels) {
        const char *label = load->label(load->labels, bits);
        if (label) {
            value.text = (struct lull_text){label, (uint32_t)strlen(label)};
        }
    }
    return value;
}

static struct lull_value element(const struct lull_run *run, const struct lull_load *load)
{
    struct lull_text array;
    memcpy(&array, run->fields + load->offset, sizeof array);
    if (load->index >= array.length / load->bytes) {
        return nothing;
    }
    const uint8_t *at = (const uint8_t *)array.data + load->index * load->bytes;
    uint64_t bits = 0;
    for (uint8_t i = 0; i < load->bytes; i++) {
        bits = bits << 8 | at[load->is_big_endian ? i : load->bytes - 1 - i];
    }
    if (load->is_signed) {
        bits = lull_sign_extend(bits, load->bytes * 8u);
    }
    return integer(load, bits);
}

static void visit(struct lull_run *run)
{
    if (run->is_visited) {
        return;
    }
    run->is_visited = true;
    lull_filter_visit(run->event, run->program->visited, run->program->n_visited, run->visited,
                      run->is_there);
}

static bool has(const struct lull_run *run, const struct lull_load *load)
{
    uint64_t have;
    memcpy(&have, run->fields, sizeof have);
    return load->have == 0 || (have & load->have) != 0;
}

struct lull_value lull_run_value(struct lull_run *run, const struct lull_load *load)
{
    struct lull_value value;
    uint64_t bits;
    switch (load->kind) {
    case LULL_LOAD_VALUE:
        return load->value;
    case LULL_LOAD_CPU:
        return run->event->cpu < 0 ? nothing : lull_value_int(run->event->cpu);
    case LULL_LOAD_TIME:
        return lull_value_int(run->event->time_ns);
    case LULL_LOAD_POINT:
        return lull_value_int(load->points[load->index].time_ns);
    case LULL_LOAD_GIVEN:
        return run->given[load->group][load->index];
    case LULL_LOAD_INT:
        memcpy(&bits, run->fields + load->offset, sizeof bits);
        return has(run, load) ? integer(load, bits) : nothing;
    case LULL_LOAD_TEXT:
        value = (struct lull_value){.kind = LULL_VALUE_TEXT};
        memcpy(&value.text, run->fields + load->offset, sizeof value.text);
        return has(run, load) ? value : nothing;
    case LULL_LOAD_ELEMENT:
        return has(run, load) ? element(run, load) : nothing;
    case LULL_LOAD_VISITED:
        visit(run);
        return run->visited[load->visited];
    }
    return nothing;
}

/* ---- testing ---- */

static bool is_in(struct lull_run *run, const struct lull_test *test)
{
    struct lull_value left = lull_run_value(run, &test->left);
    for (uint32_t i = 0; i < test->n; i++) {
        struct lull_value right = lull_run_value(run, &test->list[i]);
        if (lull_value_compare(&left, LULL_RELATION_EQ, &right)) {
            return true;
        }
    }
    return false;
}

static bool matches(struct lull_run *run, const struct lull_test *test)
{
    struct lull_value left = lull_run_value(run, &test->left);
    return left.text.data &&
           lull_glob_matches(test->glob, left.text) == (test->relation == LULL_RELATION_EQ);
}

static bool exists(struct lull_run *run, const struct lull_test *test)
{
    if (test->left.kind != LULL_LOAD_VISITED) {
        return lull_run_value(run, &test->left).kind != LULL_VALUE_NONE;
    }
    visit(run);
    return run->is_there[test->left.visited];
}

static bool passes(struct lull_run *run, const struct lull_test *test)
{
    if (test->kind == LULL_NODE_COMPARE) {
        struct lull_value left = lull_run_value(run, &test->left);
        struct lull_value right = lull_run_value(run, &test->right);
        return lull_value_compare(&left, test->relation, &right);
    }
    if (test->kind == LULL_NODE_MATCH) {
        return matches(run, test);
    }
    return test->kind == LULL_NODE_IN ? is_in(run, test) : exists(run, test);
}

void lull_run_start(struct lull_run *run, const struct lull_program *program,
                    const struct lull_event *event, const uint8_t *fields,
                    const struct lull_value *const *given)
{
    /* Not cleared: `visited` is large and seldom used. */
    run->program = program;
    run->event = event;
    run->fields = fields;
    run->given = given;
    run->is_visited = false;
}

bool lull_run_test(struct lull_run *run, int32_t entry)
{
    int32_t at = entry;
    while (at >= 0) {
        const struct lull_test *test = &run->program->tests[at];
        at = passes(run, test) ? test->yes : test->no;
    }
    return at == LULL_ACCEPT;
}

bool lull_run_passes(struct lull_run *run, int32_t number)
{
    return passes(run, &run->program->tests[number]);
}

bool lull_program_test(const void *data, const struct lull_event *event, const uint8_t *fields)
{
    const struct lull_program *program = data;
    struct lull_run run;
    lull_run_start(&run, program, event, fields, NULL);
    return lull_run_test(&run, program->entry);
}
