/* SPDX-License-Identifier: MIT */
/* See meaning.h. The input is: a byte for hosts and their CPUs, a byte that leaves fields out, two
 * bytes for clocks, then events. An event is
 *     what      a number of the vocabulary; above FIRST_CALL a system call, whose number is next;
 *               NEW_PACKET: the stream's packet ends, times and counters of the next one follow
 *     place     3 bits: stream, 3 bits: how far in time, as a byte or 8 bytes behind it say
 *     values    4 bits: what fields are unless they are named; 4 bits: how many are
 *     …         for each of these: which field, its value
 * so that events are valid whatever the bytes are, and changing one changes one meaning. */
#include "fuzz/meaning.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>

enum { FIRST_CALL = 160, NEW_PACKET = 255, MOST_EVENTS = 1000, MOST_FIELDS = 128, MOST_CPUS = 3 };

/* ---- the vocabulary ---- */

enum kind { KIND_INT, KIND_TEXT, KIND_RAW };

#define MOST_NAMES 16
struct word {
    enum kind kind;
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

/* ---- values ---- */

#define BIT(n) (UINT64_C(1) << (n))
static const uint64_t wild[] = {
    UINT64_MAX,
    BIT(63),
    BIT(63) - 1,
    BIT(63) - 2,
    BIT(63) + 1,
    BIT(62),
    BIT(62) - 1,
    BIT(62) + 1,
    -BIT(62),
    -BIT(62) - 1,
    BIT(61),
    BIT(53),
    BIT(52) + 1,
    BIT(47) - 1,
    BIT(40),
    BIT(32),
    BIT(32) - 1,
    BIT(32) + 1,
    BIT(31),
    BIT(31) - 1,
    -BIT(31),
    -BIT(31) - 1,
    BIT(30),
    BIT(22),
    BIT(22) + 1,
    BIT(20),
    BIT(16),
    BIT(16) - 1,
    BIT(15),
    4096,
    -UINT64_C(4095),
    -UINT64_C(11),
    -UINT64_C(512),
    -UINT64_C(2),
    1000000000,
    999999999,
    1000000000000,
    UINT64_C(10000000000000000000),
    1795224179000000000,
    -UINT64_C(1795224179000000000),
    86400000000000,
    1024,
    1023,
    512,
    255,
    256,
    128,
    0x5000,
};

static const char *const texts[] = {
    "",     "a",        "eth0",      "lo",     "sh",      "swapper/0",
    "W",    "R",        "/etc/x",    "/",      "x\"y\\",  "a\nb\tc\x7f",
    "%s%n", "\xff\xfe", "\xc3\xa9t", "<...>",  "-",       "name with spaces and no end to it",
    "sda",  "sd\x01",   "<script>",  "socket", "../../x", "aaaaaaaaaaaaaaa",
};

uint8_t meaning_byte(struct meaning_input *input)
{
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->data++;
}

static uint64_t eight_bytes(struct meaning_input *input)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) {
        value |= (uint64_t)meaning_byte(input) << 8 * i;
    }
    return value;
}

/* Small numbers and wild ones take a byte. */
static uint64_t number(struct meaning_input *input)
{
    uint8_t code = meaning_byte(input);
    if (code < 128) {
        return code;
    }
    return code < 255 ? wild[code % G_N_ELEMENTS(wild)] : eight_bytes(input);
}

/* ---- classes of events ---- */

struct field {
    const char *path;
    enum kind kind;
    bool is_signed;
    uint8_t unit, count; /* of RAW: bytes and number of elements; count 0: a number says it */
};

struct class
{
    uint32_t id;
    const char *name;
    char *own_name;
    unsigned n_contexts, n_fields; /* contexts come first */
    struct field fields[MOST_FIELDS];
    unsigned order[MOST_FIELDS], n_ordered;
};

static uint32_t hash(const char *text)
{
    uint32_t value = 2166136261;
    for (; *text != '\0'; text++) {
        value = (value ^ (uint8_t)*text) * 16777619;
    }
    return value ^ value >> 15;
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* Real traces have either of these, and so have ours for some values of `shape`. */
static bool is_left_out(const char *path, uint8_t shape)
{
    static const char *const parts[] = {"ipv4", "ipv6", ".tcp", ".udp", "thtype", "context."};
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        if ((shape >> i & 1) != 0 && strstr(path, parts[i])) {
            return true;
        }
    }
    return (shape >> 6) > 1 && hash(path) % (16 >> (shape >> 6)) == 0;
}

