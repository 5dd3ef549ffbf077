/* SPDX-License-Identifier: MIT */
/* A heap dump after its records were read: which class each object has, how large it is, and to what it refers. */
#include "hprof/hprof.h"

#include <lull/error.h>
#include <unistd.h>

#include "base/file.h"
#include "hprof/private.h"

/* Primitive arrays by the type of their elements; the first of all is for classes that the dump lacks. */
static const char *const primitive_names[] = {"[Z", "[C", "[F", "[D", "[B", "[S", "[I", "[J"};

bool lull_hprof_is_class(const struct lull_hprof_object *object)
{
    return object->tag == HPROF_CLASS;
}

/* From the object to the next one. */
static uint64_t room_of(const struct lull_hprof *dump, uint32_t number)
{
    return hprof_id(dump, hprof_place(dump, number + 1) + 1) -
           hprof_id(dump, hprof_place(dump, number) + 1);
}

/* An array of ids of 8 bytes that would not fit before the next object proves that references have 4. The header has the
 * address of the class, which may have 4 bytes although references have 8: where an array would not fit with one of 8. */
static void find_sizes(struct lull_hprof *dump, unsigned reference_size)
{
    const bool is_given = reference_size != 0;
    dump->reference_size = is_given ? reference_size : dump->id_size;
    dump->header_bytes = dump->reference_size == 4 ? 12 : 16;
    for (uint32_t i = 0; i + 1 < dump->n_objects && dump->reference_size == 8 &&
                         !(is_given && dump->header_bytes == 12);
         i++) {
        const uint64_t at = hprof_place(dump, i);
        const uint8_t tag = hprof_tag(dump, i);
        hprof_touch(dump, at);
        const uint64_t n = hprof_count_elements(dump, at, tag);
        if (!is_given && tag == HPROF_OBJECTS && n >= 4 && room_of(dump, i) < 16 + 8 * n) {
            dump->reference_size = 4;
            dump->header_bytes = 12;
        } else if ((tag == HPROF_OBJECTS || tag == HPROF_PRIMITIVES) &&
                   room_of(dump, i) <
                       lull_align_up(16 + 4 + n * hprof_element_bytes(dump, at, tag), 8)) {
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

static void resolve_classes(struct lull_hprof *dump)
{
    g_autofree uint64_t *own = g_new(uint64_t, dump->classes.count + 1);
    for (uint32_t i = 0; i < dump->classes.count; i++) {
        if (lull_map_find(&dump->class_of_id, dump->classes.items[i].id) == LULL_MAP_NONE) {
            lull_map_insert(&dump->class_of_id, dump->classes.items[i].id, i);
        }
    }
    for (size_t i = 0; i < dump->classes.count; i++) {
        struct lull_hprof_class *class = &dump->classes.items[i];
        class->super =
            class->super_id ? lull_map_find(&dump->class_of_id, class->super_id) : UINT32_MAX;
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

static void add_made_class(struct lull_hprof *dump, const char *name)
{
    lull_vec_push(&dump->classes, (struct lull_hprof_class){.name = g_strdup(name),
                                                            .super = UINT32_MAX,
                                                            .shallow_bytes = dump->header_bytes});
}

static void resolve_objects(struct lull_hprof *dump)
{
    dump->first_made = (uint32_t)dump->classes.count;
    add_made_class(dump, "(unknown class)");
    for (unsigned i = 0; i < G_N_ELEMENTS(primitive_names); i++) {
        add_made_class(dump, primitive_names[i]);
    }
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        const struct lull_hprof_object object = lull_hprof_object(dump, i);
        uint32_t counted = lull_hprof_is_class(&object) ? dump->class_of_classes : object.class;
        counted = counted == UINT32_MAX ? dump->first_made : counted;
        dump->classes.items[counted].n_objects++;
        dump->classes.items[counted].bytes += object.bytes;
        dump->bytes += object.bytes;
    }
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

void hprof_each_reference(const struct lull_hprof *dump, uint32_t number, hprof_each *each,
                          void *user)
{
    const struct lull_hprof_object found = lull_hprof_object(dump, number), *object = &found;
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
            hprof_touch(dump, at + 4 + i * dump->id_size);
            each(user, &(struct hprof_reference){.id = hprof_id(dump, at + 4 + i * dump->id_size),
                                                 .name = i - 1,
                                                 .kind = HPROF_BY_ELEMENT});
        }
    }
}

/* Takes the file, which may be NULL. */
static struct lull_hprof *read_dump(GMappedFile *file, const uint8_t *data, uint64_t size,
                                    const char *path, unsigned reference_size, GError **error)
{
    struct lull_hprof *dump = g_new0(struct lull_hprof, 1);
    struct hprof_founds found = {0};
    dump->file = file;
    dump->window = file ? g_new0(struct hprof_window, 1) : NULL;
    dump->data = data;
    dump->size = size;
    if (!hprof_read_records(dump, &found, path, error)) {
        lull_vec_free(&found);
        lull_hprof_free(dump);
        return NULL;
    }
    hprof_set_objects(dump, &found);
    find_sizes(dump, reference_size);
    resolve_classes(dump);
    resolve_objects(dump);
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
    hprof_free_objects(dump);
    lull_map_free(&dump->class_of_id);
    g_free(dump->keepers);
    lull_vec_free(&dump->roots);
    g_free(dump->retained);
    g_clear_pointer(&dump->file, g_mapped_file_unref);
    g_free(dump);
}
