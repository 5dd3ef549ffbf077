/* SPDX-License-Identifier: MIT */
/* The items of a group but rules and `after`: its key, states, variables, numbers and what it says of
 * its rows. */
#include <string.h>

#include "states/parse.h"

#define FAIL lull_parser_fail

/* ---- words ---- */

static const char *const keywords[] = {
    "row",   "title", "states", "start", "task", "keep", "number", "lost",   "on",    "also",
    "at",    "each",  "if",     "after", "in",   "none", "end",    "push",   "pop",   "unknown",
    "group", "name",  "host",   "cpu",   "time", "true", "false",  "exists", "count", NULL};

bool states_is_keyword(const char *word)
{
    return g_strv_contains(keywords, word);
}

bool states_word(struct states_parser *s, const char **word, const char *what)
{
    struct lull_parser *p = &s->parser;
    if (p->token.kind != LULL_TOKEN_NAME || p->lexer.text[p->token.start] == '$') {
        return FAIL(p, p->token.start, "expected %s", what);
    }
    *word = lull_parser_text(p, &p->token);
    return lull_parser_advance(p);
}

/* A word that names something new in the group. */
static bool new_word(struct states_parser *s, const char **word, const char *what, bool is_key)
{
    struct lull_parser *p = &s->parser;
    const struct lull_states_group *group = s->group;
    const size_t at = p->token.start;
    if (!states_word(s, word, what)) {
        return false;
    }
    if (!is_key && g_strv_contains(keywords, *word)) {
        return FAIL(p, at, "“%s” is a word of the language; choose another name", *word);
    }
    if (states_find_state(group, *word) >= 0 || states_find_name(group, *word) >= 0) {
        return FAIL(p, at, "there is a “%s” in this group already", *word);
    }
    return true;
}

