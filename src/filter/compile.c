/* SPDX-License-Identifier: MIT */
/* Compiles conditions for an event class, from the end of the expression to its start, so that each
 * test knows where to go on. A condition that is decided by the class becomes a place to go to
 * instead of a test; if nothing is left but one such place, the class as a whole passes or not. */
#include "filter/compile.h"

#include <string.h>

#include "kernel/call_events.h"

/* ---- fields ---- */

/* The path up to the first index, as bindings spell it. */
static char *binding_path(const struct lull_field_path *path, enum lull_field_scope scope,
                          uint32_t n_steps)
{
    GString *text = g_string_new(scope == LULL_IN_CONTEXT ? "context" : "payload");
    for (uint32_t i = 0; i < n_steps; i++) {
        g_string_append_printf(text, ".%s", path->steps[i].name);
    }
    return g_string_free(text, FALSE);
}

static uint32_t names_before_index(const struct lull_field_path *path)
{
    uint32_t n = 0;
    while (n < path->n_steps && path->steps[n].name) {
        n++;
    }
    return n;
}

static bool describe(const struct lull_compiler *c, const struct lull_field_path *path,
                     enum lull_field_scope scope, uint32_t n_names, struct lull_field_type *type)
{
    g_autofree char *text = binding_path(path, scope, n_names);
    return c->source->ops->describe(c->source, c->class_index, text, type);
}

/* Has the field bound. */
static void bind_field(struct lull_compiler *c, const struct lull_field_path *path,
                       struct lull_compiled_field *field)
{
    uint32_t n_names = names_before_index(path);
    g_autofree char *text = binding_path(path, field->scope, n_names);
    const char **paths = lull_arena_alloc_n(c->arena, 2, sizeof *paths);
    paths[0] = lull_arena_strndup(c->arena, text, strlen(text));
    struct lull_binding binding = {.paths = paths, .kind = field->bind_kind, .offset = c->size};
    field->load.offset = c->size;
    field->load.have = field->is_left_out ? UINT64_C(1) << (c->first_bit + c->bindings->len) : 0;
    c->size += binding.kind == LULL_BIND_INT ? sizeof(int64_t) : sizeof(struct lull_text);
    g_array_append_val(c->bindings, binding);
}

static void visit_field(struct lull_compiler *c, const struct lull_field_path *path,
                        struct lull_compiled_field *field)
{
    struct lull_field_path *copy = lull_arena_copy(c->arena, path, sizeof *path);
    copy->scope = field->scope;
    field->load.visited = c->n_visited;
    c->visited[c->n_visited++] = copy;
}

/* Once it is certain that the load will be needed. */
static void position_load(struct lull_compiler *c, struct lull_load *load)
{
    if (load->kind < LULL_LOAD_INT) {
        return; /* not of a field */
    }
    struct lull_compiled_field *field = &c->fields[load->field];
    const struct lull_field_path *path = &c->terms->fields[load->field];
    if (!field->is_placed && load->kind == LULL_LOAD_VISITED) {
        visit_field(c, path, field);
    } else if (!field->is_placed) {
        bind_field(c, path, field);
    }
    field->is_placed = true;
    const struct lull_load wanted = *load;
    *load = field->load;
    load->labels = wanted.labels; /* which may be names of calls */
    load->label = wanted.label;
}

