/* SPDX-License-Identifier: MIT */
/* From changes of attributes to groups of rows, whose key are the parts in which the paths of a group differ. What an
 * attribute has is its row's state, and its `value` if it is asked for or can be a number. */
#include <string.h>

#include "states/parse.h"
#include "states/xml_private.h"

/* More rules are not written for names that views give to values. */
enum { MOST_RULES = 900 };

struct state {
    const char *word, *label, *colour;
};

struct group {
    struct xml_translation *t;
    struct writer *writer;
    GString *out;
    const char *name;
    GPtrArray *changes;          /* struct xml_change */
    GPtrArray *paths;            /* struct xml_path, of changes and queries */
    const struct xml_path *path; /* whose attribute is the row's own, if that can be */
    const char *keys[64];        /* by part of the path; NULL: all have the same text there */
    GArray *states;              /* struct state */
    GHashTable *by_value;        /* kind and text → 1 + index */
    GHashTable *words;           /* that are taken */
    bool is_numeric, is_asked, is_named, has_also, is_declared;
};

struct writer {
    struct xml_translation *t;
    struct group *groups;
    GHashTable *names; /* of groups */
    GString *out;
};

/* ---- words ---- */

/* A new word of the language that looks like a text. */
static const char *new_word(struct xml_translation *t, GHashTable *words, const char *text)
{
    g_autoptr(GString) word = g_string_new(NULL);
    for (; *text && word->len < 60; text++) {
        if (g_ascii_isalnum(*text) || *text == '_') {
            g_string_append(word, word->len == 0 && g_ascii_isdigit(*text) ? "s" : "");
            g_string_append_c(word, *text);
        } else if (word->len && word->str[word->len - 1] != '_') {
            g_string_append_c(word, '_');
        }
    }
    while (word->len && word->str[word->len - 1] == '_') {
        g_string_truncate(word, word->len - 1);
    }
    g_string_append(word, word->len ? "" : "s");
    const size_t length = word->len;
    for (uint32_t i = 2; states_is_keyword(word->str) || g_hash_table_contains(words, word->str);
         i++) {
        g_string_truncate(word, length);
        g_string_append_printf(word, "_%u", i);
    }
    const char *kept = xml_text(t, word);
    g_hash_table_add(words, (gpointer)kept);
    return kept;
}

const struct xml_named *xml_name_of(const struct xml_translation *t, const char *value)
{
    for (guint i = 0; i < t->named->len; i++) {
        const struct xml_named *named = &g_array_index(t->named, struct xml_named, i);
        if (strcmp(named->value, value) == 0) {
            return named;
        }
    }
    return NULL;
}

/* ---- what a group consists of ---- */

/* Whether a row can be that of the event without asking another. */
static bool is_own_path(const struct xml_path *path)
{
    bool is_own = true;
    for (uint32_t i = 0; i < path->n; i++) {
        is_own &= path->parts[i].kind != XML_QUERY;
    }
    return is_own;
}

static const char *key_word(const struct xml_value *part)
{
    const bool is_name = part->kind == XML_OPERAND && *part->text == '$';
    const char *dot = part->kind == XML_OPERAND ? strrchr(part->text, '.') : NULL;
    return dot                         ? dot + 1
           : part->kind == XML_OWN     ? xml_own(part->text) + 1
           : part->kind != XML_OPERAND ? "part"
           : is_name                   ? "event"
                                       : part->text;
}

static void find_keys(struct group *g)
{
    g->path = g->paths->pdata[0];
    for (guint p = 1; p < g->paths->len && !is_own_path(g->path); p++) {
        g->path = g->paths->pdata[p];
    }
    for (uint32_t i = 0; i < g->path->n; i++) {
        const struct xml_value *own = &g->path->parts[i];
        bool is_fixed = own->kind == XML_TEXT;
        for (guint p = 0; is_fixed && p < g->paths->len; p++) {
            const struct xml_path *path = g->paths->pdata[p];
            is_fixed =
                path->parts[i].kind == XML_TEXT && strcmp(path->parts[i].text, own->text) == 0;
        }
        if (!is_fixed) {
            g->keys[i] = new_word(g->t, g->words, key_word(own));
        }
    }
}

