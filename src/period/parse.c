/* SPDX-License-Identifier: MIT */
/* From the text of a period definition, or of captures, to conditions (src/filter/parser.c joins
 * the tests).
 *
 *   definition = [ name [ "(" name ")" ] ] ":" condition [ ":" condition ]
 *   test       = value ( relation value | "=*" string )
 *   value      = reference | number | string
 *   reference  = { "$parent" "." } [ "$begin" "." ] "$evt" "." member
 *   member     = "$name" | "$host" | "$cpu" | "$tid" | "$comm" | "$timestamp"
 *              | "$container" | "$cgroup" | "$pod"
 *              | [ scope "." ] field
 *   captures   = name ":" [ list ] [ ":" list ]
 *   list       = [ name "=" ] reference { "," [ name "=" ] reference }
 */
#include <string.h>

#include "filter/parser.h"
#include "period/definition.h"

#define FAIL lull_parser_fail

/* What is being parsed; lull_parser.user. */
struct position {
    struct lull_periods *periods;
    struct lull_period_definition *self;
    bool is_end;
};

static struct position *position_of(const struct lull_parser *p)
{
    return p->user;
}

/* ---- members of an event ---- */

static const struct {
    const char *name;
    enum lull_operand_kind kind;
    enum lull_period_now now;
} members[] = {
    {"$name", LULL_OPERAND_NAME, 0},
    {"$host", LULL_OPERAND_HOST, 0},
    {"$cpu", LULL_OPERAND_CPU, 0},
    {"$timestamp", LULL_OPERAND_TIME, 0},
    {"$tid", LULL_OPERAND_RUNNING, LULL_NOW_TID},
    {"$comm", LULL_OPERAND_RUNNING, LULL_NOW_COMM},
    {"$container", LULL_OPERAND_RUNNING, LULL_NOW_CONTAINER},
    {"$cgroup", LULL_OPERAND_RUNNING, LULL_NOW_CGROUP},
    {"$pod", LULL_OPERAND_RUNNING, LULL_NOW_POD},
};

/* Lull knows payload and contexts; of a packet's context only the CPU means something here. */
static const struct {
    const char *name;
    enum lull_field_scope scope;
    bool is_packet, is_unread;
} scopes[] = {
    {"$payload", LULL_IN_PAYLOAD, false, false},    {"$ctx", LULL_IN_CONTEXT, false, false},
    {"$stream_ctx", LULL_IN_CONTEXT, false, false}, {"$pkt_ctx", LULL_IN_ANY, true, false},
    {"$header", LULL_IN_ANY, false, true},          {"$pkt_header", LULL_IN_ANY, false, true},
};

/* cpu_id, which lttng-analyses finds in the packet's context if there is no such field. */
static void make_cpu(struct lull_operand *operand, bool is_packet)
{
    if (is_packet) {
        *operand = (struct lull_operand){.kind = LULL_OPERAND_CPU};
        return;
    }
    *operand = (struct lull_operand){.kind = LULL_OPERAND_RUNNING,
                                     .index = operand->index,
                                     .n_fields = 1,
                                     .given = LULL_NOW_CPU};
}

static bool parse_field(struct lull_parser *p, struct lull_field_path *path, bool is_packet,
                        struct lull_operand *operand)
{
    const size_t at = p->token.start;
    struct lull_filter_step steps[LULL_FILTER_STEPS] = {{.name = NULL}};
    if (p->token.kind != LULL_TOKEN_NAME || p->lexer.text[at] == '$') {
        return FAIL(p, at, "expected the name of a field");
    }
    steps[0].name = lull_parser_text(p, &p->token);
    path->steps = steps;
    path->n_steps = 1;
    if (!lull_parser_advance(p) || !lull_parser_steps(p, steps, &path->n_steps)) {
        return false;
    }
    bool is_cpu = path->n_steps == 1 && strcmp(steps[0].name, "cpu_id") == 0;
    if (is_packet && !is_cpu) {
        return FAIL(p, at, "only $pkt_ctx.cpu_id is available of a packet");
    }
    if (!is_packet && !lull_parser_field(p, at, path, operand)) {
        return false;
    }
    if (is_cpu && path->scope == LULL_IN_ANY) {
        make_cpu(operand, is_packet);
    }
    return true;
}

