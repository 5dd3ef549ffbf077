/* SPDX-License-Identifier: MIT */
/* What the files of the reader of perf.data share. perf_file.c finds the parts of the file and goes
 * through all records once, when it is opened; perf_attrs.c and perf_header.c know what header and
 * samples say, perf_classes.c makes classes of them, perf_index.c remembers which parts of the file
 * belong to which CPU, and perf_stream.c reads the events of one CPU in order of time. */
#ifndef LULL_SOURCE_PERF_H
#define LULL_SOURCE_PERF_H

#include "base/clock.h"
#include "base/report.h"
#include "ctf/stream/bytes.h"
#include "source/format/format.h"

/* perf_event_attr.sample_type, as linux/perf_event.h numbers its bits. */
enum perf_sample_bit {
    PERF_HAS_IP = 1 << 0,
    PERF_HAS_TID = 1 << 1,
    PERF_HAS_TIME = 1 << 2,
    PERF_HAS_ADDR = 1 << 3,
    PERF_HAS_READ = 1 << 4,
    PERF_HAS_CALLCHAIN = 1 << 5,
    PERF_HAS_ID = 1 << 6,
    PERF_HAS_CPU = 1 << 7,
    PERF_HAS_PERIOD = 1 << 8,
    PERF_HAS_STREAM_ID = 1 << 9,
    PERF_HAS_RAW = 1 << 10,
    PERF_HAS_BRANCH_STACK = 1 << 11,
    PERF_HAS_REGS_USER = 1 << 12,
    PERF_HAS_STACK_USER = 1 << 13,
    PERF_HAS_WEIGHT = 1 << 14,
    PERF_HAS_DATA_SRC = 1 << 15,
    PERF_HAS_IDENTIFIER = 1 << 16,
    PERF_HAS_TRANSACTION = 1 << 17,
    PERF_HAS_REGS_INTR = 1 << 18,
    PERF_HAS_PHYS_ADDR = 1 << 19,
    PERF_HAS_AUX = 1 << 20,
    PERF_HAS_CGROUP = 1 << 21,
    PERF_HAS_DATA_PAGE_SIZE = 1 << 22,
    PERF_HAS_CODE_PAGE_SIZE = 1 << 23,
    PERF_HAS_WEIGHT_STRUCT = 1 << 24,
};
/* What follows the raw data. */
#define PERF_HAS_MORE                                                                              \
    (PERF_HAS_BRANCH_STACK | PERF_HAS_REGS_USER | PERF_HAS_STACK_USER | PERF_HAS_WEIGHT |          \
     PERF_HAS_DATA_SRC | PERF_HAS_TRANSACTION | PERF_HAS_REGS_INTR | PERF_HAS_PHYS_ADDR |          \
     PERF_HAS_AUX | PERF_HAS_CGROUP | PERF_HAS_DATA_PAGE_SIZE | PERF_HAS_CODE_PAGE_SIZE |          \
     PERF_HAS_WEIGHT_STRUCT)

enum perf_record {
    PERF_MMAP = 1,
    PERF_LOST = 2,
    PERF_COMM = 3,
    PERF_EXIT = 4,
    PERF_THROTTLE = 5,
    PERF_UNTHROTTLE = 6,
    PERF_FORK = 7,
    PERF_SAMPLE = 9,
    PERF_MMAP2 = 10,
    PERF_LOST_SAMPLES = 13,
    PERF_SWITCH = 14,
    PERF_SWITCH_CPU_WIDE = 15,
    PERF_KERNEL_RECORDS = 64, /* below it: with the trailer of sample_id_all */
    PERF_HEADER_ATTR = 64,
    PERF_TRACING_DATA = 66,
    PERF_HEADER_BUILD_ID = 67,
    PERF_ID_INDEX = 69,
    PERF_AUXTRACE = 71,
    PERF_EVENT_UPDATE = 78,
    PERF_HEADER_FEATURE = 80,
    PERF_COMPRESSED = 81,
    PERF_COMPRESSED2 = 83,
};

enum perf_feature {
    PERF_FEATURE_TRACING_DATA = 1,
    PERF_FEATURE_BUILD_ID = 2,
    PERF_FEATURE_HOSTNAME = 3,
    PERF_FEATURE_OSRELEASE = 4,
    PERF_FEATURE_VERSION = 5,
    PERF_FEATURE_ARCH = 6,
    PERF_FEATURE_EVENT_DESC = 12,
    PERF_FEATURE_DIR_FORMAT = 24,
    PERF_FEATURE_CLOCK_DATA = 29,
};

