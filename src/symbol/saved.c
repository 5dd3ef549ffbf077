/* SPDX-License-Identifier: MIT */
/* Writes and reads the functions that a recording holds. The text comes from anywhere: lines that
 * are none of its three kinds are passed over. */
#include "symbol/saved.h"

#include <string.h>

#include "symbol/build_id.h"
#include "symbol/object.h"
#include "symbol/table.h"
#include "unwind/cfi.h"

#define OBJECT "object "
#define LOAD "load "
#define FRAMES "frames "
#define MOST_NAME 65535u

struct lull_saved {
    char *text;
    const char *end;
    GHashTable *objects; /* "INODE PATH" → its line in the text */
};

/* ---- writing ---- */

bool lull_saved_can_hold(const char *path)
{
    return *path != '\0' && !strpbrk(path, "\n");
}

static void append_frames(GString *to, const struct lull_cfi *cfi)
{
    const uint8_t *section;
    size_t size;
    uint64_t address;
    bool is_debug;
    for (size_t i = 0; (section = lull_cfi_section(cfi, i, &size, &address, &is_debug)); i++) {
        g_autofree char *text = g_base64_encode(section, size);
        g_string_append_printf(to, FRAMES "%x %" G_GINT64_MODIFIER "x %d %s\n",
                               lull_cfi_machine(cfi)->elf, address, is_debug, text);
    }
}

void lull_saved_append(GString *to, const struct lull_object *object, const char *path,
                       uint64_t inode)
{
    uint64_t start, size;
    g_string_append_printf(to, OBJECT "%s %" G_GUINT64_FORMAT " %s\n",
                           object->build_id ? object->build_id : "-", inode, path);
    for (uint32_t i = 0; i < object->n_loads; i++) {
        const struct lull_load *load = &object->loads[i];
        g_string_append_printf(
            to, LOAD "%" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x\n",
            load->offset, load->length, load->address);
    }
    if (object->cfi) {
        append_frames(to, object->cfi);
    }
    for (size_t i = 0; i < lull_symbol_table_count(object->table); i++) {
        const char *name = lull_symbol_table_get(object->table, i, &start, &size);
        if (size > 0 && !strchr(name, '\n')) {
            g_string_append_printf(to, "%" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x %s\n",
                                   start, size, name);
        }
    }
}

/* ---- reading ---- */

/* The line at `at` without its end, and where the next one starts. */
static const char *next_line(const char *at, const char *end, const char **next)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    *next = line_end ? line_end + 1 : end;
    return line_end ? line_end : end;
}

static bool has_word(const char *at, const char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - at) > n && memcmp(at, word, n) == 0;
}

/* A hexadecimal number and the space behind it, or the end of the line. */
static bool read_number(const char **at, const char *end, uint64_t *number)
{
    const char *start = *at;
    *number = 0;
    for (int digit; *at < end && (digit = g_ascii_xdigit_value(**at)) >= 0; ++*at) {
        *number = *number << 4 | (unsigned)digit;
    }
    const bool is_good = *at > start && *at - start <= 16 && (*at == end || **at == ' ');
    *at += is_good && *at < end;
    return is_good;
}

struct lull_saved *lull_saved_new(char *text, size_t length)
{
    struct lull_saved *saved = g_new0(struct lull_saved, 1);
    saved->text = text;
    saved->end = text + length;
    saved->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (const char *at = text, *next; at < saved->end; at = next) {
        const char *line_end = next_line(at, saved->end, &next);
        if (!has_word(at, line_end, OBJECT)) {
            continue;
        }
        const char *id = at + strlen(OBJECT);
        const char *key = memchr(id, ' ', (size_t)(line_end - id));
        if (key) {
            g_hash_table_insert(saved->objects, g_strndup(key + 1, (size_t)(line_end - key - 1)),
                                (gpointer)at);
        }
    }
    return saved;
}

void lull_saved_free(struct lull_saved *saved)
{
    if (saved) {
        g_hash_table_unref(saved->objects);
        g_free(saved->text);
        g_free(saved);
    }
}

/* False: it cannot hold more. */
static bool add_load(struct lull_object *object, const char *at, const char *end)
{
    struct lull_load load = {.offset = 0};
    at += strlen(LOAD);
    return !read_number(&at, end, &load.offset) || !read_number(&at, end, &load.length) ||
           !read_number(&at, end, &load.address) || lull_object_add_load(object, &load);
}

/* A line of frames; others are passed over. All of an object are of one machine. */
static bool add_frames(struct lull_object *object, const char *at, const char *end)
{
    uint64_t machine, address, is_debug;
    if (has_word(at, end, LOAD)) {
        return add_load(object, at, end);
    }
    if (!has_word(at, end, FRAMES)) {
        return true;
    }
    at += strlen(FRAMES);
    if (!read_number(&at, end, &machine) || !read_number(&at, end, &address) ||
        !read_number(&at, end, &is_debug) || machine > UINT16_MAX) {
        return true;
    }
    const struct lull_unwind_machine *of = lull_unwind_machine_of_elf((uint16_t)machine);
    if (!of || (object->cfi && lull_cfi_machine(object->cfi) != of)) {
        return true;
    }
    object->cfi = object->cfi ? object->cfi : lull_cfi_new(of);
    const size_t n = (size_t)(end - at);
    uint8_t *data = g_malloc(n / 4 * 3 + 3);
    int state = 0;
    unsigned rest = 0;
    const size_t size = g_base64_decode_step(at, n, data, &state, &rest);
    lull_cfi_add(object->cfi, data, size, address, is_debug != 0);
    return true;
}

/* The same of names. */
static bool add_line(struct lull_object *object, const char *at, const char *end)
{
    uint64_t start, size;
    if (has_word(at, end, LOAD)) {
        return add_load(object, at, end);
    }
    if (!read_number(&at, end, &start) || !read_number(&at, end, &size) || at == end || size == 0 ||
        *at == '\0') {
        return true;
    }
    return lull_symbol_table_add(object->table, start, size, 0, 0, at,
                                 strnlen(at, MIN((size_t)(end - at), MOST_NAME)));
}

static struct lull_object *
read_object(const struct lull_saved *saved, const char *path, uint64_t inode,
            bool (*add)(struct lull_object *object, const char *at, const char *end))
{
    g_autofree char *key = g_strdup_printf("%" G_GUINT64_FORMAT " %s", inode, path);
    const char *at = g_hash_table_lookup(saved->objects, key), *next;
    if (!at) {
        return NULL;
    }
    struct lull_object *object = lull_object_new();
    const char *id = at + strlen(OBJECT), *end = next_line(at, saved->end, &next);
    const size_t n = strcspn(id, " ");
    object->build_id = lull_build_id_is(id, n) ? g_strndup(id, n) : NULL;
    for (at = next; at < saved->end; at = next) {
        end = next_line(at, saved->end, &next);
        if (has_word(at, end, OBJECT) || !add(object, at, end)) {
            break;
        }
    }
    lull_symbol_table_finish(object->table);
    return object;
}

struct lull_object *lull_saved_read(const struct lull_saved *saved, const char *path,
                                    uint64_t inode)
{
    return read_object(saved, path, inode, add_line);
}

struct lull_object *lull_saved_read_frames(const struct lull_saved *saved, const char *path,
                                           uint64_t inode)
{
    struct lull_object *object = read_object(saved, path, inode, add_frames);
    if (object && (!object->cfi || lull_cfi_finish(object->cfi) == 0)) {
        g_clear_pointer(&object, lull_object_free);
    }
    return object;
}