/* What follows "$evt." */
static bool parse_member(struct lull_parser *p, struct lull_operand *operand)
{
    struct lull_field_path path = {.scope = LULL_IN_ANY};
    bool is_packet = false;
    for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
        if (lull_parser_sees(p, members[i].name)) {
            if (members[i].kind == LULL_OPERAND_NAME) {
                return lull_parser_name(p, p->token.start, operand) && lull_parser_advance(p);
            }
            position_of(p)->periods->asks_places |=
                members[i].kind == LULL_OPERAND_RUNNING &&
                lull_who_is_place((enum lull_who_value)members[i].now);
            *operand = members[i].kind == LULL_OPERAND_RUNNING
                           ? lull_who_operand((enum lull_who_value)members[i].now)
                           : (struct lull_operand){.kind = members[i].kind};
            return lull_parser_advance(p);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(scopes); i++) {
        if (!lull_parser_sees(p, scopes[i].name)) {
            continue;
        }
        if (scopes[i].is_unread) {
            return FAIL(p, p->token.start,
                        "headers are not read; there are $name, $timestamp and $cpu");
        }
        path.scope = scopes[i].scope;
        is_packet = scopes[i].is_packet;
        if (!lull_parser_advance(p) || !lull_parser_expect(p, LULL_TOKEN_DOT, "a point")) {
            return false;
        }
        return parse_field(p, &path, is_packet, operand);
    }
    if (p->token.kind == LULL_TOKEN_NAME && p->lexer.text[p->token.start] == '$') {
        return FAIL(
            p, p->token.start,
            "there is no such member of an event: there are $name, $host, $cpu, $tid, "
            "$comm, $container, $cgroup, $pod, $timestamp, and the scopes $payload, $ctx, $stream_ctx, $pkt_ctx");
    }
    return parse_field(p, &path, is_packet, operand);
}

/* ---- references ---- */

static bool same_operand(const struct lull_operand *a, const struct lull_operand *b)
{
    return a->kind == b->kind && a->index == b->index && a->n_fields == b->n_fields &&
           a->given == b->given;
}

/* The number under which instances of the definition keep the operand. */
static uint32_t keep(struct lull_period_definition *definition, const struct lull_operand *operand)
{
    for (uint32_t i = 0; i < definition->kept->len; i++) {
        if (same_operand(&g_array_index(definition->kept, struct lull_operand, i), operand)) {
            return i;
        }
    }
    g_array_append_val(definition->kept, *operand);
    return definition->kept->len - 1;
}

/* "$word ." if it is there: then *found. */
static bool step_over(struct lull_parser *p, const char *word, bool *found)
{
    *found = lull_parser_sees(p, word);
    return !*found || (lull_parser_advance(p) && lull_parser_expect(p, LULL_TOKEN_DOT, "a point"));
}

