/* SPDX-License-Identifier: MIT */
/* The classes of events of a perf.data: tracepoints, whose records the `format` files describe;
 * other samples, of which only their surroundings are known; and perf's own records that say
 * what happened to tasks. What is not in a tracepoint's record is kept aside, in struct
 * perf_sample. */
#include "source/perf/perf.h"

#include <stddef.h>
#include <string.h>

#define MISC_BIT(bit) (1u << (bit))
#define MISC_EXEC MISC_BIT(13)
#define MISC_SWITCH_OUT MISC_BIT(13)
#define MISC_SWITCH_PREEMPT MISC_BIT(14)

/* ---- what samples say besides their raw data ---- */

/* Fields in order: bit of sample_type, place in struct perf_sample. */
static const struct shown {
    uint32_t bit;
    bool is_plain; /* of events that are no tracepoints only */
    struct lull_format_field field;
} shown[] = {
#define TASK(member)                                                                               \
    {                                                                                              \
        PERF_HAS_TID, false,                                                                       \
        {                                                                                          \
            .name = #member, .kind = LULL_INFO_INT,                                                \
            .offset = offsetof(struct perf_sample, member), .size = 4, .element_bytes = 4,         \
            .is_signed = true                                                                      \
        }                                                                                          \
    }
#define NUMBER(bits, member, hex, plain)                                                           \
    {                                                                                              \
        bits, plain,                                                                               \
        {                                                                                          \
            .name = #member, .kind = LULL_INFO_INT,                                                \
            .offset = offsetof(struct perf_sample, member), .size = 8, .element_bytes = 8,         \
            .is_address = hex                                                                      \
        }                                                                                          \
    }
#define ARRAY(bits, member, bytes, plain)                                                          \
    {bits,                                                                                         \
     plain,                                                                                        \
     {.name = #member,                                                                             \
      .kind = LULL_INFO_BYTES,                                                                     \
      .offset = offsetof(struct perf_sample, member),                                              \
      .size = sizeof(struct lull_text),                                                            \
      .element_bytes = bytes,                                                                      \
      .is_address = bytes == 8}}
#define HIDDEN(bits, member, bytes)                                                                \
    {                                                                                              \
        bits, false,                                                                               \
        {                                                                                          \
            .name = #member, .kind = LULL_INFO_BYTES,                                              \
            .offset = offsetof(struct perf_sample, member), .size = sizeof(struct lull_text),      \
            .element_bytes = bytes, .is_hidden = true                                              \
        }                                                                                          \
    }
    TASK(pid),
    TASK(tid),
    NUMBER(PERF_HAS_IP, ip, true, true),
    NUMBER(PERF_HAS_ADDR, addr, true, false),
    NUMBER(PERF_HAS_PERIOD, period, false, true),
    NUMBER(PERF_HAS_WEIGHT | PERF_HAS_WEIGHT_STRUCT, weight, false, false),
    NUMBER(PERF_HAS_DATA_SRC, data_src, true, false),
    NUMBER(PERF_HAS_TRANSACTION, transaction, true, false),
    NUMBER(PERF_HAS_PHYS_ADDR, phys_addr, true, false),
    NUMBER(PERF_HAS_CGROUP, cgroup, false, false),
    NUMBER(PERF_HAS_DATA_PAGE_SIZE, data_page_size, false, false),
    NUMBER(PERF_HAS_CODE_PAGE_SIZE, code_page_size, false, false),
    ARRAY(PERF_HAS_CALLCHAIN, callchain, 8, false),
    HIDDEN(PERF_HAS_REGS_USER, user_regs, 8),
    HIDDEN(PERF_HAS_STACK_USER, user_stack, 1),
};

/* Raw data without a format. */
static const struct shown raw_field = ARRAY(PERF_HAS_RAW, raw, 1, true);

static GArray *fields_new(void)
{
    return g_array_new(FALSE, TRUE, sizeof(struct lull_format_field));
}

static void add_field(GArray *fields, const struct lull_format_field *field, bool is_context)
{
    struct lull_format_field copy = *field;
    copy.is_aside = true;
    copy.is_context = is_context;
    g_array_append_val(fields, copy);
}

