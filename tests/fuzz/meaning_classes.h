/* SPDX-License-Identifier: MIT */
/* The event classes of meaning.h: the vocabulary, in some of the shapes that it has in traces, and
 * the metadata that declares them. */
#ifndef LULL_TESTS_FUZZ_MEANING_CLASSES_H
#define LULL_TESTS_FUZZ_MEANING_CLASSES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum { MEANING_FIELDS = 128 };

enum meaning_kind { KIND_INT, KIND_TEXT, KIND_RAW };

struct meaning_field {
    const char *path;
    enum meaning_kind kind;
    bool is_signed;
    uint8_t unit, count; /* of RAW: bytes and number of elements; count 0: a number says it */
};

struct meaning_class {
    uint32_t id;
    const char *name;
    char *own_name;
    unsigned n_contexts, n_fields; /* contexts come first */
    struct meaning_field fields[MEANING_FIELDS];
    unsigned order[MEANING_FIELDS], n_ordered;
};

/* The name of an event of the vocabulary, or of one end of a system call. Free it with g_free(). */
char *meaning_event(unsigned number);
char *meaning_call(unsigned number, bool is_entry);
/* The same by name; a name that is not known is some event too. */
char *meaning_event_named(const char *name);

/* `name` is taken; `shape` chooses among the names that fields have, and leaves some out. */
struct meaning_class *meaning_class_new(uint32_t id, char *name, uint8_t shape);
void meaning_class_free(gpointer class);
/* The index of a field, of which there are some; one that is not known is another. */
unsigned meaning_field_named(const struct meaning_class *class, const char *path);
/* Appends its declaration, and orders its fields by that. */
void meaning_declare_class(GString *out, struct meaning_class *class);

struct meaning_clock {
    uint64_t frequency;
    int64_t offset_s;
    uint64_t offset;
};

/* From a day like any other to none that there ever will be. */
extern const struct meaning_clock meaning_clocks[16];

void meaning_declare_trace(GString *out, unsigned host, const struct meaning_clock *clock);

uint32_t meaning_hash(const char *text);

#endif