static bool parse_reference(struct lull_parser *p, struct lull_operand *operand)
{
    const struct position *position = position_of(p);
    const size_t at = p->token.start;
    uint32_t up = 0;
    bool found = true, has_start;
    while (step_over(p, "$parent", &found) && found) {
        up++;
    }
    if (*p->error || !step_over(p, "$begin", &has_start)) {
        return false;
    }
    const size_t event_at = p->token.start;
    if (!step_over(p, "$evt", &found)) {
        return false;
    }
    if (!found) {
        return FAIL(p, event_at, "expected $evt%s and a point",
                    has_start ? "" : ", $begin.$evt or $parent.$begin.$evt");
    }
    if (up > 0 && !has_start) {
        return FAIL(p, event_at,
                    "of a parent only the event that opened it is known: $parent.$begin.$evt");
    }
    if (up > position->self->public.depth) {
        return FAIL(p, at,
                    up == 1 ? "$parent needs a named parent: NAME(PARENT) : …"
                            : "there are not so many parents");
    }
    if (!parse_member(p, operand)) {
        return false;
    }
    if (up == 0 && !(has_start && position->is_end)) {
        return true;
    }
    struct lull_period_definition *of = position->self;
    for (uint32_t i = 0; i < up; i++) {
        of = lull_period_definition(position->periods, of->public.parent);
    }
    *operand = (struct lull_operand){
        .kind = LULL_OPERAND_GIVEN, .group = LULL_PERIOD_OWN + up, .index = keep(of, operand)};
    return true;
}

/* ---- tests ---- */

static bool parse_value(struct lull_parser *p, struct lull_operand *operand)
{
    *operand = (struct lull_operand){0};
    if (p->token.kind == LULL_TOKEN_NAME) {
        return parse_reference(p, operand);
    }
    if (p->token.kind == LULL_TOKEN_PLUS) {
        if (!lull_parser_advance(p)) {
            return false;
        }
        if (p->token.kind != LULL_TOKEN_NUMBER) {
            return FAIL(p, p->token.start, "expected a number after +");
        }
    } else if (p->token.kind != LULL_TOKEN_NUMBER && p->token.kind != LULL_TOKEN_STRING &&
               p->token.kind != LULL_TOKEN_MINUS) {
        return FAIL(p, p->token.start,
                    "expected $evt.FIELD or the like, a number, or a text in quotes");
    }
    return lull_parser_literal(p, operand);
}

/* Of what $tid, $comm, … are: numbers, or texts. */
static bool is_running_number(const struct lull_operand *operand)
{
    return operand->given == LULL_NOW_TID || operand->given == LULL_NOW_CPU;
}

static bool is_text(const struct lull_operand *operand)
{
    return operand->kind == LULL_OPERAND_NAME || operand->kind == LULL_OPERAND_HOST ||
           (operand->kind == LULL_OPERAND_RUNNING && !is_running_number(operand)) ||
           (operand->kind == LULL_OPERAND_VALUE && operand->value.kind == LULL_VALUE_TEXT);
}

static bool is_number(const struct lull_operand *operand)
{
    return operand->kind == LULL_OPERAND_CPU || operand->kind == LULL_OPERAND_TIME ||
           (operand->kind == LULL_OPERAND_RUNNING && is_running_number(operand)) ||
           (operand->kind == LULL_OPERAND_VALUE && operand->value.kind != LULL_VALUE_TEXT);
}

static bool parse_pattern(struct lull_parser *p, struct lull_node *node)
{
    node->kind = LULL_NODE_MATCH;
    node->relation = LULL_RELATION_EQ;
    if (node->left.kind == LULL_OPERAND_VALUE || is_number(&node->left)) {
        return FAIL(p, p->token.start, "a pattern is for texts of events, not for %s",
                    is_number(&node->left) ? "numbers" : "constants");
    }
    return lull_parser_pattern(p, node);
}

static bool parse_relation(struct lull_parser *p, struct lull_node *node, size_t start)
{
    const size_t at = p->token.start;
    node->kind = LULL_NODE_COMPARE;
    node->relation = (enum lull_relation)(p->token.kind - LULL_TOKEN_EQ);
    if (!lull_parser_advance(p) || !parse_value(p, &node->right)) {
        return false;
    }
    if (node->left.kind == LULL_OPERAND_VALUE && node->right.kind == LULL_OPERAND_VALUE) {
        return FAIL(p, start, "two constants are compared; a field must be on one side");
    }
    if (lull_parser_is_relation(p)) {
        return FAIL(p, p->token.start, "comparisons are joined with &&, not chained");
    }
    if ((is_text(&node->left) && is_number(&node->right)) ||
        (is_number(&node->left) && is_text(&node->right))) {
        return FAIL(p, at, "a text is compared with a number");
    }
    return true;
}