enum perf_type {
    PERF_TYPE_HARDWARE,
    PERF_TYPE_SOFTWARE,
    PERF_TYPE_TRACEPOINT,
    PERF_TYPE_CACHE,
    PERF_TYPE_RAW,
    PERF_TYPE_BREAKPOINT,
};

/* Where an event is not counted. */
enum perf_exclude {
    PERF_NO_USER = 1,
    PERF_NO_KERNEL = 2,
    PERF_NO_HYPERVISOR = 4,
    PERF_NO_HOST = 8,
    PERF_NO_GUEST = 16,
};

/* One event that perf was to record. */
struct perf_attr {
    uint32_t index, type;
    uint64_t config, sample_type, read_format, branch_type;
    uint64_t period;    /* or frequency; 0: it has no samples, it is read with those of others */
    uint64_t regs_user; /* which registers of a program samples have */
    uint32_t n_regs_intr;
    bool has_trailer; /* sample_id_all */
    bool is_inherited;
    uint8_t counter;  /* its place among perf_sample.counters, or PERF_NO_COUNTER */
    uint8_t excludes; /* enum perf_exclude */
    uint8_t precision;
    uint32_t bp_type; /* of a breakpoint */
    uint64_t bp_addr;
    int32_t clock; /* or -1: perf's own */
    char *name;    /* or NULL */
    /* Where a sample has what, in bytes from its start; 0: it has not, or not at a fixed offset. */
    uint32_t time_at, cpu_at, raw_at;
    uint32_t fixed_size; /* of what comes before the first part of variable size */
    bool is_plain;       /* nothing but `fixed_size` and the raw data, if any, need be looked at */
    uint32_t trailer_size, trailer_time, trailer_cpu; /* from the trailer's start, or UINT32_MAX */
    struct lull_format *format;                       /* its class */
    uint32_t slot;
    uint64_t n_damaged, n_timeless;
};

/* So many counters of a file are read. */
#define PERF_MOST_COUNTERS 32u
#define PERF_NO_COUNTER UINT8_MAX

/* A counter whose value comes with samples. */
struct perf_counter {
    char *name;  /* of its field: "perf_cpu_task_clock" */
    size_t size; /* of the memory of the name */
};

/* Whose doing a counter counts. */
enum perf_scope {
    PERF_SCOPE_CPU,       /* what happens on a CPU */
    PERF_SCOPE_THREAD,    /* what a thread does */
    PERF_SCOPE_THREAD_CPU /* what a thread does on a CPU: there is a counter for each */
};

/* What a record says besides its raw data, in this machine's byte order; absent fields are 0. */
struct perf_sample {
    uint64_t ip, time, addr, id, stream_id, period, weight, data_src, transaction, phys_addr,
        cgroup, data_page_size, code_page_size;
    int32_t pid, tid;
    int32_t cpu; /* or -1 */
    const uint8_t *raw_data;
    uint32_t raw_size;
    /* For events of perf's own records, as their class names them. */
    int64_t numbers[8];
    struct lull_text callchain, raw, text;
    /* Registers of the program (their ABI, and those of the mask), and the top of its stack. */
    struct lull_text user_regs, user_stack;
    /* If the file has counters. Stays last: it is cleared only then. */
    struct perf_reading {
        uint64_t time_enabled, time_running;   /* ns for which the counters should, and did count */
        uint64_t lost_samples;                 /* of this event, since it was opened */
        uint64_t counters[PERF_MOST_COUNTERS]; /* UINT64_MAX: not read */
    } reading;
};

/* What is known of the machine and the recording. */
struct perf_machine {
    char *hostname, *release, *version, *architecture;
    bool has_clock;
    int32_t clock;
    uint64_t wall_ns, clock_ns; /* the same moment on the wall and on that clock */
};

/* ids of samples to attrs: open addressing. */
struct perf_ids {
    struct perf_id {
        uint64_t id;
        struct perf_attr *attr; /* NULL: free */
    } *table;
    uint32_t n, mask;
};

