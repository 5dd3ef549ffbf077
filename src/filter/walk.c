/* SPDX-License-Identifier: MIT */
/* Finds what no binding reaches – real numbers, members of structures in arrays, arrays of odd
 * widths – by walking through the event. Slow, but used for such fields only. */
#include "filter/program.h"

#include <string.h>

/* Scopes and all that is nested; deeper fields are not looked at. */
#define MOST_DEEP 64

struct walk {
    const struct lull_field_path *const *paths;
    uint32_t n;
    struct lull_value *values;
    bool *is_there;
    enum lull_field_scope scope;
    uint32_t depth;                       /* open structures, arrays and variants of the scope */
    uint64_t elements[MOST_DEEP];         /* by depth: elements seen */
    uint32_t matched[LULL_FILTER_FIELDS]; /* by path: its first steps that are open */
};

static bool step_matches(const struct lull_filter_step *step, const char *name, uint64_t index)
{
    if (!name || !step->name) {
        return !name && !step->name && step->index == index;
    }
    return strcmp(step->name, name) == 0;
}

/* A field starts. Calls for each path that it is a step of. */
static void enter(struct walk *w, const char *name, const struct lull_value *value)
{
    uint64_t index = 0;
    if (w->depth >= MOST_DEEP) {
        return;
    }
    if (!name) {
        index = w->elements[w->depth]++;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        const struct lull_field_path *path = w->paths[i];
        if (path->scope != w->scope || w->matched[i] != w->depth || w->is_there[i] ||
            w->depth >= path->n_steps || !step_matches(&path->steps[w->depth], name, index)) {
            continue;
        }
        if (w->depth + 1 == path->n_steps) {
            w->is_there[i] = true;
            if (value) {
                w->values[i] = *value;
            }
        } else if (!value) {
            w->matched[i]++;
        }
    }
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    struct walk *w = user;
    if (kind == LULL_VISIT_SCOPE) {
        w->scope = strcmp(name, "context") == 0 ? LULL_IN_CONTEXT : LULL_IN_PAYLOAD;
        w->depth = 0;
        memset(w->matched, 0, sizeof w->matched);
        return;
    }
    enter(w, name, NULL);
    w->depth++;
    if (w->depth < MOST_DEEP) {
        w->elements[w->depth] = 0;
    }
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    struct walk *w = user;
    if (kind == LULL_VISIT_SCOPE) {
        return;
    }
    w->depth--;
    for (uint32_t i = 0; i < w->n; i++) {
        w->matched[i] = MIN(w->matched[i], w->depth);
    }
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *integer)
{
    struct lull_value value = {
        .kind = LULL_VALUE_INT, .is_signed = integer->is_signed, .bits = integer->bits};
    if (integer->label) {
        value.text = (struct lull_text){integer->label, (uint32_t)strlen(integer->label)};
    }
    enter(user, name, &value);
}

static void on_real(void *user, const char *name, double real)
{
    struct lull_value value = {.kind = LULL_VALUE_REAL, .real = real};
    enter(user, name, &value);
}

static void on_text(void *user, const char *name, struct lull_text text)
{
    struct lull_value value = {.kind = LULL_VALUE_TEXT, .text = text};
    enter(user, name, &value);
}

void lull_filter_visit(const struct lull_event *event, const struct lull_field_path *const *paths,
                       uint32_t n, struct lull_value *values, bool *is_there)
{
    static const struct lull_visitor visitor = {
        .start = on_start,
        .end = on_end,
        .integer = on_integer,
        .real = on_real,
        .text = on_text,
    };
    struct walk walk = {.paths = paths, .n = n, .values = values, .is_there = is_there};
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (struct lull_value){.kind = LULL_VALUE_NONE};
        is_there[i] = false;
    }
    /* Damage further on is found again when the event is printed. */
    lull_event_visit(event, &visitor, &walk, NULL);
}
