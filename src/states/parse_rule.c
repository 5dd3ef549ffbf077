/* SPDX-License-Identifier: MIT */
/* Rules of a .states file, and what they refer to.
 *
 *   rule    = [ "also" ] "on" or [ "at" "(" operand { "," operand } ")" | "each" ] [ "if" or ]
 *             ":" actions
 *   after   = "after" duration "in" word ":" actions
 *   actions = action { "," action }
 *   action  = word [ "!" ] | "none" | "unknown" | "end" | "push" word | "pop"
 *           | word ( "=" | "+=" | "-=" ) operand
 *   operand = as in filters | "$timestamp" | "$tid" | "$comm" | "$container" | "$cgroup" | "$pod"
 *           | "row" "." word | GROUP "[" operands "]" [ "?" ] "." word
 */
#include "states/parse.h"

#include <string.h>

#define FAIL lull_parser_fail

static struct states_parser *self_of(struct lull_parser *p)
{
    return p->user;
}

/* ---- operands ---- */

/* row.NAME: it may be declared only later, but keys, variables and states come before rules. */
static bool parse_own(struct lull_parser *p, size_t at, struct lull_operand *operand)
{
    struct states_parser *s = self_of(p);
    const char *name;
    if (!(s->allows & STATES_ROW)) {
        return FAIL(p, at, "which row is meant is not known here; write the condition after if");
    }
    if (!lull_parser_advance(p)) {
        return false;
    }
    const size_t name_at = p->token.start;
    if (!states_word(s, &name, "state, or the name of a key, a variable or a number")) {
        return false;
    }
    const int32_t index = states_find_name(s->group, name);
    const bool is_state = strcmp(name, "state") == 0;
    *operand = (struct lull_operand){.kind = LULL_OPERAND_GIVEN,
                                     .group = LULL_STATES_ROW,
                                     .index = is_state ? 0 : (uint32_t)index + 1,
                                     .value.kind = is_state ? LULL_VALUE_TEXT : LULL_VALUE_NONE};
    if (index < 0 && !is_state) {
        return FAIL(p, name_at, "the group has no “%s”; names are declared before the rules", name);
    }
    if (is_state && p->token.kind == LULL_TOKEN_NE) {
        g_autoptr(GError) why = NULL;
        lull_lexer_complain(&p->lexer, p->token.start, &why,
                            "warning: a row that is in no state, or an unknown one, is not unequal "
                            "to a state either; write !(row.state == …)");
        g_string_append_printf(s->warnings, "%s\n", why->message);
    }
    return true;
}

/* After GROUP and at [ */
static bool parse_other(struct lull_parser *p, size_t at, uint32_t group,
                        struct lull_operand *operand)
{
    struct states_parser *s = self_of(p);
    struct lull_states_other other = {.group = group, .at = at};
    g_autoptr(GArray) keys = g_array_new(FALSE, TRUE, sizeof(struct lull_operand));
    const unsigned allows = s->allows;
    if (!(allows & STATES_OTHERS)) {
        return FAIL(p, at, "rows of other groups can be asked for in at, if and actions only");
    }
    if (s->nested == LULL_STATES_MOST_NESTED) {
        return FAIL(p, at, "rows are found by rows at most %d deep", LULL_STATES_MOST_NESTED);
    }
    s->nested++;
    s->allows &= s->is_each ? ~(unsigned)STATES_ROW : ~0u;
    do {
        struct lull_operand key;
        if (!lull_parser_advance(p) || !states_operand(s, &key)) {
            return false;
        }
        g_array_append_val(keys, key);
    } while (p->token.kind == LULL_TOKEN_COMMA);
    s->allows = allows;
    s->nested--;
    if (!lull_parser_expect(p, LULL_TOKEN_CLOSE_INDEX, ", or ]")) {
        return false;
    }
    other.is_optional = p->token.kind == LULL_TOKEN_QUESTION;
    if ((other.is_optional && !lull_parser_advance(p)) ||
        !lull_parser_expect(p, LULL_TOKEN_DOT, "a point and a name") ||
        !states_word(s, &other.name, "state, or the name of a key, a variable or a number")) {
        return false;
    }
    other.n_keys = keys->len;
    other.keys = lull_arena_copy(p->terms->arena, keys->data, keys->len * sizeof *other.keys);
    if (s->group->n_others == LULL_STATES_MOST_OTHERS) {
        return FAIL(p, at, "a group asks for at most %d rows of others", LULL_STATES_MOST_OTHERS);
    }
    *operand = (struct lull_operand){
        .kind = LULL_OPERAND_GIVEN, .group = LULL_STATES_OTHERS, .index = s->group->n_others};
    s->group->others[s->group->n_others++] = other;
    return true;
}

