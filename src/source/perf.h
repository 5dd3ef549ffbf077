/* What the files of the reader of perf.data share. The file is read once, when it is opened:
 * perf_file.c finds its parts, perf_attrs.c and perf_header.c what they say, perf_records.c goes
 * through the records, perf_order.c puts them in order, perf_events.c writes them as events. */
#ifndef LULL_SOURCE_PERF_H
#define LULL_SOURCE_PERF_H

#include <lull/error.h>

#include "base/bits.h"
#include "base/report.h"
#include "source/format.h"
#include "source/spool.h"

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

enum perf_record {
    PERF_MMAP = 1,
    PERF_LOST = 2,
    PERF_COMM = 3,
    PERF_EXIT = 4,
    PERF_FORK = 7,
    PERF_SAMPLE = 9,
    PERF_MMAP2 = 10,
    PERF_LOST_SAMPLES = 13,
    PERF_SWITCH = 14,
    PERF_SWITCH_CPU_WIDE = 15,
    PERF_KERNEL_RECORDS = 64, /* below it: with the trailer of sample_id_all */
    PERF_HEADER_ATTR = 64,
    PERF_TRACING_DATA = 66,
    PERF_FINISHED_ROUND = 68,
    PERF_AUXTRACE = 71,
    PERF_EVENT_UPDATE = 78,
    PERF_HEADER_FEATURE = 80,
    PERF_COMPRESSED = 81,
    PERF_COMPRESSED2 = 83,
};

enum perf_feature {
    PERF_FEATURE_TRACING_DATA = 1,
    PERF_FEATURE_HOSTNAME = 3,
    PERF_FEATURE_OSRELEASE = 4,
    PERF_FEATURE_VERSION = 5,
    PERF_FEATURE_ARCH = 6,
    PERF_FEATURE_NRCPUS = 7,
    PERF_FEATURE_EVENT_DESC = 12,
    PERF_FEATURE_CPU_TOPOLOGY = 13,
    PERF_FEATURE_CLOCK_DATA = 29,
};

/* How the bytes of a tracepoint become those of an event. */
struct perf_copy {
    enum { PERF_COPY_RUN, PERF_COPY_STRING, PERF_COPY_ARRAY, PERF_COPY_REST } code;
    uint32_t offset, size; /* in the raw data; of a run */
    uint8_t element_bytes;
    bool is_relative;
};

#define PERF_TYPE_TRACEPOINT 2u

/* One event that perf was told to record. */
struct perf_attr {
    uint32_t index, type;
    uint64_t config, sample_type, read_format, branch_type;
    uint32_t n_regs_user, n_regs_intr;
    bool has_trailer; /* sample_id_all */
    bool has_clock;   /* and which: */
    int32_t clock;
    char *name;                       /* or NULL */
    const struct lull_format *format; /* of a tracepoint, or NULL */
    struct perf_copy *copies;
    uint32_t n_copies, n_context_copies; /* those of contexts come first */
    uint32_t least_raw;                  /* bytes that its raw data has at least */
    uint64_t n_damaged, n_timeless;
};

/* What a sample says, in this machine's byte order; absent fields are 0. */
struct perf_sample {
    uint64_t ip, time, addr, id, stream_id, period, weight, data_src, transaction, phys_addr,
        cgroup, data_page_size, code_page_size;
    uint32_t pid, tid;
    int32_t cpu; /* or -1 */
    const uint8_t *callchain, *raw;
    uint64_t n_callchain;
    uint32_t raw_size;
};

/* What is known of the machine and the recording. */
struct perf_machine {
    char *hostname, *release, *version, *architecture;
    uint32_t n_cpus;
    bool has_clock;
    int32_t clock;
    uint64_t wall_ns, clock_ns; /* the same moment on the wall and on that clock */
};

struct perf_order;
struct perf_names;

