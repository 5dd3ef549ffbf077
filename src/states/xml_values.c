/* SPDX-License-Identifier: MIT */
/* Constants, fields, and paths of attributes. */
#include <string.h>

#include "states/xml_private.h"

enum { MOST_PATH = 24, MOST_DEEP = 16, MOST_LOCATED = 100000, MOST_QUERIES = 2000 };

const char *xml_text(struct xml_translation *t, GString *text)
{
    return lull_arena_strndup(t->arena, text->str, text->len);
}

void xml_append_quoted(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            g_string_append_printf(out, "\\%c", *text);
        } else if (g_ascii_iscntrl(*text)) {
            g_string_append_printf(out, "\\x%02x", (unsigned char)*text);
        } else {
            g_string_append_c(out, *text);
        }
    }
    g_string_append_c(out, '"');
}

void xml_append_value(GString *out, const struct xml_value *value)
{
    if (value->kind == XML_TEXT) {
        xml_append_quoted(out, value->text);
    } else if (value->kind == XML_OWN) {
        g_string_append_printf(out, "\001%s\002", value->text); /* see xml_groups.c */
    } else {
        g_string_append(out, value->text);
    }
}

const char *xml_resolve(struct xml_translation *t, const struct xml_node *node, const char *text,
                        const char **label)
{
    *label = NULL;
    if (text[0] != '$') {
        return text;
    }
    const struct xml_node *defined = xml_find(t->provider->first, "definedValue");
    for (; defined; defined = xml_find(defined->next, "definedValue")) {
        const char *name = xml_attribute(defined, "name"), *value = xml_attribute(defined, "value");
        if (name && value && strcmp(name, text + 1) == 0) {
            *label = name;
            return value;
        }
    }
    xml_fail(t, node, "there is no definedValue “%s”", text + 1);
    return NULL;
}

/* "a", "a.b": words with points between */
static bool is_path(const char *text)
{
    bool is_start = true;
    for (; *text; text++) {
        if (*text == '.' && !is_start) {
            is_start = true;
        } else if (g_ascii_isalpha(*text) || *text == '_' ||
                   (g_ascii_isdigit(*text) && !is_start)) {
            is_start = false;
        } else {
            return false;
        }
    }
    return !is_start;
}

const char *xml_own(const char *name)
{
    return g_ascii_strcasecmp(name, "cpu") == 0 ? "$cpu" : "$timestamp";
}

static bool read_field(struct xml_translation *t, const struct xml_node *node, const char *name,
                       struct xml_value *value)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (!name || !*name) {
        return xml_fail(t, node, "it names no field");
    }
    if (g_ascii_strcasecmp(name, "cpu") == 0) {
        *value = (struct xml_value){XML_OWN, name, NULL};
        return true;
    }
    if (g_ascii_strcasecmp(name, "hostid") == 0) {
        *value = (struct xml_value){XML_OPERAND, "host", NULL};
        return true;
    }
    if (g_ascii_strcasecmp(name, "timestamp") == 0) {
        /* All ways to write it would be too many, as each may be the name of a field. */
        *value = (struct xml_value){XML_OWN, name, NULL};
        return strcmp(name, "timestamp") == 0 ||
               xml_fail(t, node, "“%s” is translated only if it is written “timestamp”", name);
    }
    if (!is_path(name)) {
        return xml_fail(t, node, "“%s” is no name of a field that can be translated", name);
    }
    /* Trace Compass shows contexts with the underscores that metadata of LTTng puts before names. */
    if (g_str_has_prefix(name, "context.")) {
        g_string_append(g_string_append(text, "context."), name + 8 + (name[8] == '_'));
    } else {
        g_string_append(g_string_append(text, "fields."), name);
    }
    *value = (struct xml_value){XML_OPERAND, xml_text(t, text), NULL};
    return true;
}

/* An integer of at most so many digits; it is written without needless ones. */
static bool read_number(struct xml_translation *t, const struct xml_node *node, const char *text,
                        bool is_int, struct xml_value *value)
{
    char *end;
    const gint64 number = g_ascii_strtoll(text, &end, 10);
    if (end == text || *end || g_ascii_isspace(*text) ||
        (is_int && (number < G_MININT32 || number > G_MAXINT32))) {
        return xml_fail(t, node, "“%s” is no %s", text, is_int ? "int" : "long");
    }
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out, "%" G_GINT64_FORMAT, number);
    *value = (struct xml_value){XML_NUMBER, xml_text(t, out), value->label};
    return true;
}

/* What is beyond events, fields and constants. */
static bool check_value(struct xml_translation *t, const struct xml_node *node)
{
    static const struct {
        const char *key, *reason;
    } refused[] = {{"stack", "stacks are not translated"},
                   {"update", "changes of the past (update) are not translated"}};
    for (uint32_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        const char *given = xml_attribute(node, refused[i].key);
        if (given && *given && strcmp(given, "false") != 0) {
            return xml_fail(t, node, "%s", refused[i].reason);
        }
    }
    return true;
}