/* Part of the records, with all records of a CPU that lie there, and perhaps those of others. */
struct perf_extent {
    uint64_t offset;
    uint64_t later; /* no record of the CPU from here on has an earlier time */
    uint64_t last;  /* the latest time here */
    uint32_t size;
    bool is_sorted; /* times of the CPU's records do not go back here */
};

/* What the first pass finds of one CPU. */
struct perf_cpu {
    int32_t cpu;      /* -1: records that do not say theirs */
    bool is_state;    /* perf's own record of the time before it started; those have no time */
    GArray *extents;  /* struct perf_extent */
    uint64_t *totals; /* events by slot */
    uint32_t n_totals;
    uint64_t n_events, n_bytes;
    uint64_t first, last; /* times; first > last: none */
    uint64_t lost;        /* the time of the last loss */
    uint32_t number;      /* of its stream */
};

/* Slots number classes before these are known: perf's own records come first, then attrs. */
#define PERF_OWN_SLOTS 16u

struct perf_file {
    const char *path;
    const struct lull_report *report;
    struct lull_bytes *bytes;
    uint64_t size;
    bool is_big_endian, is_pipe;
    bool is_split;    /* its records are in further files */
    bool is_cut;      /* it ends before its header says, which was reported */
    GPtrArray *attrs; /* struct perf_attr */
    struct perf_ids ids;
    int id_at, id_from_end;       /* in samples; before the end of trailers; -1: nowhere */
    bool is_settled;              /* its events are known: nothing more is added */
    GBytes *tracing;              /* formats of events, until they are read; or NULL */
    struct lull_formats *formats; /* after it is settled */
    GPtrArray *slots;             /* struct lull_format or NULL, by slot */
    uint32_t left_out;            /* own slots (bits) whose meaning a recorded tracepoint has */
    struct perf_counter counters[PERF_MOST_COUNTERS];
    uint32_t n_counters;
    enum perf_scope scope; /* of all counters: perf opens its events for the same target */
    bool knows_scope;      /* the file says so; else it is concluded */
    struct perf_machine machine;
    GHashTable *build_ids; /* path → build-id in hexadecimal digits; "": there were several */
    /* What the first pass finds. */
    struct lull_bytes *records; /* where the records are: the file, or what it unpacks to */
    int spool;                  /* descriptor of that, or -1 */
    GPtrArray *cpus;            /* struct perf_cpu; sorted in the end */
    struct perf_cpu **by_cpu;   /* by CPU + 1 */
    uint32_t n_by_cpu;
    struct perf_cpu *state;
    uint64_t gap; /* bytes of other records that an extent may hold between two of its own */
    uint32_t n_extents;
    GArray *losses;        /* struct perf_loss */
    uint64_t start, end;   /* of the first and the last event with a time; start > end: none */
    uint64_t n_lost;       /* reported where it was lost */
    uint64_t n_lost_total; /* as perf counted in the end */
    uint64_t n_unknown;
    bool has_reported_damage[PERF_KERNEL_RECORDS + 64]; /* by type */
};

struct perf_loss {
    struct perf_cpu *cpu;
    uint64_t start, end, events;
};

static inline uint16_t perf_u16(const struct perf_file *file, const uint8_t *p)
{
    return lull_load_u16(p, file->is_big_endian);
}

static inline uint32_t perf_u32(const struct perf_file *file, const uint8_t *p)
{
    return lull_load_u32(p, file->is_big_endian);
}

static inline uint64_t perf_u64(const struct perf_file *file, const uint8_t *p)
{
    return lull_load_u64(p, file->is_big_endian);
}

/* ---- perf_file.c ---- */

/* Opens the file; `bytes` are taken, also on failure. NULL and an error if nothing can be read. */
struct perf_file *perf_file_open(const char *path, struct lull_bytes *bytes, uint64_t size,
                                 const struct lull_report *report, GError **error);
void perf_file_free(struct perf_file *file);
/* `size` bytes at `offset` of `bytes`, which are open; false if they are not there. */
bool perf_bytes_read(struct lull_bytes *bytes, uint64_t offset, void *to, uint64_t size);
/* The bytes that follow a record without being counted in its size. */
uint64_t perf_size_behind(const struct perf_file *file, const uint8_t *record, uint32_t size);

/* ---- perf_scan.c ---- */

/* The first pass over the records, which lie in `size` bytes at `offset` of the file. False and an
 * error if what is unpacked cannot be kept. */