static void shape_raw(struct field *field)
{
    static const struct {
        const char *part;
        uint8_t unit, count;
    } shapes[] = {{"callchain", 8, 0}, {"args", 8, 6}, {"v4addr", 1, 4}, {"v6addr", 1, 16},
                  {"ipv6", 1, 16},     {"ipv4", 1, 4}, {"", 4, 2}};
    unsigned i = 0;
    while (!strstr(field->path, shapes[i].part)) {
        i++;
    }
    field->unit = shapes[i].unit;
    field->count = shapes[i].count;
}

static void add_words(struct class *class, const struct word *words, uint8_t shape, bool contexts)
{
    for (; words->names[0]; words++) {
        unsigned n = 0;
        while (n < MOST_NAMES && words->names[n]) {
            n++;
        }
        struct field field = {.path = words->names[(shape >> 6) % n], .kind = words->kind};
        field.is_signed = (hash(field.path) + shape) % 3 != 0;
        bool is_context = g_str_has_prefix(field.path, "context.");
        bool is_known = is_left_out(field.path, shape) || is_context != contexts;
        for (unsigned i = 0; i < class->n_fields; i++) {
            is_known |= strcmp(class->fields[i].path, field.path) == 0;
        }
        if (is_known || class->n_fields == MOST_FIELDS) {
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

static struct class *class_new(uint32_t id, char *name, uint8_t shape)
{
    struct class *class = g_new0(struct class, 1);
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

static void class_free(gpointer data)
{
    struct class *class = data;
    g_free(class->own_name);
    g_free(class);
}

/* ---- metadata ---- */

static void declare_field(GString *out, struct class *class, unsigned index, const char *name)
{
    static const char *const integer = "integer { size = %u; align = 8; signed = %s; } _%s%s;\n";
    const struct field *field = &class->fields[index];
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
static void declare_fields(GString *out, struct class *class, unsigned first, unsigned end,
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

static void declare_class(GString *out, struct class *class)
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

struct clock {
    uint64_t frequency;
    int64_t offset_s;
    uint64_t offset;
};

/* From a day like any other to none that there ever will be. */
static const struct clock clocks[16] = {
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

static void declare_trace(GString *out, unsigned host, const struct clock *clock)
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

/* ---- streams ---- */

struct stream {
    GByteArray *bytes;
    uint64_t time, begin, end, discarded; /* clock values */
    bool has_end;
    uint32_t cpu;
    guint packet; /* where it begins in `bytes` */
};

static void put(GByteArray *bytes, uint64_t value, unsigned size)
{
    uint8_t raw[8];
    for (unsigned i = 0; i < size; i++) {
        raw[i] = (uint8_t)(value >> 8 * i);
    }
    g_byte_array_append(bytes, raw, size);
}

enum { PACKET_HEADER = 8 + 5 * 8 + 4 };

static void open_packet(struct stream *stream)
{
    stream->packet = stream->bytes->len;
    stream->has_end = false;
    stream->begin = stream->time;
    g_byte_array_set_size(stream->bytes, stream->packet + PACKET_HEADER);
}

static void close_packet(struct stream *stream)
{
    g_autoptr(GByteArray) header = g_byte_array_new();
    uint64_t bits = (uint64_t)(stream->bytes->len - stream->packet) * 8;
    put(header, 0xc1fc1fc1, 4);
    put(header, 0, 4);
    put(header, stream->begin, 8);
    put(header, stream->has_end ? stream->end : MAX(stream->time, stream->begin), 8);
    put(header, bits, 8);
    put(header, bits, 8);
    put(header, stream->discarded, 8);
    put(header, stream->cpu, 4);
    memcpy(stream->bytes->data + stream->packet, header->data, header->len);
}

/* Codes below 128 leave a value as it would be. */
static void new_packet(struct stream *stream, struct meaning_input *input)
{
    uint8_t codes = meaning_byte(input);
    if (codes & 1) {
        stream->has_end = true;
        stream->end = number(input);
    }
    close_packet(stream);
    open_packet(stream);
    if (codes & 2) {
        stream->begin = stream->time = number(input);
    }
    if (codes & 4) {
        stream->discarded += number(input);
    }
    if (codes & 8) {
        stream->cpu = (uint32_t)number(input);
    }
}

static void put_header(struct stream *stream, uint32_t id, uint64_t before)
{
    if (stream->time - before < BIT(32)) {
        put(stream->bytes, id, 2);
        put(stream->bytes, stream->time, 4);
    } else {
        put(stream->bytes, 0xffff, 2);
        put(stream->bytes, id, 4);
        put(stream->bytes, stream->time, 8);
    }
}

static void pass_time(struct stream *stream, unsigned how, struct meaning_input *input)
{
    switch (how) {
    case 5:
        stream->time = number(input);
        break;
    case 6:
        stream->time = eight_bytes(input);
        break;
    case 7:
        stream->time -= (uint64_t)meaning_byte(input) << 10;
        break;
    default:
        stream->time += (uint64_t)meaning_byte(input) << 10 * how;
    }
}

/* What a field is if the input does not say it: often the same in events that belong together. */
static uint64_t tame(const char *path, unsigned values)
{
    static const struct {
        const char *name;
        uint8_t value;
    } sensible[] = {{"protocol", 6},  {"nexthdr", 6}, {"ihl", 5},    {"data_offset", 5},
                    {"tot_len", 60},  {"len", 60},    {"family", 2}, {"payload_len", 40},
                    {"flags", 24},    {"ret", 3},     {"fd", 3},     {"nr_sector", 8},
                    {"prev_state", 1}};
    const char *name = last_part(path);
    for (unsigned i = 0; i < G_N_ELEMENTS(sensible); i++) {
        if (strcmp(name, sensible[i].name) == 0) {
            return sensible[i].value;
        }
    }
    return (values + (hash(name) % 8 == 0)) & 15;
}

static void put_text(GByteArray *bytes, const char *text, size_t size)
{
    g_byte_array_append(bytes, (const uint8_t *)text, (guint)size);
    put(bytes, 0, 1);
}

/* A value that the input gives. */
static void put_given(GByteArray *bytes, const struct field *field, struct meaning_input *input)
{
    if (field->kind == KIND_INT) {
        put(bytes, number(input), 8);
    } else if (field->kind == KIND_TEXT) {
        uint8_t code = meaning_byte(input);
        char own[64];
        for (unsigned i = 0; code >= 192 && i < (code & 63u); i++) {
            own[i] = (char)MAX(meaning_byte(input), 1);
        }
        const char *text = code >= 192 ? own : texts[code % G_N_ELEMENTS(texts)];
        put_text(bytes, text, code >= 192 ? code & 63u : strlen(text));
    } else {
        unsigned count = field->count;
        if (count == 0) {
            put(bytes, count = meaning_byte(input) & 15, 1);
        }
        for (unsigned i = 0; i < count; i++) {
            put(bytes, number(input), field->unit);
        }
    }
}

static void put_tame(GByteArray *bytes, const struct field *field, unsigned values)
{
    uint64_t value = tame(field->path, values);
    if (field->kind == KIND_INT) {
        put(bytes, value, 8);
    } else if (field->kind == KIND_TEXT) {
        const char *text = texts[value % G_N_ELEMENTS(texts)];
        put_text(bytes, text, strlen(text));
    } else {
        unsigned count = field->count;
        if (count == 0) {
            put(bytes, count = 2, 1);
        }
        for (unsigned i = 0; i < count; i++) {
            put(bytes, value, field->unit);
        }
    }
}

static void put_fields(struct stream *stream, const struct class *class, unsigned values,
                       struct meaning_input *input)
{
    /* Which fields are named, and where their values are in the input. */
    struct meaning_input given[MOST_FIELDS] = {0};
    static GByteArray *nowhere;
    if (!nowhere) {
        nowhere = g_byte_array_new();
    }
    for (unsigned i = values >> 4; i > 0 && class->n_fields > 0; i--) {
        unsigned index = meaning_byte(input) % class->n_fields;
        given[index] = *input;
        g_byte_array_set_size(nowhere, 0);
        put_given(nowhere, &class->fields[index], input);
    }
    for (unsigned i = 0; i < class->n_ordered; i++) {
        unsigned index = class->order[i];
        if (given[index].data) {
            put_given(stream->bytes, &class->fields[index], &given[index]);
        } else {
            put_tame(stream->bytes, &class->fields[index], values & 15);
        }
    }
}

/* ---- traces ---- */

struct host {
    GString *metadata;
    GHashTable *classes; /* by name */
    uint8_t shape;
    struct stream streams[MOST_CPUS];
    unsigned n_streams;
};

static void host_init(struct host *host, unsigned number, unsigned n_streams, uint8_t shape,
                      const struct clock *clock)
{
    host->metadata = g_string_new("");
    host->classes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, class_free);
    host->shape = shape;
    host->n_streams = n_streams;
    declare_trace(host->metadata, number, clock);
    for (unsigned i = 0; i < n_streams; i++) {
        host->streams[i] =
            (struct stream){.bytes = g_byte_array_new(), .time = 1000000000, .cpu = i};
        open_packet(&host->streams[i]);
    }
}

static const struct class *find_class(struct host *host, const char *name)
{
    struct class *class = g_hash_table_lookup(host->classes, name);
    if (!class) {
        class = class_new(g_hash_table_size(host->classes), g_strdup(name), host->shape);
        g_hash_table_insert(host->classes, (char *)class->name, class);
        declare_class(host->metadata, class);
    }
    return class;
}

static char *event_name(uint8_t what, struct meaning_input *input)
{
    const char *name = vocabulary[what % G_N_ELEMENTS(vocabulary)].names[0];
    if (what < FIRST_CALL && !strchr(name, '*')) {
        return g_strdup(name);
    }
    const char *call = calls[meaning_byte(input) % G_N_ELEMENTS(calls)];
    return g_strconcat(what % 2 == 0 ? "syscall_entry_" : "syscall_exit_", call, NULL);
}

static void add_event(struct host *hosts, unsigned n_hosts, struct meaning_input *input)
{
    uint8_t what = meaning_byte(input);
    g_autofree char *name = what != NEW_PACKET ? event_name(what, input) : NULL;
    uint8_t place = meaning_byte(input);
    struct host *host = &hosts[(place & 7u) % n_hosts];
    struct stream *stream = &host->streams[(place & 7u) / n_hosts % host->n_streams];
    if (what == NEW_PACKET) {
        new_packet(stream, input);
        return;
    }
    const struct class *class = find_class(host, name);
    uint64_t before = stream->time;
    pass_time(stream, place >> 3 & 7, input);
    put_header(stream, class->id, before);
    put_fields(stream, class, meaning_byte(input), input);
}

static void write_file(const char *dir, unsigned host, const char *name, const void *data,
                       size_t size)
{
    g_autofree char *path = g_strdup_printf("%s/h%u/%s", dir, host, name);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        g_error("%s cannot be written", path);
    }
}

static void host_write(struct host *host, const char *dir, unsigned number)
{
    g_autofree char *path = g_strdup_printf("%s/h%u", dir, number);
    g_mkdir_with_parents(path, 0700);
    write_file(dir, number, "metadata", host->metadata->str, host->metadata->len);
    for (unsigned i = 0; i < MOST_CPUS; i++) {
        g_autofree char *name = g_strdup_printf("c_%u", i);
        g_autofree char *old = g_build_filename(path, name, NULL);
        if (i >= host->n_streams) {
            g_unlink(old);
            continue;
        }
        close_packet(&host->streams[i]);
        write_file(dir, number, name, host->streams[i].bytes->data, host->streams[i].bytes->len);
        g_byte_array_unref(host->streams[i].bytes);
    }
    g_hash_table_unref(host->classes);
    g_string_free(host->metadata, TRUE);
}

unsigned meaning_write(struct meaning_input *input, const char *dir)
{
    struct host hosts[MEANING_HOSTS] = {0};
    uint8_t sizes = meaning_byte(input), shape = meaning_byte(input);
    unsigned clock_numbers = meaning_byte(input);
    clock_numbers |= (unsigned)meaning_byte(input) << 8;
    unsigned n_hosts = 1 + (sizes & 3) % MEANING_HOSTS;
    for (unsigned i = 0; i < n_hosts; i++) {
        host_init(&hosts[i], i, 1 + (sizes >> 2) % MOST_CPUS, shape,
                  &clocks[clock_numbers >> 4 * i & 15]);
    }
    for (unsigned i = 0; input->size > 0 && i < MOST_EVENTS; i++) {
        add_event(hosts, n_hosts, input);
    }
    for (unsigned i = 0; i < n_hosts; i++) {
        host_write(&hosts[i], dir, i);
    }
    return n_hosts;
}
