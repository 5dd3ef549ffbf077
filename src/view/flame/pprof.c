/* SPDX-License-Identifier: MIT */
/* A flame graph as a profile of pprof: the message Profile of profile.proto, whose fields are numbered
 * below. Functions and locations have the numbers of the names + 1. */
#include <lull/error.h>
#include <stdlib.h>
#include <string.h>

#include "view/flame/flame.h"
#include "view/out.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6
};
enum {
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILE = 4,
    FUNCTION_START = 5
};
enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };
/* The first texts; names follow. The first is the empty one, as the format wants it. */
enum { TEXT_TYPE = 1, TEXT_UNIT = 2, FIRST_NAME = 3 };

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

static void write_message(struct lull_out *out, unsigned field, GByteArray *message)
{
    g_autoptr(GByteArray) head = g_byte_array_new();
    put_number(head, field << 3 | WIRE_BYTES);
    put_number(head, message->len);
    lull_out_bytes(out, (const char *)head->data, head->len);
    lull_out_bytes(out, (const char *)message->data, message->len);
    g_byte_array_set_size(message, 0);
}

static void write_text(struct lull_out *out, GByteArray *message, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_byte_array_append(message, (const guint8 *)valid, (guint)strlen(valid));
    write_message(out, PROFILE_STRING, message);
}

/* Innermost frame first. */
static void write_sample(struct lull_out *out, GByteArray *message, const struct lull_flame *flame,
                         uint32_t node)
{
    g_autoptr(GByteArray) locations = g_byte_array_new();
    g_autoptr(GByteArray) values = g_byte_array_new();
    put_number(values, (uint64_t)flame->nodes[node].self);
    for (uint32_t up = node; up; up = flame->nodes[up].parent) {
        put_number(locations, (uint64_t)flame->nodes[up].name + 1);
    }
    put_bytes(message, SAMPLE_LOCATION, locations->data, locations->len);
    put_bytes(message, SAMPLE_VALUE, values->data, values->len);
    write_message(out, PROFILE_SAMPLE, message);
}

/* Texts of names come first, then those of files. */
struct files {
    GHashTable *numbers;
    GPtrArray *texts;
    uint64_t first;
};

static uint64_t number_of_file(struct files *files, const char *file)
{
    gpointer number;
    if (!file) {
        return 0; /* the empty text */
    }
    if (!g_hash_table_lookup_extended(files->numbers, file, NULL, &number)) {
        number = GUINT_TO_POINTER(files->texts->len);
        g_hash_table_insert(files->numbers, (gpointer)file, number);
        g_ptr_array_add(files->texts, (gpointer)file);
    }
    return files->first + GPOINTER_TO_UINT(number);
}

/* A location stands for its function: its line is where that starts. */
static void write_function(struct lull_out *out, GByteArray *message, uint32_t name,
                           struct lull_source_line start, struct files *files)
{
    g_autoptr(GByteArray) line = g_byte_array_new();
    put_field(message, FUNCTION_ID, (uint64_t)name + 1);
    put_field(message, FUNCTION_NAME, (uint64_t)name + FIRST_NAME);
    put_field(message, FUNCTION_FILE, number_of_file(files, start.file));
    put_field(message, FUNCTION_START, start.line);
    write_message(out, PROFILE_FUNCTION, message);
    put_field(line, LINE_FUNCTION, (uint64_t)name + 1);
    put_field(line, LINE_LINE, start.line);
    put_field(message, LOCATION_ID, (uint64_t)name + 1);
    put_bytes(message, LOCATION_LINE, line->data, line->len);
    write_message(out, PROFILE_LOCATION, message);
}

static bool write_profile(const struct lull_flame *flame, FILE *file, GError **error)
{
    g_autoptr(GByteArray) message = g_byte_array_new();
    const bool is_time = g_str_equal(flame->unit, "ns");
    const bool is_bytes = g_str_equal(flame->unit, "bytes");
    struct lull_out out;
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    struct files files = {numbers, texts, FIRST_NAME + (uint64_t)lull_flame_name_count(flame)};
    lull_out_start(&out, file);
    put_field(message, TYPE_TYPE, TEXT_TYPE);
    put_field(message, TYPE_UNIT, TEXT_UNIT);
    write_message(&out, PROFILE_SAMPLE_TYPE, message);
    for (uint32_t node = flame_next(flame, 0); node; node = flame_next(flame, node)) {
        if (flame->nodes[node].self > 0) {
            write_sample(&out, message, flame, node);
        }
    }
    for (uint32_t i = 0; i < lull_flame_name_count(flame); i++) {
        write_function(&out, message, i, lull_flame_source(flame, i), &files);
    }
    write_text(&out, message, "");
    write_text(&out, message, is_time ? "time" : flame->event ? flame->event : flame->unit);
    write_text(&out, message, is_time ? "nanoseconds" : is_bytes ? "bytes" : "count");
    for (uint32_t i = 0; i < lull_flame_name_count(flame); i++) {
        write_text(&out, message, lull_flame_name(flame, i));
    }
    for (guint i = 0; i < texts->len; i++) {
        write_text(&out, message, texts->pdata[i]);
    }
    return lull_out_end(&out, "the profile", error);
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
