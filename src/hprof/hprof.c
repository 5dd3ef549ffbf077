/* SPDX-License-Identifier: MIT */
/* A heap dump after its records were read: which class each object has, how large it is, and to what it refers. */
#include "hprof/hprof.h"

#include <lull/error.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/search.h"
#include "hprof/private.h"

/* Primitive arrays by the type of their elements; the first of all is for classes that the dump lacks. */
enum { FIRST_PRIMITIVE = 4 };
static const char *const primitive_names[] = {"[Z", "[C", "[F", "[D", "[B", "[S", "[I", "[J"};

bool lull_hprof_is_class(const struct lull_hprof_object *object)
{
    return object->tag == HPROF_CLASS;
}

uint32_t hprof_find(const struct lull_hprof *dump, uint64_t id)
{
    const size_t found = LULL_LOWER_BOUND(i, dump->objects.count, dump->objects.items[i].id < id);
    return found < dump->objects.count && dump->objects.items[found].id == id ? (uint32_t)found
                                                                              : UINT32_MAX;
}

static int compare_objects(const void *a, const void *b)
{
    const struct lull_hprof_object *x = a, *y = b;
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->at < y->at ? -1 : x->at > y->at;
}

/* By id; of those with one id the first of the file stays. */
static void sort_objects(struct lull_hprof *dump)
{
    size_t kept = 0;
    if (dump->objects.count > 0) {
        qsort(dump->objects.items, dump->objects.count, sizeof *dump->objects.items,
              compare_objects);
    }
    for (size_t i = 0; i < dump->objects.count; i++) {
        if (kept == 0 || dump->objects.items[kept - 1].id != dump->objects.items[i].id) {
            dump->objects.items[kept++] = dump->objects.items[i];
        }
    }
    dump->n_repeated = dump->objects.count - kept;
    dump->objects.count = kept;
    if (kept > 0) { /* it was doubled as it grew */
        lull_vec_trim(&dump->objects);
    }
}

/* An array of ids of 8 bytes that would not fit before the next object proves that references have 4. */
static void find_reference_size(struct lull_hprof *dump)
{
    dump->reference_size = dump->id_size;
    for (size_t i = 0; i + 1 < dump->objects.count && dump->reference_size == 8; i++) {
        const struct lull_hprof_object *object = &dump->objects.items[i];
        if (object->tag == HPROF_OBJECTS && object->bytes >= 4 &&
            object[1].id - object->id < 16 + 8 * object->bytes) {
            dump->reference_size = 4;
        }
    }
}

/* Of an element of an array. */
static unsigned width_of(const struct lull_hprof *dump, const struct lull_hprof_object *object)
{
    return object->tag == HPROF_OBJECTS
               ? dump->reference_size
               : hprof_type_size(dump, dump->data[object->at + 1 + dump->id_size + 8]);
}

/* The header has the address of the class, which may have 4 bytes although references have 8: where an array would not
 * fit before the next object with one of 8. */
static void find_header_size(struct lull_hprof *dump)
{
    dump->header_bytes = dump->reference_size == 4 ? 12 : 16;
    for (size_t i = 0; i + 1 < dump->objects.count && dump->header_bytes == 16; i++) {
        const struct lull_hprof_object *object = &dump->objects.items[i];
        if ((object->tag == HPROF_OBJECTS || object->tag == HPROF_PRIMITIVES) &&
            object[1].id - object->id <
                lull_align_up(16 + 4 + object->bytes * width_of(dump, object), 8)) {
            dump->header_bytes = 12;
        }
    }
}

static uint64_t fields_bytes(const struct lull_hprof *dump, const struct lull_hprof_class *class)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < class->n_fields; i++) {
        const uint8_t type = dump->data[class->fields_at + i * (dump->id_size + 1) + dump->id_size];
        bytes += type == HPROF_REFERENCE ? dump->reference_size : hprof_type_size(dump, type);
    }
    return bytes;
}

static void resolve_classes(struct lull_hprof *dump, const struct lull_map *by_id)
{
    g_autofree uint64_t *own = g_new(uint64_t, dump->classes.count + 1);
    for (size_t i = 0; i < dump->classes.count; i++) {
        struct lull_hprof_class *class = &dump->classes.items[i];
        class->super = class->super_id ? lull_map_find(by_id, class->super_id) : UINT32_MAX;
        own[i] = fields_bytes(dump, class);
    }
    for (size_t i = 0; i < dump->classes.count; i++) {
        uint64_t bytes = dump->header_bytes;
        uint32_t at = (uint32_t)i;
        for (unsigned n = 0; at != UINT32_MAX && n < HPROF_MOST_SUPERS; n++) {
            bytes += own[at];
            at = dump->classes.items[at].super;
        }
        dump->classes.items[i].shallow_bytes = lull_align_up(bytes, 8);
    }
}