bool perf_scan(struct perf_file *file, uint64_t offset, uint64_t size, GError **error);

/* ---- build_ids.c ---- */

/* Whether a record of type PERF_MMAP2 has a build-id in the place of the inode. */
static inline bool perf_is_build_id_map(const struct perf_file *file, const uint8_t *record)
{
    return perf_u32(file, record) == PERF_MMAP2 && (perf_u16(file, record + 4) & 1u << 14) != 0;
}

/* Takes in records of perf's header; false: they are damaged. */
bool perf_build_ids_take(struct perf_file *file, const uint8_t *data, uint64_t size);
/* A record of the kernel. */
void perf_build_ids_map(struct perf_file *file, const uint8_t *record, uint32_t size);

/* ---- perf_attrs.c ---- */

/* Takes one in, of `size` bytes; NULL if it is none. */
struct perf_attr *perf_attr_add(struct perf_file *file, const uint8_t *data, uint32_t size);
void perf_attr_free(gpointer attr);
/* The name of an event that the file does not describe; NULL: it has none. */
char *perf_attr_name(const struct perf_attr *attr);
void perf_attr_own_id(struct perf_file *file, struct perf_attr *attr, uint64_t id);
struct perf_attr *perf_attr_by_id(const struct perf_file *file, uint64_t id);
/* When all are there. */
void perf_attrs_settle(struct perf_file *file);
/* Takes a sample apart. False if it is shorter than it says. */
bool perf_sample_parse(const struct perf_file *file, const struct perf_attr *attr,
                       const uint8_t *record, uint32_t size, struct perf_sample *sample);
/* The trailer that other records have; nothing is set if there is none. */
void perf_trailer_parse(const struct perf_file *file, const struct perf_attr *attr,
                        const uint8_t *record, uint32_t size, struct perf_sample *sample);

/* ---- reads.c ---- */

enum perf_read_format {
    PERF_READ_ENABLED = 1,
    PERF_READ_RUNNING = 2,
    PERF_READ_ID = 4,
    PERF_READ_GROUP = 8,
    PERF_READ_LOST = 16
};

/* When all attrs have names: says which of them are counters. */
void perf_counters_settle(struct perf_file *file);
/* A PERF_ID_INDEX of `size` bytes, which says what the counters belong to; false: it is damaged. */
bool perf_counters_take_index(struct perf_file *file, const uint8_t *record, uint32_t size);
/* After the first pass: gives the counters the names of what they belong to. */
void perf_counters_finish(struct perf_file *file);
void perf_counters_free(struct perf_file *file);
/* Appends the fields (struct lull_format_field) that reads with samples of these attrs have:
 * is_of says of each attr whether it is one of them. */
void perf_counters_add_fields(const struct perf_file *file, const bool *is_of, GArray *fields);
/* For a sample that reads no counters. */
void perf_read_nothing(const struct perf_file *file, struct perf_reading *reading);
/* What is read with a sample, of which `from` has `size` bytes, more than it needs or not. The bytes
 * that it takes; UINT64_MAX: more than there are. */
uint64_t perf_read_take(const struct perf_file *file, const struct perf_attr *attr,
                        const uint8_t *from, uint64_t size, struct perf_reading *reading);

/* ---- perf_header.c ---- */

/* What a feature's section says; what cannot be read is left out, and reported. */
void perf_feature_take(struct perf_file *file, uint64_t feature, const uint8_t *data,
                       uint64_t size);
/* The formats of the events that are among the attrs, from file->tracing. */
void perf_tracing_read(struct perf_file *file);
void perf_machine_clear(struct perf_machine *machine);

/* ---- perf_classes.c ---- */

/* When it is known which events there are: makes classes of the attrs. */
void perf_classes_settle(struct perf_file *file);
/* After the first pass: classes of perf's own records, of the slots that have events. */
void perf_classes_finish(struct perf_file *file, const struct lull_source *source);
/* Fields that the source knows of samples of a class, for lull_formats_add(); those of all attrs
 * with this type and config. Free with g_array_unref(). */