/* The state that shows a constant. */
static const char *state_of(struct group *g, const struct xml_value *value)
{
    struct xml_translation *t = g->t;
    const struct xml_named *named = xml_name_of(t, value->text);
    g_autofree char *key = g_strdup_printf("%d:%s", value->kind, value->text);
    const uint32_t known = GPOINTER_TO_UINT(g_hash_table_lookup(g->by_value, key));
    if (known) {
        return g_array_index(g->states, struct state, known - 1).word;
    }
    const char *label = named ? named->name : value->label ? value->label : value->text;
    const struct state state = {new_word(t, g->words, label), label, named ? named->colour : NULL};
    g_array_append_val(g->states, state);
    g_hash_table_insert(g->by_value, g_steal_pointer(&key), GUINT_TO_POINTER(g->states->len));
    return state.word;
}

static void find_states(struct group *g)
{
    static const struct xml_value any = {XML_OPERAND, "", "a value"};
    uint32_t n_operands = 0;
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < g->changes->len; i++) {
        const struct xml_change *change = g->changes->pdata[i];
        n_operands += change->value.kind >= XML_OPERAND && !change->is_increment;
        g->has_also |= change->is_guarded || strstr(change->on, "=~") ||
                       !g_hash_table_add(names, (gpointer)change->on);
    }
    g->is_named =
        g->t->named->len > 0 && g->changes->len + n_operands * (g->t->named->len + 1) <= MOST_RULES;
    for (guint i = 0; i < g->changes->len; i++) {
        const struct xml_change *change = g->changes->pdata[i];
        const struct xml_value *value = &change->value;
        if (change->is_increment || value->kind >= XML_OPERAND) {
            state_of(g, &any);
        } else if (value->kind != XML_NOTHING) {
            state_of(g, value);
        }
    }
    for (guint i = 0; g->is_named && n_operands && i < g->t->named->len; i++) {
        state_of(g, &(struct xml_value){
                        XML_NUMBER, g_array_index(g->t->named, struct xml_named, i).value, NULL});
    }
}

/* Whether a `value` is kept beside the state. */
static void find_value(struct group *g)
{
    for (guint i = 0; i < g->changes->len; i++) {
        const struct xml_change *change = g->changes->pdata[i];
        g->is_numeric |= change->value.kind >= XML_OPERAND || change->is_increment ||
                         (g->t->has_lines && change->value.kind == XML_NUMBER);
    }
    if (g->is_numeric || g->is_asked) {
        new_word(g->t, g->words, "value");
    }
}

/* ---- writing ---- */

/* Parts of keys that are constants are numbers if they look like one, as fields are. */
static void append_part(GString *out, const struct xml_value *part)
{
    g_autofree char *number =
        g_strdup_printf("%" G_GINT64_FORMAT, g_ascii_strtoll(part->text, NULL, 10));
    if (part->kind == XML_TEXT && strcmp(number, part->text) == 0) {
        g_string_append(out, part->text);
    } else {
        xml_append_value(out, part);
    }
}

/* \001NAME\002 is the field NAME, or the event's own if it has none: whether it has is what `fields` says, a
 * bit for each of the names. */
static char *with_own(const char *text, const GPtrArray *names, uint32_t fields)
{
    GString *out = g_string_new(text);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *marked = g_strdup_printf("\001%s\002", name);
        g_autofree char *field = g_strdup_printf("fields.%s", name);
        g_string_replace(out, marked, fields >> i & 1 ? field : xml_own(name), 0);
    }
    return g_string_free(out, FALSE);
}

/* The names that stand between \001 and \002, each once: there are eight ways to write “cpu”, and one to
 * write “timestamp”. */
static GPtrArray *names_of_own(const char *text)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    while ((text = strchr(text, '\001'))) {
        const char *end = strchr(text, '\002');
        g_autofree char *name = g_strndup(text + 1, (gsize)(end - text - 1));
        if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL)) {
            g_ptr_array_add(names, g_steal_pointer(&name));
        }
        text = end;
    }
    return names;
}

/* Appends the key of an attribute: the parts in which those of its group differ. */
static void append_key(GString *out, const struct group *g, const struct xml_path *path)
{
    for (uint32_t i = 0, n = 0; i < path->n; i++) {
        if (g->keys[i]) {
            append_part(g_string_append(out, n++ ? ", " : ""), &path->parts[i]);
        }
    }
}

/* "Threads/…", or with the keys in braces. */
static char *skeleton(const struct group *g, bool has_keys)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < g->path->n; i++) {
        g_string_append(out, i ? "/" : "");
        if (!g->keys[i]) {
            g_string_append(out, g->path->parts[i].text);
        } else if (has_keys) {
            g_string_append_printf(out, "{%s}", g->keys[i]);
        } else {
            g_string_append_c(out, '*');
        }
    }
    return g_string_free(out, FALSE);
}