static const struct lull_node *parse_test(struct lull_parser *p)
{
    const size_t start = p->token.start;
    struct lull_node *node = lull_parser_node(p, LULL_NODE_COMPARE);
    if (p->token.kind == LULL_TOKEN_END || p->token.kind == LULL_TOKEN_COLON) {
        FAIL(p, start, "expected a condition");
        return NULL;
    }
    if (!parse_value(p, &node->left)) {
        return NULL;
    }
    if (p->token.kind == LULL_TOKEN_GLOB) {
        return parse_pattern(p, node) ? node : NULL;
    }
    if (lull_parser_is_relation(p)) {
        return parse_relation(p, node, start) ? node : NULL;
    }
    FAIL(p, p->token.start, "expected a comparison (== != < <= > >= =*)");
    return NULL;
}

/* ---- definitions ---- */

static void start_parser(struct lull_parser *p, struct lull_periods *periods, const char *text,
                         const char *what, struct position *position, GError **error)
{
    *position = (struct position){.periods = periods};
    *p = (struct lull_parser){.lexer = {.text = text,
                                        .length = strlen(text),
                                        .what = what,
                                        .is_period = true,
                                        .arena = periods->terms.arena},
                              .terms = &periods->terms,
                              .parse_test = parse_test,
                              .user = position,
                              .error = error};
}

static bool is_plain_name(const struct lull_parser *p)
{
    return p->token.kind == LULL_TOKEN_NAME && p->lexer.text[p->token.start] != '$';
}

/* A name, or a path of names of which the last counts. */
static bool parse_name(struct lull_parser *p, const char **name, const char *missing)
{
    for (;;) {
        if (!is_plain_name(p)) {
            return FAIL(p, p->token.start, "expected %s", missing);
        }
        *name = lull_parser_text(p, &p->token);
        if (!lull_parser_advance(p)) {
            return false;
        }
        if (p->token.kind != LULL_TOKEN_SLASH) {
            return true;
        }
        if (!lull_parser_advance(p)) {
            return false;
        }
    }
}

static uint32_t find_name(const struct lull_periods *periods, const char *name)
{
    for (uint32_t i = 0; i < periods->definitions->len; i++) {
        if (g_strcmp0(lull_periods_at(periods, i)->name, name) == 0) {
            return i;
        }
    }
    return LULL_NO_PERIOD;
}

static bool parse_parent(struct lull_parser *p, struct lull_period_definition *self)
{
    struct lull_periods *periods = position_of(p)->periods;
    const char *name;
    const size_t at = p->token.end;
    if (!lull_parser_advance(p)) {
        return false;
    }
    const size_t name_at = MAX(at, p->token.start);
    if (!parse_name(p, &name, "the name of the parent")) {
        return false;
    }
    self->public.parent = find_name(periods, name);
    if (self->public.parent == LULL_NO_PERIOD) {
        return FAIL(p, name_at, "there is no period “%s” before this one", name);
    }
    self->public.depth = lull_periods_at(periods, self->public.parent)->depth + 1;
    if (self->public.depth > LULL_PERIOD_MOST_DEEP) {
        return FAIL(p, name_at, "periods are nested deeper than %d", LULL_PERIOD_MOST_DEEP);
    }
    return lull_parser_expect(p, LULL_TOKEN_CLOSE, ")");
}