GArray *perf_aside_of(const struct perf_file *file, uint32_t type, uint64_t config);
/* The slot of a record that is no sample, or -1; `is_made_up`: it has no time. */
int32_t perf_own_slot(const struct perf_file *file, uint32_t type, uint16_t misc, bool is_made_up);
/* The bytes that a record of the slot has at least, without its trailer. */
uint32_t perf_own_least(uint32_t slot);
/* Fills numbers and text of such a record; `size` is without the trailer. */
void perf_own_parse(const struct perf_file *file, uint32_t slot, const uint8_t *record,
                    uint32_t size, struct perf_sample *sample);

/* ---- perf_index.c ---- */

/* Extents become one at this distance, at first. */
#define PERF_LEAST_GAP UINT64_C(512)

/* What is found of a CPU, -1: none; `is_state`: of the state at the start. */
struct perf_cpu *perf_cpu_get(struct perf_file *file, int32_t cpu, bool is_state);
/* Notes an event. */
void perf_cpu_add(struct perf_file *file, struct perf_cpu *cpu, uint32_t slot, uint64_t offset,
                  uint32_t size, uint64_t time);
/* When all are noted: puts them in order, and numbers them. */
void perf_index_finish(struct perf_file *file);
void perf_cpu_free(gpointer cpu);

/* ---- which event a record is ---- */

/* No clock comes near in a century, and sums of two such times do not overflow. */
#define PERF_LAST_TIME ((uint64_t)LULL_TIME_MAX)

/* What is known of a record without taking it apart. */
struct perf_head {
    const struct perf_attr *attr;
    uint64_t time; /* 0: it has none */
    int32_t cpu;   /* or -1 */
    uint32_t slot;
};

enum perf_verdict { PERF_EVENT, PERF_NO_EVENT, PERF_UNKNOWN, PERF_DAMAGED, PERF_TIMELESS };

/* For all but plain samples, see below. */
enum perf_verdict perf_judge_slowly(const struct perf_file *file, const uint8_t *record,
                                    uint32_t size, struct perf_head *head);

/* Whether a sample has what its parts and its class need. */
bool perf_sample_is_whole(const struct perf_file *file, const struct perf_attr *attr,
                          const uint8_t *record, uint32_t size);

static inline struct perf_attr *perf_ids_find(const struct perf_ids *ids, uint64_t id)
{
    if (ids->n == 0) {
        return NULL;
    }
    uint32_t at = (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & ids->mask;
    while (ids->table[at].attr && ids->table[at].id != id) {
        at = (at + 1) & ids->mask;
    }
    return ids->table[at].attr;
}

/* Whether the record of `size` ≥ 8 bytes is an event, and which. */
static inline __attribute__((always_inline)) enum perf_verdict
perf_judge(const struct perf_file *file, bool be, const uint8_t *record, uint32_t size,
           struct perf_head *head)
{
    const struct perf_attr *attr;
    if (lull_load_u32(record, be) != PERF_SAMPLE) {
        return perf_judge_slowly(file, record, size, head);
    }
    if (file->id_at < 0) {
        attr = file->attrs->len == 1 ? file->attrs->pdata[0] : NULL;
    } else {
        if (G_UNLIKELY(size < (uint32_t)file->id_at + 8)) {
            return PERF_UNKNOWN;
        }
        attr = perf_ids_find(&file->ids, lull_load_u64(record + file->id_at, be));
    }
    head->attr = attr;
    if (G_UNLIKELY(!attr)) {
        return PERF_UNKNOWN;
    }
    if (G_UNLIKELY(!attr->is_plain || size < attr->fixed_size)) {
        if (!perf_sample_is_whole(file, attr, record, size)) {
            return PERF_DAMAGED;
        }
    } else if (attr->raw_at != 0) {
        uint32_t raw = lull_load_u32(record + attr->raw_at, be);
        if (G_UNLIKELY(raw > size - attr->raw_at - 4 || raw < attr->format->least_size)) {
            return PERF_DAMAGED;
        }
    }
    if (G_UNLIKELY(attr->time_at == 0)) {
        return PERF_TIMELESS;
    }
    head->time = lull_load_u64(record + attr->time_at, be);
    if (G_UNLIKELY(head->time > PERF_LAST_TIME)) {
        return PERF_DAMAGED;
    }
    head->cpu = -1;
    if (attr->cpu_at != 0) {
        uint32_t cpu = lull_load_u32(record + attr->cpu_at, be);
        head->cpu = cpu <= UINT16_MAX ? (int32_t)cpu : -1;
    }
    head->slot = attr->slot;
    return PERF_EVENT;
}

#endif