/* Fields of a record, which comes with some of the attrs; NULL: with none. */
static GArray *contexts_of(const struct perf_file *file, uint64_t sample_type, bool is_plain,
                           const bool *is_of)
{
    GArray *fields = fields_new();
    for (unsigned i = 0; i < G_N_ELEMENTS(shown); i++) {
        if ((sample_type & shown[i].bit) != 0 && (is_plain || !shown[i].is_plain)) {
            add_field(fields, &shown[i].field, true);
        }
    }
    if ((sample_type & PERF_HAS_READ) != 0) {
        perf_counters_add_fields(file, is_of, fields);
    }
    return fields;
}

GArray *perf_aside_of(const struct perf_file *file, uint32_t type, uint64_t config)
{
    uint64_t sample_type = 0;
    g_autofree bool *is_of = g_new0(bool, file->attrs->len + 1);
    for (guint i = 0; i < file->attrs->len; i++) {
        const struct perf_attr *attr = file->attrs->pdata[i];
        is_of[i] = attr->type == type && attr->config == config;
        sample_type |= is_of[i] ? attr->sample_type : 0;
    }
    return contexts_of(file, sample_type, false, is_of);
}

/* ---- perf's own records ---- */

enum {
    SLOT_TASK,
    SLOT_COMM,
    SLOT_FORK,
    SLOT_EXIT,
    SLOT_MMAP,
    SLOT_MMAP2,
    SLOT_SWITCH,
    SLOT_SWITCH_IN,
    SLOT_SWITCH_OUT,
    SLOT_THROTTLE,
    SLOT_UNTHROTTLE,
    N_SLOTS
};

/* A number of a record; without bytes: the task that its trailer names; with a mask: of its word of
 * flags, then it is 0 or 1. */
struct own_number {
    const char *name;
    uint32_t offset, bytes, mask;
    bool is_address, is_signed, is_inverted;
};

#define TASK_AT(name, offset) {name, offset, 4, 0, false, true, false}
#define ADDRESS_AT(name, offset) {name, offset, 8, 0, true, false, false}
#define FLAG(name, mask, is_inverted) {name, 4, 2, mask, false, false, is_inverted}
#define LIVES                                                                                      \
    {TASK_AT("child_pid", 8), TASK_AT("parent_pid", 12), TASK_AT("child_tid", 16),                 \
     TASK_AT("parent_tid", 20)}
#define INODE_AT 48
#define MAPS ADDRESS_AT("addr", 16), ADDRESS_AT("len", 24), ADDRESS_AT("pgoff", 32)

static const struct own {
    const char *name;
    uint32_t type;
    uint32_t least; /* bytes, without a trailer */
    uint32_t text_at;
    const char *text;
    struct own_number numbers[8];
} own[] = {
    [SLOT_TASK] = {"perf:task", PERF_COMM, 16, 16, "name", {TASK_AT("pid", 8), TASK_AT("tid", 12)}},
    [SLOT_COMM] = {"perf:comm",
                   PERF_COMM,
                   16,
                   16,
                   "newcomm",
                   {TASK_AT("pid", 8), TASK_AT("tid", 12), FLAG("exec", MISC_EXEC, false)}},
    [SLOT_FORK] = {"perf:fork", PERF_FORK, 32, 0, NULL, LIVES},
    [SLOT_EXIT] = {"perf:exit", PERF_EXIT, 32, 0, NULL, {TASK_AT("pid", 8), TASK_AT("tid", 16)}},
    [SLOT_MMAP] =
        {"perf:mmap", PERF_MMAP, 40, 40, "filename", {TASK_AT("pid", 8), TASK_AT("tid", 12), MAPS}},
    [SLOT_MMAP2] = {"perf:mmap2",
                    PERF_MMAP2,
                    72,
                    72,
                    "filename",
                    {TASK_AT("pid", 8),
                     TASK_AT("tid", 12),
                     MAPS,
                     {"ino", INODE_AT, 8, 0, false, false, false},
                     {"prot", 64, 4, 0, false, false, false}}},
    /* The CPU goes from one task to another: the record of the one that leaves says so. */
    [SLOT_SWITCH] = {"perf:switch",
                     PERF_SWITCH_CPU_WIDE,
                     16,
                     0,
                     NULL,
                     {{"prev_tid", 0, 0, 0, false, true, false},
                      TASK_AT("next_tid", 12),
                      FLAG("prev_state", MISC_SWITCH_PREEMPT, true)}},
    [SLOT_SWITCH_IN] = {"perf:switch_in", PERF_SWITCH, 8, 0, NULL, {{.name = NULL}}},
    [SLOT_SWITCH_OUT] = {"perf:switch_out",
                         PERF_SWITCH,
                         8,
                         0,
                         NULL,
                         {FLAG("preempted", MISC_SWITCH_PREEMPT, false)}},
    [SLOT_THROTTLE] = {"perf:throttle", PERF_THROTTLE, 32, 0, NULL, {{.name = NULL}}},
    [SLOT_UNTHROTTLE] = {"perf:unthrottle", PERF_UNTHROTTLE, 32, 0, NULL, {{.name = NULL}}},
};
_Static_assert(N_SLOTS <= PERF_OWN_SLOTS, "slots of perf's own records");

