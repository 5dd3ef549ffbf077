/* SPDX-License-Identifier: MIT */
/* The records of a heap dump: one pass that notes where the classes and objects lie. Each length is checked before
 * it is used; a file that ends too early is read up to there. */
#include <inttypes.h>
#include <lull/error.h>
#include <string.h>

#include "base/map.h"
#include "hprof/private.h"

static const char magic[] = "JAVA PROFILE 1.0.";
/* The text ends with '1' or '2' and a NUL; then the size of ids, and the time. */
enum { HEADER_BYTES = sizeof magic + 1 + 4 + 8 };
enum { TAG_STRING = 0x01, TAG_LOAD_CLASS = 0x02, TAG_DUMP = 0x0c, TAG_SEGMENT = 0x1c };

struct text {
    uint64_t at, size;
};

struct reader {
    struct lull_hprof *dump;
    const char *path;
    uint64_t at, end; /* of the record that is read */
    struct hprof_founds *found;
    struct lull_map strings; /* id -> index of texts */
    struct lull_map loaded;  /* id of a class -> index of names */
    LULL_VEC(struct text) texts;
    LULL_VEC(uint64_t) names; /* ids of strings */
};

/* Bytes after the tag of a root, in ids and others, by tag. */
static const struct {
    uint8_t tag, ids, bytes;
} roots[] = {{0xff, 1, 0}, {0x01, 2, 0}, {0x02, 1, 8}, {0x03, 1, 8}, {0x04, 1, 4},
             {0x05, 1, 0}, {0x06, 1, 4}, {0x07, 1, 0}, {0x08, 1, 8}};

unsigned hprof_type_size(const struct lull_hprof *dump, unsigned type)
{
    static const uint8_t sizes[HPROF_LAST_TYPE + 1] = {
        [4] = 1, [5] = 2, [6] = 4, [7] = 8, [8] = 1, [9] = 2, [10] = 4, [11] = 8};
    return type == HPROF_REFERENCE ? dump->id_size : type <= HPROF_LAST_TYPE ? sizes[type] : 0;
}

/* Goes over `n` bytes; false if there are not so many. */
static bool skip(struct reader *reader, uint64_t n)
{
    const bool has = reader->end - reader->at >= n;
    reader->at += has ? n : 0;
    return has;
}

static bool read_number(struct reader *reader, unsigned size, uint64_t *value)
{
    const uint8_t *at = reader->dump->data + reader->at;
    if (!skip(reader, size)) {
        return false;
    }
    *value = size == 1   ? at[0]
             : size == 2 ? lull_load_u16(at, true)
             : size == 4 ? lull_load_u32(at, true)
                         : lull_load_u64(at, true);
    return true;
}

static bool read_id(struct reader *reader, uint64_t *id)
{
    return read_number(reader, reader->dump->id_size, id);
}

static bool skip_value(struct reader *reader)
{
    uint64_t type = 0;
    return read_number(reader, 1, &type) && hprof_type_size(reader->dump, (unsigned)type) &&
           skip(reader, hprof_type_size(reader->dump, (unsigned)type));
}

static void add_object(struct reader *reader, uint64_t id, uint64_t at, uint8_t tag)
{
    lull_vec_push(reader->found, (struct hprof_found){id, HPROF_PLACE(at, tag)});
}

/* constants, statics and fields of a class, each after its number. */
static bool read_members(struct reader *reader, struct lull_hprof_class *class)
{
    uint64_t n = 0;
    bool done = read_number(reader, 2, &n);
    for (; done && n > 0; n--) {
        done = skip(reader, 2) && skip_value(reader);
    }
    done = done && read_number(reader, 2, &n);
    class->n_statics = (uint32_t)n;
    class->statics_at = reader->at;
    for (; done && n > 0; n--) {
        done = skip(reader, reader->dump->id_size) && skip_value(reader);
    }
    done = done && read_number(reader, 2, &n);
    class->n_fields = (uint32_t)n;
    class->fields_at = reader->at;
    return done && skip(reader, n * (reader->dump->id_size + 1));
}