/* How a field that the class has is read. */
static void find_way(const struct lull_field_path *path, uint32_t index,
                     const struct lull_field_type *type,
                     const char *(*label)(const void *labels, uint64_t value),
                     struct lull_compiled_field *field)
{
    uint32_t n_names = names_before_index(path);
    uint32_t n_indices = path->n_steps - n_names; /* and names after them */
    enum lull_info_kind kind = type->info.kind;
    field->is_left_out = type->info.is_optional;
    field->is_optional = type->info.is_optional || n_indices > 0; /* the array may be shorter */
    field->how = LULL_FIELD_READ;
    field->load = (struct lull_load){.field = index,
                                     .is_signed = type->info.is_signed,
                                     .is_big_endian = type->info.is_big_endian,
                                     .bytes = type->element_bytes,
                                     .labels = type->labels,
                                     .label = label};
    if (n_indices == 0 && (kind == LULL_INFO_INT || kind == LULL_INFO_ENUM)) {
        field->load.kind = LULL_LOAD_INT;
        field->bind_kind = LULL_BIND_INT;
    } else if (n_indices == 0 && kind == LULL_INFO_TEXT) {
        field->load.kind = LULL_LOAD_TEXT;
        field->load.labels = NULL;
        field->bind_kind = LULL_BIND_TEXT;
    } else if (n_indices == 1 && type->element_bytes != 0) {
        field->load.kind = LULL_LOAD_ELEMENT;
        field->load.index = path->steps[n_names].index;
        field->bind_kind = LULL_BIND_RAW;
    } else if (n_indices == 0 && kind == LULL_INFO_BYTES) {
        field->how =
            type->info.is_optional ? LULL_FIELD_READ : LULL_FIELD_PRESENT; /* it has no value */
        field->load.kind = LULL_LOAD_VISITED;
    } else if (kind == LULL_INFO_ARRAY || kind == LULL_INFO_REAL) {
        field->load.kind = LULL_LOAD_VISITED;
    } else {
        field->how = LULL_FIELD_ABSENT; /* an index into a number, say */
    }
}

static const struct lull_compiled_field *field_of(struct lull_compiler *c, uint32_t index)
{
    static const enum lull_field_scope orders[][2] = {
        [LULL_IN_ANY] = {LULL_IN_PAYLOAD, LULL_IN_CONTEXT},
        [LULL_IN_PAYLOAD] = {LULL_IN_PAYLOAD, LULL_IN_PAYLOAD},
        [LULL_IN_CONTEXT] = {LULL_IN_CONTEXT, LULL_IN_CONTEXT},
    };
    struct lull_compiled_field *field = &c->fields[index];
    const struct lull_field_path *path = &c->terms->fields[index];
    if (field->is_known) {
        return field;
    }
    field->is_known = true;
    field->how = LULL_FIELD_ABSENT;
    uint32_t n_names = names_before_index(path);
    for (size_t i = 0; i < 2 && n_names > 0; i++) {
        enum lull_field_scope scope = orders[path->scope][i];
        struct lull_field_type type;
        if (describe(c, path, scope, n_names, &type)) {
            field->scope = scope;
            find_way(path, index, &type, c->source->ops->label, field);
            break;
        }
    }
    return field;
}

/* ---- tests ---- */

enum known { UNKNOWN, KNOWN_NO, KNOWN_YES };

static enum known known(bool value)
{
    return value ? KNOWN_YES : KNOWN_NO;
}

static bool load_field(struct lull_compiler *c, uint32_t index, struct lull_load *load)
{
    const struct lull_compiled_field *field = field_of(c, index);
    *load = field->load;
    return field->how == LULL_FIELD_READ;
}

/* The name that the event has whatever the tracer. */
static bool load_call(struct lull_compiler *c, const struct lull_operand *operand,
                      struct lull_load *load)
{
    if (c->call->name) {
        load->value = lull_value_text(c->call->name, strlen(c->call->name));
        return true;
    }
    if (!load_field(c, operand->index, load)) {
        return false;
    }
    load->labels = c->call;
    load->label = lull_call_event_label;
    return true;
}