/* For lull_parser.parse_name. */
static bool parse_name(struct lull_parser *p, struct lull_operand *operand)
{
    static const struct {
        const char *name;
        struct lull_operand operand;
    } words[] = {{"host", {.kind = LULL_OPERAND_HOST}},
                 {"cpu", {.kind = LULL_OPERAND_CPU}},
                 {"$timestamp", {.kind = LULL_OPERAND_TIME}}};
    struct states_parser *s = self_of(p);
    const struct lull_token first = p->token;
    const char *name = lull_parser_text(p, &first);
    const bool has_sign = name[0] == '$';
    if (!lull_parser_advance(p)) {
        return false;
    }
    const bool has_dot = p->token.kind == LULL_TOKEN_DOT;
    const bool goes_on = has_dot || p->token.kind == LULL_TOKEN_OPEN_INDEX;
    if (strcmp(name, "row") == 0 && has_dot) {
        return parse_own(p, first.start, operand);
    }
    for (uint32_t i = 0; p->token.kind == LULL_TOKEN_OPEN_INDEX && i < s->group_names->len; i++) {
        if (strcmp(name, s->group_names->pdata[i]) == 0) {
            return parse_other(p, first.start, i, operand);
        }
    }
    if (!(s->allows & STATES_EVENT)) {
        return FAIL(p, first.start, "there is no event here; a row.NAME or a value is expected");
    }
    enum lull_who_value who;
    if (lull_who_find(name, &who)) {
        s->states->asks_running = true;
        s->states->asks_places |= lull_who_is_place(who);
        *operand = lull_who_operand(who);
        return true;
    }
    if (strcmp(name + has_sign, "name") == 0 && (has_sign || !goes_on)) {
        return lull_parser_name(p, first.start, operand);
    }
    for (size_t i = 0; (has_sign || !goes_on) && i < G_N_ELEMENTS(words); i++) {
        if (strcmp(name + has_sign, words[i].name) == 0 || strcmp(name, words[i].name) == 0) {
            *operand = words[i].operand;
            return true;
        }
    }
    if (strcmp(name + has_sign, "time") == 0 && (has_sign || !goes_on)) {
        return FAIL(
            p, first.start,
            "rules do not depend on the time of day; --begin and --end limit what is shown "
            "($timestamp is when the event was, in ns; a field of this name is fields.time)");
    }
    if (has_sign) {
        return FAIL(
            p, first.start,
            "there is no %s, only $name, $host, $cpu, $timestamp, $tid, $comm, $container, $cgroup "
            "and $pod",
            name);
    }
    return lull_parser_path(p, &first, name, operand);
}

bool states_operand(struct states_parser *s, struct lull_operand *operand)
{
    struct lull_parser *p = &s->parser;
    *operand = (struct lull_operand){0};
    if (lull_parser_sees(p, "true") || lull_parser_sees(p, "false")) {
        operand->value = lull_value_int(lull_parser_sees(p, "true"));
        return lull_parser_advance(p);
    }
    return p->token.kind == LULL_TOKEN_NAME ? parse_name(p, operand)
                                            : lull_parser_literal(p, operand);
}

bool states_is_task(const struct states_parser *s, const struct lull_operand *operand)
{
    if (operand->kind == LULL_OPERAND_RUNNING) {
        return operand->given == LULL_WHO_TID;
    }
    if (operand->kind != LULL_OPERAND_FIELD) {
        return false;
    }
    const struct lull_field_path *path = &s->states->terms.fields[operand->index];
    return path->scope == LULL_IN_CONTEXT && path->n_steps == 1 &&
           (g_strcmp0(path->steps[0].name, "tid") == 0 ||
            g_strcmp0(path->steps[0].name, "vtid") == 0);
}

/* ---- actions ---- */

bool states_known(struct states_parser *s, uint16_t *state)
{
    struct lull_parser *p = &s->parser;
    const size_t at = p->token.start;
    const char *name;
    if (!states_word(s, &name, "the name of a state")) {
        return false;
    }
    const int32_t found = states_find_state(s->group, name);
    if (found < 0) {
        return FAIL(p, at, "the group has no state “%s”; states are declared before the rules",
                    name);
    }
    *state = (uint16_t)found;
    return true;
}

bool states_state(struct states_parser *s, uint16_t *state)
{
    if (!states_known(s, state)) {
        return false;
    }
    s->group->states[*state].is_used = true;
    return true;
}

