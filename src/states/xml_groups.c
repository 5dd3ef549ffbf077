/* SPDX-License-Identifier: MIT */
/* From changes of attributes to groups of rows. Paths that can name the same attribute are of one group; the
 * parts of the path in which they differ are its key. */
#include <string.h>

#include "states/parse.h"
#include "states/xml_private.h"

/* More rules are not written for names that views give to values. */
enum { MOST_SHAPES = 1000, MOST_RULES = 900 };

struct state {
    const char *word, *label, *colour;
};

struct group {
    struct xml_translation *t;
    GString *out;
    const struct xml_change **changes;
    uint32_t n_changes;
    const char *keys[64]; /* by part of the path; NULL: all have the same text there */
    GArray *states;       /* struct state */
    GHashTable *by_value; /* kind and text → 1 + index */
    GHashTable *words;    /* that are taken */
    bool is_numeric, is_named, has_also;
};

/* ---- which changes are of one group ---- */

static bool same_part(const struct xml_value *a, const struct xml_value *b)
{
    return a->kind == b->kind && strcmp(a->text, b->text) == 0;
}

static bool same_path(const struct xml_change *a, const struct xml_change *b)
{
    bool is_same = a->n_path == b->n_path;
    for (uint32_t i = 0; is_same && i < a->n_path; i++) {
        is_same = same_part(&a->path[i], &b->path[i]);
    }
    return is_same;
}

/* Whether both can be the same attribute. */
static bool meets(const struct xml_change *a, const struct xml_change *b)
{
    bool meets = a->n_path == b->n_path;
    for (uint32_t i = 0; meets && i < a->n_path; i++) {
        meets = a->path[i].kind != XML_TEXT || b->path[i].kind != XML_TEXT ||
                strcmp(a->path[i].text, b->path[i].text) == 0;
    }
    return meets;
}

static uint32_t shape_of(const struct xml_translation *t, GArray *shapes, uint32_t change)
{
    const struct xml_change *changes = (const struct xml_change *)t->changes->data;
    for (guint i = 0; i < shapes->len; i++) {
        if (same_path(&changes[g_array_index(shapes, uint32_t, i)], &changes[change])) {
            return i;
        }
    }
    g_array_append_val(shapes, change);
    return shapes->len - 1;
}

/* Numbers the groups, in order of their first changes; 0: there are too many paths. */
static uint32_t find_groups(struct xml_translation *t)
{
    struct xml_change *changes = (struct xml_change *)t->changes->data;
    g_autoptr(GArray) shapes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (guint i = 0; i < t->changes->len; i++) {
        changes[i].group = shape_of(t, shapes, i);
        if (shapes->len > MOST_SHAPES) {
            return 0;
        }
    }
    g_autofree uint32_t *groups = g_new(uint32_t, shapes->len + 1);
    for (uint32_t i = 0; i < shapes->len; i++) {
        const struct xml_change *shape = &changes[g_array_index(shapes, uint32_t, i)];
        groups[i] = i;
        for (uint32_t j = 0; j < i; j++) {
            if (groups[j] != groups[i] &&
                meets(shape, &changes[g_array_index(shapes, uint32_t, j)])) {
                const uint32_t from = MAX(groups[i], groups[j]), to = MIN(groups[i], groups[j]);
                for (uint32_t k = 0; k <= i; k++) {
                    groups[k] = groups[k] == from ? to : groups[k];
                }
            }
        }
    }
    g_autofree uint32_t *numbers = g_new0(uint32_t, shapes->len + 1);
    uint32_t n = 0;
    for (guint i = 0; i < t->changes->len; i++) {
        const uint32_t group = groups[changes[i].group];
        numbers[group] = numbers[group] ? numbers[group] : ++n;
        changes[i].group = numbers[group] - 1;
    }
    return n;
}

/* ---- words ---- */

