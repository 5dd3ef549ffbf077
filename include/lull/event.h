/* SPDX-License-Identifier: MIT */
/* One event as a session hands it out, and how to get at its fields. An event is borrowed: it and
 * all that it points to are valid until the next call of lull_session_next() on the same session.
 */
#ifndef LULL_EVENT_H
#define LULL_EVENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

/** A class of events of one trace, such as sched_switch; lives as long as its session. */
struct lull_event_class;

/** Name of the class as the trace spells it. */
const char *lull_event_class_name(const struct lull_event_class *event_class);

/** Number of the class within its session: dense, from 0, in the order of
 * lull_session_each_class(). */
uint32_t lull_event_class_number(const struct lull_event_class *event_class);

/** Log level of the class as the metadata gives it (LTTng: 0 emergency … 14 debug), or -1. */
int64_t lull_event_class_log_level(const struct lull_event_class *event_class);

/** URI of the class's model (the attribute model.emf.uri), or NULL. */
const char *lull_event_class_model_uri(const struct lull_event_class *event_class);

/** One event. Times are nanoseconds since the Unix epoch on the joined clock of the session. */
struct lull_event {
    int64_t time_ns;       /**< from -(2^62 - 1) to 2^62 - 1, the years 1824 to 2115: an event whose
                                time lies outside is damage, and left out */
    uint32_t host;         /**< index for lull_session_host() */
    uint32_t trace;        /**< index for lull_session_trace() */
    uint32_t stream;       /**< number of the stream within the session, in a stable order */
    int32_t cpu;           /**< CPU, or -1 if the stream is not bound to one */
    uint32_t subscription; /**< what lull_session_subscribe() returned for it */
    const struct lull_event_class *event_class;
    const void
        *fields;      /**< the subscription's fields, laid out by its bindings; see lull_binding */
    const void *impl; /**< private to the reader */
};

/** How a bound field is stored at its offset from lull_event.fields. */
enum lull_bind_kind {
    LULL_BIND_INT,  /**< int64_t: the integer, sign- or zero-extended; 0 or 1 for a boolean */
    LULL_BIND_TEXT, /**< struct lull_text: a string or character array, up to the first NUL; UTF-16
                         and UTF-32 are converted to UTF-8 */
    LULL_BIND_RAW, /**< struct lull_text: the bytes of an array or sequence as they are in the trace
                        (blobs, arrays of byte-aligned integers of 8, 16, 32 or 64 bits,
                        texts, sequences of structures of the same whole bytes each) */
    LULL_BIND_REAL, /**< double: a floating-point number */
};

/** Bytes inside the trace; not NUL-terminated. The struct never changes. */
struct lull_text {
    const char *data;
    uint32_t length;
};

/** Subscription to one field. The memory at lull_event.fields starts with a uint64_t: bit i is set
 *  if binding i is present in this event (a variant or an optional field may leave it out); absent
 *  ones hold 0 or empty. */
struct lull_binding {
    /** Alternatives, the first that exists in the event class is taken; ends with NULL. A path is
     *  member names joined by dots, through structures and variant options
     *  ("network_header.ipv4.saddr"). It is looked up in the payload, as with "payload." in
     *  front; "context." in front looks in the event's contexts ("context.tid"). */
    const char *const *paths;
    enum lull_bind_kind kind;
    uint32_t offset; /**< bytes from lull_event.fields, a multiple of 8, >= 8 */
};

/** What a field holds. */
enum lull_info_kind {
    LULL_INFO_INT,   /**< integer; LULL_BIND_INT */
    LULL_INFO_ENUM,  /**< integer whose values have labels; LULL_BIND_INT */
    LULL_INFO_REAL,  /**< LULL_BIND_REAL */
    LULL_INFO_TEXT,  /**< string or array of characters; LULL_BIND_TEXT */
    LULL_INFO_BYTES, /**< array or sequence of integers that LULL_BIND_RAW gives */
    LULL_INFO_ARRAY, /**< any other array or sequence: cannot be bound, lull_event_visit() shows it
                      */
};

/** One field of an event class. Structures and variants are not fields of their own: their parts
 * are, with dotted paths. */
struct lull_field_info {
    const char *path; /**< as lull_binding takes it, "context." in front for contexts */
    enum lull_info_kind kind;
    bool is_optional; /**< part of a variant or optional: an event may lack it */
    bool is_signed;   /**< of an integer or the elements of LULL_INFO_BYTES, as the following */
    bool is_big_endian;
    uint8_t size_bits; /**< also of a real; 0 for texts and LULL_INFO_ARRAY */
    uint64_t length;   /**< of an array or text of fixed length: elements or bytes; else 0 */
};

/** Calls `visit` for each field that events of the class can have, contexts first, in the order of
 *  the trace; what it is given is valid during the call. Members that no path can name, without
 * a name or with a dot in it, are left out. */
void lull_event_class_each_field(const struct lull_event_class *event_class,
                                 void (*visit)(void *user, const struct lull_field_info *field),
                                 void *user);