static bool read_class(struct reader *reader, uint64_t at)
{
    struct lull_hprof *dump = reader->dump;
    struct lull_hprof_class class = {.super = UINT32_MAX};
    /* After loader: signers, domain and two that are reserved; then what HotSpot calls its size, without header. */
    if (!read_id(reader, &class.id) || !skip(reader, 4) || !read_id(reader, &class.super_id) ||
        !read_id(reader, &class.loader_id) || !skip(reader, 4 * dump->id_size + 4) ||
        !read_members(reader, &class)) {
        return false;
    }
    add_object(reader, class.id, at, HPROF_CLASS);
    lull_vec_push(&dump->classes, class);
    return true;
}

static bool read_object(struct reader *reader, uint64_t at, uint8_t tag)
{
    uint64_t id = 0, n = 0, class = 0;
    unsigned width = 1;
    bool done = read_id(reader, &id) && skip(reader, 4);
    if (tag == HPROF_INSTANCE) {
        done = done && read_id(reader, &class) && read_number(reader, 4, &n);
    } else if (tag == HPROF_OBJECTS) {
        done = done && read_number(reader, 4, &n) && read_id(reader, &class);
        width = reader->dump->id_size;
    } else {
        done = done && read_number(reader, 4, &n) && read_number(reader, 1, &class);
        width = class == HPROF_REFERENCE ? 0 : hprof_type_size(reader->dump, (unsigned)class);
    }
    if (!done || width == 0 || !skip(reader, n * width)) {
        return false;
    }
    add_object(reader, id, at, tag);
    return true;
}

static bool read_root(struct reader *reader, uint8_t tag)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(roots); i++) {
        uint64_t id = 0;
        if (roots[i].tag == tag) {
            const bool done =
                read_id(reader, &id) &&
                skip(reader, (roots[i].ids - 1U) * reader->dump->id_size + roots[i].bytes);
            if (done) {
                lull_vec_push(&reader->dump->roots, (struct lull_hprof_root){id, tag});
            }
            return done;
        }
    }
    return false;
}

/* What a segment of the heap holds. False where a record is not of a kind that is known, or does not end within it. */
static bool read_segment(struct reader *reader)
{
    while (reader->at < reader->end) {
        const uint64_t at = reader->at;
        hprof_touch(reader->dump, at);
        const uint8_t tag = reader->dump->data[reader->at++];
        const bool done = tag == HPROF_CLASS ? read_class(reader, at)
                          : tag > HPROF_CLASS && tag <= HPROF_PRIMITIVES
                              ? read_object(reader, at, tag)
                              : read_root(reader, tag);
        if (!done) {
            reader->at = at;
            return false;
        }
    }
    return true;
}

static void read_string(struct reader *reader)
{
    uint64_t id = 0;
    if (read_id(reader, &id)) {
        lull_map_insert(&reader->strings, id, (uint32_t)reader->texts.count);
        lull_vec_push(&reader->texts, (struct text){reader->at, reader->end - reader->at});
    }
}

static void read_load_class(struct reader *reader)
{
    uint64_t id = 0, name = 0;
    if (skip(reader, 4) && read_id(reader, &id) && skip(reader, 4) && read_id(reader, &name)) {
        lull_map_insert(&reader->loaded, id, (uint32_t)reader->names.count);
        lull_vec_push(&reader->names, name);
    }
}

/* "java/lang/String" as Java has it: with points. Two classes may have one name. */
static char *name_of(const struct reader *reader, uint64_t class_id)
{
    const uint32_t loaded = lull_map_find(&reader->loaded, class_id);
    const uint32_t string = loaded == LULL_MAP_NONE
                                ? LULL_MAP_NONE
                                : lull_map_find(&reader->strings, reader->names.items[loaded]);
    if (string == LULL_MAP_NONE) {
        return g_strdup_printf("(class 0x%" G_GINT64_MODIFIER "x)", class_id);
    }
    const struct text *text = &reader->texts.items[string];
    /* A class file allows names of 65 535 bytes. */
    char *name = g_utf8_make_valid((const char *)reader->dump->data + text->at,
                                   (gssize)MIN(text->size, UINT16_MAX));
    return g_strdelimit(name, "/", '.');
}

