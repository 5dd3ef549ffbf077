/* SPDX-License-Identifier: MIT */
/* Test only: writes CTF 1.8 traces with the shape of LTTng's. One field table for each event class
 * gives both the metadata text and the bytes, so they cannot disagree; the reference for both is
 * babeltrace2 (tests/lib/test_ctf_writer.c). Wrong use of this library aborts the test. */
#ifndef CTF_WRITER_H
#define CTF_WRITER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum ctf_kind {
    CTF_END, /* closes a table */
    CTF_INT,
    CTF_FLOAT,
    CTF_STRING,
    CTF_STRUCT,
    CTF_ARRAY,
    CTF_SEQUENCE,
    CTF_VARIANT,
};

enum ctf_order { CTF_NATIVE, CTF_LITTLE, CTF_BIG };

/* A label of an enumeration; a table ends with NULL. */
struct ctf_label {
    const char *label;
    int64_t lower, upper;
};

struct ctf_field {
    enum ctf_kind kind;
    const char *name; /* without the leading underscore of the metadata */
    unsigned size;    /* INT: 1..64 bits; FLOAT: 32 or 64 */
    unsigned align;   /* bits; 0: 8 (or the size, with natural_align) for whole bytes, else 1 */
    bool is_signed;
    unsigned base; /* 0: 10 */
    bool is_text;  /* INT: encoding = UTF8 */
    enum ctf_order order;
    const struct ctf_label *labels; /* INT: makes it an enumeration */
    const struct ctf_field
        *members;          /* STRUCT, VARIANT; ARRAY, SEQUENCE: members[0] is the element */
    unsigned length;       /* ARRAY */
    const char *reference; /* SEQUENCE: name of the length; VARIANT: of the tag; a field before it
                              in the same structure, filled in unless the values name it */
};

/* Shorthands for field tables. */
#define CTF_I(bits, n) {.kind = CTF_INT, .name = n, .size = bits, .is_signed = true}
#define CTF_U(bits, n) {.kind = CTF_INT, .name = n, .size = bits}
#define CTF_X(bits, n) {.kind = CTF_INT, .name = n, .size = bits, .base = 16}
#define CTF_TEXT(n, l) {.kind = CTF_ARRAY, .name = n, .length = l, .members = ctf_char}
#define CTF_STR(n) {.kind = CTF_STRING, .name = n}
#define CTF_DONE {.kind = CTF_END}
extern const struct ctf_field ctf_char[];

struct ctf_class {
    const char *name;
    const struct ctf_field *fields;  /* NULL: no payload */
    const struct ctf_field *context; /* NULL: no context of its own */
};

/* The events of the LTTng 2.13 kernel tracer that matter for waiting; ends with a NULL name. */
extern const struct ctf_class ctf_kernel_classes[];

enum ctf_context { CTF_PID = 1, CTF_TID = 2, CTF_PROCNAME = 4 };

struct ctf_options {
    bool big_endian, large_header, natural_align;
    bool plain_metadata; /* text, not packets */
    bool no_index, no_clock_uuid, no_trace_uuid;
    unsigned contexts;    /* bits of enum ctf_context */
    const char *hostname; /* NULL: "host" */
    unsigned tracer[3];   /* version of LTTng; 0.0.0: 2.13.9 */
    uint8_t seed;         /* makes UUIDs differ */
    uint64_t frequency;   /* Hz; 0: 1e9 */
    int64_t offset_s;     /* of the clock's origin from the epoch */
    uint64_t offset_cycles;
    unsigned packet_bytes;   /* 0: 4096; a bigger event makes a bigger packet */
    bool no_kernel_classes;  /* begin with no event class */
    const char *const *omit; /* kernel classes left out; "syscall_*" stands for a beginning */
};

struct ctf_writer;

/* Creates directory `dir` (and its parents) and begins a trace in it. */
struct ctf_writer *ctf_writer_new(const char *dir, const struct ctf_options *options);
/* Writes what is left, the indexes and the metadata, and frees. */
void ctf_writer_close(struct ctf_writer *writer);

/* Declares one more class in the current channel. The tables are borrowed until close. */
void ctf_writer_class(struct ctf_writer *writer, const struct ctf_class *event_class);
bool ctf_writer_has(const struct ctf_writer *writer, const char *name);
/* Begins a second, third, … channel (a stream class with its own event classes and files) with
 * other header and contexts; events go to it until the next ctf_writer_use(). Returns its number.
 */
unsigned ctf_writer_channel(struct ctf_writer *writer, bool large_header, unsigned contexts);
void ctf_writer_use(struct ctf_writer *writer, unsigned channel);

/* What the contexts of the next events of a CPU say. */
void ctf_writer_current(struct ctf_writer *writer, unsigned cpu, int pid, int tid,
                        const char *comm);

/* Writes one event; times (ns since the epoch) of a CPU must not decrease. `format` (printf) gives
 * the values by name, in any order: "tid=7 comm=\"a b\" vtids=[1 2] pos={x=1 y=2.5}"; what is not
 * named is zero or empty. A variant is given as its option: "v={opt={a=1}}". Members of the class's
 * own context are named "context={…}". */
void ctf_event(struct ctf_writer *writer, unsigned cpu, int64_t time_ns, const char *name,
               const char *format, ...) G_GNUC_PRINTF(5, 6);

/* Ends the CPU's packet now, in the current channel; no effect if it is empty. */
void ctf_writer_end_packet(struct ctf_writer *writer, unsigned cpu);
/* Says that events, or whole packets, were lost before the next event of the CPU. */
void ctf_writer_lose(struct ctf_writer *writer, unsigned cpu, unsigned events, unsigned packets);
/* Ends the CPU's packet at a time, and says that so many events were lost since its last one, as LTTng does. */
void ctf_writer_discard(struct ctf_writer *writer, unsigned cpu, unsigned events, int64_t time_ns);
/* Writes a packet without events over begin <= t <= end. */
void ctf_writer_empty_packet(struct ctf_writer *writer, unsigned cpu, int64_t start_ns,
                             int64_t end_ns);

#endif
