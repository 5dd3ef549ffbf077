/* SPDX-License-Identifier: MIT */
/* From the text of a .states file to its groups (items are in parse_items.c, rules in parse_rule.c).
 * A mistake ends an item, not the file: the parser goes on with the next one, so that all mistakes are
 * shown at once.
 *
 *   file  = { "group" word [ string ] "{" { item } "}" | "more" word "{" { rule } "}" }
 *   item  = "row" key { "," key } | "title" string | "states" state { "," state } | "start" word
 *         | "task" operand | "keep" word { "," word } | "number" word [ string ] [ unit ] [ colour ]
 *         | "count" word [ string ] [ colour ] | "lost" ( "unknown" | "keep" ) | rule | after
 */
#include "states/parse.h"

#include <string.h>

#include "base/file.h"
#include "states/xml.h"

#define FAIL lull_parser_fail
#define MOST_ERRORS 20

/* ---- mistakes ---- */

/* Keeps the mistake, if there is one, for the list. */
static void note(struct states_parser *s)
{
    if (s->why) {
        if (s->n_errors++ < MOST_ERRORS) {
            g_string_append_printf(s->errors, "%s%s", s->errors->len ? "\n" : "", s->why->message);
        }
        g_clear_error(&s->why);
    }
}

static const char *const items[] = {"row",  "title", "states", "start", "task",  "keep",  "number",
                                    "lost", "on",    "also",   "after", "count", "group", NULL};

bool states_is_item(const struct lull_parser *p)
{
    for (uint32_t i = 0; items[i]; i++) {
        if (lull_parser_sees(p, items[i])) {
            return true;
        }
    }
    return false;
}

static bool starts_line(const struct lull_parser *p)
{
    size_t at = p->token.start;
    while (at > 0 && p->lexer.text[at - 1] != '\n') {
        if (!g_ascii_isspace(p->lexer.text[--at])) {
            return false;
        }
    }
    return true;
}

static bool starts_block(const struct lull_parser *p)
{
    return (lull_parser_sees(p, "group") || lull_parser_sees(p, "more")) && starts_line(p);
}

/* Goes on where the next item starts, or the block or the file ends. */
static void recover(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    const size_t from = s->item;
    for (;;) {
        if (p->token.kind == LULL_TOKEN_END && p->lexer.pos >= p->lexer.length) {
            return;
        }
        if (p->token.start > from && (p->token.kind == LULL_TOKEN_CLOSE_BLOCK || starts_block(p) ||
                                      (states_is_item(p) && starts_line(p)))) {
            return;
        }
        const size_t before = p->lexer.pos;
        if (!lull_parser_advance(p)) {
            g_clear_error(&s->why);
            p->token = (struct lull_token){.kind = LULL_TOKEN_COMMA, .start = p->lexer.pos};
            p->lexer.pos = MAX(p->lexer.pos, before + 1);
        }
    }
}

/* ---- groups ---- */

static bool parse_head(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_states_group *group = s->group;
    if (!lull_parser_sees(p, "group")) {
        return FAIL(p, p->token.start, "expected group or more");
    }
    if (!lull_parser_advance(p)) {
        return false;
    }
    const size_t at = p->token.start;
    const char *name;
    if (!states_word(s, &name, "the name of a group")) {
        return false;
    }
    for (uint32_t i = 0; i < s->states->n_groups; i++) {
        if (strcmp(s->states->groups[i].name, name) == 0) {
            return FAIL(p, at, "there is a group “%s” already", name);
        }
    }
    if (s->states->n_groups == LULL_STATES_MOST_GROUPS) {
        return FAIL(p, at, "there are at most %d groups", LULL_STATES_MOST_GROUPS);
    }
    group->name = group->label = name;
    return states_text(s, &group->label) && lull_parser_expect(p, LULL_TOKEN_OPEN_BLOCK, "{");
}

