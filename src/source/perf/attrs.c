/* SPDX-License-Identifier: MIT */
/* Events that perf recorded, and how their samples are taken apart (linux/perf_event.h: struct
 * perf_event_attr, PERF_RECORD_SAMPLE, struct sample_id). */
#include "source/perf/perf.h"

#include <stddef.h>
#include <string.h>

#define ATTR_LEAST 64u
#define BIT_INHERIT 1
#define BIT_PRECISE_IP 15 /* and the next */
#define BIT_SAMPLE_ID_ALL 18
#define BIT_USE_CLOCKID 25
#define BRANCH_HW_INDEX (UINT64_C(1) << 17)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)
/* So many are taken from a file; perf itself opens a few thousand at most. */
#define MOST_ATTRS 16384u

static const struct {
    unsigned bit;
    uint8_t what;
} excludes[] = {{4, PERF_NO_USER},
                {5, PERF_NO_KERNEL},
                {6, PERF_NO_HYPERVISOR},
                {19, PERF_NO_HOST},
                {20, PERF_NO_GUEST}};

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
    if (size < ATTR_LEAST || file->attrs->len >= MOST_ATTRS) {
        return NULL;
    }
    struct perf_attr *attr = g_new0(struct perf_attr, 1);
    uint64_t flags = perf_u64(file, data + 40);
    attr->index = file->attrs->len;
    attr->type = perf_u32(file, data);
    attr->config = perf_u64(file, data + 8);
    attr->period = perf_u64(file, data + 16);
    attr->sample_type = perf_u64(file, data + 24);
    attr->read_format = perf_u64(file, data + 32);
    attr->has_trailer = flag(file, flags, BIT_SAMPLE_ID_ALL);
    attr->is_inherited = flag(file, flags, BIT_INHERIT);
    attr->counter = PERF_NO_COUNTER;
    attr->branch_type = u64_at(file, data, size, 72);
    attr->regs_user = u64_at(file, data, size, 80);
    attr->n_regs_intr = (uint32_t)__builtin_popcountll(u64_at(file, data, size, 96));
    attr->clock =
        flag(file, flags, BIT_USE_CLOCKID) && size >= 96 ? (int32_t)perf_u32(file, data + 92) : -1;
    attr->bp_type = perf_u32(file, data + 52);
    attr->bp_addr = perf_u64(file, data + 56);
    for (unsigned i = 0; i < G_N_ELEMENTS(excludes); i++) {
        attr->excludes |= flag(file, flags, excludes[i].bit) ? excludes[i].what : 0;
    }
    attr->precision =
        (uint8_t)(flags >> (file->is_big_endian ? 63 - BIT_PRECISE_IP - 1 : BIT_PRECISE_IP) & 3);
    g_ptr_array_add(file->attrs, attr);
    return attr;
}

void perf_attr_free(gpointer data)
{
    struct perf_attr *attr = data;
    g_free(attr->name);
    g_free(attr);
}

/* ---- ids ---- */

static void insert(struct perf_ids *ids, uint64_t id, struct perf_attr *attr)
{
    uint32_t at = (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & ids->mask;
    while (ids->table[at].attr && ids->table[at].id != id) {
        at = (at + 1) & ids->mask;
    }
    ids->n += !ids->table[at].attr;
    ids->table[at] = (struct perf_id){id, attr};
}

void perf_attr_own_id(struct perf_file *file, struct perf_attr *attr, uint64_t id)
{
    struct perf_ids *ids = &file->ids;
    if (!ids->table || ids->n >= ids->mask / 2) {
        struct perf_ids old = *ids;
        ids->mask = old.table ? old.mask * 2 + 1 : 63;
        ids->table = g_new0(struct perf_id, (size_t)ids->mask + 1);
        ids->n = 0;
        for (uint32_t i = 0; old.table && i <= old.mask; i++) {
            if (old.table[i].attr) {
                insert(ids, old.table[i].id, old.table[i].attr);
            }
        }
        g_free(old.table);
    }
    insert(ids, id, attr);
}

struct perf_attr *perf_attr_by_id(const struct perf_file *file, uint64_t id)
{
    return perf_ids_find(&file->ids, id);
}

/* ---- places ---- */

/* Parts of fixed size, in the order in which samples have them. */
static const struct {
    uint32_t bit;
    bool in_trailer;
} heads[] = {
    {PERF_HAS_IDENTIFIER, false}, {PERF_HAS_IP, false},   {PERF_HAS_TID, true},
    {PERF_HAS_TIME, true},        {PERF_HAS_ADDR, false}, {PERF_HAS_ID, true},
    {PERF_HAS_STREAM_ID, true},   {PERF_HAS_CPU, true},   {PERF_HAS_PERIOD, false},
};

/* Bytes of the parts before `bit`, of the trailer or of the sample. */
static uint32_t bytes_before(const struct perf_attr *attr, uint32_t bit, bool in_trailer)
{
    uint32_t bytes = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(heads) && heads[i].bit != bit; i++) {
        if ((attr->sample_type & heads[i].bit) != 0 && (!in_trailer || heads[i].in_trailer)) {
            bytes += 8;
        }
    }
    return bytes;
}

