/* SPDX-License-Identifier: MIT */
/* Libraries that few runs need, and that bring many others: linked, they would make each start of the program wait for
 * 40 libraries more, which takes 8 ms. They are loaded when they are called for the first time. */
#ifndef LULL_BASE_LATE_H
#define LULL_BASE_LATE_H

#include <glib.h>
#include <stdbool.h>

struct lull_late {
    const char *soname;       /* as in the ELF file: "libgnutls.so.30" */
    const char *const *names; /* of its functions, NULL at the end */
    void **functions;         /* one for each name */
    gsize is_loaded;
};

/* struct TAG, in which each function of a library has a pointer of its own type. LIST(X) is X(name) for each. */
#define LULL_LATE_STRUCT(tag, LIST)                                                                \
    struct tag {                                                                                   \
        LIST(LULL_LATE_MEMBER)                                                                     \
    }
/* What loads them into `functions`, of that type; then they are called as functions.name(…). */
#define LULL_LATE(library, functions_of, LIST)                                                     \
    {                                                                                              \
        .soname = (library),                                                                       \
        .names = (const char *const[]){LIST(LULL_LATE_NAME) NULL},                                 \
        .functions = (void **)&(functions_of),                                                     \
    }
#define LULL_LATE_MEMBER(name) __typeof__(name) *name;
#define LULL_LATE_NAME(name) #name,

/* Loads the library, which stays. Threads may call it at the same time, and as often as they like. False, LULL_ERROR_IO:
 * it is not installed, or lacks a function. */
bool lull_late_load(struct lull_late *late, GError **error);

#endif