/* GROUP[key]?.value */
static void append_query(GString *out, const struct writer *w, int32_t number)
{
    const struct xml_path *query = &g_array_index(w->t->queries, struct xml_path, number);
    const struct group *g = &w->groups[query->group];
    g_string_append_printf(out, "%s[", g->name);
    const gsize before = out->len;
    append_key(out, g, query);
    if (out->len == before) {
        g_autofree char *title = skeleton(g, true);
        xml_append_quoted(out, title);
    }
    g_string_append(out, "]?.value");
}

/* Writes queries in the place of their marks, also of those in their keys. */
static char *with_queries(const struct writer *w, const char *text)
{
    GString *out = g_string_new(text);
    for (const char *mark; (mark = strchr(out->str, '\003'));) {
        const char *end = mark;
        const int32_t number = xml_next_query(&end);
        const gsize at = (gsize)(mark - out->str), length = (gsize)(end - mark);
        g_autoptr(GString) query = g_string_new(NULL);
        append_query(query, w, number);
        g_string_insert_len(g_string_erase(out, (gssize)at, (gssize)length), (gssize)at, query->str,
                            (gssize)query->len);
    }
    return g_string_free(out, FALSE);
}

/* A rule: once, or for events with and without each field that is called as the CPU is. */
static void write_rule(struct group *g, const char *on, const char *condition, const char *where,
                       const char *actions)
{
    g_autofree char *marked =
        g_strdup_printf("%s%s%s : %s", where, *condition ? " if " : "", condition, actions);
    g_autofree char *rest = with_queries(g->writer, marked);
    g_autofree char *all = g_strconcat(on, rest, NULL);
    g_autoptr(GPtrArray) names = names_of_own(all);
    for (uint32_t fields = 1u << names->len; fields-- > 0;) {
        g_autofree char *on_text = with_own(on, names, fields);
        g_autofree char *rest_text = with_own(rest, names, fields);
        g_string_append_printf(g->out, "    %s %s", g->has_also ? "also on" : "on", on_text);
        for (guint i = 0; i < names->len; i++) {
            g_string_append_printf(g->out, " && %sexists(fields.%s)", fields >> i & 1 ? "" : "!",
                                   (char *)names->pdata[i]);
        }
        g_string_append_printf(g->out, "%s\n", rest_text);
    }
}

/* " at (…)", unless it is the row's own key. */
static char *where_of(const struct group *g, const struct xml_change *change)
{
    g_autoptr(GString) key = g_string_new(NULL);
    bool is_own = xml_same_path(&change->path, g->path) && is_own_path(g->path);
    for (uint32_t i = 0; i < change->path.n; i++) {
        is_own &= change->path.parts[i].kind != XML_OWN;
    }
    if (!is_own) {
        append_key(key, g, &change->path);
    }
    return key->len ? g_strdup_printf(" at (%s)", key->str) : g_strdup("");
}

/* What is set, as far as it depends on the value: what has to hold of the event, and of attributes. */
struct asked {
    GString *on, *condition, *of_value; /* one of the others */
};

static void ask(struct asked *asked, const char *sign, const struct xml_value *value,
                const char *relation)
{
    GString *to = asked->of_value;
    g_string_append_printf(to, "%s%s", to->len ? " && " : "", sign);
    if (relation) {
        xml_append_value(to, value);
        g_string_append(to, relation);
    } else {
        xml_append_exists(to, value);
    }
}

/* A value that is not constant: unset if there is none, in the state of its name if it has one. */
static void write_operand(struct group *g, const struct xml_change *change, const char *where)
{
    static const struct xml_value any = {XML_OPERAND, "", NULL};
    const struct xml_value *value = &change->value;
    g_autoptr(GString) on = g_string_new(change->on), action = g_string_new(NULL);
    g_autoptr(GString) condition = g_string_new(change->condition), others = g_string_new(NULL);
    struct asked asked = {on, condition, value->kind == XML_QUERY ? condition : on};
    const gsize start = asked.of_value->len;
    g_string_append(action, change->is_increment ? ", value += " : ", value = ");
    xml_append_value(action, value);
    if (xml_may_lack(value)) {
        ask(&asked, "!", value, NULL);
        write_rule(g, on->str, condition->str, where, "end");
        g_string_truncate(asked.of_value, start);
        ask(&asked, "", value, NULL);
    }
    const gsize before = asked.of_value->len;
    const bool has_names = g->is_named && !change->is_increment && !xml_is_text(value);
    for (guint i = 0; has_names && i < g->t->named->len; i++) {
        const struct xml_value named = {
            XML_NUMBER, g_array_index(g->t->named, struct xml_named, i).value, NULL};
        g_autofree char *actions = g_strconcat(state_of(g, &named), action->str, NULL);
        g_autofree char *equals = g_strdup_printf(" == %s", named.text);
        ask(&asked, "", value, equals);
        write_rule(g, on->str, condition->str, where, actions);
        g_string_truncate(asked.of_value, before);
        g_string_append_printf(others, "%s%s", i ? ", " : "", named.text);
    }
    if (others->len && g->has_also) { /* else the first rule that holds is the only one */
        g_autofree char *in = g_strdup_printf(" in (%s))", others->str);
        ask(&asked, "!(", value, in);
    }
    g_autofree char *actions = g_strconcat(state_of(g, &any), action->str, NULL);
    write_rule(g, on->str, condition->str, where, actions);
}

