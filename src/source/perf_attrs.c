/* Events that perf recorded, and how their samples are taken apart (linux/perf_event.h: struct
 * perf_event_attr, PERF_RECORD_SAMPLE, struct sample_id). */
#include "source/perf.h"

#include <string.h>

#define ATTR_LEAST 64u
#define BIT_SAMPLE_ID_ALL 18
#define BIT_USE_CLOCKID 25
#define BRANCH_HW_INDEX (UINT64_C(1) << 17)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)
/* So many are taken from a file; perf itself opens a few thousand at most. */
#define MOST_ATTRS 60000u

enum read_format {
    READ_ENABLED = 1,
    READ_RUNNING = 2,
    READ_ID = 4,
    READ_GROUP = 8,
    READ_LOST = 16
};

/* Flags are a C bit-field: the first is the lowest bit, or the highest on big-endian machines. */
static bool flag(const struct perf_file *file, uint64_t flags, unsigned bit)
{
    return (flags >> (file->is_big_endian ? 63 - bit : bit)) & 1;
}

static uint64_t u64_at(const struct perf_file *file, const uint8_t *data, uint32_t size,
                       uint32_t offset)
{
    return size >= offset + 8 ? perf_u64(file, data + offset) : 0;
}

struct perf_attr *perf_attr_add(struct perf_file *file, const uint8_t *data, uint32_t size)
{
    if (size < ATTR_LEAST || file->attrs->len >= MOST_ATTRS)
        return NULL;
    struct perf_attr *attr = g_new0(struct perf_attr, 1);
    uint64_t flags = perf_u64(file, data + 40);
    attr->index = file->attrs->len;
    attr->type = perf_u32(file, data);
    attr->config = perf_u64(file, data + 8);
    attr->sample_type = perf_u64(file, data + 24);
    attr->read_format = perf_u64(file, data + 32);
    attr->has_trailer = flag(file, flags, BIT_SAMPLE_ID_ALL);
    attr->branch_type = u64_at(file, data, size, 72);
    attr->n_regs_user = (uint32_t)__builtin_popcountll(u64_at(file, data, size, 80));
    attr->n_regs_intr = (uint32_t)__builtin_popcountll(u64_at(file, data, size, 96));
    attr->has_clock = flag(file, flags, BIT_USE_CLOCKID) && size >= 96;
    attr->clock = attr->has_clock ? (int32_t)perf_u32(file, data + 92) : -1;
    g_ptr_array_add(file->attrs, attr);
    return attr;
}

void perf_attr_free(gpointer data)
{
    struct perf_attr *attr = data;
    g_free(attr->copies);
    g_free(attr->name);
    g_free(attr);
}

void perf_attr_own_id(struct perf_file *file, struct perf_attr *attr, uint64_t id)
{
    g_hash_table_replace(file->by_id, g_memdup2(&id, sizeof id), attr);
}

/* ---- which attr ---- */

/* Bytes from the begin of a sample's body to its id, by the layout of `attr`; -1: it has none. */
static int id_offset(const struct perf_attr *attr)
{
    static const uint32_t before[] = {PERF_HAS_IP, PERF_HAS_TID, PERF_HAS_TIME, PERF_HAS_ADDR};
    if (attr->sample_type & PERF_HAS_IDENTIFIER)
        return 0;
    if (!(attr->sample_type & PERF_HAS_ID))
        return -1;
    int offset = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(before); i++)
        offset += attr->sample_type & before[i] ? 8 : 0;
    return offset;
}

/* The same for a trailer, from its end backwards. */
static int id_from_end(const struct perf_attr *attr)
{
    static const uint32_t behind[] = {PERF_HAS_STREAM_ID, PERF_HAS_CPU};
    if (attr->sample_type & PERF_HAS_IDENTIFIER)
        return 8;
    if (!(attr->sample_type & PERF_HAS_ID))
        return -1;
    int offset = 8;
    for (unsigned i = 0; i < G_N_ELEMENTS(behind); i++)
        offset += attr->sample_type & behind[i] ? 8 : 0;
    return offset;
}

