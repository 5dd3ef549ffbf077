/* SPDX-License-Identifier: MIT */
/* The document: its providers of states, and the names and colours that views give to values. */
#include "states/xml.h"

#include <stdarg.h>
#include <string.h>

#include <lull/error.h>

#include "states/xml_private.h"

enum { MOST_ERRORS = 20, MOST_NAMED = 1000 };

bool xml_fail(struct xml_translation *t, const struct xml_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *reason = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (t->n_errors++ < MOST_ERRORS) {
        g_string_append_printf(t->errors, "%s%s:%zu: <%s>: %s", t->errors->len ? "\n" : "", t->file,
                               node->line, node->name, reason);
    }
    return false;
}

bool lull_states_is_xml(const char *text, size_t length)
{
    size_t at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length && g_ascii_isspace(text[at])) {
        at++;
    }
    return at < length && text[at] == '<';
}

/* "#rrggbb" */
static bool is_colour(const char *text)
{
    return text && text[0] == '#' && strlen(text) == 7 &&
           strspn(text + 1, "0123456789abcdefABCDEF") == 6;
}

static void read_view(struct xml_translation *t, const struct xml_node *view)
{
    const struct xml_node *head = xml_find(view->first, "head");
    const struct xml_node *label = head ? xml_find(head->first, "label") : NULL;
    const struct xml_node *defined = xml_find(view->first, "definedValue");
    t->label = t->label ? t->label : label ? xml_attribute(label, "value") : NULL;
    for (; defined && t->named->len < MOST_NAMED;
         defined = xml_find(defined->next, "definedValue")) {
        struct xml_named named = {xml_attribute(defined, "value"), xml_attribute(defined, "name"),
                                  xml_attribute(defined, "color")};
        char *end;
        if (!named.value || !named.name) {
            continue;
        }
        g_ascii_strtoll(named.value, &end, 10);
        named.colour = is_colour(named.colour) ? named.colour : NULL;
        /* Others are of states that are texts, which say themselves what they are. */
        if (end != named.value && !*end && !g_ascii_isspace(*named.value) &&
            !xml_name_of(t, named.value)) {
            g_array_append_val(t->named, named);
        }
    }
}

static void read_views(struct xml_translation *t, const struct xml_node *root)
{
    for (const struct xml_node *child = root->first; child; child = child->next) {
        if (xml_is(child, "timeGraphView")) {
            read_view(t, child);
        }
    }
    t->has_lines = xml_count(root, "xyView") && !xml_count(root, "timeGraphView");
}

/* What went wrong becomes a warning, if parts may be left out. */
static void excuse(struct xml_translation *t, bool is_partial)
{
    if (is_partial && t->n_errors) {
        g_string_append_printf(t->warnings, "%s; left out\n", t->errors->str);
        g_string_truncate(t->errors, 0);
        t->n_errors = 0;
    }
}

static void read_provider(struct xml_translation *t, const struct xml_node *provider,
                          bool is_partial)
{
    static const char *const known[] = {"head", "definedValue", "location", "mappingGroup", NULL};
    t->provider = provider;
    for (const struct xml_node *child = provider->first; child; child = child->next) {
        const guint before = t->changes->len, queries = t->queries->len;
        if (xml_is(child, "eventHandler")) {
            if (!xml_read_handler(t, child)) {
                g_array_set_size(t->changes, before);
                g_array_set_size(t->queries, queries);
            }
        } else if (!g_strv_contains(known, child->name)) {
            xml_fail(t, child, "it is not translated");
        }
        excuse(t, is_partial);
    }
}

static bool read_document(struct xml_translation *t, const struct xml_node *root, bool is_partial,
                          GString *out)
{
    static const char *const views[] = {"timeGraphView", "xyView", NULL};
    if (!xml_is(root, "tmfxml")) {
        return xml_fail(t, root, "this is no analysis of Trace Compass; expected <tmfxml>");
    }
    t->provider = root;
    read_views(t, root);
    for (const struct xml_node *child = root->first; child; child = child->next) {
        if (xml_is(child, "stateProvider")) {
            read_provider(t, child, is_partial);
        } else if (!g_strv_contains(views, child->name)) {
            xml_fail(t, child, "only stateProvider, timeGraphView and xyView are translated");
            excuse(t, is_partial);
        }
    }
    return !t->n_errors && xml_write_groups(t, out);
}

char *lull_states_from_xml(const char *text, size_t length, const char *name, bool is_partial,
                           GString *warnings, GError **error)
{
    struct xml_translation t = {
        .arena = lull_arena_new(),
        .file = name,
        .changes = g_array_new(FALSE, FALSE, sizeof(struct xml_change)),
        .queries = g_array_new(FALSE, FALSE, sizeof(struct xml_path)),
        .named = g_array_new(FALSE, FALSE, sizeof(struct xml_named)),
        .errors = g_string_new(NULL),
        .warnings = warnings,
    };
    GString *out = g_string_new(NULL);
    const struct xml_node *root = xml_parse(t.arena, text, length, name, error);
    const bool is_right = root && read_document(&t, root, is_partial, out);
    if (root && !is_right) {
        if (t.n_errors > MOST_ERRORS) {
            g_string_append_printf(t.errors, "\n%u more", t.n_errors - MOST_ERRORS);
        }
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, t.errors->str);
    }
    g_array_unref(t.changes);
    g_array_unref(t.queries);
    g_array_unref(t.named);
    g_string_free(t.errors, TRUE);
    lull_arena_free(t.arena);
    return g_string_free(out, !is_right);
}
