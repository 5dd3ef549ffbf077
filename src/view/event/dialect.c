/* SPDX-License-Identifier: MIT */
/* Brackets, names and values of events as text, in Lull's own form and in Babeltrace's. */
#include "view/event/dialect.h"

#include <stdio.h>

/* ---- values ---- */

/* The bits of a value that hexadecimal and octal digits are made of: all digits that the size of
 * the field reaches into, as Babeltrace has it. */
static uint64_t digit_bits(const struct lull_visit_int *value, uint32_t bits_per_digit)
{
    uint32_t bits = (value->size_bits + bits_per_digit - 1u) / bits_per_digit * bits_per_digit;
    return bits >= 64 ? value->bits : value->bits & ((UINT64_C(1) << bits) - 1);
}

static void add_number(struct lull_linebuf *line, const struct lull_visit_int *value)
{
    if (value->base == 16 || value->is_bits) {
        lull_linebuf_hex(line, digit_bits(value, 4));
    } else if (value->base == 8) {
        lull_linebuf_octal(line, value->size_bits < 64 ? digit_bits(value, 3) : value->bits);
    } else if (value->base == 2) {
        lull_linebuf_binary(line, value->bits, value->size_bits);
    } else if (value->is_signed) {
        lull_linebuf_signed(line, (int64_t)value->bits);
    } else {
        lull_linebuf_unsigned(line, value->bits);
    }
}

static void plain_name(struct lull_linebuf *line, const char *name)
{
    lull_linebuf_escaped(line, name, strlen(name));
}

static void add_boolean(struct lull_linebuf *line, bool value)
{
    lull_linebuf_string(line, value ? "true" : "false");
}

/* "a | b (3)": the labels of a value, or the names of the flags that are set. */
static void plain_integer(struct lull_linebuf *line, const struct lull_visit_int *value)
{
    if (value->is_boolean) {
        add_boolean(line, value->bits != 0);
        return;
    }
    for (uint32_t i = 0; i < value->n_labels; i++) {
        lull_linebuf_string(line, i ? " | " : "");
        lull_linebuf_escaped(line, value->labels[i], strlen(value->labels[i]));
    }
    lull_linebuf_string(line, value->n_labels ? " (" : "");
    add_number(line, value);
    lull_linebuf_string(line, value->n_labels ? ")" : "");
}

static void plain_blob(struct lull_linebuf *line, struct lull_text bytes)
{
    lull_linebuf_char(line, '<');
    lull_linebuf_unsigned(line, bytes.length);
    lull_linebuf_string(line, bytes.length ? " bytes: " : " bytes");
    lull_linebuf_hex_bytes(line, bytes.data, bytes.length);
    lull_linebuf_char(line, '>');
}

static void babeltrace_name(struct lull_linebuf *line, const char *name)
{
    lull_linebuf_string(line, name);
}

static void escape_control(struct lull_linebuf *line, unsigned char c)
{
    static const char named[] = "\aa\bb\x1b"
                                "e\ff\nn\rr\tt\vv";
    for (uint32_t i = 0; i + 1 < sizeof named; i += 2) {
        if ((unsigned char)named[i] == c) {
            lull_linebuf_char(line, '\\');
            lull_linebuf_char(line, named[i + 1]);
            return;
        }
    }
    const char *digits = "0123456789abcdef";
    const char text[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
    lull_linebuf_bytes(line, text, sizeof text);
}

static void babeltrace_text(struct lull_linebuf *line, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c < 0x20 || c == 0x7f) {
            escape_control(line, c);
            continue;
        }
        if (c == '\\' || c == '\'' || c == '"' || c == '?') {
            lull_linebuf_char(line, '\\');
        }
        lull_linebuf_char(line, (char)c);
    }
}