/* word ( "=" | "+=" | "-=" ) operand, at the sign */
static bool parse_assignment(struct states_parser *s, size_t at, const char *name,
                             struct lull_states_action *action)
{
    struct lull_parser *p = &s->parser;
    const int32_t found = states_find_name(s->group, name);
    action->kind = p->token.kind == LULL_TOKEN_ASSIGN ? LULL_STATES_SET
                   : p->token.kind == LULL_TOKEN_ADD  ? LULL_STATES_ADD
                                                      : LULL_STATES_SUBTRACT;
    if (found < 0) {
        return FAIL(p, at, "the group has no variable or number “%s”", name);
    }
    if (s->group->names[found].kind == LULL_STATES_KEY) {
        return FAIL(p, at, "“%s” is part of the row's key, which never changes", name);
    }
    action->value = (uint32_t)found + 1;
    return lull_parser_advance(p) && states_operand(s, &action->operand);
}

static bool parse_action(struct states_parser *s, struct lull_states_action *action)
{
    static const struct {
        const char *word;
        enum lull_states_act kind;
        uint16_t state;
    } words[] = {{"none", LULL_STATES_ENTER, LULL_ROW_NONE},
                 {"unknown", LULL_STATES_ENTER, LULL_ROW_UNKNOWN},
                 {"end", LULL_STATES_ENTER, LULL_ROW_ENDED},
                 {"pop", LULL_STATES_POP, 0}};
    struct lull_parser *p = &s->parser;
    const struct lull_lexer lexer = p->lexer;
    const struct lull_token token = p->token;
    const char *name;
    if (!states_word(s, &name,
                     "an action: a state, none, unknown, end, push, pop or NAME = VALUE")) {
        return false;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strcmp(name, words[i].word) == 0) {
            *action = (struct lull_states_action){.kind = words[i].kind, .state = words[i].state};
            return true;
        }
    }
    if (strcmp(name, "push") == 0) {
        action->kind = LULL_STATES_PUSH;
        return states_state(s, &action->state);
    }
    if (p->token.kind == LULL_TOKEN_ASSIGN || p->token.kind == LULL_TOKEN_ADD ||
        p->token.kind == LULL_TOKEN_SUBTRACT) {
        return parse_assignment(s, token.start, name, action);
    }
    p->lexer = lexer;
    p->token = token;
    if (!states_state(s, &action->state)) {
        return false;
    }
    action->is_fresh = p->token.kind == LULL_TOKEN_NOT;
    return !action->is_fresh || lull_parser_advance(p);
}

static bool parse_actions(struct states_parser *s, const struct lull_states_action **actions,
                          uint32_t *n)
{
    struct lull_parser *p = &s->parser;
    g_autoptr(GArray) list = g_array_new(FALSE, TRUE, sizeof(struct lull_states_action));
    if (p->token.kind != LULL_TOKEN_COLON) {
        return FAIL(p, p->token.start, "expected : and actions");
    }
    do {
        struct lull_states_action action = {0};
        if (!lull_parser_advance(p) || !parse_action(s, &action)) {
            return false;
        }
        g_array_append_val(list, action);
    } while (p->token.kind == LULL_TOKEN_COMMA);
    *n = list->len;
    *actions = lull_arena_copy(p->terms->arena, list->data, list->len * sizeof **actions);
    return true;
}

/* ---- rules ---- */

/* "at" "(" operands ")" */
static bool parse_at(struct states_parser *s, struct lull_states_rule *rule)
{
    struct lull_parser *p = &s->parser;
    const size_t at = p->token.start;
    g_autoptr(GArray) keys = g_array_new(FALSE, TRUE, sizeof(struct lull_operand));
    s->allows = STATES_EVENT | STATES_OTHERS;
    if (!lull_parser_advance(p)) {
        return false;
    }
    if (p->token.kind != LULL_TOKEN_OPEN) {
        return FAIL(p, p->token.start, "expected ( and the key of a row");
    }
    do {
        struct lull_operand key;
        if (!lull_parser_advance(p) || !states_operand(s, &key)) {
            return false;
        }
        g_array_append_val(keys, key);
    } while (p->token.kind == LULL_TOKEN_COMMA);
    if (keys->len != s->group->n_keys) {
        return FAIL(p, at, "a row of this group has %u key%s", s->group->n_keys,
                    s->group->n_keys == 1 ? "" : "s");
    }
    rule->at = lull_arena_copy(p->terms->arena, keys->data, keys->len * sizeof *rule->at);
    return lull_parser_expect(p, LULL_TOKEN_CLOSE, ", or )");
}

