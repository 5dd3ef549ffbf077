/* SPDX-License-Identifier: MIT */
/* See meaning_classes.h. Events and fields come from the program's own tables, so what is added there
 * is tried without a change here. */
#include "fuzz/meaning_classes.h"

#include <string.h>

/* ---- the vocabulary ---- */

#define MOST_NAMES 16
struct word {
    enum meaning_kind kind;
    const char *names[MOST_NAMES];
};

#define EVENT_BEGIN(event, group, ...) static const struct word words_##event[] = {
#define INT(event, field, ...) {KIND_INT, {__VA_ARGS__}},
#define TEXT(event, field, ...) {KIND_TEXT, {__VA_ARGS__}},
#define RAW(event, field, ...) {KIND_RAW, {__VA_ARGS__}},
#define EVENT_END(event)                                                                           \
    {                                                                                              \
        0                                                                                          \
    }                                                                                              \
    }                                                                                              \
    ;
#include "kernel/events.def"

static const struct {
    const char *names[MOST_NAMES];
    const struct word *words;
} vocabulary[] = {
#define EVENT_BEGIN(event, group, ...) {{__VA_ARGS__}, words_##event},
#define INT(event, field, ...)
#define TEXT(event, field, ...)
#define RAW(event, field, ...)
#define EVENT_END(event)
#include "kernel/events.def"
};

static const char *const calls[] = {
#define CALL(name, ...) name,
#include "kernel/calls.def"
    "ioctl",
    "unknown",
};

uint32_t meaning_hash(const char *text)
{
    uint32_t value = 2166136261;
    for (; *text != '\0'; text++) {
        value = (value ^ (uint8_t)*text) * 16777619;
    }
    return value ^ value >> 15;
}

/* Some entries have a name that ends with a star: that of no event. */
char *meaning_event(unsigned number)
{
    const char *name = vocabulary[number % G_N_ELEMENTS(vocabulary)].names[0];
    return strchr(name, '*') ? NULL : g_strdup(name);
}

char *meaning_call(unsigned number, bool is_entry)
{
    const char *call = calls[number % G_N_ELEMENTS(calls)];
    return g_strconcat(is_entry ? "syscall_entry_" : "syscall_exit_", call, NULL);
}

char *meaning_event_named(const char *name)
{
    const char *call = g_str_has_prefix(name, "syscall_entry_")  ? name + 14
                       : g_str_has_prefix(name, "syscall_exit_") ? name + 13
                                                                 : "";
    for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++) {
        if (strcmp(calls[i], call) == 0) {
            return g_strdup(name);
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(vocabulary); i++) {
        if (strcmp(vocabulary[i].names[0], name) == 0 && !strchr(name, '*')) {
            return g_strdup(name);
        }
    }
    return meaning_call(meaning_hash(name), true);
}

unsigned meaning_field_named(const struct meaning_class *class, const char *path)
{
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (strcmp(class->fields[i].path, path) == 0) {
            return i;
        }
    }
    return meaning_hash(path) % class->n_fields;
}

/* ---- classes of events ---- */

/* Real traces have either of these, and so have ours for some values of `shape`. */
static bool is_left_out(const char *path, uint8_t shape)
{
    static const char *const parts[] = {"ipv4", "ipv6", ".tcp", ".udp", "thtype", "context."};
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        if ((shape >> i & 1) != 0 && strstr(path, parts[i])) {
            return true;
        }
    }
    return (shape >> 6) > 1 && meaning_hash(path) % (16 >> (shape >> 6)) == 0;
}

static void shape_raw(struct meaning_field *field)
{
    static const struct {
        const char *part;
        uint8_t unit, count;
    } shapes[] = {{"callchain", 8, 0}, {"user_regs", 8, 0}, {"user_stack", 1, 0},
                  {"args", 8, 6},      {"v4addr", 1, 4},    {"v6addr", 1, 16},
                  {"ipv6", 1, 16},     {"ipv4", 1, 4},      {"", 4, 2}};
    unsigned i = 0;
    while (!strstr(field->path, shapes[i].part)) {
        i++;
    }
    field->unit = shapes[i].unit;
    field->count = shapes[i].count;
}

static void add_words(struct meaning_class *class, const struct word *words, uint8_t shape,
                      bool contexts)
{
    for (; words->names[0]; words++) {
        unsigned n = 0;
        while (n < MOST_NAMES && words->names[n]) {
            n++;
        }
        struct meaning_field field = {.path = words->names[(shape >> 6) % n], .kind = words->kind};
        field.is_signed = (meaning_hash(field.path) + shape) % 3 != 0;
        bool is_context = g_str_has_prefix(field.path, "context.");
        bool is_known = is_left_out(field.path, shape) || is_context != contexts;
        for (unsigned i = 0; i < class->n_fields; i++) {
            is_known |= strcmp(class->fields[i].path, field.path) == 0;
        }
        if (is_known || class->n_fields == MEANING_FIELDS) {
            continue;
        }
        if (field.kind == KIND_RAW) {
            shape_raw(&field);
        }
        class->fields[class->n_fields++] = field;
        class->n_contexts += is_context;
    }
}

