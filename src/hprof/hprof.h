/* SPDX-License-Identifier: MIT */
/* A heap dump of a Java virtual machine (HPROF): its objects, which of them can be reached, and how much memory
 * each keeps. Shallow sizes and references follow Eclipse Memory Analyzer: a header, the fields, rounded up to 8
 * bytes; an object refers to its class, a class to its loader and its super class. */
#ifndef LULL_HPROF_HPROF_H
#define LULL_HPROF_HPROF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

/* Instead of an object: the virtual root, which refers to all roots; and nobody, of what cannot be reached. */
#define LULL_HPROF_ROOT UINT32_MAX
#define LULL_HPROF_NOBODY (UINT32_MAX - 1)

struct lull_hprof_class {
    uint64_t id; /* 0: of primitive arrays, or of objects whose class the dump lacks */
    char *name;  /* "java.lang.String", "[B"; UTF-8 */
    uint64_t n_objects, bytes;
    /* Where the dump describes it, and its super class; 0 and UINT32_MAX if it has none. */
    uint64_t statics_at, fields_at;
    uint32_t super;
    uint32_t n_statics, n_fields;
    uint64_t super_id, loader_id, name_id;
    uint64_t shallow_bytes; /* of an instance */
};

/* What the file says of an object. There are many: who needs it reads it again. */
struct lull_hprof_object {
    uint64_t id;
    uint64_t bytes;
    uint64_t at;    /* its record in the file */
    uint32_t class; /* index of its class; of an object that is a class, of that class itself */
    uint8_t tag;    /* of its record, which says what kind of object it is */
};

/* What nothing needs to refer to. */
struct lull_hprof_root {
    uint64_t id;
    uint8_t tag; /* of its record: which kind of root it is */
};

/* Where objects are found by their ids: objects.c. */
struct hprof_block;
struct hprof_window;

struct lull_hprof {
    GMappedFile *file;           /* or NULL */
    struct hprof_window *window; /* of a mapped file: what of it takes memory */
    const uint8_t *data;
    uint64_t size;
    unsigned id_size, reference_size;
    unsigned header_bytes; /* of an object; arrays have 4 more, for their length */
    LULL_VEC(struct lull_hprof_class) classes;
    struct lull_map class_of_id;
    uint32_t first_made; /* of the classes that have no id */
    /* Objects by id, 12 bytes each: places in the file, lower halves of ids. */
    uint32_t n_objects;
    uint64_t *places;
    uint32_t *low_ids, *buckets;
    LULL_VEC(struct hprof_block) blocks;
    /* Of each object its immediate dominator, or LULL_HPROF_ROOT, or LULL_HPROF_NOBODY. */
    uint32_t *keepers;
    uint64_t *retained; /* of each object: what would be freed with it; 0 if it cannot be reached */
    LULL_VEC(struct lull_hprof_root) roots; /* in the order of the file */
    uint32_t class_of_classes;              /* java.lang.Class, or UINT32_MAX */
    uint64_t bytes;                         /* of all objects */
    uint64_t n_reachable, reachable_bytes;
    uint64_t n_repeated; /* objects whose id another has */
    uint64_t cut_at;     /* where the file ends too early; 0: it is whole */
};

/* `reference_size` is 4, 8, or 0: found out from the places of objects. NULL and an error that names the file if it is
 * no heap dump. Free with lull_hprof_free(). */
struct lull_hprof *lull_hprof_open(const char *path, unsigned reference_size, GError **error);
/* The same of bytes that outlive it. */
struct lull_hprof *lull_hprof_read(const uint8_t *data, uint64_t size, const char *path,
                                   unsigned reference_size, GError **error);
void lull_hprof_free(struct lull_hprof *dump);

/* An object by its number, 0 .. n_objects - 1. */
struct lull_hprof_object lull_hprof_object(const struct lull_hprof *dump, uint32_t number);
/* Whether the object is a class. */
bool lull_hprof_is_class(const struct lull_hprof_object *object);

/* ---- path.c: why an object is there ---- */

struct lull_hprof_step {
    uint32_t object;
    char *
        reference; /* by which the one before refers to it: "elementData", "[0]"; of the first the kind of root */
};

/* From the root to the object. */
struct lull_hprof_path {
    struct lull_hprof_step *items;
    size_t count, capacity;
};

/* The object of that id ("0x7f00"), or of a class of that name the one that retains most; *n: how many there are.
 * LULL_HPROF_ROOT and an error that says what is missing. */
uint32_t lull_hprof_find(const struct lull_hprof *dump, const char *what, uint64_t *n,
                         GError **error);
/* The shortest way from a root to the object; of equal ones from the root that says most: a thread, a frame, JNI, a class,
 * then by id. Weak and soft references only count `with_weak`. False: there is none. Free with
 * lull_hprof_path_clear(). */
bool lull_hprof_find_path(const struct lull_hprof *dump, uint32_t object, bool with_weak,
                          struct lull_hprof_path *path);
void lull_hprof_path_clear(struct lull_hprof_path *path);

/* ---- suspects.c: what keeps most ---- */

/* Objects that nothing else keeps and that retain much: one, or all of a class. */
struct lull_hprof_suspect {
    uint32_t object; /* the one, or the largest */
    uint64_t count;  /* 1, or how many there are */
    uint64_t retained;
    uint32_t
        gathers; /* where that gathers: below the object, as long as one object keeps most of it; itself, of many */
    uint32_t class
        ; /* of the objects that this keeps those that retain most, by class; UINT32_MAX: it keeps none */
    uint64_t n_kept, kept_retained;
};

struct lull_hprof_suspects {
    struct lull_hprof_suspect *items;
    size_t count, capacity;
};

/* Those that retain at least this share of what can be reached, most first; lull_vec_free() frees them. */
void lull_hprof_find_suspects(const struct lull_hprof *dump, double share,
                              struct lull_hprof_suspects *suspects);

#endif