static void write_change(struct group *g, const struct xml_change *change)
{
    g_autofree char *where = where_of(g, change);
    if (change->value.kind >= XML_OPERAND || change->is_increment) {
        /* An increment of a named constant as well: the sum has no name. */
        if (change->value.kind < XML_OPERAND) {
            static const struct xml_value any = {XML_OPERAND, "", NULL};
            g_autofree char *actions =
                g_strconcat(state_of(g, &any), ", value += ", change->value.text, NULL);
            write_rule(g, change->on, change->condition, where, actions);
        } else {
            write_operand(g, change, where);
        }
    } else if (change->value.kind == XML_NOTHING) {
        write_rule(g, change->on, change->condition, where, "end");
    } else {
        g_autoptr(GString) actions = g_string_new(state_of(g, &change->value));
        if (g->is_numeric || g->is_asked) {
            xml_append_value(g_string_append(actions, ", value = "), &change->value);
        }
        write_rule(g, change->on, change->condition, where, actions->str);
    }
}

static void write_row(struct group *g)
{
    bool has_key = false;
    g_autofree char *title = skeleton(g, true);
    for (uint32_t i = 0; i < g->path->n; i++) {
        const struct xml_value *part = &g->path->parts[i];
        if (g->keys[i]) {
            g_string_append_printf(g->out, "%s%s = ", has_key ? ", " : "    row ", g->keys[i]);
            if (part->kind == XML_OWN) {
                g_string_append(g->out, xml_own(part->text));
            } else if (part->kind == XML_QUERY) {
                g_string_append(g->out, "$name"); /* its rules say at which row */
            } else {
                append_part(g->out, part);
            }
            has_key = true;
        }
    }
    if (!has_key) {
        const char *key = new_word(g->t, g->words, "path");
        g_string_append_printf(g->out, "    row %s = ", key);
        xml_append_quoted(g->out, title);
    }
    g_string_append(g->out, "\n    title ");
    xml_append_quoted(g->out, title);
    g_string_append_c(g->out, '\n');
}

static void write_states(struct group *g)
{
    for (guint i = 0; i < g->states->len; i++) {
        const struct state *state = &g_array_index(g->states, struct state, i);
        g_string_append_printf(g->out, "%s%s ", i ? ",\n        " : "    states ", state->word);
        xml_append_quoted(g->out, state->label);
        if (state->colour) {
            g_string_append_printf(g->out, " %s", state->colour);
        }
    }
    g_string_append(g->out, g->states->len ? "\n" : "");
    if (g->is_numeric) {
        const char *label = "value";
        for (uint32_t i = 0; i < g->path->n; i++) {
            label = g->keys[i] ? label : g->path->parts[i].text;
        }
        xml_append_quoted(g_string_append(g->out, "    number value "), label);
        g_string_append_c(g->out, '\n');
    } else if (g->is_asked) {
        g_string_append(g->out, "    keep value\n");
    }
}

static bool has_letter(const char *text)
{
    while (*text && !g_ascii_isalpha(*text)) {
        text++;
    }
    return *text;
}

static void find_name(struct group *g)
{
    g_autofree char *label = skeleton(g, false);
    g->name = new_word(g->t, g->writer->names,
                       has_letter(label) ? label
                       : g->t->label     ? g->t->label
                                         : "attributes");
}

/* What the group is, before its first rules. */
static void declare(struct group *g)
{
    g_autofree char *label = skeleton(g, false);
    g_autofree char *full = g->t->label ? g_strdup_printf("%s: %s", g->t->label, label) : NULL;
    g_string_append_printf(g->out, "group %s ", g->name);
    xml_append_quoted(g->out, full ? full : label);
    g_string_append(g->out, " {\n");
    write_row(g);
    write_states(g);
    g->is_declared = true;
}