/* NAME, NAME(PARENT), or nothing. */
static bool parse_head(struct lull_parser *p, struct lull_period_definition *self)
{
    struct lull_periods *periods = position_of(p)->periods;
    struct lull_arena *arena = periods->terms.arena;
    const size_t at = p->token.start;
    self->public.parent = LULL_NO_PERIOD;
    self->public.path = "";
    if (p->token.kind == LULL_TOKEN_COLON) {
        return true;
    }
    if (!parse_name(p, &self->public.name, "a name, or : and a condition")) {
        return false;
    }
    if (find_name(periods, self->public.name) != LULL_NO_PERIOD) {
        return FAIL(p, at, "there is a period “%s” already", self->public.name);
    }
    self->public.path = self->public.name;
    if (p->token.kind != LULL_TOKEN_OPEN) {
        return true;
    }
    if (!parse_parent(p, self)) {
        return false;
    }
    g_autofree char *path = g_strconcat(lull_periods_at(periods, self->public.parent)->path, "/",
                                        self->public.name, NULL);
    self->public.path = lull_arena_strndup(arena, path, strlen(path));
    return true;
}

static bool parse_definition(struct lull_parser *p, struct lull_period_definition *self)
{
    struct position *position = position_of(p);
    if (p->lexer.length > LULL_PARSER_MOST_BYTES) {
        return FAIL(p, LULL_PARSER_MOST_BYTES, "the definition is longer than %d bytes",
                    LULL_PARSER_MOST_BYTES);
    }
    if (!lull_parser_advance(p) || !parse_head(p, self) ||
        !lull_parser_expect(p, LULL_TOKEN_COLON, ": and the condition that opens the period")) {
        return false;
    }
    const struct lull_lexer lexer = p->lexer;
    const struct lull_token token = p->token;
    self->start = lull_parser_condition(p);
    if (!self->start) {
        return false;
    }
    bool has_end = p->token.kind == LULL_TOKEN_COLON;
    if (!has_end && p->token.kind != LULL_TOKEN_END) {
        return FAIL(p, p->token.start,
                    "expected && or ||, or : and the condition that "
                    "closes the period, or the end");
    }
    /* Without one, the condition that opens is read again, as one that closes: $begin differs. */
    if (!has_end) {
        p->lexer = lexer;
        p->token = token;
    } else if (!lull_parser_advance(p)) {
        return false;
    }
    position->is_end = true;
    self->end = lull_parser_condition(p);
    if (!self->end) {
        return false;
    }
    return p->token.kind == LULL_TOKEN_END ||
           FAIL(p, p->token.start, "expected && or || or the end");
}

bool lull_period_parse(struct lull_periods *periods, const char *text, GError **error)
{
    GError *why = NULL;
    struct lull_parser parser;
    struct position position;
    start_parser(&parser, periods, text, "the period", &position, &why);
    struct lull_period_definition *self = lull_arena_alloc(periods->terms.arena, sizeof *self);
    self->kept = g_array_new(FALSE, FALSE, sizeof(struct lull_operand));
    self->public.text = lull_arena_strndup(periods->terms.arena, text, strlen(text));
    position.self = self;
    bool is_right = parse_definition(&parser, self);
    if (is_right) {
        g_ptr_array_add(periods->definitions, self);
    } else {
        g_array_unref(self->kept);
    }
    if (why) {
        g_propagate_error(error, why);
    }
    return is_right;
}

/* ---- captures ---- */

/* The expression as it was written, without blanks. */
static const char *canonical(const struct lull_parser *p, size_t start, size_t end)
{
    char *text = lull_arena_alloc(p->terms->arena, end - start + 1);
    size_t n = 0;
    for (size_t i = start; i < end; i++) {
        if (!g_ascii_isspace(p->lexer.text[i])) {
            text[n++] = p->lexer.text[i];
        }
    }
    return text;
}

static bool parse_capture(struct lull_parser *p, GArray *list)
{
    struct lull_period_capture capture = {.name = NULL};
    const size_t start = p->token.start;
    if (is_plain_name(p)) {
        capture.name = lull_parser_text(p, &p->token);
        if (!lull_parser_advance(p) || !lull_parser_expect(p, LULL_TOKEN_ASSIGN, "=")) {
            return false;
        }
    }
    const size_t reference = p->token.start;
    if (!parse_reference(p, &capture.operand)) {
        return false;
    }
    if (!capture.name) {
        capture.name = canonical(p, reference, p->token.start);
    }
    for (uint32_t i = 0; i < list->len; i++) {
        if (strcmp(g_array_index(list, struct lull_period_capture, i).name, capture.name) == 0) {
            return FAIL(p, start, "there is a capture “%s” already", capture.name);
        }
    }
    g_array_append_val(list, capture);
    return true;
}