int32_t perf_own_slot(const struct perf_file *file, uint32_t type, uint16_t misc, bool is_made_up)
{
    bool is_out = (misc & MISC_SWITCH_OUT) != 0;
    switch (type) {
    case PERF_COMM:
        return is_made_up ? SLOT_TASK : SLOT_COMM;
    case PERF_MMAP:
        return SLOT_MMAP;
    case PERF_MMAP2:
        return SLOT_MMAP2;
    case PERF_SWITCH:
        return is_out ? SLOT_SWITCH_OUT : SLOT_SWITCH_IN;
    case PERF_SWITCH_CPU_WIDE:
        return is_out ? SLOT_SWITCH : SLOT_SWITCH_IN;
    default: /* of a task that was there before, perf records its name too */
        for (int32_t slot = 0; slot < N_SLOTS && !is_made_up; slot++) {
            if (own[slot].type == type) {
                return slot;
            }
        }
        return -1;
    }
}

uint32_t perf_own_least(uint32_t slot)
{
    return own[slot].least;
}

void perf_own_parse(const struct perf_file *file, uint32_t slot, const uint8_t *record,
                    uint32_t size, struct perf_sample *sample)
{
    const struct own *kind = &own[slot];
    for (unsigned i = 0; i < G_N_ELEMENTS(kind->numbers) && kind->numbers[i].name; i++) {
        const struct own_number *number = &kind->numbers[i];
        int64_t value = sample->tid;
        if (number->bytes > 0) {
            value = (int64_t)lull_format_integer(record + number->offset, (uint8_t)number->bytes,
                                                 number->is_signed, file->is_big_endian);
        }
        if (slot == SLOT_MMAP2 && number->offset == INODE_AT &&
            perf_is_build_id_map(file, record)) {
            value = 0;
        }
        if (number->mask != 0) {
            value = ((value & number->mask) != 0) != number->is_inverted;
        }
        sample->numbers[i] = value;
    }
    if (kind->text) {
        sample->text = (struct lull_text){
            (const char *)record + kind->text_at,
            (uint32_t)strnlen((const char *)record + kind->text_at, size - kind->text_at)};
    }
}

static struct lull_format *declare_own(struct perf_file *file, uint32_t slot)
{
    const struct own *kind = &own[slot];
    g_autoptr(GArray) fields = contexts_of(file, PERF_HAS_TID, false, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(kind->numbers) && kind->numbers[i].name; i++) {
        const struct own_number *number = &kind->numbers[i];
        const struct lull_format_field field = {
            .name = number->name,
            .kind = LULL_INFO_INT,
            .offset = (uint32_t)(offsetof(struct perf_sample, numbers) + i * sizeof(int64_t)),
            .size = 8,
            .element_bytes = 8,
            .is_signed = number->is_signed,
            .is_address = number->is_address};
        add_field(fields, &field, false);
    }
    const struct lull_format_field text = {.name = kind->text,
                                           .kind = LULL_INFO_TEXT,
                                           .offset = offsetof(struct perf_sample, text),
                                           .size = sizeof(struct lull_text),
                                           .element_bytes = 1};
    if (kind->text) {
        add_field(fields, &text, false);
    }
    return lull_formats_declare(file->formats, "perf", kind->name,
                                (const struct lull_format_field *)(void *)fields->data,
                                fields->len);
}

/* ---- classes ---- */