static void name_classes(struct reader *reader)
{
    struct lull_hprof *dump = reader->dump;
    dump->class_of_classes = UINT32_MAX;
    for (uint32_t i = 0; i < dump->classes.count; i++) {
        struct lull_hprof_class *class = &dump->classes.items[i];
        class->name = name_of(reader, class->id);
        if (strcmp(class->name, "java.lang.Class") == 0) {
            dump->class_of_classes = i;
        }
    }
}

static bool fail(const struct reader *reader, uint64_t at, const char *what, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s, byte %" PRIu64 ": %s", reader->path, at,
                what);
    return false;
}

/* A record and where it ends; the file may end before. */
static bool read_record(struct reader *reader, GError **error)
{
    struct lull_hprof *dump = reader->dump;
    uint64_t tag = 0, length = 0;
    const uint64_t at = reader->at;
    reader->end = dump->size;
    if (!read_number(reader, 1, &tag) || !skip(reader, 4) || !read_number(reader, 4, &length)) {
        dump->cut_at = dump->size;
        reader->at = dump->size;
        return true;
    }
    const bool is_cut = reader->end - reader->at < length;
    const uint64_t end = is_cut ? dump->size : reader->at + length;
    reader->end = end;
    if (is_cut) {
        dump->cut_at = dump->size;
    }
    if (tag == TAG_STRING) {
        read_string(reader);
    } else if (tag == TAG_LOAD_CLASS) {
        read_load_class(reader);
    } else if ((tag == TAG_DUMP || tag == TAG_SEGMENT) && !read_segment(reader) && !is_cut) {
        return fail(
            reader, reader->at,
            "a record of the heap that is unknown or longer than its segment; only dumps of "
            "the JDK are read",
            error);
    }
    if (dump->size >> 48 || reader->found->count >= HPROF_MOST_OBJECTS ||
        dump->classes.count >= UINT32_MAX - 16) {
        return fail(reader, at, "more objects than Lull can count (2 147 483 647)", error);
    }
    reader->at = end;
    return true;
}

void hprof_each_string(const struct lull_hprof *dump,
                       void (*each)(void *user, uint64_t id, uint64_t at, uint64_t size),
                       void *user)
{
    const unsigned head = 1 + 4 + 4; /* of each record */
    for (uint64_t at = HEADER_BYTES; dump->size - at >= head;) {
        const uint64_t length = lull_load_u32(dump->data + at + 5, true);
        const uint64_t room = dump->size - at - head;
        if (dump->data[at] == TAG_STRING && MIN(length, room) >= dump->id_size) {
            each(user, hprof_id(dump, at + head), at + head + dump->id_size,
                 MIN(length, room) - dump->id_size);
        }
        at += head + MIN(length, room);
    }
}

bool hprof_read_records(struct lull_hprof *dump, struct hprof_founds *found, const char *path,
                        GError **error)
{
    struct reader reader = {.dump = dump, .path = path, .found = found};
    if (dump->size < HEADER_BYTES || memcmp(dump->data, magic, sizeof magic - 1) != 0 ||
        dump->data[sizeof magic] != '\0') {
        return fail(&reader, 0, "not a heap dump of Java (HPROF)", error);
    }
    dump->id_size = lull_load_u32(dump->data + sizeof magic + 1, true);
    if (dump->id_size != 4 && dump->id_size != 8) {
        return fail(&reader, sizeof magic + 1, "the size of ids is neither 4 nor 8", error);
    }
    bool done = true;
    for (reader.at = HEADER_BYTES; done && reader.at < dump->size;) {
        done = read_record(&reader, error);
    }
    if (done) {
        name_classes(&reader);
    }
    lull_map_free(&reader.strings);
    lull_map_free(&reader.loaded);
    lull_vec_free(&reader.texts);
    lull_vec_free(&reader.names);
    return done;
}