/* The class that the record of an object names. */
static uint32_t class_of(const struct lull_hprof *dump, const struct lull_hprof_object *object,
                         const struct lull_map *by_id, uint32_t first_made)
{
    const uint64_t after = object->at + 1 + dump->id_size + 4;
    if (object->tag == HPROF_PRIMITIVES) {
        return first_made + 1 + dump->data[after + 4] - FIRST_PRIMITIVE;
    }
    const uint32_t found =
        lull_map_find(by_id, hprof_id(dump, object->tag == HPROF_OBJECTS ? after + 4 : after));
    return found == LULL_MAP_NONE ? first_made : found;
}

static uint64_t shallow_bytes(const struct lull_hprof *dump, const struct lull_hprof_object *object)
{
    const uint64_t n = object->bytes; /* elements, until now */
    if (object->tag == HPROF_INSTANCE) {
        return dump->classes.items[object->class].shallow_bytes;
    }
    return lull_align_up(dump->header_bytes + 4 + n * width_of(dump, object), 8);
}

static void add_made_class(struct lull_hprof *dump, const char *name)
{
    lull_vec_push(&dump->classes, (struct lull_hprof_class){.name = g_strdup(name),
                                                            .super = UINT32_MAX,
                                                            .shallow_bytes = dump->header_bytes});
}

static void resolve_objects(struct lull_hprof *dump, const struct lull_map *by_id)
{
    const uint32_t first_made = (uint32_t)dump->classes.count;
    add_made_class(dump, "(unknown class)");
    for (unsigned i = 0; i < G_N_ELEMENTS(primitive_names); i++) {
        add_made_class(dump, primitive_names[i]);
    }
    for (size_t i = 0; i < dump->objects.count; i++) {
        struct lull_hprof_object *object = &dump->objects.items[i];
        uint32_t counted = dump->class_of_classes;
        if (i % HPROF_RELEASED == 0) {
            hprof_release(dump);
        }
        if (!lull_hprof_is_class(object)) {
            counted = object->class = class_of(dump, object, by_id, first_made);
            object->bytes = shallow_bytes(dump, object);
        }
        counted = counted == UINT32_MAX ? first_made : counted;
        dump->classes.items[counted].n_objects++;
        dump->classes.items[counted].bytes += object->bytes;
        dump->bytes += object->bytes;
    }
}

static void resolve(struct lull_hprof *dump)
{
    struct lull_map by_id = {0};
    for (uint32_t i = 0; i < dump->classes.count; i++) {
        if (lull_map_find(&by_id, dump->classes.items[i].id) == LULL_MAP_NONE) {
            lull_map_insert(&by_id, dump->classes.items[i].id, i);
        }
    }
    resolve_classes(dump, &by_id);
    resolve_objects(dump, &by_id);
    lull_map_free(&by_id);
}

static void each_static(const struct lull_hprof *dump, const struct lull_hprof_class *class,
                        hprof_each *each, void *user)
{
    uint64_t at = class->statics_at;
    for (uint32_t i = 0; i < class->n_statics; i++) {
        const uint64_t name = at;
        const uint8_t type = dump->data[at + dump->id_size];
        at += dump->id_size + 1;
        if (type == HPROF_REFERENCE) {
            each(user, &(struct hprof_reference){
                           .id = hprof_id(dump, at), .name = name, .kind = HPROF_BY_STATIC});
        }
        at += hprof_type_size(dump, type);
    }
    each(user, &(struct hprof_reference){.id = class->loader_id, .kind = HPROF_BY_LOADER});
    each(user, &(struct hprof_reference){.id = class->super_id, .kind = HPROF_BY_SUPER});
}