/* May be empty. */
static bool parse_list(struct lull_parser *p, GArray *list)
{
    if (p->token.kind == LULL_TOKEN_COLON || p->token.kind == LULL_TOKEN_END) {
        return true;
    }
    for (;;) {
        if (!parse_capture(p, list)) {
            return false;
        }
        if (p->token.kind != LULL_TOKEN_COMMA) {
            return true;
        }
        if (!lull_parser_advance(p)) {
            return false;
        }
    }
}

static const char *const *names_of(struct lull_arena *arena, const GArray *list)
{
    const char **names = lull_arena_alloc_n(arena, list->len + 1, sizeof *names);
    for (uint32_t i = 0; i < list->len; i++) {
        names[i] = g_array_index(list, struct lull_period_capture, i).name;
    }
    return names;
}

/* The definition that the captures are of. */
static bool parse_owner(struct lull_parser *p)
{
    struct position *position = position_of(p);
    const char *name = NULL;
    if (!lull_parser_advance(p)) {
        return false;
    }
    const size_t at = p->token.start;
    if (!parse_name(p, &name, "the name of a period")) {
        return false;
    }
    uint32_t number = find_name(position->periods, name);
    if (number == LULL_NO_PERIOD) {
        return FAIL(p, at, "there is no period “%s”", name);
    }
    position->self = lull_period_definition(position->periods, number);
    if (position->self->captures[0]) {
        return FAIL(p, at, "the period “%s” has captures already", name);
    }
    return lull_parser_expect(p, LULL_TOKEN_COLON, ": and captures");
}

static bool parse_lists(struct lull_parser *p, GArray *start, GArray *end)
{
    if (p->lexer.length > LULL_PARSER_MOST_BYTES) {
        return FAIL(p, LULL_PARSER_MOST_BYTES, "the captures are longer than %d bytes",
                    LULL_PARSER_MOST_BYTES);
    }
    if (!parse_owner(p) || !parse_list(p, start)) {
        return false;
    }
    position_of(p)->is_end = true;
    if (p->token.kind == LULL_TOKEN_COLON && (!lull_parser_advance(p) || !parse_list(p, end))) {
        return false;
    }
    if (p->token.kind != LULL_TOKEN_END) {
        return FAIL(p, p->token.start, "expected a comma%s or the end", end->len == 0 ? ", :" : "");
    }
    return true;
}

bool lull_period_parse_captures(struct lull_periods *periods, const char *text, GError **error)
{
    GError *why = NULL;
    struct lull_parser parser;
    struct position position;
    struct lull_arena *arena = periods->terms.arena;
    start_parser(&parser, periods, text, "the captures", &position, &why);
    g_autoptr(GArray) start = g_array_new(FALSE, FALSE, sizeof(struct lull_period_capture));
    g_autoptr(GArray) end = g_array_new(FALSE, FALSE, sizeof(struct lull_period_capture));
    bool is_right = parse_lists(&parser, start, end);
    if (is_right) {
        struct lull_period_definition *self = position.self;
        const size_t size = sizeof(struct lull_period_capture);
        self->captures[0] = lull_arena_copy(arena, start->data, start->len * size);
        self->captures[1] = lull_arena_copy(arena, end->data, end->len * size);
        self->public.start_captures = names_of(arena, start);
        self->public.end_captures = names_of(arena, end);
        self->public.n_start_captures = start->len;
        self->public.n_end_captures = end->len;
    }
    if (why) {
        g_propagate_error(error, why);
    }
    return is_right;
}