static void babeltrace_integer(struct lull_linebuf *line, const struct lull_visit_int *value)
{
    if (value->is_boolean) {
        add_boolean(line, value->bits != 0);
        return;
    }
    if (!value->is_enum) {
        add_number(line, value);
        return;
    }
    lull_linebuf_literal(line, "( ");
    for (uint32_t i = 0; i < value->n_labels; i++) {
        lull_linebuf_string(line, i ? ", \"" : "\"");
        babeltrace_text(line, value->labels[i], strlen(value->labels[i]));
        lull_linebuf_char(line, '"');
    }
    lull_linebuf_string(line, value->n_labels ? "" : "<unknown>");
    lull_linebuf_literal(line, " : container = ");
    add_number(line, value);
    lull_linebuf_literal(line, " )");
}

static void babeltrace_real(struct lull_linebuf *line, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    lull_linebuf_string(line, g_ascii_formatd(text, sizeof text, "%g", value));
}

/* ---- dialects ---- */

const struct lull_dialect lull_dialect_plain = {
    .brackets =
        {
            [LULL_BRACKET_PACKET] = {" (", "", ", ", ")"},
            [LULL_BRACKET_COMMON] = {" (", "", ", ", ")"},
            [LULL_BRACKET_CONTEXT] = {" (", "", ", ", ")"},
            [LULL_BRACKET_PAYLOAD] = {"", " ", ", ", ""},
            [LULL_BRACKET_STRUCT] = {"{", "", ", ", "}"},
            [LULL_BRACKET_ARRAY] = {"[", "", ", ", "]"},
            [LULL_BRACKET_VARIANT] = {"", "", "", ""},
        },
    .between_scopes = "",
    .with_names = {true, true, true, true},
    .names_options = true,
    .special = "\"\\",
    .name = plain_name,
    .integer = plain_integer,
    .real = lull_linebuf_real,
    .text = lull_linebuf_escaped,
    .blob = plain_blob,
};

const struct lull_dialect lull_dialect_babeltrace = {
    .brackets =
        {
            [LULL_BRACKET_PACKET] = {"{", " ", ", ", " }"},
            [LULL_BRACKET_COMMON] = {"{", " ", ", ", " }"},
            [LULL_BRACKET_CONTEXT] = {"{", " ", ", ", " }"},
            [LULL_BRACKET_PAYLOAD] = {"{", " ", ", ", " }"},
            [LULL_BRACKET_STRUCT] = {"{", " ", ", ", " }"},
            [LULL_BRACKET_ARRAY] = {"[", " ", ", ", " ]"},
            [LULL_BRACKET_VARIANT] = {"{ ", "", "", " }"},
        },
    .between_scopes = ", ",
    .with_names = {true, true, true, true},
    .numbers_elements = true,
    .visit_flags = LULL_VISIT_SPLIT_CONTEXTS | LULL_VISIT_NO_CLOCKS,
    .special = "\"\\'?",
    .name = babeltrace_name,
    .integer = babeltrace_integer,
    .real = babeltrace_real,
    .text = babeltrace_text,
};

/* ---- writing ---- */

static enum lull_bracket_kind bracket_kind(const char *name, enum lull_visit_kind kind)
{
    switch (kind) {
    case LULL_VISIT_STRUCT:
        return LULL_BRACKET_STRUCT;
    case LULL_VISIT_ARRAY:
        return LULL_BRACKET_ARRAY;
    case LULL_VISIT_VARIANT:
        return LULL_BRACKET_VARIANT;
    case LULL_VISIT_SCOPE:
        break;
    }
    return strcmp(name, "packet") == 0           ? LULL_BRACKET_PACKET
           : strcmp(name, "common context") == 0 ? LULL_BRACKET_COMMON
           : strcmp(name, "context") == 0        ? LULL_BRACKET_CONTEXT
                                                 : LULL_BRACKET_PAYLOAD;
}

