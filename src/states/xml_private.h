/* SPDX-License-Identifier: MIT */
/* What the parts of the translation share: attributes and values (xml_values.c), conditions (xml_conditions.c), changes
 * (xml_changes.c), which attributes are of one group (xml_attributes.c), in which order changes are made
 * (xml_order.c), and the groups that are written (xml_groups.c). */
#ifndef LULL_STATES_XML_PRIVATE_H
#define LULL_STATES_XML_PRIVATE_H

#include "states/xml_tree.h"

/* A part of the path of an attribute, or a value. */
struct xml_value {
    enum xml_value_kind {
        XML_NOTHING, /* null: a value only */
        XML_NUMBER,
        XML_TEXT,
        XML_OPERAND, /* of the event: `text` is how .states writes it */
        XML_OWN,     /* the field `text` if there is one, else the event's own: xml_own() */
        XML_QUERY,   /* what an attribute has; `text` is the mark of the query, \003NUMBER\004 */
    } kind;
    const char *text;
    const char *label; /* of a constant: what the file calls it; or NULL */
};

/* An attribute: where it is changed, or asked for. */
struct xml_path {
    const struct xml_value *parts;
    uint32_t n, group;
};

/* Groups of attributes, each a bit. */
enum { XML_MOST_GROUPS = 64 };
typedef uint64_t xml_groups;

/* One change of one attribute. */
struct xml_change {
    const char *event;     /* name, in which * stands for anything */
    const char *on;        /* condition on the event */
    const char *condition; /* on what attributes have, too; empty: none */
    bool is_guarded;       /* it depends on more than the name of the event */
    struct xml_path path;
    struct xml_value value;
    bool is_increment;
    uint32_t unit;              /* changes of one unit exclude each other: at most one is made */
    xml_groups asks, considers; /* all that it reads; that its condition reads */
};

/* What is done at once: changes of one group, or which change of a unit is to be made. */
struct xml_block {
    uint32_t group;  /* XML_MOST_GROUPS: the latter */
    GArray *changes; /* numbers of them */
};

/* value → name, colour: of views */
struct xml_named {
    const char *value, *name, *colour;
};

struct xml_translation {
    struct lull_arena *arena;
    const char *file;
    const struct xml_node *provider;
    GArray *changes; /* struct xml_change */
    GArray *queries; /* struct xml_path */
    uint32_t n_groups, n_units;
    GArray *named; /* struct xml_named */
    const char *label;
    bool has_lines;     /* views show numbers as lines, and none shows states */
    uint32_t n_located; /* locations that were looked up */
    GString *errors, *warnings;
    uint32_t n_errors;
};

/* Notes a reason; returns false. */
bool xml_fail(struct xml_translation *t, const struct xml_node *node, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
const char *xml_text(struct xml_translation *t, GString *text);
/* `text` in quotes, as .states reads it. */
void xml_append_quoted(GString *out, const char *text);
/* How .states writes a value that is not XML_NOTHING; queries as marks. */
void xml_append_value(GString *out, const struct xml_value *value);

/* ---- xml_values.c ---- */

/* The value of a definedValue for $NAME, else the text; NULL and a reason if there is no such value. *label is
 * its name. */
const char *xml_resolve(struct xml_translation *t, const struct xml_node *node, const char *text,
                        const char **label);
/* A stateValue, or the field of a condition; if it is mapped, before it is. */
bool xml_read_value(struct xml_translation *t, const struct xml_node *node,
                    struct xml_value *value);
/* What the attribute has whose path are the stateAttribute children of a node. */
bool xml_read_query(struct xml_translation *t, const struct xml_node *node,
                    struct xml_value *value);
/* What stands for a field that the event lacks, though all events have the like: its CPU, its time. */
const char *xml_own(const char *name);
/* The stateAttribute children of a node, with those of locations. */
bool xml_read_path(struct xml_translation *t, const struct xml_node *node, GArray *path);

/* What a mappingGroup makes of a value: the constant `to`, if the condition `when` holds. */
struct xml_mapped {
    const char *when;
    struct xml_value to;
};
/* All that the mappingGroup of the node can make of the value: array of struct xml_mapped, one of which is the case;
 * NULL and a reason. */
GArray *xml_read_mapping(struct xml_translation *t, const struct xml_node *node,
                         const struct xml_value *value);

/* ---- xml_conditions.c ---- */

/* Appends the condition of <if>. */
bool xml_append_condition(struct xml_translation *t, const struct xml_node *node, GString *out);
/* Appends that the value equals the constant, whatever type the field has. */
void xml_append_equal(GString *out, const struct xml_value *value,
                      const struct xml_value *constant);
/* Whether there may be no such value. */
bool xml_may_lack(const struct xml_value *value);
/* Whether it is a text whatever happens: the name of the event, the host. */
bool xml_is_text(const struct xml_value *value);
/* Appends that there is the value. */
void xml_append_exists(GString *out, const struct xml_value *value);

/* ---- xml_changes.c ---- */

/* All of an eventHandler; false and reasons. */
bool xml_read_handler(struct xml_translation *t, const struct xml_node *handler);

/* ---- xml_attributes.c ---- */

bool xml_same_path(const struct xml_path *a, const struct xml_path *b);
/* Numbers the groups of changes and queries, in order of their first changes, and finds what changes read. False
 * and a reason: there are too many. */
bool xml_find_groups(struct xml_translation *t);
/* The first query whose mark is in a text from *at on, which is then behind it; -1: none. */
int32_t xml_next_query(const char **at);

/* ---- xml_order.c ---- */

/* Array of struct xml_block, in order; free with xml_blocks_free(). */
GArray *xml_find_order(const struct xml_translation *t);
void xml_blocks_free(GArray *blocks);

/* ---- xml_groups.c ---- */

/* What views call a value; NULL: nothing. */
const struct xml_named *xml_name_of(const struct xml_translation *t, const char *value);
bool xml_write_groups(struct xml_translation *t, GString *out);

#endif