static bool parse_where(struct states_parser *s, struct lull_states_rule *rule)
{
    struct lull_parser *p = &s->parser;
    if (lull_parser_sees(p, "at")) {
        return parse_at(s, rule);
    }
    rule->is_each = lull_parser_sees(p, "each");
    return !rule->is_each || lull_parser_advance(p);
}

static bool parse_if(struct states_parser *s, struct lull_states_rule *rule)
{
    struct lull_parser *p = &s->parser;
    s->allows = STATES_EVENT | STATES_ROW | STATES_OTHERS;
    s->is_each = rule->is_each;
    if (!lull_parser_sees(p, "if")) {
        return true;
    }
    rule->condition = lull_parser_advance(p) ? lull_parser_condition(p) : NULL;
    return rule->condition != NULL;
}

static size_t line_of(const struct lull_parser *p, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += p->lexer.text[i] == '\n';
    }
    return line;
}

bool states_rule(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_states_rule rule = {.is_also = lull_parser_sees(p, "also"),
                                    .start = s->item,
                                    .line = line_of(p, s->item),
                                    .first_other = s->group->n_others};
    if (rule.is_also && !lull_parser_advance(p)) {
        return false;
    }
    if (!lull_parser_sees(p, "on")) {
        return FAIL(p, p->token.start, "expected on");
    }
    if (!s->group->n_keys) {
        return FAIL(p, s->item, "row comes before the rules of a group");
    }
    s->allows = STATES_EVENT;
    s->is_each = false;
    s->nested = 0;
    rule.on = lull_parser_advance(p) ? lull_parser_condition(p) : NULL;
    if (!rule.on || !parse_where(s, &rule)) {
        return false;
    }
    rule.n_at_others = s->group->n_others - rule.first_other;
    if (!parse_if(s, &rule)) {
        return false;
    }
    rule.end = p->token.start;
    s->allows = STATES_EVENT | STATES_ROW | STATES_OTHERS;
    if (!parse_actions(s, &rule.actions, &rule.n_actions)) {
        return false;
    }
    rule.n_others = s->group->n_others - rule.first_other;
    if (s->group->n_rules == LULL_STATES_MOST_RULES) {
        return FAIL(p, s->item, "a group has at most %d rules", LULL_STATES_MOST_RULES);
    }
    s->group->n_rules++;
    g_array_append_val(s->rules, rule);
    return true;
}

bool states_after(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    uint16_t state;
    if (!lull_parser_advance(p)) {
        return false;
    }
    const struct lull_token duration = p->token;
    if (duration.kind != LULL_TOKEN_NUMBER || !duration.is_time || duration.integer == 0 ||
        duration.integer > INT64_MAX / 4) {
        return FAIL(p, duration.start, "expected a duration with its unit, such as 100ms");
    }
    if (!lull_parser_advance(p)) {
        return false;
    }
    if (!lull_parser_sees(p, "in")) {
        return FAIL(p, p->token.start, "expected in and a state");
    }
    if (!lull_parser_advance(p) || !states_state(s, &state)) {
        return false;
    }
    struct lull_states_after *after = &s->group->after[state];
    if (after->after_ns) {
        return FAIL(p, s->item, "the state has an after already");
    }
    s->allows = STATES_ROW;
    if (!parse_actions(s, &after->actions, &after->n_actions)) {
        return false;
    }
    after->after_ns = (int64_t)duration.integer;
    return true;
}

/* ---- all of it ---- */

void states_parser_start(struct states_parser *s, const char *source, size_t length,
                         const char *name)
{
    s->rules = g_array_new(FALSE, TRUE, sizeof(struct lull_states_rule));
    s->blocks = g_array_new(FALSE, TRUE, sizeof(struct lull_states_rules));
    s->group_names = g_ptr_array_new();
    s->errors = g_string_new(NULL);
    s->parser = (struct lull_parser){.lexer = {.text = source,
                                               .length = length,
                                               .what = name,
                                               .is_states = true,
                                               .arena = s->states->terms.arena},
                                     .terms = &s->states->terms,
                                     .parse_test = lull_parser_test,
                                     .parse_name = parse_name,
                                     .has_strict_not = true,
                                     .error = &s->why,
                                     .user = s};
}

void states_parser_end(struct states_parser *s)
{
    g_array_unref(s->rules);
    g_array_unref(s->blocks);
    g_ptr_array_unref(s->group_names);
    g_string_free(s->errors, TRUE);
}