int32_t states_find_state(const struct lull_states_group *group, const char *name)
{
    for (uint32_t i = 0; i < group->n_states; i++) {
        if (strcmp(group->states[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

int32_t states_find_name(const struct lull_states_group *group, const char *name)
{
    for (uint32_t i = 0; i < group->n_names; i++) {
        if (strcmp(group->names[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

bool states_text(struct states_parser *s, const char **out)
{
    struct lull_parser *p = &s->parser;
    if (p->token.kind == LULL_TOKEN_STRING) {
        *out = lull_arena_strndup(p->terms->arena, p->token.text, p->token.length);
        return lull_parser_advance(p);
    }
    return true;
}

static bool colour(struct states_parser *s, const char **out)
{
    struct lull_parser *p = &s->parser;
    if (p->token.kind == LULL_TOKEN_COLOUR) {
        *out = lull_parser_text(p, &p->token);
        return lull_parser_advance(p);
    }
    return true;
}

/* ---- items ---- */

static bool add_name(struct states_parser *s, size_t at, const struct lull_states_name *name)
{
    struct lull_states_group *group = s->group;
    if (group->n_names == LULL_STATES_MOST_NAMES) {
        return FAIL(&s->parser, at, "a group has at most %d names", LULL_STATES_MOST_NAMES);
    }
    group->names[group->n_names] = *name;
    if (name->kind == LULL_STATES_NUMBER) {
        group->names[group->n_names].number = group->n_numbers++;
    }
    group->n_names++;
    return true;
}

/* What a key is called that has no name of its own: fields.rank is rank, $tid tid. */
static const char *name_of(const struct states_parser *s, const struct lull_operand *operand)
{
    const struct lull_field_path *path = &s->states->terms.fields[operand->index];
    switch (operand->kind) {
    case LULL_OPERAND_FIELD:
        return path->steps[path->n_steps - 1].name;
    case LULL_OPERAND_RUNNING:
        return lull_who_name((enum lull_who_value)operand->given) + 1;
    case LULL_OPERAND_NAME:
        return "name";
    case LULL_OPERAND_HOST:
        return "host";
    case LULL_OPERAND_CPU:
        return "cpu";
    case LULL_OPERAND_TIME:
        return "timestamp";
    default:
        return NULL;
    }
}

/* [ word "=" ] operand, whose last word is the name if it has no other. */
static bool parse_key(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_states_name key = {.kind = LULL_STATES_KEY};
    const size_t at = p->token.start;
    const struct lull_lexer lexer = p->lexer;
    const struct lull_token token = p->token;
    if (!new_word(s, &key.name, "a key: the name of a field, or NAME = FIELD", true)) {
        if (at >= p->lexer.length || p->lexer.text[at] != '$') {
            return false;
        }
        g_clear_error(&s->why);
    }
    if (key.name && p->token.kind == LULL_TOKEN_ASSIGN) {
        if (g_strv_contains(keywords, key.name)) {
            return FAIL(p, at, "“%s” is a word of the language; choose another name", key.name);
        }
        if (!lull_parser_advance(p)) {
            return false;
        }
    } else {
        p->lexer = lexer;
        p->token = token;
        key.name = NULL;
    }
    s->allows = STATES_EVENT;
    const size_t from = p->token.start;
    if (!states_operand(s, &key.operand)) {
        return false;
    }
    if (!key.name) {
        key.name = name_of(s, &key.operand);
        if (!key.name) {
            return FAIL(p, from, "the key needs a name: NAME = …");
        }
        if (states_find_name(s->group, key.name) >= 0 ||
            states_find_state(s->group, key.name) >= 0) {
            return FAIL(p, from, "there is a “%s” in this group already", key.name);
        }
    }
    if (key.operand.kind == LULL_OPERAND_CPU) {
        s->group->has_cpu = true;
        s->group->cpu_key = s->group->n_names;
    }
    if (s->group->task_key < 0 && states_is_task(s, &key.operand)) {
        s->group->task_key = (int32_t)s->group->n_names;
    }
    return add_name(s, at, &key);
}

static bool parse_row(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    if (s->group->n_names) {
        return FAIL(p, s->item,
                    s->group->n_keys ? "the group has a row already"
                                     : "row comes before keep and number");
    }
    do {
        if (!lull_parser_advance(p) || !parse_key(s)) {
            return false;
        }
        s->group->n_keys = s->group->n_names;
    } while (p->token.kind == LULL_TOKEN_COMMA);
    return true;
}

static bool parse_title(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    if (!lull_parser_advance(p)) {
        return false;
    }
    return p->token.kind == LULL_TOKEN_STRING
               ? states_text(s, &s->group->title)
               : FAIL(p, p->token.start, "expected a text in quotes");
}

static bool parse_states(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_states_group *group = s->group;
    do {
        struct lull_states_state state = {0};
        if (!lull_parser_advance(p)) {
            return false;
        }
        const size_t at = p->token.start;
        if (!new_word(s, &state.name, "the name of a state", false)) {
            return false;
        }
        state.label = state.name;
        state.at = at;
        if (!states_text(s, &state.label) || !colour(s, &state.colour)) {
            return false;
        }
        if (group->n_states == LULL_STATES_MOST_STATES) {
            return FAIL(p, at, "a group has at most %d states", LULL_STATES_MOST_STATES);
        }
        group->states[group->n_states++] = state;
    } while (p->token.kind == LULL_TOKEN_COMMA);
    return true;
}

static bool parse_start(struct states_parser *s)
{
    return lull_parser_advance(&s->parser) && states_state(s, &s->group->start);
}

static bool parse_task(struct states_parser *s)
{
    s->allows = STATES_EVENT | STATES_ROW;
    s->group->has_task = true;
    return lull_parser_advance(&s->parser) && states_operand(s, &s->group->task);
}

static bool parse_keep(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    do {
        struct lull_states_name name = {.kind = LULL_STATES_KEPT};
        if (!lull_parser_advance(p)) {
            return false;
        }
        const size_t at = p->token.start;
        if (!new_word(s, &name.name, "the name of a variable", false) || !add_name(s, at, &name)) {
            return false;
        }
    } while (p->token.kind == LULL_TOKEN_COMMA);
    return true;
}

static bool parse_number(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_states_name name = {.kind = LULL_STATES_NUMBER};
    if (!lull_parser_advance(p)) {
        return false;
    }
    const size_t at = p->token.start;
    if (!new_word(s, &name.name, "the name of a number", false)) {
        return false;
    }
    name.label = name.name;
    if (!states_text(s, &name.label)) {
        return false;
    }
    if (p->token.kind == LULL_TOKEN_NAME && !states_is_item(p) &&
        !states_word(s, &name.unit, "a unit")) {
        return false;
    }
    return colour(s, &name.colour) && add_name(s, at, &name);
}

/* "count" word [ string ] [ colour ]: that does not use the state, for the warning. */
static bool parse_count(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_states_group *group = s->group;
    struct lull_states_count count = {0};
    if (!lull_parser_advance(p) || !states_known(s, &count.state)) {
        return false;
    }
    count.label = group->states[count.state].label;
    if (!states_text(s, &count.label) || !colour(s, &count.colour)) {
        return false;
    }
    if (group->n_counts == LULL_STATES_MOST_COUNTS) {
        return FAIL(p, s->item, "a group has at most %d counts", LULL_STATES_MOST_COUNTS);
    }
    group->counts[group->n_counts++] = count;
    return true;
}

static bool parse_lost(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    if (!lull_parser_advance(p)) {
        return false;
    }
    if (!lull_parser_sees(p, "unknown") && !lull_parser_sees(p, "keep")) {
        return FAIL(p, p->token.start, "expected unknown or keep");
    }
    s->group->keeps_lost = lull_parser_sees(p, "keep");
    return lull_parser_advance(p);
}

bool states_item(struct states_parser *s)
{
    static const struct {
        const char *word;
        bool (*parse)(struct states_parser *s);
    } kinds[] = {
        {"row", parse_row},       {"title", parse_title},  {"states", parse_states},
        {"start", parse_start},   {"task", parse_task},    {"keep", parse_keep},
        {"number", parse_number}, {"lost", parse_lost},    {"on", states_rule},
        {"also", states_rule},    {"after", states_after}, {"count", parse_count},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (lull_parser_sees(&s->parser, kinds[i].word)) {
            return kinds[i].parse(s);
        }
    }
    return FAIL(
        &s->parser, s->item,
        "expected an item of a group: row, title, states, start, task, keep, number, count, "
        "lost, on, also or after");
}
