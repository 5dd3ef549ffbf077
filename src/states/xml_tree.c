/* SPDX-License-Identifier: MIT */
/* Reads XML with GLib's parser, which knows no entities but the five of XML itself. */
#include "states/xml_tree.h"

#include <string.h>

#include <lull/error.h>

enum { MOST_NODES = 100000, MOST_DEEP = 64 };

struct reading {
    struct lull_arena *arena;
    struct xml_node *root, *open[MOST_DEEP];
    uint32_t depth, n_nodes;
};

static const char *const *copy_texts(struct lull_arena *arena, const char **texts)
{
    const size_t n = g_strv_length((char **)texts);
    const char **copy = lull_arena_alloc_n(arena, n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        copy[i] = lull_arena_strndup(arena, texts[i], strlen(texts[i]));
    }
    return copy;
}

static void start_element(GMarkupParseContext *context, const char *name, const char **keys,
                          const char **values, gpointer user, GError **error)
{
    struct reading *reading = user;
    int line, column;
    if (reading->depth == MOST_DEEP || reading->n_nodes++ == MOST_NODES) {
        g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                    reading->depth == MOST_DEEP ? "elements are more than %d deep"
                                                : "there are more than %d elements",
                    reading->depth == MOST_DEEP ? MOST_DEEP : MOST_NODES);
        return;
    }
    g_markup_parse_context_get_position(context, &line, &column);
    struct xml_node *node = lull_arena_alloc(reading->arena, sizeof *node);
    *node = (struct xml_node){
        .name = lull_arena_strndup(reading->arena, name, strlen(name)),
        .keys = copy_texts(reading->arena, keys),
        .values = copy_texts(reading->arena, values),
        .line = (size_t)line,
    };
    if (reading->depth) {
        struct xml_node *parent = reading->open[reading->depth - 1];
        *(parent->last ? &parent->last->next : &parent->first) = node;
        parent->last = node;
    } else {
        reading->root = node;
    }
    reading->open[reading->depth++] = node;
}

static void end_element(GMarkupParseContext *context, const char *name, gpointer user,
                        GError **error)
{
    ((struct reading *)user)->depth--;
}

struct xml_node *xml_parse(struct lull_arena *arena, const char *text, size_t length,
                           const char *name, GError **error)
{
    static const GMarkupParser parser = {.start_element = start_element,
                                         .end_element = end_element};
    struct reading reading = {.arena = arena};
    g_autoptr(GError) why = NULL;
    GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &reading, NULL);
    const bool is_right = g_markup_parse_context_parse(context, text, (gssize)length, &why) &&
                          g_markup_parse_context_end_parse(context, &why);
    if (!is_right) {
        int line, column;
        g_markup_parse_context_get_position(context, &line, &column);
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s:%d:%d: no XML that can be read: %s",
                    name, line, column, why->message);
    } else if (!reading.root) { /* GMarkup is content with a head and comments */
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s:1:1: no XML that can be read: it has no element", name);
    }
    g_markup_parse_context_free(context);
    return is_right ? reading.root : NULL;
}

const char *xml_attribute(const struct xml_node *node, const char *key)
{
    for (uint32_t i = 0; node->keys[i]; i++) {
        if (strcmp(node->keys[i], key) == 0) {
            return node->values[i];
        }
    }
    return NULL;
}

bool xml_is(const struct xml_node *node, const char *name)
{
    return strcmp(node->name, name) == 0;
}

const struct xml_node *xml_find(const struct xml_node *child, const char *name)
{
    while (child && !xml_is(child, name)) {
        child = child->next;
    }
    return child;
}

uint32_t xml_count(const struct xml_node *node, const char *name)
{
    uint32_t n = 0;
    for (const struct xml_node *child = node->first; child; child = child->next) {
        n += xml_is(child, name);
    }
    return n;
}
