/* SPDX-License-Identifier: MIT */
/* What the files of this room share: records of the dump, and the steps after they were read. */
#ifndef LULL_HPROF_PRIVATE_H
#define LULL_HPROF_PRIVATE_H

#include <lull/error.h>

#include "base/bits.h"
#include "hprof/hprof.h"

/* Tags of the records of objects. */
enum { HPROF_CLASS = 0x20, HPROF_INSTANCE, HPROF_OBJECTS, HPROF_PRIMITIVES };
/* The type of a field that refers to an object; others are primitive. */
enum { HPROF_REFERENCE = 2, HPROF_LAST_TYPE = 11 };
/* No class has so many super classes; a cycle ends here, too. */
enum { HPROF_MOST_SUPERS = 1000 };

/* Bytes of a value of that type in the file, 0 if there is no such type. */
unsigned hprof_type_size(const struct lull_hprof *dump, unsigned type);

static inline uint64_t hprof_id(const struct lull_hprof *dump, uint64_t at)
{
    return dump->id_size == 4 ? lull_load_u32(dump->data + at, true)
                              : lull_load_u64(dump->data + at, true);
}

/* ---- objects.c ---- */

/* An object as it is found: its id, and where its record lies and of which kind it is. */
struct hprof_found {
    uint64_t id, place;
};
#define HPROF_PLACE(at, tag) ((at) << 2 | ((tag) - HPROF_CLASS))
struct hprof_founds {
    struct hprof_found *items;
    size_t count, capacity;
};

/* What was read of a mapped file since memory was given back. */
struct hprof_window {
    uint64_t last, mapped_bytes;
};
/* There are fewer objects than this. */
#define HPROF_MOST_OBJECTS (UINT32_MAX / 2)

/* The file is mapped, and what was read of it counts as memory of the program: before a place in it is read, this
 * may give the memory of others back. They are read again when they are needed again. */
void hprof_touch(const struct lull_hprof *dump, uint64_t at);
/* Gives it back now. */
void hprof_release(const struct lull_hprof *dump);
/* Sorts what was found into the objects of the dump, of those with one id the first of the file, and empties it. */
void hprof_set_objects(struct lull_hprof *dump, struct hprof_founds *found);
void hprof_free_objects(struct lull_hprof *dump);

static inline uint64_t hprof_place(const struct lull_hprof *dump, uint32_t number)
{
    return dump->places[number] >> 2;
}

static inline uint8_t hprof_tag(const struct lull_hprof *dump, uint32_t number)
{
    return (uint8_t)(HPROF_CLASS + (dump->places[number] & 3));
}

/* Of an array: how many elements it has. */
uint32_t hprof_count_elements(const struct lull_hprof *dump, uint64_t at, uint8_t tag);
/* Of an element of an array, in the heap. */
unsigned hprof_element_bytes(const struct lull_hprof *dump, uint64_t at, uint8_t tag);

/* ---- the others ---- */

/* A file without a name that has what is packed in this one, of so many bytes, which is closed; -1 and an error that
 * names the file `path`. */
int hprof_unpack(int fd, uint64_t size, const char *path, GError **error);
/* Reads all records: classes without sizes and names, objects in the order of the file, which the caller frees. */
bool hprof_read_records(struct lull_hprof *dump, struct hprof_founds *found, const char *path,
                        GError **error);
/* The object of that id, or UINT32_MAX. */
uint32_t hprof_find(const struct lull_hprof *dump, uint64_t id);
/* What refers to an object, by which name. */
enum hprof_kind {
    HPROF_BY_FIELD,
    HPROF_BY_STATIC,
    HPROF_BY_ELEMENT,
    HPROF_BY_CLASS,
    HPROF_BY_LOADER,
    HPROF_BY_SUPER
};
struct hprof_reference {
    uint64_t id;    /* 0: null */
    uint64_t name;  /* FIELD and STATIC: where the file has the id of its name; ELEMENT: index */
    uint32_t class; /* FIELD: that declares it */
    enum hprof_kind kind;
};
typedef void hprof_each(void *user, const struct hprof_reference *reference);
/* Calls `each` for what the object refers to. */
void hprof_each_reference(const struct lull_hprof *dump, uint32_t number, hprof_each *each,
                          void *user);
/* Calls `each` for all strings of the dump: where their texts lie. */
void hprof_each_string(const struct lull_hprof *dump,
                       void (*each)(void *user, uint64_t id, uint64_t at, uint64_t size),
                       void *user);
/* Who keeps which objects that can be reached. False: there are more references than can be counted. */
bool hprof_dominate(struct lull_hprof *dump);

#endif