static void start_group(struct states_parser *s)
{
    struct lull_arena *arena = s->states->terms.arena;
    struct lull_states_group *group = &s->states->groups[s->states->n_groups];
    *group = (struct lull_states_group){
        .name = "",
        .start = LULL_ROW_UNKNOWN,
        .task_key = -1,
        .states = lull_arena_alloc_n(arena, LULL_STATES_MOST_STATES, sizeof *group->states),
        .names = lull_arena_alloc_n(arena, LULL_STATES_MOST_NAMES, sizeof *group->names),
        .others = lull_arena_alloc_n(arena, LULL_STATES_MOST_OTHERS, sizeof *group->others),
        .counts = lull_arena_alloc_n(arena, LULL_STATES_MOST_COUNTS, sizeof *group->counts),
        .after = lull_arena_alloc_n(arena, LULL_STATES_MOST_STATES, sizeof *group->after),
    };
    s->group = group;
}

/* "more" word "{": the group goes on, after the groups between. */
static bool parse_more(struct states_parser *s, uint32_t *group)
{
    struct lull_parser *p = &s->parser;
    const char *name;
    s->group = &s->states->groups[s->states->n_groups]; /* of which nothing is read */
    *s->group = (struct lull_states_group){.name = ""};
    if (!lull_parser_advance(p)) {
        return false;
    }
    const size_t at = p->token.start;
    if (!states_word(s, &name, "the name of a group")) {
        return false;
    }
    for (*group = 0; *group < s->states->n_groups; ++*group) {
        if (strcmp(s->states->groups[*group].name, name) == 0) {
            s->group = &s->states->groups[*group];
            return lull_parser_expect(p, LULL_TOKEN_OPEN_BLOCK, "{");
        }
    }
    return FAIL(p, at, "there is no group “%s” before this", name);
}

/* Of `more` only rules, as the rest is known when the first rule is read. */
static bool parse_item(struct states_parser *s, bool is_more)
{
    const struct lull_parser *p = &s->parser;
    return !is_more || lull_parser_sees(p, "on") || lull_parser_sees(p, "also")
               ? states_item(s)
               : FAIL(&s->parser, s->item, "more has rules only: on, also on");
}

static void end_block(struct states_parser *s, uint32_t group)
{
    struct lull_states_rules block = {
        .group = group, .n_rules = s->rules->len, .first_rule = s->states->n_rules};
    block.rules = lull_arena_copy(s->states->terms.arena, s->rules->data,
                                  s->rules->len * sizeof *block.rules);
    s->states->n_rules += block.n_rules;
    if (s->blocks->len < LULL_STATES_MOST_BLOCKS) {
        g_array_append_val(s->blocks, block);
    } else {
        FAIL(&s->parser, s->item, "there are at most %d groups and more", LULL_STATES_MOST_BLOCKS);
        note(s);
    }
}

/* A group, or more of one. */
static void parse_block(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    const size_t at = s->item = p->token.start;
    const bool is_more = lull_parser_sees(p, "more");
    uint32_t group = s->states->n_groups;
    if (!is_more) {
        start_group(s);
    }
    g_array_set_size(s->rules, 0);
    const bool has_head = is_more ? parse_more(s, &group) : parse_head(s);
    if (!has_head) {
        note(s);
        recover(s);
    }
    while (p->token.kind != LULL_TOKEN_END && p->token.kind != LULL_TOKEN_CLOSE_BLOCK &&
           !starts_block(p)) {
        s->item = p->token.start;
        if (is_more && !has_head) {
            recover(s); /* whose rules they are is not known */
        } else if (!parse_item(s, is_more)) {
            note(s);
            recover(s);
        }
    }
    s->item = p->token.start;
    if (p->token.kind != LULL_TOKEN_CLOSE_BLOCK) {
        FAIL(p, p->token.start, "expected } at the end of the group");
    } else if (!lull_parser_advance(p)) {
        note(s);
        recover(s);
    } else if (!s->group->n_keys && *s->group->name) {
        FAIL(p, at, "the group has no row: what tells one row from another?");
    }
    note(s);
    const bool is_new =
        !is_more && *s->group->name != '\0' && s->states->n_groups < LULL_STATES_MOST_GROUPS;
    s->states->n_groups += is_new;
    if (is_new || (is_more && has_head)) {
        end_block(s, group);
    }
}

/* ---- after all groups ---- */