/* Fills *load. False if the class has nothing there. */
static bool load_operand(struct lull_compiler *c, const struct lull_operand *operand,
                         struct lull_load *load)
{
    *load = (struct lull_load){.kind = LULL_LOAD_VALUE, .value = operand->value};
    switch (operand->kind) {
    case LULL_OPERAND_VALUE:
        return true;
    case LULL_OPERAND_NAME: {
        if (c->asks_call) {
            return load_call(c, operand, load);
        }
        const char *name = c->source->classes[c->class_index]->name;
        load->value = lull_value_text(name, strlen(name));
        return true;
    }
    case LULL_OPERAND_HOST:
        load->value = lull_value_text(c->host, strlen(c->host));
        return true;
    case LULL_OPERAND_CPU:
        if (c->cpu >= 0) {
            load->value = lull_value_int(c->cpu);
        } else {
            load->kind = LULL_LOAD_CPU;
        }
        return true;
    case LULL_OPERAND_TIME:
        load->kind = LULL_LOAD_TIME;
        return true;
    case LULL_OPERAND_POINT:
        load->kind = LULL_LOAD_POINT;
        load->points = (const struct lull_time_point *)(void *)c->terms->points->data;
        load->index = operand->index;
        return true;
    case LULL_OPERAND_FIELD:
        return load_field(c, operand->index, load);
    case LULL_OPERAND_RUNNING:
        for (uint32_t i = 0; i < operand->n_fields; i++) {
            if (load_field(c, operand->index + i, load)) {
                return true;
            }
        }
        *load = (struct lull_load){.kind = LULL_LOAD_GIVEN, .index = operand->given};
        return true;
    case LULL_OPERAND_GIVEN:
        load->kind = LULL_LOAD_GIVEN;
        load->group = operand->group;
        load->index = operand->index;
        return true;
    }
    return false;
}

/* Whether a load can only give a text, or only numbers. */
static bool never_compares(const struct lull_load *left, const struct lull_load *right)
{
    const struct lull_load *sides[2] = {left, right};
    bool is_text[2], is_number[2];
    for (int i = 0; i < 2; i++) {
        const struct lull_load *load = sides[i];
        bool is_value = load->kind == LULL_LOAD_VALUE;
        is_text[i] =
            load->kind == LULL_LOAD_TEXT || (is_value && load->value.kind == LULL_VALUE_TEXT);
        is_number[i] = load->kind != LULL_LOAD_VISITED && load->kind != LULL_LOAD_GIVEN &&
                       !load->labels && !is_text[i];
    }
    return (is_text[0] && is_number[1]) || (is_text[1] && is_number[0]);
}

static enum known prepare_compare(struct lull_compiler *c, const struct lull_node *node,
                                  struct lull_test *test)
{
    if (!load_operand(c, &node->left, &test->left) ||
        !load_operand(c, &node->right, &test->right)) {
        return KNOWN_NO;
    }
    if (never_compares(&test->left, &test->right)) {
        return KNOWN_NO;
    }
    if (test->left.kind == LULL_LOAD_VALUE && test->right.kind == LULL_LOAD_VALUE) {
        return known(lull_value_compare(&test->left.value, node->relation, &test->right.value));
    }
    return UNKNOWN;
}

static enum known prepare_match(struct lull_compiler *c, const struct lull_node *node,
                                struct lull_test *test)
{
    if (!load_operand(c, &node->left, &test->left)) {
        return KNOWN_NO;
    }
    test->glob = node->glob;
    if (test->left.kind == LULL_LOAD_VALUE) {
        return known(lull_glob_matches(node->glob, test->left.value.text) ==
                     (node->relation == LULL_RELATION_EQ));
    }
    bool has_text = test->left.kind == LULL_LOAD_TEXT || test->left.kind == LULL_LOAD_VISITED ||
                    test->left.kind == LULL_LOAD_GIVEN || test->left.labels;
    return has_text ? UNKNOWN : KNOWN_NO;
}

static enum known prepare_in(struct lull_compiler *c, const struct lull_node *node,
                             struct lull_test *test)
{
    if (!load_operand(c, &node->left, &test->left)) {
        return KNOWN_NO;
    }
    struct lull_load *list = lull_arena_alloc_n(c->arena, node->n, sizeof *list);
    for (uint32_t i = 0; i < node->n; i++) {
        struct lull_load right;
        load_operand(c, &node->list[i], &right);
        if (never_compares(&test->left, &right)) {
            continue;
        }
        if (test->left.kind == LULL_LOAD_VALUE) {
            if (lull_value_compare(&test->left.value, LULL_RELATION_EQ, &right.value)) {
                return KNOWN_YES;
            }
            continue;
        }
        list[test->n++] = right;
    }
    test->list = list;
    return test->n > 0 ? UNKNOWN : KNOWN_NO;
}

