/* SPDX-License-Identifier: MIT */
/* Event handlers: each change of an attribute with the condition under which it is made. */
#include <string.h>

#include "states/xml_private.h"

enum { MOST_CHANGES = 20000, MOST_DEEP = 40, MOST_CONDITION = 30000 };

/* What a handler is about, while its changes are read. */
struct handler {
    struct xml_translation *t;
    const char *event;
    GString *on, *condition; /* on the event alone; on attributes, too */
    bool is_guarded;
};

/* How much is asked before a change is made. */
struct guard {
    gsize on, condition;
    bool is_guarded;
};

static struct guard guard_of(const struct handler *h)
{
    return (struct guard){h->on->len, h->condition->len, h->is_guarded};
}

static void restore(struct handler *h, struct guard guard)
{
    g_string_truncate(h->on, guard.on);
    g_string_truncate(h->condition, guard.condition);
    h->is_guarded = guard.is_guarded;
}

/* What else has to hold, or not to hold. */
static void add_guard(struct handler *h, bool holds, const char *text)
{
    GString *out = strchr(text, '\003') ? h->condition : h->on;
    const bool is_bare = !holds && text[0] != '(';
    g_string_append_printf(out, "%s%s%s%s%s", out->len ? " && " : "", holds ? "" : "!",
                           is_bare ? "(" : "", text, is_bare ? ")" : "");
    h->is_guarded = true;
}

static bool add_change(struct handler *h, const struct xml_node *node, const GArray *path,
                       const struct xml_value *value, bool is_increment)
{
    struct xml_translation *t = h->t;
    if (t->changes->len == MOST_CHANGES || h->on->len + h->condition->len > MOST_CONDITION) {
        return xml_fail(t, node, "the file has too many changes, or conditions that are too long");
    }
    const struct xml_change change = {
        .event = h->event,
        .on = xml_text(t, h->on),
        .condition = xml_text(t, h->condition),
        .is_guarded = h->is_guarded,
        .path.parts = lull_arena_copy(t->arena, path->data, path->len * sizeof *change.path.parts),
        .path.n = path->len,
        .value = *value,
        .is_increment = is_increment,
        .unit = t->n_units,
    };
    g_array_append_val(t->changes, change);
    return true;
}

/* A value that a mappingGroup maps: a change to each constant that it can make of it. */
static bool add_mapped(struct handler *h, const struct xml_node *node, const GArray *path,
                       const struct xml_value *value)
{
    const struct guard before = guard_of(h);
    g_autoptr(GArray) all = xml_read_mapping(h->t, node, value);
    bool is_added = all != NULL;
    for (guint i = 0; is_added && i < all->len; i++) {
        const struct xml_mapped *mapped = &g_array_index(all, struct xml_mapped, i);
        add_guard(h, true, mapped->when);
        is_added = add_change(h, node, path, &mapped->to, false);
        restore(h, before);
    }
    return is_added;
}

static bool read_simple(struct handler *h, const struct xml_node *node)
{
    struct xml_translation *t = h->t;
    const struct xml_node *last = xml_find(node->first, "stateValue");
    struct xml_value value;
    if (xml_find(node->first, "futureTime")) {
        return xml_fail(t, xml_find(node->first, "futureTime"), "it is not translated");
    }
    if (!last || xml_find(last->next, "stateValue")) {
        return xml_fail(t, node, "a change has one stateValue");
    }
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(struct xml_value));
    if (!xml_read_path(t, node, path) || !xml_read_value(t, last, &value)) {
        return false;
    }
    const bool is_increment = g_strcmp0(xml_attribute(last, "increment"), "true") == 0;
    if (xml_attribute(last, "mappingGroup")) {
        return is_increment ? xml_fail(t, last, "an increment that is mapped is not translated")
                            : add_mapped(h, last, path, &value);
    }
    if (is_increment && value.kind == XML_TEXT) {
        return xml_fail(t, last, "a text is no increment");
    }
    return add_change(h, node, path, &value, is_increment && value.kind != XML_NOTHING);
}

static bool read_change(struct handler *h, const struct xml_node *node, uint32_t depth);

/* if, then, else */
static bool read_branches(struct handler *h, const struct xml_node *node, uint32_t depth)
{
    struct xml_translation *t = h->t;
    const struct xml_node *condition = xml_find(node->first, "if");
    const struct xml_node *then = xml_find(node->first, "then");
    const struct xml_node *otherwise = xml_find(node->first, "else");
    const struct guard before = guard_of(h);
    g_autoptr(GString) text = g_string_new(NULL);
    if (!then || depth == MOST_DEEP) {
        return xml_fail(t, node, then ? "changes are too deep" : "it has no then");
    }
    if (!xml_append_condition(t, condition, text)) {
        return false;
    }
    add_guard(h, true, text->str);
    bool is_right = read_change(h, then, depth + 1);
    restore(h, before);
    if (is_right && otherwise) {
        add_guard(h, false, text->str);
        is_right = read_change(h, otherwise, depth + 1);
        restore(h, before);
    }
    return is_right;
}

/* stateChange, then, else */
static bool read_change(struct handler *h, const struct xml_node *node, uint32_t depth)
{
    return xml_find(node->first, "if") ? read_branches(h, node, depth) : read_simple(h, node);
}

/* Names of handlers are regular expressions in which * stands for any characters. */
static bool append_name(struct xml_translation *t, const struct xml_node *handler, GString *on)
{
    const char *name = xml_attribute(handler, "eventName");
    if (!name || !*name || strpbrk(name, "[](){}|+?^$\\")) {
        return xml_fail(t, handler,
                        name ? "the name of its event is a regular expression"
                             : "it has no eventName");
    }
    g_string_append(on, strchr(name, '*') ? "name =~ " : "name == ");
    xml_append_quoted(on, name);
    return true;
}

bool xml_read_handler(struct xml_translation *t, const struct xml_node *handler)
{
    struct handler h = {.t = t,
                        .event = xml_attribute(handler, "eventName"),
                        .on = g_string_new(NULL),
                        .condition = g_string_new(NULL)};
    bool is_right = append_name(t, handler, h.on);
    for (const struct xml_node *child = handler->first; child; child = child->next) {
        const struct guard before = guard_of(&h);
        const bool is_change = xml_is(child, "stateChange");
        is_right =
            (is_change ? read_change(&h, child, 0) : xml_fail(t, child, "it is not translated")) &&
            is_right;
        restore(&h, before);
        t->n_units++;
    }
    g_string_free(h.on, TRUE);
    g_string_free(h.condition, TRUE);
    return is_right;
}