static void resolve(struct states_parser *s, const struct lull_states_group *group)
{
    for (uint32_t i = 0; i < group->n_others; i++) {
        struct lull_states_other *other = &group->others[i];
        const char *const name = s->group_names->pdata[other->group];
        uint32_t of = 0;
        while (of < s->states->n_groups && strcmp(s->states->groups[of].name, name) != 0) {
            of++;
        }
        const struct lull_states_group *target = &s->states->groups[of];
        const int32_t value = of < s->states->n_groups ? states_find_name(target, other->name) : 0;
        const bool is_state = strcmp(other->name, "state") == 0;
        if (of == s->states->n_groups || (value < 0 && !is_state)) {
            FAIL(&s->parser, other->at, "the group “%s” has no “%s”", name, other->name);
        } else if (other->n_keys != target->n_keys) {
            FAIL(&s->parser, other->at, "a row of the group “%s” has %u keys", name,
                 target->n_keys);
        }
        note(s);
        other->group = of;
        other->value = is_state ? 0 : (uint32_t)value + 1;
    }
}

static void warn(struct states_parser *s, size_t at, const char *what)
{
    g_autoptr(GError) why = NULL;
    lull_lexer_complain(&s->parser.lexer, at, &why, "warning: %s", what);
    g_string_append_printf(s->warnings, "%s\n", why->message);
}

/* Without its blanks: rules that say the same are alike. */
static char *condense(const char *source, size_t start, size_t end)
{
    GString *out = g_string_new(NULL);
    for (size_t i = start; i < end; i++) {
        if (!g_ascii_isspace(source[i])) {
            g_string_append_c(out, source[i]);
        }
    }
    return g_string_free(out, FALSE);
}

static void review_states(struct states_parser *s, const struct lull_states_group *group)
{
    for (uint32_t i = 0; i < group->n_states; i++) {
        if (!group->states[i].is_used) {
            warn(s, group->states[i].at, "no rule uses this state");
        }
    }
}

static void review_rules(struct states_parser *s, const struct lull_states_rules *block)
{
    const char *source = s->parser.lexer.text;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (uint32_t i = 0; i < block->n_rules; i++) {
        const struct lull_states_rule *rule = &block->rules[i];
        char *key = condense(source, rule->start, rule->end);
        const bool is_shadowed = !rule->is_also && g_hash_table_contains(seen, key);
        if (is_shadowed) {
            warn(s, rule->start, "an earlier rule of the group applies first");
        }
        if (rule->is_also || is_shadowed) {
            g_free(key);
        } else {
            g_hash_table_add(seen, key);
        }
    }
}

/* ---- the file ---- */

/* The names of all groups, so that a rule can name one that follows. */
static void find_groups(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    struct lull_lexer lexer = p->lexer;
    struct lull_token token;
    bool was_group = false;
    while (lexer.pos < lexer.length) {
        const size_t before = lexer.pos;
        g_autoptr(GError) ignored = NULL;
        if (!lull_lexer_next(&lexer, &token, &ignored)) {
            lexer.pos = MAX(lexer.pos, before + 1);
            continue;
        }
        if (was_group && token.kind == LULL_TOKEN_NAME) {
            g_ptr_array_add(s->group_names, lull_parser_text(p, &token));
        }
        was_group = token.kind == LULL_TOKEN_NAME && token.end - token.start == 5 &&
                    memcmp(lexer.text + token.start, "group", 5) == 0;
    }
}

static void parse_file(struct states_parser *s)
{
    struct lull_parser *p = &s->parser;
    if (p->lexer.length > LULL_STATES_MOST_BYTES) {
        FAIL(p, 0, "the file is longer than %d bytes", LULL_STATES_MOST_BYTES);
        note(s);
        return;
    }
    if (!g_utf8_validate(p->lexer.text, (gssize)p->lexer.length, NULL)) {
        FAIL(p, 0, "the file is not UTF-8");
        note(s);
        return;
    }
    find_groups(s);
    for (size_t before = 0; !lull_parser_advance(p); before = p->lexer.pos) {
        note(s);
        p->lexer.pos = MAX(p->lexer.pos, before + 1);
    }
    while (p->token.kind != LULL_TOKEN_END && s->n_errors < MOST_ERRORS) {
        parse_block(s);
    }
    for (uint32_t i = 0; i < s->states->n_groups; i++) {
        resolve(s, &s->states->groups[i]);
    }
    for (uint32_t i = 0; i < s->states->n_groups && !s->n_errors; i++) {
        review_states(s, &s->states->groups[i]);
    }
    s->states->n_blocks = s->blocks->len;
    s->states->blocks = lull_arena_copy(p->terms->arena, s->blocks->data,
                                        s->blocks->len * sizeof(struct lull_states_rules));
    for (uint32_t i = 0; i < s->states->n_blocks && !s->n_errors; i++) {
        review_rules(s, &s->states->blocks[i]);
    }
    if (!s->states->n_groups && !s->n_errors) {
        FAIL(p, 0, "there is no group");
        note(s);
    }
}

