/* SPDX-License-Identifier: MIT */
/* An XML document as a tree: elements with attributes and the lines on which they start; texts are left out. */
#ifndef LULL_STATES_XML_TREE_H
#define LULL_STATES_XML_TREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct xml_node {
    const char *name;
    const char *const *keys, *const *values; /* attributes; end with NULL */
    struct xml_node *first, *last, *next;    /* children, sibling */
    size_t line;
};

/* The outermost element; it lies in the arena. NULL and LULL_ERROR_USAGE, "NAME:LINE:COLUMN: …", if it is no
 * XML, has more than 100 000 elements, or is deeper than 64. */
struct xml_node *xml_parse(struct lull_arena *arena, const char *text, size_t length,
                           const char *name, GError **error);

/* NULL: it has none of this name. */
const char *xml_attribute(const struct xml_node *node, const char *key);
bool xml_is(const struct xml_node *node, const char *name);
/* The first child of this name from `child` on; NULL: none. */
const struct xml_node *xml_find(const struct xml_node *child, const char *name);
uint32_t xml_count(const struct xml_node *node, const char *name);

#endif