/* The fields of a class come before those of its super class. */
static void each_field(const struct lull_hprof *dump, const struct lull_hprof_object *object,
                       hprof_each *each, void *user)
{
    uint64_t at = object->at + 1 + 2 * dump->id_size + 8;
    uint64_t left = lull_load_u32(dump->data + at - 4, true);
    uint32_t class = object->class;
    for (unsigned n = 0; class != UINT32_MAX && n < HPROF_MOST_SUPERS; n++) {
        const struct lull_hprof_class *of = &dump->classes.items[class];
        for (uint32_t i = 0; i < of->n_fields; i++) {
            const uint64_t name = of->fields_at + i * (dump->id_size + 1);
            const uint8_t type = dump->data[name + dump->id_size];
            const unsigned width = hprof_type_size(dump, type);
            if (width == 0 || width > left) {
                return; /* fewer bytes than its classes declare */
            }
            if (type == HPROF_REFERENCE) {
                each(user, &(struct hprof_reference){.id = hprof_id(dump, at),
                                                     .name = name,
                                                     .class = class,
                                                     .kind = HPROF_BY_FIELD});
            }
            at += width;
            left -= width;
        }
        class = of->super;
    }
}

void hprof_each_reference(const struct lull_hprof *dump, const struct lull_hprof_object *object,
                          hprof_each *each, void *user)
{
    const struct lull_hprof_class *class = &dump->classes.items[object->class];
    if (lull_hprof_is_class(object)) {
        each_static(dump, class, each, user);
        return;
    }
    each(user, &(struct hprof_reference){.id = class->id, .kind = HPROF_BY_CLASS});
    if (object->tag == HPROF_INSTANCE) {
        each_field(dump, object, each, user);
    } else if (object->tag == HPROF_OBJECTS) {
        const uint64_t at = object->at + 1 + dump->id_size + 4;
        const uint32_t n = lull_load_u32(dump->data + at, true);
        for (uint64_t i = 1; i <= n; i++) {
            each(user, &(struct hprof_reference){.id = hprof_id(dump, at + 4 + i * dump->id_size),
                                                 .name = i - 1,
                                                 .kind = HPROF_BY_ELEMENT});
        }
    }
}

void hprof_release(const struct lull_hprof *dump)
{
    if (dump->file && dump->size > 0) {
        madvise((void *)(uintptr_t)dump->data, dump->size, MADV_DONTNEED);
    }
}

/* Takes the file, which may be NULL. */
static struct lull_hprof *read_dump(GMappedFile *file, const uint8_t *data, uint64_t size,
                                    const char *path, unsigned reference_size, GError **error)
{
    struct lull_hprof *dump = g_new0(struct lull_hprof, 1);
    dump->file = file;
    dump->data = data;
    dump->size = size;
    if (!hprof_read_records(dump, path, error)) {
        lull_hprof_free(dump);
        return NULL;
    }
    hprof_release(dump);
    sort_objects(dump);
    if (reference_size) {
        dump->reference_size = reference_size;
    } else {
        find_reference_size(dump);
    }
    find_header_size(dump);
    resolve(dump);
    if (!hprof_dominate(dump)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: more references than Lull can count (%u)", path, UINT32_MAX);
        lull_hprof_free(dump);
        return NULL;
    }
    return dump;
}

struct lull_hprof *lull_hprof_read(const uint8_t *data, uint64_t size, const char *path,
                                   unsigned reference_size, GError **error)
{
    return read_dump(NULL, data, size, path, reference_size, error);
}

static bool is_packed(int fd)
{
    uint8_t start[2];
    return pread(fd, start, sizeof start, 0) == sizeof start && start[0] == 0x1f &&
           start[1] == 0x8b;
}

struct lull_hprof *lull_hprof_open(const char *path, unsigned reference_size, GError **error)
{
    const char *why = NULL;
    uint64_t size;
    int fd = -1;
    if (lull_file_open(path, &fd, &size, &why) != LULL_OPEN_DONE) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot read %s: %s", path, why);
        return NULL;
    }
    if (is_packed(fd) && (fd = hprof_unpack(fd, size, path, error)) < 0) {
        return NULL;
    }
    GMappedFile *file = g_mapped_file_new_from_fd(fd, FALSE, error);
    close(fd);
    if (!file) {
        g_prefix_error(error, "cannot read %s: ", path);
        return NULL;
    }
    return read_dump(file, (const uint8_t *)g_mapped_file_get_contents(file),
                     g_mapped_file_get_length(file), path, reference_size, error);
}

void lull_hprof_free(struct lull_hprof *dump)
{
    if (!dump) {
        return;
    }
    for (size_t i = 0; i < dump->classes.count; i++) {
        g_free(dump->classes.items[i].name);
    }
    lull_vec_free(&dump->classes);
    lull_vec_free(&dump->objects);
    lull_vec_free(&dump->roots);
    g_free(dump->retained);
    g_clear_pointer(&dump->file, g_mapped_file_unref);
    g_free(dump);
}