/* Which change of a unit is to be made, where one would change what the condition of another reads: its row keeps the
 * number. */
static void write_choice(struct writer *w, const struct xml_block *block)
{
    struct group g = {.t = w->t, .writer = w, .out = w->out, .has_also = true};
    g.name = new_word(w->t, w->names, "choice");
    g_string_append_printf(w->out,
                           "group %s \"which change is made\" {\n    row path = \"%s\"\n"
                           "    keep chosen\n",
                           g.name, g.name);
    for (guint i = 0; i < block->changes->len; i++) {
        struct xml_change *change = &g_array_index(w->t->changes, struct xml_change,
                                                   g_array_index(block->changes, uint32_t, i));
        g_autofree char *chosen = g_strdup_printf("none, chosen = %u", i + 1);
        if (i == 0) {
            g_autoptr(GString) on =
                g_string_new(strchr(change->event, '*') ? "name =~ " : "name == ");
            xml_append_quoted(on, change->event);
            write_rule(&g, on->str, "", "", "none, chosen = 0");
        }
        write_rule(&g, change->on, change->condition, "", chosen);
        g_autofree char *asks = g_strdup_printf("%s[\"%s\"]?.chosen == %u", g.name, g.name, i + 1);
        change->condition = lull_arena_strndup(w->t->arena, asks, strlen(asks));
    }
    g_string_append(w->out, "}\n");
}

static void write_block(struct writer *w, const struct xml_block *block)
{
    g_string_append(w->out, w->out->len ? "\n" : "");
    if (block->group == XML_MOST_GROUPS && w->t->queries->len) {
        write_choice(w, block);
        return;
    }
    struct group *g = &w->groups[block->group];
    if (g->is_declared) {
        g_string_append_printf(w->out, "more %s {\n", g->name);
    } else {
        declare(g);
    }
    for (guint i = 0; i < block->changes->len; i++) {
        write_change(g, &g_array_index(w->t->changes, struct xml_change,
                                       g_array_index(block->changes, uint32_t, i)));
    }
    g_string_append(w->out, "}\n");
}

static void start_groups(struct writer *w)
{
    struct xml_translation *t = w->t;
    w->groups = g_new0(struct group, t->n_groups);
    for (uint32_t i = 0; i < t->n_groups; i++) {
        w->groups[i] = (struct group){
            .t = t,
            .writer = w,
            .out = w->out,
            .changes = g_ptr_array_new(),
            .paths = g_ptr_array_new(),
            .states = g_array_new(FALSE, FALSE, sizeof(struct state)),
            .by_value = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
            .words = g_hash_table_new(g_str_hash, g_str_equal),
        };
    }
    for (guint i = 0; i < t->changes->len; i++) {
        struct xml_change *change = &g_array_index(t->changes, struct xml_change, i);
        g_ptr_array_add(w->groups[change->path.group].changes, change);
        g_ptr_array_add(w->groups[change->path.group].paths, &change->path);
    }
    for (guint i = 0; i < t->queries->len; i++) {
        struct xml_path *query = &g_array_index(t->queries, struct xml_path, i);
        g_ptr_array_add(w->groups[query->group].paths, query);
        w->groups[query->group].is_asked = true;
    }
    for (uint32_t i = 0; i < t->n_groups; i++) {
        find_value(&w->groups[i]);
        find_keys(&w->groups[i]);
        find_states(&w->groups[i]);
        find_name(&w->groups[i]);
    }
}

static void free_groups(struct writer *w)
{
    for (uint32_t i = 0; i < w->t->n_groups; i++) {
        g_ptr_array_unref(w->groups[i].changes);
        g_ptr_array_unref(w->groups[i].paths);
        g_array_unref(w->groups[i].states);
        g_hash_table_unref(w->groups[i].by_value);
        g_hash_table_unref(w->groups[i].words);
    }
    g_free(w->groups);
}

bool xml_write_groups(struct xml_translation *t, GString *out)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    struct writer w = {.t = t, .names = names, .out = out};
    if (!t->changes->len) {
        return xml_fail(t, t->provider, "it changes nothing");
    }
    if (!xml_find_groups(t)) {
        return false;
    }
    GArray *blocks = xml_find_order(t);
    start_groups(&w);
    for (guint i = 0; i < blocks->len; i++) {
        write_block(&w, &g_array_index(blocks, struct xml_block, i));
    }
    free_groups(&w);
    xml_blocks_free(blocks);
    return true;
}