static void location(struct perf_attr *attr)
{
    uint64_t type = attr->sample_type;
    uint32_t size = 8 + bytes_before(attr, 0, false);
    attr->time_at = type & PERF_HAS_TIME ? 8 + bytes_before(attr, PERF_HAS_TIME, false) : 0;
    attr->cpu_at = type & PERF_HAS_CPU ? 8 + bytes_before(attr, PERF_HAS_CPU, false) : 0;
    attr->fixed_size = size;
    attr->is_plain = (type & (PERF_HAS_READ | PERF_HAS_CALLCHAIN | PERF_HAS_MORE)) == 0;
    if (attr->is_plain && (type & PERF_HAS_RAW) != 0) {
        attr->raw_at = size;
        attr->fixed_size = size + 4;
    }
    attr->trailer_size =
        bytes_before(attr, 0, true) + (type & PERF_HAS_IDENTIFIER ? 8 : 0); /* at its end */
    attr->trailer_time =
        type & PERF_HAS_TIME ? bytes_before(attr, PERF_HAS_TIME, true) : UINT32_MAX;
    attr->trailer_cpu = type & PERF_HAS_CPU ? bytes_before(attr, PERF_HAS_CPU, true) : UINT32_MAX;
}

/* All attrs of a file have the id at the same place: perf sees to that. */
static void location_ids(struct perf_file *file)
{
    const struct perf_attr *first = file->attrs->len > 0 ? file->attrs->pdata[0] : NULL;
    file->id_at = file->id_from_end = -1;
    if (file->attrs->len < 2) {
        return;
    }
    if (first->sample_type & PERF_HAS_IDENTIFIER) {
        file->id_at = 8;
        file->id_from_end = 8;
    } else if (first->sample_type & PERF_HAS_ID) {
        file->id_at = 8 + (int)bytes_before(first, PERF_HAS_ID, false);
        file->id_from_end = (int)(first->trailer_size - bytes_before(first, PERF_HAS_ID, true));
    }
    if (!first->has_trailer) {
        file->id_from_end = -1;
    }
}

void perf_attrs_settle(struct perf_file *file)
{
    for (guint i = 0; i < file->attrs->len; i++) {
        location(file->attrs->pdata[i]);
    }
    location_ids(file);
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
    return p ? perf_u64(c->file, p) : 0;
}

/* Steps over `n` elements of `bytes`. */
static const uint8_t *skip_n(struct cursor *c, uint64_t n, uint64_t bytes)
{
    return skip(c, n > room(c) ? UINT64_MAX : n * bytes);
}

static void clear(struct perf_sample *sample)
{
    memset(sample, 0, offsetof(struct perf_sample, reading));
    sample->cpu = sample->pid = sample->tid = -1;
    sample->callchain = sample->raw = sample->text = sample->user_regs = sample->user_stack =
        (struct lull_text){"", 0};
}

static void take_task(struct cursor *c, struct perf_sample *sample)
{
    const uint8_t *p = skip(c, 8);
    if (!p) {
        return;
    }
    sample->pid = (int32_t)perf_u32(c->file, p);
    sample->tid = (int32_t)perf_u32(c->file, p + 4);
}

static void take_cpu(struct cursor *c, struct perf_sample *sample)
{
    const uint8_t *p = skip(c, 8);
    uint32_t cpu = p ? perf_u32(c->file, p) : UINT32_MAX;
    sample->cpu = cpu <= UINT16_MAX ? (int32_t)cpu : -1;
}