static bool read_path(struct xml_translation *t, const struct xml_node *node, GArray *path,
                      uint32_t depth);

static bool read_query(struct xml_translation *t, const struct xml_node *node,
                       struct xml_value *value, uint32_t depth)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct xml_value));
    if (!read_path(t, node, parts, depth)) {
        return false;
    }
    const struct xml_path path = {
        .parts = lull_arena_copy(t->arena, parts->data, parts->len * sizeof *path.parts),
        .n = parts->len};
    guint query = 0;
    while (query < t->queries->len &&
           !xml_same_path(&g_array_index(t->queries, struct xml_path, query), &path)) {
        query++;
    }
    if (query == MOST_QUERIES) {
        return xml_fail(t, node, "there are more than %d queries", MOST_QUERIES);
    }
    if (query == t->queries->len) {
        g_array_append_val(t->queries, path);
    }
    g_autoptr(GString) mark = g_string_new(NULL);
    g_string_append_printf(mark, "\003%u\004", query);
    *value = (struct xml_value){XML_QUERY, xml_text(t, mark), NULL};
    return true;
}

bool xml_read_query(struct xml_translation *t, const struct xml_node *node, struct xml_value *value)
{
    return read_query(t, node, value, 0);
}

/* What the value becomes by its forcedType. Filters do not change the kind of what events or rows have. */
static bool force(struct xml_translation *t, const struct xml_node *node, struct xml_value *value)
{
    const char *forced = xml_attribute(node, "forcedType");
    if (!forced || !*forced || value->kind == XML_NOTHING) {
        return true;
    }
    const bool is_int = strcmp(forced, "int") == 0, is_text = strcmp(forced, "string") == 0;
    if (!is_int && !is_text && strcmp(forced, "long") != 0) {
        return xml_fail(t, node, "the forcedType “%s” is not translated", forced);
    }
    if (value->kind >= XML_OPERAND) {
        return xml_fail(t, node,
                        "forcedType is translated for constants only; leave it out if the "
                        "value is of that type anyway");
    }
    if (is_text) {
        value->kind = XML_TEXT;
        return true;
    }
    return read_number(t, node, value->text, is_int, value);
}

static bool read_value(struct xml_translation *t, const struct xml_node *node,
                       struct xml_value *value)
{
    const char *type = xml_attribute(node, "type"), *text = xml_attribute(node, "value");
    *value = (struct xml_value){0};
    if (xml_is(node, "field")) {
        return read_field(t, node, xml_attribute(node, "name"), value);
    }
    if (!check_value(t, node)) {
        return false;
    }
    if (!type) {
        return xml_fail(t, node, "it has no type");
    }
    if (strcmp(type, "null") == 0 || strcmp(type, "delete") == 0) {
        return true;
    }
    if (strcmp(type, "eventName") == 0) {
        *value = (struct xml_value){XML_OPERAND, "$name", NULL};
        return true;
    }
    if (strcmp(type, "query") == 0) {
        return xml_read_query(t, node, value);
    }
    const bool is_int = strcmp(type, "int") == 0, is_field = strcmp(type, "eventField") == 0;
    if (!is_int && !is_field && strcmp(type, "long") != 0 && strcmp(type, "string") != 0) {
        return xml_fail(t, node, "values of the type “%s” are not translated", type);
    }
    text = text ? xml_resolve(t, node, text, &value->label) : "";
    if (!text) {
        return false;
    }
    if (is_field) {
        return read_field(t, node, text, value);
    }
    if (strcmp(type, "string") == 0) {
        *value = (struct xml_value){XML_TEXT, text, value->label};
        return true;
    }
    return read_number(t, node, text, is_int, value);
}

bool xml_read_value(struct xml_translation *t, const struct xml_node *node, struct xml_value *value)
{
    return read_value(t, node, value) &&
           (xml_attribute(node, "mappingGroup") || force(t, node, value));
}

static bool read_attribute(struct xml_translation *t, const struct xml_node *node, GArray *path,
                           uint32_t depth);