struct perf_file {
    const char *path;
    const struct lull_report *report;
    struct lull_bytes *bytes; /* open */
    uint64_t size;
    bool is_big_endian, is_pipe;
    GPtrArray *attrs;             /* struct perf_attr */
    GHashTable *by_id;            /* uint64_t to struct perf_attr */
    bool is_told_apart;           /* their number is known: nothing more is added */
    struct lull_formats *formats; /* or NULL */
    struct perf_machine machine;
    struct lull_spool *spool;
    struct perf_order *order;
    struct perf_names *names;
    uint64_t start_ns; /* of the first event with a time; UINT64_MAX: none yet */
    uint64_t end_ns;   /* of the last */
    /* Told where it happened; counted for the whole recording, which counts the same again. */
    uint64_t n_lost, n_lost_counted;
    uint64_t n_unknown, n_unreadable, n_records;
    bool told[PERF_KERNEL_RECORDS + 64]; /* by kind of record: that one is damaged was told */
    uint32_t prefer; /* kinds of records (bits) whose meaning a recorded tracepoint has */
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

/* Reads all of the file into the spool. False and an error if nothing can be read of it. */
bool perf_file_read(struct perf_file *file, GError **error);
/* `size` bytes at `offset`; false if they are not there. */
bool perf_file_bytes(const struct perf_file *file, uint64_t offset, void *to, uint64_t size);

/* ---- perf_attrs.c ---- */

/* Takes one in, of `size` bytes; false if it is none. */
struct perf_attr *perf_attr_add(struct perf_file *file, const uint8_t *data, uint32_t size);
void perf_attr_free(gpointer attr);
void perf_attr_own_id(struct perf_file *file, struct perf_attr *attr, uint64_t id);
/* The attr of a sample, or of another record of the kernel; NULL if none is known. */
struct perf_attr *perf_attr_of(const struct perf_file *file, const uint8_t *record, uint32_t size,
                               bool is_sample);
/* Takes a sample apart. False if it is shorter than it says. */
bool perf_sample_parse(const struct perf_file *file, const struct perf_attr *attr,
                       const uint8_t *record, uint32_t size, struct perf_sample *sample);
/* The trailer that other records have, if any; its bytes. */
uint32_t perf_trailer_parse(const struct perf_file *file, const struct perf_attr *attr,
                            const uint8_t *record, uint32_t size, struct perf_sample *sample);

/* ---- perf_header.c ---- */

/* What a feature's section says; what cannot be read is left out, and told. */
void perf_feature_take(struct perf_file *file, uint64_t feature, const uint8_t *data,
                       uint64_t size);
/* The formats of events (tracing data). False with the reason told. */
bool perf_tracing_take(struct perf_file *file, const uint8_t *data, uint64_t size);
void perf_machine_clear(struct perf_machine *machine);

/* ---- perf_records.c ---- */

/* One record of the data section, `size` bytes as its header says, at byte `offset` of the file (or
 * in what was compressed there). */
void perf_record_take(struct perf_file *file, const uint8_t *record, uint32_t size,
                      uint64_t offset);
/* When there are no more. */
void perf_records_end(struct perf_file *file);

/* ---- perf_order.c ---- */

/* Records on their way, until those of an earlier time cannot come any more. */
struct perf_order *perf_order_new(void);
void perf_order_free(struct perf_order *order);
void perf_order_add(struct perf_order *order, int32_t cpu, uint64_t time, const uint8_t *record,
                    uint32_t size);
/* The same for a copy of a record that perf_event_note() is to see. */
void perf_order_note(struct perf_order *order, uint64_t time, const uint8_t *record, uint32_t size);
/* The end of a round: what is not later than the latest of the round before is emitted, or all. */
void perf_order_flush(struct perf_order *order, struct perf_file *file, bool all);
/* True if so much waits that it should be flushed without a round's end. */
bool perf_order_is_full(const struct perf_order *order);

/* ---- perf_names.c ---- */

/* What tasks were called when. */
struct perf_names *perf_names_new(void);
void perf_names_free(struct perf_names *names);
/* A name from `time` on; `settled`: no event is asked for before that time. */
void perf_names_set(struct perf_names *names, uint32_t tid, uint64_t time, const char *name,
                    uint64_t settled);
void perf_names_fork(struct perf_names *names, uint32_t parent, uint32_t child, uint64_t time,
                     uint64_t settled);
/* The name at a time, 16 bytes filled up with NULs. */
const char *perf_names_find(const struct perf_names *names, uint32_t tid, uint64_t time);

/* ---- perf_events.c ---- */

/* Before the names are asked for: what the record says of them. */
void perf_event_note(struct perf_file *file, const uint8_t *record, uint64_t time,
                     uint64_t settled);
bool perf_event_is_noted(const struct perf_file *file, const uint8_t *record, uint32_t size);
/* Writes a record as an event of the CPU's stream. */
void perf_event_emit(struct perf_file *file, int32_t cpu, uint64_t time, const uint8_t *record,
                     uint32_t size);
/* ---- perf_metadata.c ---- */

/* Numbers of the classes of events that are no samples; behind them come those of the attrs. */
enum perf_class {
    PERF_CLASS_TASK,
    PERF_CLASS_COMM,
    PERF_CLASS_FORK,
    PERF_CLASS_EXIT,
    PERF_CLASS_MMAP,
    PERF_CLASS_SWITCH,
    PERF_CLASS_ATTRS
};
/* Fields of a sample that its event shows, in order: bit of sample_type, place in struct
 * perf_sample. */
struct perf_shown {
    uint32_t bit;
    uint32_t offset;
    const char *name;
    bool is_hex, is_plain; /* is_plain: of events that are no tracepoints only */
};
extern const struct perf_shown perf_shown[];
static inline bool perf_is_shown(const struct perf_attr *attr, const struct perf_shown *field)
{
    return (attr->sample_type & field->bit) != 0 && (!field->is_plain || attr->format == NULL);
}
/* Compiles the attr's copies. */
void perf_attr_compile(struct perf_attr *attr);
/* TSDL of the whole. */
char *perf_metadata(const struct perf_file *file);

#endif