static void skip_branches(struct cursor *c, uint64_t type)
{
    uint64_t n = take_u64(c);
    if (type & BRANCH_HW_INDEX) {
        skip(c, 8);
    }
    skip_n(c, n, 24);
    if (type & BRANCH_COUNTERS) {
        skip_n(c, n, 8);
    }
}

static void skip_regs(struct cursor *c, uint32_t n)
{
    if (take_u64(c) != 0) { /* the ABI of the registers; none: no registers */
        skip(c, (uint64_t)n * 8);
    }
}

/* With the ABI in front, which is 0 where there are none: in threads of the kernel. */
static void take_user_regs(struct cursor *c, const struct perf_attr *attr,
                           struct perf_sample *sample)
{
    const uint32_t bytes = 8 * (uint32_t)__builtin_popcountll(attr->regs_user);
    const uint8_t *p = skip(c, 8);
    if (p && perf_u64(c->file, p) != 0 && skip(c, bytes)) {
        sample->user_regs = (struct lull_text){(const char *)p, 8 + bytes};
    }
}

static void take_user_stack(struct cursor *c, struct perf_sample *sample)
{
    const uint64_t size = take_u64(c);
    const uint8_t *p = skip(c, size);
    if (size > 0) { /* how much of it was filled */
        const uint64_t filled = take_u64(c);
        sample->user_stack =
            (struct lull_text){(const char *)p, p ? (uint32_t)MIN(size, filled) : 0};
    }
}

static void take_raw(struct cursor *c, struct perf_sample *sample)
{
    const uint8_t *p = skip(c, 4);
    sample->raw_size = p ? perf_u32(c->file, p) : 0;
    sample->raw_data = skip(c, sample->raw_size);
    if (sample->raw_data) {
        sample->raw = (struct lull_text){(const char *)sample->raw_data, sample->raw_size};
    }
}

static void take_callchain(struct cursor *c, struct perf_sample *sample)
{
    uint64_t n = take_u64(c);
    const uint8_t *p = skip_n(c, n, 8);
    if (p) {
        sample->callchain = (struct lull_text){(const char *)p, (uint32_t)n * 8};
    }
}

/* What follows the raw data, which few recordings have. */
static void take_rest(struct cursor *c, const struct perf_attr *attr, struct perf_sample *sample)
{
    uint64_t type = attr->sample_type;
    if (type & PERF_HAS_BRANCH_STACK) {
        skip_branches(c, attr->branch_type);
    }
    if (type & PERF_HAS_REGS_USER) {
        take_user_regs(c, attr, sample);
    }
    if (type & PERF_HAS_STACK_USER) {
        take_user_stack(c, sample);
    }
    if (type & (PERF_HAS_WEIGHT | PERF_HAS_WEIGHT_STRUCT)) {
        sample->weight = take_u64(c);
    }
    if (type & PERF_HAS_DATA_SRC) {
        sample->data_src = take_u64(c);
    }
    if (type & PERF_HAS_TRANSACTION) {
        sample->transaction = take_u64(c);
    }
    if (type & PERF_HAS_REGS_INTR) {
        skip_regs(c, attr->n_regs_intr);
    }
    if (type & PERF_HAS_PHYS_ADDR) {
        sample->phys_addr = take_u64(c);
    }
    if (type & PERF_HAS_CGROUP) {
        sample->cgroup = take_u64(c);
    }
    if (type & PERF_HAS_DATA_PAGE_SIZE) {
        sample->data_page_size = take_u64(c);
    }
    if (type & PERF_HAS_CODE_PAGE_SIZE) {
        sample->code_page_size = take_u64(c);
    }
    if (type & PERF_HAS_AUX) {
        skip(c, take_u64(c));
    }
}

