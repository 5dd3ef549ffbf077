/* SPDX-License-Identifier: MIT */
/* How the fields of an event are written as text: the brackets, the names, the form of values. Two
 * ways lead to the same text: the walk over one event with a visitor, and print programs
 * (event_program.h), which are compiled with the same functions. */
#ifndef LULL_VIEW_EVENT_DIALECT_H
#define LULL_VIEW_EVENT_DIALECT_H

#include <lull/event.h>

#include "view/linebuf.h"

/* The text around and between the parts of something. */
struct lull_brackets {
    const char *open, *first, *next, *close;
};

enum lull_bracket_kind {
    LULL_BRACKET_PACKET,
    LULL_BRACKET_COMMON,  /* context of the stream */
    LULL_BRACKET_CONTEXT, /* of the event */
    LULL_BRACKET_PAYLOAD,
    LULL_BRACKET_STRUCT,
    LULL_BRACKET_ARRAY,
    LULL_BRACKET_VARIANT,
    LULL_BRACKET_KINDS
};

struct lull_dialect {
    struct lull_brackets brackets[LULL_BRACKET_KINDS];
    const char *between_scopes;
    const char *scope_names[LULL_BRACKET_STRUCT]; /* shown before a scope, or NULL */
    bool with_names[LULL_BRACKET_STRUCT];         /* of the fields in a scope */
    bool numbers_elements;                        /* "[0] = ", where names are shown */
    bool names_options;                           /* "one: " */
    uint32_t visit_flags;
    const char *special; /* characters besides control characters and bytes from 0x7f on that
                            `text` may have to escape; at most 4 */
    void (*name)(struct lull_linebuf *line, const char *name);
    void (*integer)(struct lull_linebuf *line, const struct lull_visit_int *value);
    void (*real)(struct lull_linebuf *line, double value);
    /* The inside of a quoted text. */
    void (*text)(struct lull_linebuf *line, const char *data, size_t length);
    /* NULL: as an array of integers. */
    void (*blob)(struct lull_linebuf *line, struct lull_text bytes);
};

/* Lull's own text. */
extern const struct lull_dialect lull_dialect_plain;
/* Babeltrace 2's as it is by default: change the names and it is what its options make of it. */
extern const struct lull_dialect lull_dialect_babeltrace;

#define LULL_WRITER_DEPTH 128

/* Writes brackets, commas and names. Zero but for the first members at the start of an event. */
struct lull_event_writer {
    const struct lull_dialect *dialect;
    struct lull_linebuf *line;
    bool follows_scope; /* after something that counts as a scope */
    bool is_element;    /* the walk over the array has written what precedes it */
    bool with_names;
    uint32_t depth;
    struct {
        uint8_t kind; /* enum lull_bracket_kind */
        uint64_t count;
    } open[LULL_WRITER_DEPTH];
};

/* Before each value: comma and name. */
void lull_event_writer_name(struct lull_event_writer *writer, const char *name);
void lull_event_writer_start(struct lull_event_writer *writer, const char *name,
                             enum lull_visit_kind kind);
void lull_event_writer_end(struct lull_event_writer *writer);

/* Appends the fields of an event by walking it; the reference for print programs. */
bool lull_event_writer_visit(struct lull_event_writer *writer, const struct lull_event *event,
                             GError **error);
/* Appends what the event's packet says. */
bool lull_event_writer_visit_packet(struct lull_event_writer *writer,
                                    const struct lull_event *event, GError **error);

#endif