struct perf_attr *perf_attr_of(const struct perf_file *file, const uint8_t *record, uint32_t size,
                               bool is_sample)
{
    if (file->attrs->len == 0)
        return NULL;
    /* All attrs of a file have the id at the same place: perf sees to that. */
    struct perf_attr *first = file->attrs->pdata[0];
    if (file->attrs->len == 1)
        return first;
    int at = is_sample ? id_offset(first) : id_from_end(first);
    if (at < 0 || (!is_sample && !first->has_trailer))
        return is_sample ? NULL : first;
    uint32_t offset = is_sample ? 8 + (uint32_t)at : size - (uint32_t)at;
    if (size < 16 || offset < 8 || offset > size - 8)
        return NULL;
    uint64_t id = perf_u64(file, record + offset);
    struct perf_attr *attr = g_hash_table_lookup(file->by_id, &id);
    /* What perf itself makes up has no id. */
    return attr == NULL && !is_sample ? first : attr;
}

/* ---- samples ---- */

struct cursor {
    const struct perf_file *file;
    const uint8_t *at, *end;
    bool is_short;
};

static uint64_t room(const struct cursor *c)
{
    return (uint64_t)(c->end - c->at);
}

static const uint8_t *skip(struct cursor *c, uint64_t bytes)
{
    const uint8_t *at = c->at;
    if (bytes > room(c)) {
        c->is_short = true;
        c->at = c->end;
        return NULL;
    }
    c->at += bytes;
    return at;
}

static uint64_t take_u64(struct cursor *c)
{
    const uint8_t *p = skip(c, 8);
    return p != NULL ? perf_u64(c->file, p) : 0;
}

/* Steps over `n` elements of `bytes`. */
static const uint8_t *skip_n(struct cursor *c, uint64_t n, uint64_t bytes)
{
    return skip(c, n > room(c) ? UINT64_MAX : n * bytes);
}

static void two_u32(struct cursor *c, uint32_t *first, uint32_t *second)
{
    const uint8_t *p = skip(c, 8);
    if (p == NULL)
        return;
    *first = perf_u32(c->file, p);
    *second = perf_u32(c->file, p + 4);
}

static void take_cpu(struct cursor *c, struct perf_sample *sample)
{
    uint32_t cpu = UINT32_MAX, reserved;
    two_u32(c, &cpu, &reserved);
    sample->cpu = cpu <= UINT16_MAX ? (int32_t)cpu : -1;
}

static void skip_read(struct cursor *c, uint64_t format)
{
    uint64_t times = (format & READ_ENABLED ? 1 : 0) + (format & READ_RUNNING ? 1 : 0);
    uint64_t each = 1 + (format & READ_ID ? 1 : 0) + (format & READ_LOST ? 1 : 0);
    uint64_t n = format & READ_GROUP ? take_u64(c) : 1;
    skip(c, times * 8);
    skip_n(c, n, each * 8);
}

static void skip_branches(struct cursor *c, uint64_t type)
{
    uint64_t n = take_u64(c);
    if (type & BRANCH_HW_INDEX)
        skip(c, 8);
    skip_n(c, n, 24);
    if (type & BRANCH_COUNTERS)
        skip_n(c, n, 8);
}

static void skip_regs(struct cursor *c, uint32_t n)
{
    if (take_u64(c) != 0) /* the ABI of the registers; none: no registers */
        skip(c, (uint64_t)n * 8);
}

static void skip_stack(struct cursor *c)
{
    uint64_t size = take_u64(c);
    skip(c, size);
    if (size > 0)
        skip(c, 8); /* how much of it was filled */
}

static void take_raw(struct cursor *c, struct perf_sample *sample)
{
    const uint8_t *p = skip(c, 4);
    sample->raw_size = p != NULL ? perf_u32(c->file, p) : 0;
    sample->raw = skip(c, sample->raw_size);
}

