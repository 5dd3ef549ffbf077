/* SPDX-License-Identifier: MIT */
/* What the tests of fields share: traces of bytes written by hand, and their events as text, once
 * by visiting them and once by the sums of everything, which must agree. */
#ifndef LULL_TESTS_CTF_FIELD_DUMP_H
#define LULL_TESTS_CTF_FIELD_DUMP_H

#include <lull/session.h>

#include "source/trace_files.h"

struct dump {
    GString *text;
    bool needs_comma;
    uint64_t fields, checksum; /* as struct lull_decoded says */
};

static inline void dump_name(struct dump *dump, const char *name)
{
    if (dump->needs_comma) {
        g_string_append_c(dump->text, ',');
    }
    if (name) {
        g_string_append_printf(dump->text, "%s=", name);
    }
    dump->needs_comma = true;
}

static inline void dump_start(void *user, const char *name, enum lull_visit_kind kind)
{
    struct dump *dump = user;
    if (kind == LULL_VISIT_SCOPE) {
        g_string_append(dump->text, name[0] == 'c' ? " ctx" : " ");
    } else {
        dump_name(dump, name);
    }
    g_string_append_c(dump->text, kind == LULL_VISIT_ARRAY     ? '['
                                  : kind == LULL_VISIT_VARIANT ? '<'
                                                               : '{');
    dump->needs_comma = false;
}

static inline void dump_end(void *user, enum lull_visit_kind kind)
{
    struct dump *dump = user;
    g_string_append_c(dump->text, kind == LULL_VISIT_ARRAY     ? ']'
                                  : kind == LULL_VISIT_VARIANT ? '>'
                                                               : '}');
    dump->needs_comma = true;
}

static inline void dump_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct dump *dump = user;
    dump_name(dump, name);
    if (value->is_boolean) {
        g_string_append(dump->text, value->bits ? "true" : "false");
    } else if (value->is_signed) {
        g_string_append_printf(dump->text, "%" G_GINT64_FORMAT, (int64_t)value->bits);
    } else {
        g_string_append_printf(dump->text, "%" G_GUINT64_FORMAT, value->bits);
    }
    for (uint32_t i = 0; i < value->n_labels; i++) {
        g_string_append_printf(dump->text, "%c%s", i == 0 ? ':' : '|', value->labels[i]);
    }
    dump->fields++;
    dump->checksum += value->bits;
}

static inline void dump_real(void *user, const char *name, double value)
{
    struct dump *dump = user;
    uint64_t bits;
    dump_name(dump, name);
    g_string_append_printf(dump->text, "%g", value);
    memcpy(&bits, &value, sizeof bits);
    dump->fields++;
    dump->checksum += bits;
}

static inline void dump_sum(struct dump *dump, struct lull_text text)
{
    dump->fields++;
    dump->checksum += text.length;
    for (uint32_t i = 0; i < text.length; i++) {
        dump->checksum += (uint64_t)(uint8_t)text.data[i] << i % 8 * 8;
    }
}

static inline void dump_text(void *user, const char *name, struct lull_text text)
{
    struct dump *dump = user;
    dump_name(dump, name);
    g_string_append_printf(dump->text, "'%.*s'", (int)text.length, text.data);
    dump_sum(dump, text);
}

static inline void dump_blob(void *user, const char *name, struct lull_text bytes,
                             const char *media_type)
{
    struct dump *dump = user;
    dump_name(dump, name);
    g_string_append_printf(dump->text, "(%s)", media_type ? media_type : "?");
    for (uint32_t i = 0; i < bytes.length; i++) {
        g_string_append_printf(dump->text, "%02x", (uint8_t)bytes.data[i]);
    }
    dump_sum(dump, bytes);
}

static const struct lull_visitor dump_visitor = {
    .start = dump_start,
    .end = dump_end,
    .integer = dump_integer,
    .real = dump_real,
    .text = dump_text,
    .blob = dump_blob,
};

/* Reads the trace: "TIME NAME ctx{…} {…};" for each event, then "! PROBLEM" for each. `bindings`
 * may be NULL; `check` is called with each event then. */
static inline char *dump_trace(const char *dir)
{
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_subscribe(session, (const char *const[]){"*", NULL}, NULL, 0, 0);
    struct dump dump = {.text = g_string_new(NULL)};
    struct lull_event event;
    uint64_t events = 0;
    bool is_whole = true;
    while (lull_session_next(session, &event) == 1) {
        g_string_append_printf(dump.text, "%" G_GINT64_FORMAT " %s", event.time_ns,
                               lull_event_class_name(event.event_class));
        dump.needs_comma = false;
        if (!lull_event_visit(&event, &dump_visitor, &dump, &error)) {
            g_string_append_printf(dump.text, "(! %s", strrchr(error->message, ':') + 2);
            g_clear_error(&error);
            is_whole = false;
        }
        g_string_append_c(dump.text, ';');
        events++;
    }
    struct lull_decoded decoded;
    lull_session_set_threads(session, 2);
    uint32_t n_problems = lull_session_problem_count(session);
    for (uint32_t i = 0; i < n_problems; i++) {
        g_string_append_printf(dump.text, "! %s", lull_session_problem(session, i));
    }
    lull_session_decode_all(session, &decoded);
    g_assert_cmpuint(decoded.events, ==, events);
    if (is_whole) {
        g_assert_cmpuint(decoded.fields, ==, dump.fields);
        g_assert_cmphex(decoded.checksum, ==, dump.checksum);
    }
    lull_session_free(session);
    return g_string_free(dump.text, FALSE);
}

/* A trace of one stream file, removed again. */
static inline char *dump_bytes(const char *metadata, const void *bytes, size_t size)
{
    g_autofree char *dir = new_directory();
    write_text(dir, "metadata", metadata);
    write_file(dir, "s", bytes, size);
    char *text = dump_trace(dir);
    remove_tree(dir);
    return text;
}

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

/* The events of these bytes are these. */
#define ASSERT_READS(metadata, expected, ...)                                                      \
    do {                                                                                           \
        char *text_ = dump_bytes(metadata, BYTES(__VA_ARGS__));                                    \
        g_assert_cmpstr(text_, ==, expected);                                                      \
        g_free(text_);                                                                             \
    } while (0)

/* Bits in the order of the specification: the first bit of a byte is its least significant one, or
 * for big endian its most significant one. */
struct bit_writer {
    GByteArray *bytes;
    uint64_t n;
    bool from_top;
};

static inline void put_bit(struct bit_writer *writer, unsigned bit)
{
    if (writer->n % 8 == 0) {
        put(writer->bytes, false, 1, 0);
    }
    unsigned at = writer->n % 8;
    writer->bytes->data[writer->n / 8] |= (uint8_t)(bit << (writer->from_top ? 7 - at : at));
    writer->n++;
}

/* A little-endian value from its lowest bit on, a big-endian one from its highest. */
static inline void put_bits(struct bit_writer *writer, bool big_endian, unsigned size, uint64_t v)
{
    for (unsigned i = 0; i < size; i++) {
        put_bit(writer, v >> (big_endian ? size - 1 - i : i) & 1);
    }
}

#endif