bool perf_sample_parse(const struct perf_file *file, const struct perf_attr *attr,
                       const uint8_t *record, uint32_t size, struct perf_sample *sample)
{
    struct cursor c = {file, record + 8, record + size, false};
    uint64_t type = attr->sample_type;
    clear(sample);
    if (type & PERF_HAS_IDENTIFIER) {
        sample->id = take_u64(&c);
    }
    if (type & PERF_HAS_IP) {
        sample->ip = take_u64(&c);
    }
    if (type & PERF_HAS_TID) {
        take_task(&c, sample);
    }
    if (type & PERF_HAS_TIME) {
        sample->time = take_u64(&c);
    }
    if (type & PERF_HAS_ADDR) {
        sample->addr = take_u64(&c);
    }
    if (type & PERF_HAS_ID) {
        sample->id = take_u64(&c);
    }
    if (type & PERF_HAS_STREAM_ID) {
        sample->stream_id = take_u64(&c);
    }
    if (type & PERF_HAS_CPU) {
        take_cpu(&c, sample);
    }
    if (type & PERF_HAS_PERIOD) {
        sample->period = take_u64(&c);
    }
    if (type & PERF_HAS_READ) {
        skip(&c, perf_read_take(file, attr, c.at, room(&c), &sample->reading));
    } else if (file->n_counters > 0) {
        perf_read_nothing(file, &sample->reading);
    }
    if (type & PERF_HAS_CALLCHAIN) {
        take_callchain(&c, sample);
    }
    if (type & PERF_HAS_RAW) {
        take_raw(&c, sample);
    }
    if (type & PERF_HAS_MORE) {
        take_rest(&c, attr, sample);
    }
    return !c.is_short;
}

bool perf_sample_is_whole(const struct perf_file *file, const struct perf_attr *attr,
                          const uint8_t *record, uint32_t size)
{
    struct perf_sample sample;
    return perf_sample_parse(file, attr, record, size, &sample) &&
           sample.raw_size >= attr->format->least_size;
}

/* ---- other records ---- */

void perf_trailer_parse(const struct perf_file *file, const struct perf_attr *attr,
                        const uint8_t *record, uint32_t size, struct perf_sample *sample)
{
    clear(sample);
    if (!attr->has_trailer || size < 8 + attr->trailer_size) {
        return;
    }
    struct cursor c = {file, record + size - attr->trailer_size, record + size, false};
    if (attr->sample_type & PERF_HAS_TID) {
        take_task(&c, sample);
    }
    if (attr->sample_type & PERF_HAS_TIME) {
        sample->time = take_u64(&c);
    }
    if (attr->sample_type & PERF_HAS_ID) {
        sample->id = take_u64(&c);
    }
    if (attr->sample_type & PERF_HAS_STREAM_ID) {
        sample->stream_id = take_u64(&c);
    }
    if (attr->sample_type & PERF_HAS_CPU) {
        take_cpu(&c, sample);
    }
}

/* Whose layout a record has that is no sample. What perf itself makes up has no id. */
static const struct perf_attr *attr_of(const struct perf_file *file, const uint8_t *record,
                                       uint32_t size)
{
    const struct perf_attr *attr = NULL;
    if (file->attrs->len == 0) {
        return NULL;
    }
    if (file->id_from_end > 0 && size >= 8 + (uint32_t)file->id_from_end) {
        attr = perf_attr_by_id(file, perf_u64(file, record + size - file->id_from_end));
    }
    return attr ? attr : file->attrs->pdata[0];
}

enum perf_verdict perf_judge_slowly(const struct perf_file *file, const uint8_t *record,
                                    uint32_t size, struct perf_head *head)
{
    uint32_t type = perf_u32(file, record), behind = 0;
    const struct perf_attr *attr = attr_of(file, record, size);
    struct perf_sample trailer;
    if (type >= PERF_KERNEL_RECORDS || !attr) {
        return PERF_NO_EVENT;
    }
    if (attr->has_trailer) {
        behind = attr->trailer_size;
    }
    perf_trailer_parse(file, attr, record, size, &trailer);
    *head = (struct perf_head){.attr = attr, .time = trailer.time, .cpu = trailer.cpu};
    int32_t slot = perf_own_slot(file, type, perf_u16(file, record + 4), head->time == 0);
    if (slot < 0) {
        return PERF_NO_EVENT;
    }
    head->slot = (uint32_t)slot;
    if (size < behind || size - behind < perf_own_least(head->slot) ||
        head->time > PERF_LAST_TIME) {
        return PERF_DAMAGED;
    }
    return file->left_out >> slot & 1 ? PERF_NO_EVENT : PERF_EVENT;
}