/* What stands behind the raw data, which few recordings have. */
static void take_rest(struct cursor *c, const struct perf_attr *attr, struct perf_sample *sample)
{
    uint64_t type = attr->sample_type;
    if (type & PERF_HAS_BRANCH_STACK)
        skip_branches(c, attr->branch_type);
    if (type & PERF_HAS_REGS_USER)
        skip_regs(c, attr->n_regs_user);
    if (type & PERF_HAS_STACK_USER)
        skip_stack(c);
    if (type & (PERF_HAS_WEIGHT | PERF_HAS_WEIGHT_STRUCT))
        sample->weight = take_u64(c);
    if (type & PERF_HAS_DATA_SRC)
        sample->data_src = take_u64(c);
    if (type & PERF_HAS_TRANSACTION)
        sample->transaction = take_u64(c);
    if (type & PERF_HAS_REGS_INTR)
        skip_regs(c, attr->n_regs_intr);
    if (type & PERF_HAS_PHYS_ADDR)
        sample->phys_addr = take_u64(c);
    if (type & PERF_HAS_CGROUP)
        sample->cgroup = take_u64(c);
    if (type & PERF_HAS_DATA_PAGE_SIZE)
        sample->data_page_size = take_u64(c);
    if (type & PERF_HAS_CODE_PAGE_SIZE)
        sample->code_page_size = take_u64(c);
    if (type & PERF_HAS_AUX)
        skip(c, take_u64(c));
}

bool perf_sample_parse(const struct perf_file *file, const struct perf_attr *attr,
                       const uint8_t *record, uint32_t size, struct perf_sample *sample)
{
    struct cursor c = {file, record + 8, record + size, false};
    uint64_t type = attr->sample_type;
    *sample = (struct perf_sample){.cpu = -1, .pid = UINT32_MAX, .tid = UINT32_MAX};
    if (type & PERF_HAS_IDENTIFIER)
        sample->id = take_u64(&c);
    if (type & PERF_HAS_IP)
        sample->ip = take_u64(&c);
    if (type & PERF_HAS_TID)
        two_u32(&c, &sample->pid, &sample->tid);
    if (type & PERF_HAS_TIME)
        sample->time = take_u64(&c);
    if (type & PERF_HAS_ADDR)
        sample->addr = take_u64(&c);
    if (type & PERF_HAS_ID)
        sample->id = take_u64(&c);
    if (type & PERF_HAS_STREAM_ID)
        sample->stream_id = take_u64(&c);
    if (type & PERF_HAS_CPU)
        take_cpu(&c, sample);
    if (type & PERF_HAS_PERIOD)
        sample->period = take_u64(&c);
    if (type & PERF_HAS_READ)
        skip_read(&c, attr->read_format);
    if (type & PERF_HAS_CALLCHAIN) {
        sample->n_callchain = take_u64(&c);
        sample->callchain = skip_n(&c, sample->n_callchain, 8);
    }
    if (type & PERF_HAS_RAW)
        take_raw(&c, sample);
    if (type >> 11 & ~(uint64_t)(PERF_HAS_IDENTIFIER >> 11))
        take_rest(&c, attr, sample);
    return !c.is_short;
}

uint32_t perf_trailer_parse(const struct perf_file *file, const struct perf_attr *attr,
                            const uint8_t *record, uint32_t size, struct perf_sample *sample)
{
    static const uint32_t parts[] = {PERF_HAS_TID,       PERF_HAS_TIME, PERF_HAS_ID,
                                     PERF_HAS_STREAM_ID, PERF_HAS_CPU,  PERF_HAS_IDENTIFIER};
    uint32_t bytes = 0;
    *sample = (struct perf_sample){.cpu = -1, .pid = UINT32_MAX, .tid = UINT32_MAX};
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        bytes += attr->sample_type & parts[i] ? 8 : 0;
    if (!attr->has_trailer || size < 8 + bytes)
        return 0;
    struct cursor c = {file, record + size - bytes, record + size, false};
    if (attr->sample_type & PERF_HAS_TID)
        two_u32(&c, &sample->pid, &sample->tid);
    if (attr->sample_type & PERF_HAS_TIME)
        sample->time = take_u64(&c);
    if (attr->sample_type & PERF_HAS_ID)
        sample->id = take_u64(&c);
    if (attr->sample_type & PERF_HAS_STREAM_ID)
        sample->stream_id = take_u64(&c);
    if (attr->sample_type & PERF_HAS_CPU)
        take_cpu(&c, sample);
    return bytes;
}
