/* SPDX-License-Identifier: MIT */
/* What the parts of the translation share: attributes and values (xml_values.c), conditions (xml_conditions.c), changes
 * (xml_changes.c), and the groups that are written
 * (xml_groups.c). */
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
        XML_CPU,     /* the field `text` if there is one, else the CPU of the event */
    } kind;
    const char *text;
    const char *label; /* of a constant: what the file calls it; or NULL */
};

/* One change of one attribute. */
struct xml_change {
    const char *on;  /* condition */
    bool is_guarded; /* it depends on more than the name of the event */
    const struct xml_value *path;
    uint32_t n_path;
    struct xml_value value;
    bool is_increment;
    uint32_t group;
    size_t line;
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
    GArray *named;   /* struct xml_named */
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
/* How .states writes a value that is not XML_NOTHING. */
void xml_append_value(GString *out, const struct xml_value *value);

/* ---- xml_values.c ---- */

/* The value of a definedValue for $NAME, else the text; NULL and a reason if there is no such value. *label is
 * its name. */
const char *xml_resolve(struct xml_translation *t, const struct xml_node *node, const char *text,
                        const char **label);
/* A stateValue, or the field of a condition. */
bool xml_read_value(struct xml_translation *t, const struct xml_node *node,
                    struct xml_value *value);
/* The stateAttribute children of a node, with those of locations. */
bool xml_read_path(struct xml_translation *t, const struct xml_node *node, GArray *path);

/* ---- xml_conditions.c ---- */

/* Appends the condition of <if>. */
bool xml_append_condition(struct xml_translation *t, const struct xml_node *node, GString *out);
/* Appends that the value equals the constant, whatever type the field has. */
void xml_append_equal(GString *out, const struct xml_value *value,
                      const struct xml_value *constant);
/* Appends that the event has the value. */
void xml_append_exists(GString *out, const struct xml_value *value);

/* ---- xml_changes.c ---- */

/* All of an eventHandler; false and reasons. */
bool xml_read_handler(struct xml_translation *t, const struct xml_node *handler);

/* ---- xml_groups.c ---- */

/* What views call a value; NULL: nothing. */
const struct xml_named *xml_name_of(const struct xml_translation *t, const char *value);
bool xml_write_groups(struct xml_translation *t, GString *out);

#endif
