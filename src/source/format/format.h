/* SPDX-License-Identifier: MIT */
/* Events as the kernel itself lays them out, in ftrace's ring buffers and perf's samples: each
 * class is described by a text, the tracepoint's `format` file. Here such a text becomes a class
 * with fields, and what a subscription wants of it a short list of loads. Sources differ in where
 * records come from; what a record holds is the same. */
#ifndef LULL_SOURCE_FORMAT_H
#define LULL_SOURCE_FORMAT_H

#include <lull/error.h>

#include "base/bits.h"
#include "source/source.h"

/* One field. Positions are bytes from the start of the record, or of what a source keeps aside. */
struct lull_format_field {
    const char *name;
    enum lull_info_kind kind; /* INT, TEXT or BYTES */
    uint32_t offset;
    uint32_t size;         /* 0: an array that goes on to the end of the record. If is_dynamic: of
                              the word that says where the bytes are */
    uint8_t element_bytes; /* 1, 2, 4, 8: of an integer or of the elements of BYTES; TEXT: 1 */
    bool is_signed;
    bool is_address;  /* shown in hexadecimal */
    bool is_context;  /* common to all classes of the trace */
    bool is_dynamic;  /* the low half of a word of 32 bits says where the bytes are, the high half
                         how many there are */
    bool is_relative; /* and that counts from the end of the word */
    bool is_aside;    /* not in the record: a number lies in record.aside in this machine's byte
                         order, any other as a struct lull_text */
    bool is_hidden;   /* for who subscribes to it by its name, not for people: memory */
};

/* A record, for the functions below. */
struct lull_format_record {
    const uint8_t *data;
    uint32_t size;
    const void *aside; /* what the source itself knows of the event, or NULL */
};

struct lull_format_load;

/* One class of events. */
struct lull_format {
    struct lull_event_class event_class;
    const char *system;
    int32_t id; /* as records have it, or -1 */
    bool is_big_endian;
    const struct lull_format_field *fields; /* contexts first */
    uint32_t n_fields;
    uint32_t n_hidden;   /* of those that are hidden, which come after the others */
    uint32_t least_size; /* a shorter record is damaged */
    /* Why its own fields are not known: its events have a name and contexts only. NULL: they are. */
    const char *undecoded;
    /* What is subscribed to. */
    int32_t subscription; /* or -1 */
    uint64_t have, extra_have;
    uint32_t extra_offset, clear_size; /* bytes that are cleared first */
    struct lull_format_load *loads;
    uint32_t n_loads;
};

/* The classes of one trace. */
struct lull_formats {
    bool is_big_endian;
    uint32_t id_offset; /* of the number of the class, 16 bits, in each record */
    GPtrArray *all;     /* struct lull_format, by index of the class */
    struct lull_format **by_id;
    struct lull_event_class **classes; /* after lull_formats_finish() */
    void *parser;                      /* struct tep_handle */
    GRegex *head, *field;              /* what a text may look like */
    GPtrArray *owned;
};

#define LULL_FORMAT_IDS 65536u

/* `long_bytes`: of the kernel's longs, 4 or 8. */
struct lull_formats *lull_formats_new(bool is_big_endian, uint32_t long_bytes);
void lull_formats_free(struct lull_formats *formats);
/* Adds the class that a `format` file describes. `aside` are fields that the source keeps aside for
 * it, contexts; they are copied, their names borrowed. A class whose name and number can be read,
 * but not its fields, is added as `undecoded`. False and an error if the text is none, or its number
 * is taken. */
bool lull_formats_add(struct lull_formats *formats, const char *system, const char *text,
                      size_t size, const struct lull_format_field *aside, uint32_t n_aside,
                      GError **error);
/* Adds a class without records, all of whose fields are aside; of them contexts come first. */
struct lull_format *lull_formats_declare(struct lull_formats *formats, const char *system,
                                         const char *name, const struct lull_format_field *fields,
                                         uint32_t n_fields);
/* When all are there: gives them names, "sched_switch", or "sched:sched_switch" where two systems
 * have one of the same name, and fills `classes`. */
void lull_formats_finish(struct lull_formats *formats, const struct lull_source *source);

/* The integer of 1, 2, 4 or 8 bytes at p. */
static inline uint64_t lull_format_integer(const uint8_t *p, uint8_t bytes, bool is_signed,
                                           bool is_big_endian)
{
    uint64_t v;
    switch (bytes) {
    case 1:
        v = p[0];
        break;
    case 2:
        v = lull_load_u16(p, is_big_endian);
        break;
    case 4:
        v = lull_load_u32(p, is_big_endian);
        break;
    default:
        return lull_load_u64(p, is_big_endian);
    }
    return is_signed ? lull_sign_extend(v, 8u * bytes) : v;
}

/* The class of a record, or NULL. The record is long enough for its number. */
static inline struct lull_format *lull_formats_find(const struct lull_formats *formats, uint16_t id)
{
    return formats->by_id[id];
}

/* For lull_source_ops.subscribe: all classes at once. */
void lull_formats_subscribe(struct lull_formats *formats,
                            const struct lull_subscription *subscriptions, const int32_t *of_class,
                            uint32_t max_fields_size, const struct lull_fields *const *extra);
/* Fills what lull_event.fields points to, for a class that is subscribed to. Bytes that a record
 * refers to outside of itself are empty. `record` is not shorter than least_size. */
void lull_format_load(const struct lull_format *format, const struct lull_format_record *record,
                      uint8_t *fields);

/* For lull_source_stream_ops.visit. The error does not say where: that is put in front of it. */
bool lull_format_visit(const struct lull_format *format, const struct lull_format_record *record,
                       const struct lull_visitor *visitor, void *user, GError **error);
/* Adds all fields of a record to *tally. */
void lull_format_sum(const struct lull_format *format, const struct lull_format_record *record,
                     struct lull_source_tally *tally);
/* For lull_source_stream_ops.layout; NULL if the class has fields that are not in the record or at
 * places of their own. */
struct lull_layout *lull_format_layout(const struct lull_format *format);

/* For lull_source_ops.each_field and describe. */
void lull_format_each_field(const struct lull_format *format,
                            void (*visit)(void *user, const struct lull_field_info *field),
                            void *user);
bool lull_format_describe(const struct lull_format *format, const char *path,
                          struct lull_field_type *type);

/* The field of a path, or NULL. */
const struct lull_format_field *lull_format_find_field(const struct lull_format *format,
                                                       const char *path);

/* The bytes of an array or text; empty with false if they are not in the record. */
bool lull_format_bytes(const struct lull_format *format, const struct lull_format_field *field,
                       const struct lull_format_record *record, struct lull_text *bytes);

#endif
