/* SPDX-License-Identifier: MIT */
/* A flame graph as a profile of pprof: the message Profile of profile.proto, whose fields are numbered
 * below, with all columns of the flame. Functions and locations have the numbers of the names + 1. */
#include <lull/error.h>
#include <stdlib.h>
#include <string.h>

#include "view/flame/flame.h"
#include "view/out.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_DEFAULT_TYPE = 14
};
enum {
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILE = 4,
    FUNCTION_START = 5
};
enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

/* What is written. Texts are numbered as they are first used; the first is the empty one, as the format
 * wants it. */
struct profile {
    const struct lull_flame *flame;
    struct lull_out out;
    GByteArray *message;
    GHashTable *numbers; /* text → number */
    GPtrArray *texts;
    GHashTable *objects; /* path → its mapping's number */
    GArray *mappings;    /* struct mapping */
};

/* A file. Where it was in memory differs from process to process: here each has addresses of its own. */
struct mapping {
    const char *object, *build_id;
    uint64_t start, size;
};

static void put_number(GByteArray *to, uint64_t number)
{
    uint8_t bytes[10];
    guint n = 0;
    for (; number > 0x7f; number >>= 7) {
        bytes[n++] = (uint8_t)(number | 0x80);
    }
    bytes[n++] = (uint8_t)number;
    g_byte_array_append(to, bytes, n);
}

static void put_field(GByteArray *to, unsigned field, uint64_t number)
{
    put_number(to, field << 3 | WIRE_NUMBER);
    put_number(to, number);
}

static void put_bytes(GByteArray *to, unsigned field, const void *bytes, size_t length)
{
    put_number(to, field << 3 | WIRE_BYTES);
    put_number(to, length);
    g_byte_array_append(to, bytes, (guint)length);
}

/* Ends the message that is made. */
static void write_message(struct profile *profile, unsigned field)
{
    g_autoptr(GByteArray) head = g_byte_array_new();
    put_number(head, field << 3 | WIRE_BYTES);
    put_number(head, profile->message->len);
    lull_out_bytes(&profile->out, (const char *)head->data, head->len);
    lull_out_bytes(&profile->out, (const char *)profile->message->data, profile->message->len);
    g_byte_array_set_size(profile->message, 0);
}

/* `text` or NULL, for the empty one; it stays until all is written. */
static uint64_t number_of_text(struct profile *profile, const char *text)
{
    gpointer number;
    text = text ? text : "";
    if (!g_hash_table_lookup_extended(profile->numbers, text, NULL, &number)) {
        number = GUINT_TO_POINTER(profile->texts->len);
        g_hash_table_insert(profile->numbers, (gpointer)text, number);
        g_ptr_array_add(profile->texts, (gpointer)text);
    }
    return GPOINTER_TO_UINT(number);
}

static void write_types(struct profile *profile)
{
    const struct lull_flame *flame = profile->flame;
    for (uint32_t i = 0; i < flame->n_columns; i++) {
        put_field(profile->message, TYPE_TYPE, number_of_text(profile, flame->columns[i].type));
        put_field(profile->message, TYPE_UNIT, number_of_text(profile, flame->columns[i].unit));
        write_message(profile, PROFILE_SAMPLE_TYPE);
    }
    if (flame->n_columns > 0) {
        put_number(profile->message, PROFILE_DEFAULT_TYPE << 3 | WIRE_NUMBER);
        put_number(profile->message,
                   number_of_text(profile, flame->columns[flame->main_column].type));
        lull_out_bytes(&profile->out, (const char *)profile->message->data, profile->message->len);
        g_byte_array_set_size(profile->message, 0);
    }
}

/* Innermost frame first. */
static void write_sample(struct profile *profile, uint32_t node, const int64_t *of)
{
    const struct lull_flame *flame = profile->flame;
    g_autoptr(GByteArray) locations = g_byte_array_new();
    g_autoptr(GByteArray) values = g_byte_array_new();
    for (uint32_t i = 0; i < flame->n_columns; i++) {
        put_number(values, (uint64_t)of[i]);
    }
    for (uint32_t up = node; up; up = flame->nodes[up].parent) {
        put_number(locations, (uint64_t)flame->nodes[up].name + 1);
    }
    put_bytes(profile->message, SAMPLE_LOCATION, locations->data, locations->len);
    put_bytes(profile->message, SAMPLE_VALUE, values->data, values->len);
    write_message(profile, PROFILE_SAMPLE);
}

/* ---- mappings ---- */

#define KERNEL "[kernel.kallsyms]"

/* The number of the mapping, from 1 on. */
static uint32_t find_mapping(struct profile *profile, const struct lull_flame_place *place)
{
    const char *object = place->object ? place->object : KERNEL;
    gpointer number;
    if (!g_hash_table_lookup_extended(profile->objects, object, NULL, &number)) {
        const struct mapping mapping = {.object = object, .build_id = place->build_id};
        g_array_append_val(profile->mappings, mapping);
        number = GUINT_TO_POINTER(profile->mappings->len);
        g_hash_table_insert(profile->objects, (gpointer)object, number);
    }
    struct mapping *mapping =
        &g_array_index(profile->mappings, struct mapping, GPOINTER_TO_UINT(number) - 1);
    if (place->object) {
        mapping->size = MAX(mapping->size, place->address + 1);
    }
    return GPOINTER_TO_UINT(number);
}