static enum known prepare_exists(struct lull_compiler *c, const struct lull_node *node,
                                 struct lull_test *test)
{
    if (node->left.kind != LULL_OPERAND_FIELD) {
        return load_operand(c, &node->left, &test->left) ? UNKNOWN : KNOWN_NO;
    }
    const struct lull_compiled_field *field = field_of(c, node->left.index);
    test->left = field->load;
    if (field->how == LULL_FIELD_ABSENT) {
        return KNOWN_NO;
    }
    return field->is_optional ? UNKNOWN : KNOWN_YES;
}

static int32_t compile_single(struct lull_compiler *c, const struct lull_node *node, int32_t yes,
                              int32_t no)
{
    struct lull_test test = {.kind = node->kind, .relation = node->relation, .yes = yes, .no = no};
    enum known value = UNKNOWN;
    if (yes == no) {
        return yes;
    }
    if (node->kind == LULL_NODE_COMPARE) {
        value = prepare_compare(c, node, &test);
    } else if (node->kind == LULL_NODE_MATCH) {
        value = prepare_match(c, node, &test);
    } else if (node->kind == LULL_NODE_IN) {
        value = prepare_in(c, node, &test);
    } else {
        value = prepare_exists(c, node, &test);
    }
    if (value != UNKNOWN) {
        return value == KNOWN_YES ? yes : no;
    }
    g_array_append_val(c->tests, test);
    return (int32_t)c->tests->len - 1;
}

static const char *machine_of(const struct lull_source *source)
{
    const char *machine = NULL;
    for (const char *const *pair = source->environment; pair && pair[0]; pair += 2) {
        machine = strcmp(pair[0], "architecture") == 0 ? pair[1] : machine;
    }
    return machine;
}

const struct call_arch *lull_compiler_arch(const struct lull_source *source)
{
    return lull_call_events_arch(&source->info, machine_of(source));
}

static bool is_call(struct lull_compiler *c)
{
    if (!c->knows_call) {
        c->knows_call = true;
        c->call = lull_call_event_of(c->source->classes[c->class_index],
                                     lull_compiler_arch(c->source), c->arena);
    }
    return c->call != NULL;
}

/* Compared with a text or a pattern, for being it or not. */
static bool asks_name(const struct lull_node *node)
{
    const bool is_left = node->left.kind == LULL_OPERAND_NAME;
    if (node->kind == LULL_NODE_COMPARE) {
        const struct lull_operand *other = is_left ? &node->right : &node->left;
        return (is_left || node->right.kind == LULL_OPERAND_NAME) &&
               other->kind == LULL_OPERAND_VALUE && node->relation <= LULL_RELATION_NE;
    }
    return is_left;
}

/* Where a single test starts that goes on at `yes` or `no`. An event of a system call is called
 * what its tracer calls it, and what all do: it has a name if either is it. */
static int32_t compile_test(struct lull_compiler *c, const struct lull_node *node, int32_t yes,
                            int32_t no)
{
    if (!asks_name(node) || !is_call(c)) {
        return compile_single(c, node, yes, no);
    }
    c->asks_call = true;
    const int32_t other = compile_single(c, node, yes, no);
    c->asks_call = false;
    return node->relation == LULL_RELATION_NE ? compile_single(c, node, other, no)
                                              : compile_single(c, node, yes, other);
}