void lull_event_writer_name(struct lull_event_writer *writer, const char *name)
{
    struct lull_linebuf *line = writer->line;
    const struct lull_dialect *dialect = writer->dialect;
    if (writer->is_element || writer->depth == 0) {
        writer->is_element = false;
        return;
    }
    uint8_t kind = writer->open[writer->depth - 1].kind;
    const uint64_t n = writer->open[writer->depth - 1].count++;
    const struct lull_brackets *brackets = &dialect->brackets[kind];
    lull_linebuf_string(line, n > 0 ? brackets->next : brackets->first);
    if (!writer->with_names) {
        return;
    }
    if (kind == LULL_BRACKET_ARRAY) {
        if (dialect->numbers_elements) {
            lull_linebuf_char(line, '[');
            lull_linebuf_unsigned(line, n);
            lull_linebuf_literal(line, "] = ");
        }
    } else if (name && (kind != LULL_BRACKET_VARIANT || dialect->names_options)) {
        dialect->name(line, name);
        lull_linebuf_string(line, kind == LULL_BRACKET_VARIANT ? ": " : " = ");
    }
}

static void start_scope(struct lull_event_writer *writer, enum lull_bracket_kind kind)
{
    const struct lull_dialect *dialect = writer->dialect;
    if (writer->follows_scope) {
        lull_linebuf_string(writer->line, dialect->between_scopes);
    }
    writer->follows_scope = true;
    writer->with_names = dialect->with_names[kind];
    if (dialect->scope_names[kind]) {
        lull_linebuf_string(writer->line, dialect->scope_names[kind]);
        lull_linebuf_literal(writer->line, " = ");
    }
}

void lull_event_writer_start(struct lull_event_writer *writer, const char *name,
                             enum lull_visit_kind kind)
{
    enum lull_bracket_kind bracket = bracket_kind(name, kind);
    if (kind == LULL_VISIT_SCOPE) {
        start_scope(writer, bracket);
    } else {
        lull_event_writer_name(writer, name);
    }
    lull_linebuf_string(writer->line, writer->dialect->brackets[bracket].open);
    g_assert(writer->depth < LULL_WRITER_DEPTH); /* the reader allows less */
    writer->open[writer->depth].kind = (uint8_t)bracket;
    writer->open[writer->depth++].count = 0;
}

void lull_event_writer_end(struct lull_event_writer *writer)
{
    if (writer->depth > 0) {
        uint8_t kind = writer->open[--writer->depth].kind;
        lull_linebuf_string(writer->line, writer->dialect->brackets[kind].close);
    }
}

/* ---- walking ---- */

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    lull_event_writer_start(user, name, kind);
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    lull_event_writer_end(user);
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct lull_event_writer *writer = user;
    lull_event_writer_name(writer, name);
    writer->dialect->integer(writer->line, value);
}

static void on_real(void *user, const char *name, double value)
{
    struct lull_event_writer *writer = user;
    lull_event_writer_name(writer, name);
    writer->dialect->real(writer->line, value);
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    struct lull_event_writer *writer = user;
    lull_event_writer_name(writer, name);
    lull_linebuf_char(writer->line, '"');
    writer->dialect->text(writer->line, value.data, value.length);
    lull_linebuf_char(writer->line, '"');
}

static void on_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
    struct lull_event_writer *writer = user;
    lull_event_writer_name(writer, name);
    writer->dialect->blob(writer->line, bytes);
}

static struct lull_visitor make_visitor(const struct lull_event_writer *writer)
{
    return (struct lull_visitor){
        .start = on_start,
        .end = on_end,
        .integer = on_integer,
        .real = on_real,
        .text = on_text,
        .blob = writer->dialect->blob ? on_blob : NULL,
        .flags = writer->dialect->visit_flags,
    };
}

bool lull_event_writer_visit(struct lull_event_writer *writer, const struct lull_event *event,
                             GError **error)
{
    const struct lull_visitor visitor = make_visitor(writer);
    return lull_event_visit(event, &visitor, writer, error);
}

bool lull_event_writer_visit_packet(struct lull_event_writer *writer,
                                    const struct lull_event *event, GError **error)
{
    const struct lull_visitor visitor = make_visitor(writer);
    return lull_event_visit_packet(event, &visitor, writer, error);
}