/* No file is larger; what an address of something else may be is left out. */
#define MOST_OFFSET (UINT64_C(1) << 40)

static bool find_place(const struct profile *profile, uint32_t name, struct lull_flame_place *place)
{
    return lull_flame_find_place(profile->flame, name, place) &&
           (place->object ? place->address < MOST_OFFSET : place->address >> 63);
}

/* Addresses of the kernel are as they are. */
static void write_mappings(struct profile *profile)
{
    uint64_t start = 1 << 12;
    for (uint32_t i = 0; i < lull_flame_name_count(profile->flame); i++) {
        struct lull_flame_place place;
        if (find_place(profile, i, &place)) {
            find_mapping(profile, &place);
        }
    }
    for (guint i = 0; i < profile->mappings->len; i++) {
        struct mapping *mapping = &g_array_index(profile->mappings, struct mapping, i);
        const bool is_kernel = mapping->size == 0;
        mapping->start = is_kernel ? UINT64_C(1) << 63 : start;
        put_field(profile->message, MAPPING_ID, i + 1);
        put_field(profile->message, MAPPING_START, mapping->start);
        put_field(profile->message, MAPPING_LIMIT, is_kernel ? UINT64_MAX : start + mapping->size);
        put_field(profile->message, MAPPING_FILE, number_of_text(profile, mapping->object));
        put_field(profile->message, MAPPING_BUILD_ID, number_of_text(profile, mapping->build_id));
        put_field(profile->message, MAPPING_HAS_FUNCTIONS, 1);
        write_message(profile, PROFILE_MAPPING);
        start += is_kernel ? 0 : (mapping->size + 0x1fff) & ~UINT64_C(0xfff);
    }
}

/* ---- functions ---- */

/* A location stands for its function: its line is where that starts. */
static void write_function(struct profile *profile, uint32_t name)
{
    const struct lull_source_line start = lull_flame_source(profile->flame, name);
    GByteArray *message = profile->message;
    g_autoptr(GByteArray) line = g_byte_array_new();
    struct lull_flame_place place;
    put_field(message, FUNCTION_ID, (uint64_t)name + 1);
    put_field(message, FUNCTION_NAME,
              number_of_text(profile, lull_flame_name(profile->flame, name)));
    put_field(message, FUNCTION_FILE, number_of_text(profile, start.file));
    put_field(message, FUNCTION_START, start.line);
    write_message(profile, PROFILE_FUNCTION);
    put_field(line, LINE_FUNCTION, (uint64_t)name + 1);
    put_field(line, LINE_LINE, start.line);
    put_field(message, LOCATION_ID, (uint64_t)name + 1);
    if (find_place(profile, name, &place)) {
        const uint32_t number = find_mapping(profile, &place);
        const struct mapping *mapping =
            &g_array_index(profile->mappings, struct mapping, number - 1);
        put_field(message, LOCATION_MAPPING, number);
        put_field(message, LOCATION_ADDRESS,
                  place.object ? mapping->start + place.address : place.address);
    }
    put_bytes(message, LOCATION_LINE, line->data, line->len);
    write_message(profile, PROFILE_LOCATION);
}

static void write_texts(struct profile *profile)
{
    for (guint i = 0; i < profile->texts->len; i++) {
        g_autofree char *valid = g_utf8_make_valid(profile->texts->pdata[i], -1);
        g_byte_array_append(profile->message, (const guint8 *)valid, (guint)strlen(valid));
        write_message(profile, PROFILE_STRING);
    }
}

static bool write_profile(const struct lull_flame *flame, FILE *file, GError **error)
{
    g_autoptr(GByteArray) message = g_byte_array_new();
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    g_autoptr(GHashTable) objects = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) mappings = g_array_new(FALSE, TRUE, sizeof(struct mapping));
    struct profile profile = {.flame = flame,
                              .message = message,
                              .numbers = numbers,
                              .texts = texts,
                              .objects = objects,
                              .mappings = mappings};
    lull_out_start(&profile.out, file);
    number_of_text(&profile, "");
    write_types(&profile);
    for (uint32_t node = flame_next(flame, 0); node; node = flame_next(flame, node)) {
        const int64_t *values = lull_flame_values(flame, node);
        bool is_any = false;
        for (uint32_t i = 0; values && i < flame->n_columns; i++) {
            is_any |= values[i] != 0;
        }
        if (is_any) {
            write_sample(&profile, node, values);
        }
    }
    write_mappings(&profile);
    for (uint32_t i = 0; i < lull_flame_name_count(flame); i++) {
        write_function(&profile, i);
    }
    write_texts(&profile);
    return lull_out_end(&profile.out, "the profile", error);
}

bool lull_view_flame_pprof(const struct lull_flame *flame, FILE *file, GError **error)
{
    char *data = NULL;
    size_t size = 0;
    struct lull_out out;
    FILE *memory = open_memstream(&data, &size);
    bool is_done = memory && write_profile(flame, memory, error);
    if (memory) {
        fclose(memory);
    } else {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "no memory for the profile");
    }
    if (is_done) {
        lull_out_start(&out, file);
        flame_write_packed(&out, data, size);
        is_done = lull_out_end(&out, "the profile", error);
    }
    free(data);
    return is_done;
}