static int32_t compile(struct lull_compiler *c, const struct lull_node *node, int32_t yes,
                       int32_t no)
{
    int32_t entry;
    switch (node->kind) {
    case LULL_NODE_CONSTANT:
        return node->constant ? yes : no;
    case LULL_NODE_AND:
        entry = yes;
        for (uint32_t i = node->n; i-- > 0;) {
            entry = compile(c, node->children[i], entry, no);
        }
        return entry;
    case LULL_NODE_OR:
        entry = no;
        for (uint32_t i = node->n; i-- > 0;) {
            entry = compile(c, node->children[i], yes, entry);
        }
        return entry;
    case LULL_NODE_NOT:
        return compile(c, node->children[0], no, yes);
    case LULL_NODE_COMPARE:
    case LULL_NODE_MATCH:
    case LULL_NODE_IN:
    case LULL_NODE_EXISTS:
        return compile_test(c, node, yes, no);
    }
    return no;
}

/* Has the fields read of those tests that can be reached; tests go on at earlier ones only. */
static void position_fields(struct lull_compiler *c, int32_t entry)
{
    g_autofree bool *is_reached = g_new0(bool, c->tests->len + 1);
    is_reached[entry] = true;
    for (int32_t i = entry; i >= 0; i--) {
        struct lull_test *test = &g_array_index(c->tests, struct lull_test, i);
        if (!is_reached[i]) {
            continue;
        }
        if (test->yes >= 0) {
            is_reached[test->yes] = true;
        }
        if (test->no >= 0) {
            is_reached[test->no] = true;
        }
        position_load(c, &test->left);
        position_load(c, &test->right);
    }
}

/* ---- its users ---- */

void lull_compiler_start(struct lull_compiler *c, const struct lull_terms *terms,
                         const struct lull_source *source, uint32_t class_index, const char *host,
                         int32_t cpu, struct lull_arena *arena)
{
    memset(c, 0, sizeof *c);
    c->terms = terms;
    c->source = source;
    c->class_index = class_index;
    c->host = host;
    c->cpu = cpu;
    c->arena = arena;
    c->tests = g_array_new(FALSE, FALSE, sizeof(struct lull_test));
    c->bindings = g_array_new(FALSE, FALSE, sizeof(struct lull_binding));
    c->size = sizeof(uint64_t);
}

int32_t lull_compiler_add(struct lull_compiler *c, const struct lull_node *root)
{
    return compile(c, root, LULL_ACCEPT, LULL_REJECT);
}

void lull_compiler_position(struct lull_compiler *c, int32_t entry)
{
    if (entry >= 0) {
        position_fields(c, entry);
    }
}

bool lull_compiler_load(struct lull_compiler *c, const struct lull_operand *operand,
                        struct lull_load *load)
{
    if (!load_operand(c, operand, load)) {
        return false;
    }
    position_load(c, load);
    return true;
}

struct lull_load lull_compiler_load_or_none(struct lull_compiler *c,
                                            const struct lull_operand *operand)
{
    struct lull_load load;
    if (lull_compiler_load(c, operand, &load)) {
        return load;
    }
    return (struct lull_load){.kind = LULL_LOAD_VALUE};
}

struct lull_program *lull_compiler_end(struct lull_compiler *c, int32_t entry,
                                       struct lull_fields *fields)
{
    struct lull_arena *arena = c->arena;
    struct lull_program *program = lull_arena_alloc(arena, sizeof *program);
    program->tests =
        lull_arena_copy(arena, c->tests->data, c->tests->len * sizeof(struct lull_test));
    program->n_tests = c->tests->len;
    program->entry = entry;
    program->n_visited = c->n_visited;
    program->visited = (const struct lull_field_path *const *)lull_arena_copy(arena, c->visited,
                                                                              sizeof c->visited);
    fields->n_bindings = c->bindings->len;
    fields->bindings =
        lull_arena_copy(arena, c->bindings->data, c->bindings->len * sizeof(struct lull_binding));
    if (c->bindings->len > 0) {
        fields->size = c->size;
    }
    lull_compiler_free(c);
    return program;
}

void lull_compiler_free(struct lull_compiler *c)
{
    g_array_unref(c->tests);
    g_array_unref(c->bindings);
}
