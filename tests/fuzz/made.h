/* SPDX-License-Identifier: MIT */
/* Schemas that are made up, and streams that fit them: a tape of bytes says what is chosen. Nothing
 * of Lull is used, so that what was made can be compared with what Lull reads. */
#ifndef LULL_TESTS_FUZZ_MADE_H
#define LULL_TESTS_FUZZ_MADE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* In the order of a packet and of an event record. */
enum made_scope {
    MADE_PACKET_HEADER,
    MADE_PACKET_CONTEXT,
    MADE_EVENT_HEADER,
    MADE_COMMON_CONTEXT,
    MADE_CONTEXT,
    MADE_PAYLOAD,
    MADE_SCOPES
};

enum made_kind {
    MADE_INT,
    MADE_REAL,
    MADE_STRING, /* up to its NUL */
    MADE_BYTES,  /* text or blob of a known length */
    MADE_VARINT, /* from here on what CTF 1.8 has not, except parts */
    MADE_OPTIONAL,
    MADE_STRUCT,
    MADE_ARRAY, /* with `ref` its length is that field's value */
    MADE_VARIANT,
};

/* What the value of an integer is for. */
enum made_use {
    MADE_NOTHING,
    MADE_LENGTH,
    MADE_TAG,
    MADE_SELECTOR,
    MADE_MAGIC,
    MADE_CONTENT_SIZE,
    MADE_PACKET_SIZE,
    MADE_START,
    MADE_END,
    MADE_ID,
    MADE_TIME,
};

#define MADE_OPTIONS 3 /* of each variant, each with three values of its tag */

struct made_field {
    enum made_kind kind;
    enum made_use use;
    enum made_scope scope;
    char name[8];                    /* "": an element, or what is optional */
    const struct made_field *around; /* NULL: it is a scope's structure */
    unsigned size;                   /* bits of a number */
    unsigned align;                  /* bits; of a structure or array the least */
    unsigned base;
    unsigned unit; /* bytes of a code unit of a text */
    unsigned length;
    bool is_signed, is_big_endian, is_reversed, is_boolean, is_bits, is_mapped, is_text;
    struct made_field *ref; /* its length, tag or selector */
    bool is_relative;       /* `ref` is a neighbour, and is named as one */
    bool has_ranges;        /* OPTIONAL: the selector is a number */
    GPtrArray *parts;       /* members, options, or one element */

    /* Of the last one that was written. */
    uint64_t bits, at; /* value; bit of the packet */
    unsigned item;     /* 1 + index of its item, or 0 */
    unsigned n_bytes;
};

struct made_tape {
    const uint8_t *data;
    size_t size, at;
    uint64_t state; /* of the numbers behind the end of `data` */
};

struct made_schema {
    struct made_tape *tape;
    bool is_json; /* CTF 2, else CTF 1.8 */
    bool is_big_endian;
    unsigned n_names, n_events;
    unsigned event; /* class that is being made */
    int budget;     /* fields that may still be made */
    struct made_field *scopes[MADE_COMMON_CONTEXT + 1];
    struct made_field *contexts[3], *payloads[3]; /* of event classes; NULL: none */
    GPtrArray *fields;                            /* all, owned */
};

/* A number below `n`, at most 256. */
unsigned made_choose(struct made_tape *tape, unsigned n);

void made_schema_init(struct made_schema *schema, struct made_tape *tape);
void made_schema_clear(struct made_schema *schema);
/* The metadata text. */
char *made_schema_text(const struct made_schema *schema);
/* The structure of a scope, for events of one class; may be NULL. */
struct made_field *made_root(const struct made_schema *schema, enum made_scope scope,
                             unsigned event);
/* As a binding names it; NULL if none can because it lies in an array. */
char *made_path(const struct made_field *field);
unsigned made_align(const struct made_field *field);
/* The first label of a value, or NULL; a tag's labels are its options' names. */
const char *made_label(const struct made_field *field, uint64_t value);

enum made_item_kind {
    MADE_ITEM_START,
    MADE_ITEM_END,
    MADE_ITEM_INT,
    MADE_ITEM_REAL,
    MADE_ITEM_TEXT
};

/* What a visitor must see. */
struct made_item {
    enum made_item_kind kind;
    const struct made_field *field; /* NULL: a scope */
    const char *name;
    uint64_t bits;
    double real;
    size_t text, length; /* in made_stream.texts */
};

/* One field that was written outside of arrays. */
struct made_value {
    const struct made_field *field;
    unsigned item;          /* what it is, unless it is an array */
    uint64_t byte, n_bytes; /* of an array: in the file */
};

struct made_event {
    unsigned event_class, packet;
    uint64_t time;
    unsigned first_item, end_item;
    unsigned first_value, end_value;
};

struct made_packet {
    unsigned first_item, end_item; /* of its context */
};

struct made_stream {
    GByteArray *bytes;
    GArray *items, *values, *events, *packets; /* made_item, made_value, made_event, made_packet */
    GByteArray *texts;
};

void made_stream_init(struct made_stream *stream, const struct made_schema *schema);
void made_stream_clear(struct made_stream *stream);

#endif