/* Some entries of the vocabulary are of one event. */
static bool is_of(const char *const *names, const char *name)
{
    for (unsigned i = 0; i < MOST_NAMES && names[i]; i++) {
        size_t length = strlen(names[i]);
        if (names[i][length - 1] == '*' ? strncmp(names[i], name, length - 1) == 0
                                        : strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

struct meaning_class *meaning_class_new(uint32_t id, char *name, uint8_t shape)
{
    struct meaning_class *class = g_new0(struct meaning_class, 1);
    class->id = id;
    class->name = class->own_name = name;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(vocabulary); i++) {
            if (is_of(vocabulary[i].names, name)) {
                add_words(class, vocabulary[i].words, shape, pass == 0);
            }
        }
    }
    return class;
}

void meaning_class_free(gpointer data)
{
    struct meaning_class *class = data;
    g_free(class->own_name);
    g_free(class);
}

/* ---- metadata ---- */

static void declare_field(GString *out, struct meaning_class *class, unsigned index,
                          const char *name)
{
    static const char *const integer = "integer { size = %u; align = 8; signed = %s; } _%s%s;\n";
    const struct meaning_field *field = &class->fields[index];
    g_autofree char *behind = g_strdup("");
    class->order[class->n_ordered++] = index;
    if (field->kind == KIND_TEXT) {
        g_string_append_printf(out, "string _%s;\n", name);
        return;
    }
    if (field->kind == KIND_RAW && field->count == 0) {
        g_string_append_printf(out, "integer { size = 8; align = 8; } __%s_length;\n", name);
        g_free(behind);
        behind = g_strdup_printf("[__%s_length]", name);
    } else if (field->kind == KIND_RAW) {
        g_free(behind);
        behind = g_strdup_printf("[%u]", field->count);
    }
    unsigned bits = field->kind == KIND_RAW ? 8 * field->unit : 64;
    bool is_signed = field->kind == KIND_INT && field->is_signed;
    g_string_append_printf(out, integer, bits, is_signed ? "true" : "false", name, behind);
}

/* Members of the structure whose path has `depth` bytes: those of fields first … end - 1. */
static void declare_fields(GString *out, struct meaning_class *class, unsigned first, unsigned end,
                           const char *path, size_t depth)
{
    g_autoptr(GHashTable) done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = first; i < end; i++) {
        const char *own = class->fields[i].path, *rest = own + depth;
        if (strncmp(own, path, depth) != 0) {
            continue;
        }
        const char *dot = strchr(rest, '.');
        char *name = dot ? g_strndup(rest, (gsize)(dot - rest)) : g_strdup(rest);
        if (!g_hash_table_add(done, name)) {
            continue;
        }
        if (!dot) {
            declare_field(out, class, i, name);
            continue;
        }
        g_string_append(out, "struct {\n");
        declare_fields(out, class, first, end, own, (size_t)(dot - own) + 1);
        g_string_append_printf(out, "} _%s;\n", name);
    }
}

void meaning_declare_class(GString *out, struct meaning_class *class)
{
    class->n_ordered = 0;
    g_string_append_printf(out, "event { name = \"%s\"; id = %u; stream_id = 0;\n", class->name,
                           class->id);
    g_string_append(out, "context := struct {\n");
    declare_fields(out, class, 0, class->n_contexts, "context.", 8);
    g_string_append(out, "};\nfields := struct {\n");
    declare_fields(out, class, class->n_contexts, class->n_fields, "", 0);
    g_string_append(out, "};\n};\n");
}

const struct meaning_clock meaning_clocks[16] = {
    {1000000000, 1795224179, 0},
    {1000000000, 1795224179, 432835564},
    {1000000000, 0, 0},
    {1000000, 1795224179, 0},
    {2400000000, 1795224179, 123},
    {1, 0, 0},
    {UINT64_MAX, 0, 0},
    {1000000000, 9223372036, 0},
    {1000000000, -9223372036, 0},
    {1000000000, 4611686018, 0},
    {1000000000, -4611686018, 0},
    {1000000000, INT64_MAX, 0},
    {1000000000, INT64_MIN + 1, 0},
    {1000000000, 0, UINT64_MAX},
    {3, 1795224179, UINT64_MAX},
    {1000000000, -100, 0},
};

void meaning_declare_trace(GString *out, unsigned host, const struct meaning_clock *clock)
{
    g_string_append_printf(
        out,
        "/* CTF 1.8 */\n"
        "trace { major = 1; minor = 8; byte_order = le; packet.header := struct {\n"
        "  integer { size = 32; align = 8; } magic; integer { size = 32; align = 8; } stream_id; };"
        "};\n"
        "env { hostname = \"h%u\"; domain = \"kernel\"; tracer_name = \"lttng-modules\";\n"
        "  tracer_major = 2; tracer_minor = 13; tracer_patchlevel = 9; kernel_release = \"6.1\"; "
        "};\n"
        "clock { name = monotonic; freq = %" G_GUINT64_FORMAT "; offset_s = %" G_GINT64_FORMAT
        "; offset = %" G_GUINT64_FORMAT "; };\n"
        "typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := long_time;\n"
        "typealias integer { size = 32; align = 8; map = clock.monotonic.value; } := time;\n"
        "stream { id = 0;\n"
        "  event.header := struct {\n"
        "    enum : integer { size = 16; align = 8; } { compact = 0 ... 65534, extended = 65535 } "
        "id;\n"
        "    variant <id> { struct { time timestamp; } compact;\n"
        "      struct { integer { size = 32; align = 8; } id; long_time timestamp; } extended; } v; "
        "} align(8);\n"
        "  packet.context := struct { long_time timestamp_begin; long_time timestamp_end;\n"
        "    integer { size = 64; align = 8; } content_size; integer { size = 64; align = 8; } "
        "packet_size;\n"
        "    integer { size = 64; align = 8; } events_discarded;\n"
        "    integer { size = 32; align = 8; } cpu_id; };\n"
        "};\n",
        host, clock->frequency, clock->offset_s, clock->offset);
}