/* Which of perf's own records have a meaning that tracepoints have too, and report better. */
static uint32_t meaning_of(const struct lull_format *format)
{
    static const struct {
        const char *system, *name;
        uint32_t slots;
    } meanings[] = {
        {"sched", "sched_switch", 1u << SLOT_SWITCH | 1u << SLOT_SWITCH_IN | 1u << SLOT_SWITCH_OUT},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(meanings); i++) {
        if (strcmp(format->system, meanings[i].system) == 0 &&
            strcmp(format->event_class.name, meanings[i].name) == 0) {
            return meanings[i].slots;
        }
    }
    return 0;
}

/* The class of samples that no format describes; attrs of one name share it. */
static struct lull_format *declare_plain(struct perf_file *file, const struct perf_attr *first,
                                         const char *name)
{
    uint64_t sample_type = 0;
    g_autofree bool *is_of = g_new0(bool, file->attrs->len + 1);
    for (guint i = first->index; i < file->attrs->len; i++) {
        const struct perf_attr *attr = file->attrs->pdata[i];
        is_of[i] = g_strcmp0(attr->name, first->name) == 0;
        sample_type |= is_of[i] ? attr->sample_type : 0;
    }
    g_autoptr(GArray) fields = contexts_of(file, sample_type, true, is_of);
    if ((sample_type & raw_field.bit) != 0) {
        add_field(fields, &raw_field.field, false);
    }
    return lull_formats_declare(file->formats, "perf", name,
                                (const struct lull_format_field *)(void *)fields->data,
                                fields->len);
}

static struct lull_format *plain_class(struct perf_file *file, GHashTable *by_name,
                                       const struct perf_attr *attr)
{
    g_autofree char *number = g_strdup_printf("event_%u", attr->index);
    const char *name = attr->name && *attr->name != '\0' ? attr->name : number;
    struct lull_format *format = g_hash_table_lookup(by_name, name);
    if (!format) {
        format = declare_plain(file, attr, name);
        g_hash_table_insert(by_name, (char *)format->event_class.name, format);
    }
    return format;
}

void perf_classes_settle(struct perf_file *file)
{
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    file->is_settled = true;
    perf_attrs_settle(file);
    for (guint i = 0; i < file->attrs->len; i++) {
        struct perf_attr *attr = file->attrs->pdata[i];
        if (!attr->name) {
            attr->name = perf_attr_name(attr);
        }
    }
    perf_counters_settle(file);
    if (file->tracing) {
        perf_tracing_read(file);
    }
    if (!file->formats) {
        file->formats = lull_formats_new(file->is_big_endian, 8);
    }
    g_ptr_array_set_size(file->slots, PERF_OWN_SLOTS);
    for (guint i = 0; i < file->formats->all->len; i++) {
        file->left_out |= meaning_of(file->formats->all->pdata[i]);
    }
    for (guint i = 0; i < file->attrs->len; i++) {
        struct perf_attr *attr = file->attrs->pdata[i];
        if (attr->type == PERF_TYPE_TRACEPOINT && attr->config < LULL_FORMAT_IDS &&
            (attr->sample_type & PERF_HAS_RAW) != 0) {
            attr->format = lull_formats_find(file->formats, (uint16_t)attr->config);
        }
        if (!attr->format) {
            attr->format = plain_class(file, by_name, attr);
        }
        attr->slot = PERF_OWN_SLOTS + attr->format->event_class.index;
        if (attr->slot >= file->slots->len) {
            g_ptr_array_set_size(file->slots, (gint)attr->slot + 1);
        }
        file->slots->pdata[attr->slot] = attr->format;
    }
}

void perf_classes_finish(struct perf_file *file, const struct lull_source *source)
{
    uint64_t counts[PERF_OWN_SLOTS] = {0};
    for (guint i = 0; i < file->cpus->len; i++) {
        const struct perf_cpu *cpu = file->cpus->pdata[i];
        for (uint32_t slot = 0; slot < MIN(cpu->n_totals, PERF_OWN_SLOTS); slot++) {
            counts[slot] += cpu->totals[slot];
        }
    }
    for (uint32_t slot = 0; slot < N_SLOTS; slot++) {
        if (counts[slot] > 0) {
            file->slots->pdata[slot] = declare_own(file, slot);
        }
    }
    perf_counters_finish(file);
    lull_formats_finish(file->formats, source);
}