/** Kinds of things that a visitor receives. */
enum lull_visit_kind {
    LULL_VISIT_SCOPE, /**< begins the fields of one scope; name is "context" or "payload"; with
                         LULL_VISIT_SPLIT_CONTEXTS also "common context"; "packet" for
                         lull_event_visit_packet() */
    LULL_VISIT_STRUCT,
    LULL_VISIT_ARRAY, /**< also sequences */
    LULL_VISIT_VARIANT,
};

/** An integer value with what is known for showing it. */
struct lull_visit_int {
    uint64_t bits; /**< two's complement if is_signed */
    bool is_signed;
    uint8_t base;      /**< 2, 8, 10 or 16 */
    uint8_t size_bits; /**< 1..64 */
    const char *label; /**< first label of the value of an enumeration, or NULL */
    bool is_enum;
    bool is_boolean; /**< bits is 0 or 1 */
    bool is_bits;    /**< a row of bits, not a number */
    bool is_flags;   /**< the same, and its bits have names */
    /** All labels of the value of an enumeration, or the names of the flags that are set, in the
     *  order of their declaration; at most LULL_VISIT_LABELS. Valid during the callback. */
    const char *const *labels;
    uint32_t n_labels;
};

/** What a visitor wants otherwise than usual; zero or more of them or'ed. */
enum lull_visit_flags {
    LULL_VISIT_SPLIT_CONTEXTS = 1 << 0, /**< the context that all events of a stream have is a scope
                                             of its own, "common context", before "context" */
    LULL_VISIT_NO_CLOCKS = 1 << 1,      /**< without integers that count a clock of the trace (the
                                             length or tag of another field excepted), and without
                                             structures and scopes made of nothing else */
};

/** Most labels that a visitor receives for a value. */
#define LULL_VISIT_LABELS 64

/** Callbacks for walking all fields of an event in order; `blob` may be NULL, the others not. `name`
 *  is NULL for array elements. An optional field that is not there is left out. Texts are UTF-8 if
 *  their encoding is UTF-16 or UTF-32, else the bytes of the trace, which should be UTF-8. */
struct lull_visitor {
    void (*start)(void *user, const char *name, enum lull_visit_kind kind);
    void (*end)(void *user, enum lull_visit_kind kind);
    void (*integer)(void *user, const char *name, const struct lull_visit_int *value);
    void (*real)(void *user, const char *name, double value);
    void (*text)(void *user, const char *name, struct lull_text value);
    /** Bytes that are neither text nor numbers; `media_type` is an IANA media type or NULL. Without
     *  this callback they are reported as an array of integers. */
    void (*blob)(void *user, const char *name, struct lull_text bytes, const char *media_type);
    uint32_t flags; /**< enum lull_visit_flags */
};

/** Walks contexts and payload of `event` in the order of the trace. False with an error if the
 *  event's bytes are damaged; what came before has been visited. `size` is that of struct
 *  lull_visitor as the caller knows it. */
bool lull_event_visit_sized(const struct lull_event *event, const struct lull_visitor *visitor,
                            size_t size, void *user, GError **error);
static inline bool lull_event_visit(const struct lull_event *event,
                                    const struct lull_visitor *visitor, void *user, GError **error)
{
    return lull_event_visit_sized(event, visitor, sizeof *visitor, user, error);
}

/** Walks what the tracer records of the packet that `event` lies in, such as its CPU, as the scope
 *  "packet": the fields of the packet's context but for those that describe the packet itself (its
 *  sizes and times, its number, the count of events discarded). Nothing is visited if there are
 *  none. False with an error if they cannot be read. */
bool lull_event_visit_packet_sized(const struct lull_event *event,
                                   const struct lull_visitor *visitor, size_t size, void *user,
                                   GError **error);
static inline bool lull_event_visit_packet(const struct lull_event *event,
                                           const struct lull_visitor *visitor, void *user,
                                           GError **error)
{
    return lull_event_visit_packet_sized(event, visitor, sizeof *visitor, user, error);
}

/** The value of the trace's clock when `event` happened, in its cycles, as the tracer wrote it.
 * False if the event has no time. */
bool lull_event_cycles(const struct lull_event *event, uint64_t *cycles);

/** Value of one field. */
struct lull_field_value {
    enum lull_info_kind kind; /**< LULL_INFO_INT, _ENUM, _REAL or _TEXT */
    double real;
    struct lull_text text;         /**< borrowed as the event is */
    struct lull_visit_int integer; /**< if INT or ENUM; has its `label`, but no `labels`. Stays the
                                        last member, so that it may grow */
};

/** Looks up one field that is a number or a text by its path, written as in lull_binding. This
 * walks the event: what is wanted of many events is bound by a subscription instead. Returns 1 with
 * *value filled; 0 if the event has no such field; -1 with an error if its bytes are damaged before
 * the field is found. `size` is that of *value as the caller knows it. */
int lull_event_field_sized(const struct lull_event *event, const char *path,
                           struct lull_field_value *value, size_t size, GError **error);
static inline int lull_event_field(const struct lull_event *event, const char *path,
                                   struct lull_field_value *value, GError **error)
{
    return lull_event_field_sized(event, path, value, sizeof *value, error);
}

G_END_DECLS

#endif
