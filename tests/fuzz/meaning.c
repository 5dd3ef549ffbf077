/* SPDX-License-Identifier: MIT */
/* See meaning.h. The input is: a byte for hosts and their CPUs, a byte that leaves fields out, two
 * bytes for clocks, then events. An event is
 *     what      a number of the vocabulary; above FIRST_CALL a system call, whose number is next;
 *               NAMED: its name is next, with a 0 at the end, which means the same for ever;
 *               NEW_PACKET: the stream's packet ends, times and counters of the next one follow
 *     place     3 bits: stream, 3 bits: how far in time, as a byte or 8 bytes behind it say
 *     values    4 bits: what fields are unless they are named; 4 bits: how many are
 *     …         for each of these: which field (NAMED_FIELD: its path is next), its value
 * so that events are valid whatever the bytes are, and changing one changes one meaning. */
#include "fuzz/meaning.h"
#include "fuzz/meaning_classes.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>

enum { FIRST_CALL = 160, NAMED = 254, NEW_PACKET = 255, MOST_EVENTS = 1000, MOST_CPUS = 3 };
enum { NAMED_FIELD = 255, MOST_NAME = 63 };

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

/* A text with a 0 at its end. */
static const char *read_name(struct meaning_input *input, char name[MOST_NAME + 1])
{
    unsigned n = 0;
    uint8_t next;
    while ((next = meaning_byte(input)) != 0) {
        name[n] = (char)next;
        n += n < MOST_NAME;
    }
    name[n] = '\0';
    return name;
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

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
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
    return (values + (meaning_hash(name) % 8 == 0)) & 15;
}

static void put_text(GByteArray *bytes, const char *text, size_t size)
{
    g_byte_array_append(bytes, (const uint8_t *)text, (guint)size);
    put(bytes, 0, 1);
}

/* A value that the input gives. */
static void put_given(GByteArray *bytes, const struct meaning_field *field,
                      struct meaning_input *input)
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

static void put_tame(GByteArray *bytes, const struct meaning_field *field, unsigned values)
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

static unsigned field_of(const struct meaning_class *class, struct meaning_input *input)
{
    char path[MOST_NAME + 1];
    uint8_t code = meaning_byte(input);
    return code == NAMED_FIELD ? meaning_field_named(class, read_name(input, path))
                               : code % class->n_fields;
}

static void put_fields(struct stream *stream, const struct meaning_class *class, unsigned values,
                       struct meaning_input *input)
{
    /* Which fields are named, and where their values are in the input. */
    struct meaning_input given[MEANING_FIELDS] = {0};
    static GByteArray *nowhere;
    if (!nowhere) {
        nowhere = g_byte_array_new();
    }
    for (unsigned i = values >> 4; i > 0 && class->n_fields > 0; i--) {
        unsigned index = field_of(class, input);
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
                      const struct meaning_clock *clock)
{
    host->metadata = g_string_new("");
    host->classes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, meaning_class_free);
    host->shape = shape;
    host->n_streams = n_streams;
    meaning_declare_trace(host->metadata, number, clock);
    for (unsigned i = 0; i < n_streams; i++) {
        host->streams[i] =
            (struct stream){.bytes = g_byte_array_new(), .time = 1000000000, .cpu = i};
        open_packet(&host->streams[i]);
    }
}

static const struct meaning_class *find_class(struct host *host, const char *name)
{
    struct meaning_class *class = g_hash_table_lookup(host->classes, name);
    if (!class) {
        class = meaning_class_new(g_hash_table_size(host->classes), g_strdup(name), host->shape);
        g_hash_table_insert(host->classes, (char *)class->name, class);
        meaning_declare_class(host->metadata, class);
    }
    return class;
}

static char *event_name(uint8_t what, struct meaning_input *input)
{
    char own[MOST_NAME + 1];
    char *name = what == NAMED       ? meaning_event_named(read_name(input, own))
                 : what < FIRST_CALL ? meaning_event(what)
                                     : NULL;
    return name ? name : meaning_call(meaning_byte(input), what % 2 == 0);
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
    const struct meaning_class *class = find_class(host, name);
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
                  &meaning_clocks[clock_numbers >> 4 * i & 15]);
    }
    for (unsigned i = 0; input->size > 0 && i < MOST_EVENTS; i++) {
        add_event(hosts, n_hosts, input);
    }
    for (unsigned i = 0; i < n_hosts; i++) {
        host_write(&hosts[i], dir, i);
    }
    return n_hosts;
}