/* A new word of the language that looks like a text. */
static const char *new_word(struct xml_translation *t, GHashTable *words, const char *text)
{
    g_autoptr(GString) word = g_string_new(g_ascii_isdigit(*text) ? "s" : NULL);
    for (; *text && word->len < 60; text++) {
        if (g_ascii_isalnum(*text) || *text == '_') {
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

static void find_keys(struct group *g)
{
    for (uint32_t i = 0; i < g->changes[0]->n_path; i++) {
        const struct xml_value *first = &g->changes[0]->path[i];
        bool is_fixed = first->kind == XML_TEXT;
        for (uint32_t c = 0; is_fixed && c < g->n_changes; c++) {
            is_fixed = same_part(first, &g->changes[c]->path[i]);
        }
        if (is_fixed) {
            continue;
        }
        const bool is_name = first->kind == XML_OPERAND && *first->text == '$';
        const char *text = first->kind == XML_CPU    ? "processor"
                           : first->kind == XML_TEXT ? "part"
                           : is_name                 ? "event"
                                                     : first->text;
        const char *dot = strrchr(text, '.');
        g->keys[i] = new_word(g->t, g->words, dot ? dot + 1 : text);
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
    for (uint32_t i = 0; i < g->n_changes; i++) {
        const struct xml_change *change = g->changes[i];
        const bool is_operand = change->value.kind >= XML_OPERAND;
        g->is_numeric |= is_operand || change->is_increment ||
                         (g->t->has_lines && change->value.kind == XML_NUMBER);
        n_operands += is_operand && !change->is_increment;
        g->has_also |= change->is_guarded || strstr(change->on, "=~") ||
                       !g_hash_table_add(names, (gpointer)change->on);
    }
    if (g->is_numeric) {
        new_word(g->t, g->words, "value");
    }
    g->is_named =
        g->t->named->len > 0 && g->n_changes + n_operands * (g->t->named->len + 1) <= MOST_RULES;
    for (uint32_t i = 0; i < g->n_changes; i++) {
        const struct xml_value *value = &g->changes[i]->value;
        if (g->changes[i]->is_increment || value->kind >= XML_OPERAND) {
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

/* ---- writing ---- */

/* Parts of keys that are constants are numbers if they look like one, as fields are. */
static void append_part(GString *out, const struct xml_value *part)
{
    char *end;
    g_ascii_strtoll(part->text, &end, 10);
    const bool is_number = part->kind == XML_TEXT && *part->text && *end == '\0' &&
                           (g_ascii_isdigit(part->text[0]) || part->text[0] == '-');
    if (is_number) {
        g_string_append(out, part->text);
    } else {
        xml_append_value(out, part);
    }
}

/* \001NAME\002 is the field NAME, or the CPU of the event if it has none: whether it has is what `fields` says, a
 * bit for each of the names. */
static char *with_cpu(const char *text, const GPtrArray *names, uint32_t fields)
{
    GString *out = g_string_new(text);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *marked = g_strdup_printf("\001%s\002", name);
        g_autofree char *field = g_strdup_printf("fields.%s", name);
        g_string_replace(out, marked, fields >> i & 1 ? field : "$cpu", 0);
    }
    return g_string_free(out, FALSE);
}

/* The names that stand between \001 and \002, each once: there are eight ways to write “cpu”. */
static GPtrArray *names_of_cpu(const char *text)
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

/* A rule: once, or for events with and without each field that is called as the CPU is. */
static void write_rule(struct group *g, const char *on, const char *where, const char *actions)
{
    g_autofree char *all = g_strconcat(on, where, actions, NULL);
    g_autoptr(GPtrArray) names = names_of_cpu(all);
    for (uint32_t fields = 1u << names->len; fields-- > 0;) {
        g_autofree char *on_text = with_cpu(on, names, fields);
        g_autofree char *where_text = with_cpu(where, names, fields);
        g_autofree char *actions_text = with_cpu(actions, names, fields);
        g_string_append_printf(g->out, "    %s %s", g->has_also ? "also on" : "on", on_text);
        for (guint i = 0; i < names->len; i++) {
            g_string_append_printf(g->out, " && %sexists(fields.%s)", fields >> i & 1 ? "" : "!",
                                   (char *)names->pdata[i]);
        }
        g_string_append_printf(g->out, "%s : %s\n", where_text, actions_text);
    }
}

/* " at (…)", unless it is the row's own key, which is that of the first change. */
static char *where_of(const struct group *g, const struct xml_change *change)
{
    GString *out = g_string_new(NULL);
    bool is_own = same_path(change, g->changes[0]);
    for (uint32_t i = 0; i < change->n_path; i++) {
        is_own &= change->path[i].kind != XML_CPU;
    }
    for (uint32_t i = 0; !is_own && i < change->n_path; i++) {
        if (g->keys[i]) {
            append_part(g_string_append(out, out->len ? ", " : " at ("), &change->path[i]);
        }
    }
    g_string_append(out, out->len ? ")" : "");
    return g_string_free(out, FALSE);
}

/* A value of the event: unset if there is none, in the state of its name if it has one. */
static void write_operand(struct group *g, const struct xml_change *change, const char *where)
{
    static const struct xml_value any = {XML_OPERAND, "", NULL};
    g_autoptr(GString) on = g_string_new(change->on), action = g_string_new(NULL);
    const bool may_lack = change->value.kind == XML_OPERAND && strchr(change->value.text, '.');
    g_string_append(action, change->is_increment ? ", value += " : ", value = ");
    xml_append_value(action, &change->value);
    if (may_lack) {
        const size_t before = on->len;
        xml_append_exists(g_string_append(on, " && !"), &change->value);
        write_rule(g, on->str, where, "end");
        g_string_truncate(on, before);
        xml_append_exists(g_string_append(on, " && "), &change->value);
    }
    g_autoptr(GString) others = g_string_new(NULL);
    for (guint i = 0; g->is_named && !change->is_increment && i < g->t->named->len; i++) {
        const struct xml_value named = {
            XML_NUMBER, g_array_index(g->t->named, struct xml_named, i).value, NULL};
        const size_t before = on->len;
        g_autofree char *actions = g_strconcat(state_of(g, &named), action->str, NULL);
        xml_append_value(g_string_append(on, " && "), &change->value);
        g_string_append_printf(on, " == %s", named.text);
        write_rule(g, on->str, where, actions);
        g_string_truncate(on, before);
        g_string_append_printf(others, "%s%s", i ? ", " : "", named.text);
    }
    if (others->len && g->has_also) { /* else the first rule that holds is the only one */
        xml_append_value(g_string_append(on, " && !("), &change->value);
        g_string_append_printf(on, " in (%s))", others->str);
    }
    g_autofree char *actions = g_strconcat(state_of(g, &any), action->str, NULL);
    write_rule(g, on->str, where, actions);
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
            write_rule(g, change->on, where, actions);
        } else {
            write_operand(g, change, where);
        }
    } else if (change->value.kind == XML_NOTHING) {
        write_rule(g, change->on, where, "end");
    } else {
        g_autoptr(GString) actions = g_string_new(state_of(g, &change->value));
        if (g->is_numeric) {
            xml_append_value(g_string_append(actions, ", value = "), &change->value);
        }
        write_rule(g, change->on, where, actions->str);
    }
}

/* "Threads/…", or with the keys in braces. */
static char *skeleton(const struct group *g, bool has_keys)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < g->changes[0]->n_path; i++) {
        g_string_append(out, i ? "/" : "");
        if (!g->keys[i]) {
            g_string_append(out, g->changes[0]->path[i].text);
        } else if (has_keys) {
            g_string_append_printf(out, "{%s}", g->keys[i]);
        } else {
            g_string_append_c(out, '*');
        }
    }
    return g_string_free(out, FALSE);
}

static void write_row(struct group *g)
{
    bool has_key = false;
    g_autofree char *title = skeleton(g, true);
    for (uint32_t i = 0; i < g->changes[0]->n_path; i++) {
        const struct xml_value *part = &g->changes[0]->path[i];
        if (g->keys[i]) {
            g_string_append_printf(g->out, "%s%s = ", has_key ? ", " : "    row ", g->keys[i]);
            if (part->kind == XML_CPU) {
                g_string_append(g->out, "$cpu");
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
        for (uint32_t i = 0; i < g->changes[0]->n_path; i++) {
            label = g->keys[i] ? label : g->changes[0]->path[i].text;
        }
        xml_append_quoted(g_string_append(g->out, "    number value "), label);
        g_string_append_c(g->out, '\n');
    }
}

static bool has_letter(const char *text)
{
    while (*text && !g_ascii_isalpha(*text)) {
        text++;
    }
    return *text;
}

static void write_group(struct group *g, GHashTable *names)
{
    find_keys(g);
    find_states(g);
    g_autofree char *label = skeleton(g, false);
    g_autofree char *full = g->t->label ? g_strdup_printf("%s: %s", g->t->label, label) : NULL;
    g_string_append_printf(g->out, "%sgroup %s ", g->out->len ? "\n" : "",
                           new_word(g->t, names,
                                    has_letter(label) ? label
                                    : g->t->label     ? g->t->label
                                                      : "attributes"));
    xml_append_quoted(g->out, full ? full : label);
    g_string_append(g->out, " {\n");
    write_row(g);
    write_states(g);
    for (uint32_t i = 0; i < g->n_changes; i++) {
        write_change(g, g->changes[i]);
    }
    g_string_append(g->out, "}\n");
}

bool xml_write_groups(struct xml_translation *t, GString *out)
{
    const struct xml_change *changes = (const struct xml_change *)t->changes->data;
    const uint32_t n = find_groups(t);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    if (!n) {
        return xml_fail(t, t->provider,
                        t->changes->len ? "it has too many paths of attributes"
                                        : "it changes nothing");
    }
    g_autofree const struct xml_change **sorted = g_new(const struct xml_change *, t->changes->len);
    for (uint32_t group = 0; group < n; group++) {
        struct group g = {
            .t = t,
            .out = out,
            .changes = sorted,
            .states = g_array_new(FALSE, FALSE, sizeof(struct state)),
            .by_value = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
            .words = g_hash_table_new(g_str_hash, g_str_equal),
        };
        for (guint i = 0; i < t->changes->len; i++) {
            if (changes[i].group == group) {
                sorted[g.n_changes++] = &changes[i];
            }
        }
        write_group(&g, names);
        g_array_unref(g.states);
        g_hash_table_unref(g.by_value);
        g_hash_table_unref(g.words);
    }
    return true;
}