struct lull_states *lull_states_parse(const char *source, size_t length, const char *name,
                                      GString *warnings, GError **error)
{
    struct lull_states *states = g_new0(struct lull_states, 1);
    states->terms.arena = lull_arena_new();
    states->terms.points = g_array_new(FALSE, FALSE, sizeof(struct lull_time_point));
    states->groups = g_new0(struct lull_states_group, LULL_STATES_MOST_GROUPS + 1);
    lull_who_reserve(&states->terms);
    struct states_parser s = {.states = states, .warnings = warnings};
    states_parser_start(&s, source, length, name);
    parse_file(&s);
    const bool is_right = s.n_errors == 0;
    if (!is_right) {
        if (s.n_errors > MOST_ERRORS) {
            g_string_append_printf(s.errors, "\n%u more", s.n_errors - MOST_ERRORS);
        }
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, s.errors->str);
        g_clear_pointer(&states, lull_states_free);
    }
    states_parser_end(&s);
    if (states) {
        gsize size = sizeof states->digest;
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        g_checksum_update(sum, (const guchar *)source, (gssize)length);
        g_checksum_get_digest(sum, states->digest, &size);
    }
    return states;
}

char *lull_states_text(const char *path, bool is_partial, gsize *length, bool *is_translated,
                       GString *warnings, GError **error)
{
    g_autofree char *text = NULL;
    if (!lull_file_read(path, LULL_STATES_MOST_BYTES, &text, length, error)) {
        return NULL;
    }
    *is_translated = lull_states_is_xml(text, *length);
    if (!*is_translated) {
        return g_steal_pointer(&text);
    }
    char *translated = lull_states_from_xml(text, *length, path, is_partial, warnings, error);
    *length = translated ? strlen(translated) : 0;
    return translated;
}

struct lull_states *lull_states_read(const char *path, bool is_partial, GString *warnings,
                                     GError **error)
{
    gsize length;
    bool is_translated;
    g_autofree char *text =
        lull_states_text(path, is_partial, &length, &is_translated, warnings, error);
    /* What is odd about a translation is not in the file. */
    g_autoptr(GString) ignored = g_string_new(NULL);
    return text ? lull_states_parse(text, length, path, is_translated ? ignored : warnings, error)
                : NULL;
}

void lull_states_free(struct lull_states *states)
{
    if (!states) {
        return;
    }
    g_array_unref(states->terms.points);
    lull_arena_free(states->terms.arena);
    g_free(states->groups);
    g_free(states);
}

const char *lull_states_colour(const struct lull_states_group *group, uint32_t state)
{
    static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7",
                                          "#56b4e9", "#f0e442", "#5e4fa2", "#666666", "#882255",
                                          "#44aa99", "#999933", "#b0b0b0"};
    const char *own = group->states[state].colour;
    return own ? own : colours[state % G_N_ELEMENTS(colours)];
}

void lull_states_check(const struct lull_states *states, const struct lull_session *session,
                       GString *warnings)
{
    /* Files name what several tracers call a thing: what a rule can do without is not missed. */
    g_autoptr(GString) optional = g_string_new(NULL);
    const struct lull_check check = {.terms = &states->terms,
                                     .session = session,
                                     .of = "the file of states",
                                     .warnings = optional};
    if (states->asks_places) {
        lull_who_check_places(session, warnings);
    }
    for (uint32_t b = 0; b < states->n_blocks; b++) {
        for (uint32_t r = 0; r < states->blocks[b].n_rules; r++) {
            g_autoptr(GError) why = NULL;
            if (!lull_check_condition(&check, states->blocks[b].rules[r].on, &why) &&
                !strstr(warnings->str, why->message)) {
                g_string_append_printf(warnings, "%s\n", why->message);
            }
        }
    }
}