static bool read_location(struct xml_translation *t, const struct xml_node *node, const char *id,
                          GArray *path, uint32_t depth)
{
    const struct xml_node *location = xml_find(t->provider->first, "location");
    while (location && g_strcmp0(xml_attribute(location, "id"), id) != 0) {
        location = xml_find(location->next, "location");
    }
    if (!location) {
        return xml_fail(t, node, "there is no location “%s”", id);
    }
    if (t->n_located++ >= MOST_LOCATED) {
        return xml_fail(t, node, "there are too many locations");
    }
    for (const struct xml_node *child = location->first; child; child = child->next) {
        if (!read_attribute(t, child, path, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool read_attribute(struct xml_translation *t, const struct xml_node *node, GArray *path,
                           uint32_t depth)
{
    const char *type = xml_attribute(node, "type"), *text = xml_attribute(node, "value");
    struct xml_value value = {0};
    if (!xml_is(node, "stateAttribute") || !type) {
        return xml_fail(t, node, "expected a stateAttribute with a type");
    }
    if (depth == MOST_DEEP) {
        return xml_fail(t, node, "locations and queries are more than %d deep", MOST_DEEP);
    }
    const bool is_field = strcmp(type, "eventField") == 0;
    if (strcmp(type, "eventName") == 0) {
        value = (struct xml_value){XML_OPERAND, "$name", NULL};
    } else if (strcmp(type, "query") == 0) {
        if (!read_query(t, node, &value, depth + 1)) {
            return false;
        }
    } else if (is_field || strcmp(type, "constant") == 0 || strcmp(type, "location") == 0) {
        if (!text || !*text) {
            return xml_fail(t, node, "it has no value");
        }
        text = xml_resolve(t, node, text, &value.label);
        if (!text) {
            return false;
        }
        if (strcmp(type, "location") == 0) {
            return read_location(t, node, text, path, depth);
        }
        if (is_field && !read_field(t, node, text, &value)) {
            return false;
        }
        if (!is_field && text[0] == '#') {
            return xml_fail(t, node, "“%s” is of patterns, which are not translated", text);
        }
        value = is_field ? value : (struct xml_value){XML_TEXT, text, NULL};
    } else {
        return xml_fail(t, node, "attributes of the type “%s” are not translated", type);
    }
    if (path->len == MOST_PATH) {
        return xml_fail(t, node, "a path has more than %d parts", MOST_PATH);
    }
    g_array_append_val(path, value);
    return true;
}

static bool read_path(struct xml_translation *t, const struct xml_node *node, GArray *path,
                      uint32_t depth)
{
    const struct xml_node *child = xml_find(node->first, "stateAttribute");
    for (; child; child = xml_find(child->next, "stateAttribute")) {
        if (!read_attribute(t, child, path, depth)) {
            return false;
        }
    }
    return path->len || xml_fail(t, node, "it has no stateAttribute");
}

bool xml_read_path(struct xml_translation *t, const struct xml_node *node, GArray *path)
{
    return read_path(t, node, path, 0);
}

/* An entry: from one constant to another, or to nothing. */
static bool read_entry(struct xml_translation *t, const struct xml_node *entry,
                       struct xml_value *from, struct xml_value *to)
{
    const struct xml_node *second = entry->first ? entry->first->next : NULL;
    const uint32_t before = t->n_errors;
    const bool is_read =
        second && xml_read_value(t, entry->first, from) && xml_read_value(t, second, to);
    if (is_read && from->kind != XML_NOTHING && from->kind < XML_OPERAND &&
        to->kind < XML_OPERAND) {
        return true;
    }
    return t->n_errors > before ? false : xml_fail(t, entry, "it maps no constant to a constant");
}

/* That a value, which may be constant, is the constant. */
static void append_is(GString *out, const struct xml_value *value, const struct xml_value *constant)
{
    if (value->kind >= XML_OPERAND) {
        xml_append_equal(out, value, constant);
    } else {
        g_string_append(out, g_strcmp0(value->text, constant->text) == 0 ? "(true)" : "(false)");
    }
}

static bool add_mapped(struct xml_translation *t, const struct xml_node *node, GArray *all,
                       GString *when, struct xml_value to)
{
    const bool is_right = force(t, node, &to);
    const struct xml_mapped mapped = {xml_text(t, when), to};
    g_array_append_val(all, mapped);
    return is_right;
}

GArray *xml_read_mapping(struct xml_translation *t, const struct xml_node *node,
                         const struct xml_value *value)
{
    const char *id = xml_attribute(node, "mappingGroup");
    const struct xml_node *group = xml_find(t->provider->first, "mappingGroup");
    while (group && g_strcmp0(xml_attribute(group, "id"), id) != 0) {
        group = xml_find(group->next, "mappingGroup");
    }
    if (!group) {
        xml_fail(t, node, "there is no such mappingGroup");
        return NULL;
    }
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct xml_mapped));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) none = g_string_new(NULL);
    for (const struct xml_node *entry = group->first; entry; entry = entry->next) {
        struct xml_value from, to;
        if (!read_entry(t, entry, &from, &to)) {
            return NULL;
        }
        if (g_hash_table_add(seen, (gpointer)from.text)) { /* else an earlier one is taken */
            g_autoptr(GString) equal = g_string_new(NULL);
            append_is(equal, value, &from);
            if (!add_mapped(t, node, all, equal, to)) {
                return NULL;
            }
            g_string_append_printf(none, "%s!%s", none->len ? " && " : "", equal->str);
        }
    }
    g_string_append(none, none->len ? "" : "true");
    add_mapped(t, node, all, none, (struct xml_value){XML_NOTHING});
    return g_steal_pointer(&all);
}
