/* SPDX-License-Identifier: MIT */
/* Events and pages of ring buffers as the kernel lays them out, made by hand: descriptions of the events of live
 * tracking, records of them, and pages of such records (Documentation/trace/ring-buffer-design.rst). */
#ifndef TESTS_LIVE_RING_MADE_H
#define TESTS_LIVE_RING_MADE_H

#include <glib.h>
#include <stdint.h>
#include <string.h>

struct made_field {
    const char *type, *name;
    uint32_t size;
    int is_signed;
};

enum { MADE_FIELDS = 8, MADE_HEAD = 8, MADE_COMM = 16 };

/* In the order of enum lull_ftrace_kind: number i has the id 100 + i. */
static const struct made_event {
    const char *system, *name;
    struct made_field field[MADE_FIELDS];
} made_events[] = {
    {"irq", "irq_handler_exit", {{"int", "irq", 4, 1}, {"int", "ret", 4, 1}}},
    {"irq", "softirq_exit", {{"unsigned int", "vec", 4, 0}}},
    {"timer", "hrtimer_expire_exit", {{"void *", "hrtimer", 8, 0}}},
    {"irq", "irq_handler_entry", {{"int", "irq", 4, 1}}},
    {"irq", "softirq_entry", {{"unsigned int", "vec", 4, 0}}},
    {"irq", "softirq_raise", {{"unsigned int", "vec", 4, 0}}},
    {"timer", "hrtimer_expire_entry", {{"void *", "hrtimer", 8, 0}, {"s64", "now", 8, 1}}},
#define MADE_REQUEST                                                                               \
    {{"dev_t", "dev", 4, 0},                                                                       \
     {"unsigned int", "nr_sector", 4, 0},                                                          \
     {"sector_t", "sector", 8, 0},                                                                 \
     {"char", "rwbs[8]", 8, 0}}
    {"block", "block_rq_merge", MADE_REQUEST},
    {"block", "block_rq_insert", MADE_REQUEST},
    {"block", "block_rq_issue", MADE_REQUEST},
    {"block", "block_rq_complete", MADE_REQUEST},
    {"tcp",
     "tcp_probe",
     {{"__u8", "daddr[28]", 28, 0},
      {"__u16", "sport", 2, 0},
      {"__u16", "dport", 2, 0},
      {"__u16", "family", 2, 0}}},
    {"task",
     "task_newtask",
     {{"pid_t", "pid", 4, 1},
      {"char", "comm[16]", 16, 0},
      {"int", "pad", 4, 1},
      {"unsigned long", "clone_flags", 8, 0}}},
    {"sched", "sched_process_exec", {{"pid_t", "pid", 4, 1}, {"pid_t", "old_pid", 4, 1}}},
    {"sched", "sched_wakeup_new", {{"char", "comm[16]", 16, 0}, {"pid_t", "pid", 4, 1}}},
    {"sched", "sched_waking", {{"char", "comm[16]", 16, 0}, {"pid_t", "pid", 4, 1}}},
    {"sched",
     "sched_switch",
     {{"char", "prev_comm[16]", 16, 0},
      {"pid_t", "prev_pid", 4, 1},
      {"int", "prev_prio", 4, 1},
      {"long", "prev_state", 8, 1},
      {"char", "next_comm[16]", 16, 0},
      {"pid_t", "next_pid", 4, 1},
      {"int", "next_prio", 4, 1}}},
    {"raw_syscalls", "sys_exit", {{"long", "id", 8, 1}, {"long", "ret", 8, 1}}},
    {"raw_syscalls", "sys_enter", {{"long", "id", 8, 1}, {"unsigned long", "args[6]", 48, 0}}},
    {"ftrace",
     "kernel_stack",
     {{"int", "size", 4, 1}, {"int", "pad", 4, 1}, {"unsigned long", "caller[8]", 64, 0}}},
};

/* For lull_ftrace_events_new(). */
static inline char *made_format(void *user, const char *system, const char *name, int *size)
{
    GString *text = g_string_new(NULL);
    uint32_t id = 0, offset = MADE_HEAD;
    while (strcmp(made_events[id].name, name) != 0) {
        id++;
    }
    g_string_append_printf(
        text,
        "name: %s\nID: %u\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
        name, 100 + id);
    for (const struct made_field *f = made_events[id].field; f->name; f++) {
        g_string_append_printf(text, "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", f->type,
                               f->name, offset, f->size, f->is_signed);
        offset += f->size;
    }
    g_string_append(text, "\nprint fmt: \"\"\n");
    *size = (int)text->len;
    return g_string_free(text, FALSE);
}

/* A record of event `kind` by task `tid`; its fields are zero. */
static inline uint32_t made_record(uint8_t *record, uint32_t kind, uint32_t tid, uint8_t flags)
{
    const uint16_t id = (uint16_t)(100 + kind);
    uint32_t size = MADE_HEAD;
    for (const struct made_field *f = made_events[kind].field; f->name; f++) {
        size += f->size;
    }
    memset(record, 0, size);
    memcpy(record, &id, sizeof id);
    record[2] = flags;
    memcpy(record + 4, &tid, sizeof tid);
    return size;
}

/* Where a field of that name is; names of arrays without their size. */
static inline uint8_t *made_at(uint8_t *record, uint32_t kind, const char *name, uint32_t *size)
{
    uint32_t offset = MADE_HEAD;
    const struct made_field *f = made_events[kind].field;
    while (strncmp(f->name, name, strlen(name)) != 0 ||
           (f->name[strlen(name)] && f->name[strlen(name)] != '[')) {
        offset += f->size;
        f++;
    }
    *size = f->size;
    return record + offset;
}

static inline void made_set(uint8_t *record, uint32_t kind, const char *name, uint64_t value)
{
    uint32_t size;
    uint8_t *at = made_at(record, kind, name, &size);
    memcpy(at, &value, MIN(size, (uint32_t)sizeof value));
}

static inline void made_text(uint8_t *record, uint32_t kind, const char *name, const char *text)
{
    uint32_t size;
    char *at = (char *)made_at(record, kind, name, &size);
    g_strlcpy(at, text, size);
}

/* ---- pages ---- */

enum { MADE_PAGE = 4096, MADE_DATA = 8 + sizeof(long) };

struct made_page {
    uint8_t bytes[MADE_PAGE];
    uint64_t ns; /* of the last record */
    uint32_t end;
};

static inline void made_start(struct made_page *page, uint64_t ns)
{
    memset(page->bytes, 0, sizeof page->bytes);
    memcpy(page->bytes, &ns, sizeof ns);
    page->ns = ns;
    page->end = MADE_DATA;
}

/* False: there is no room. */
static inline int made_add(struct made_page *page, uint64_t ns, const uint8_t *record,
                           uint32_t size)
{
    const uint64_t delta = ns - page->ns;
    const uint32_t words = (size + 3) / 4;
    uint32_t head[2];
    if (page->end + 8 + 4 + words * 4 > sizeof page->bytes) {
        return 0;
    }
    if (delta >> 27) { /* a record of time alone */
        head[0] = 30 | (uint32_t)(delta << 5);
        head[1] = (uint32_t)(delta >> 27);
        memcpy(page->bytes + page->end, head, 8);
        page->end += 8;
    }
    head[0] = delta >> 27 ? 0 : (uint32_t)(delta << 5);
    if (words <= 28) {
        head[0] |= words;
        memcpy(page->bytes + page->end, head, 4);
        page->end += 4;
    } else {
        head[1] = 4 + words * 4;
        memcpy(page->bytes + page->end, head, 8);
        page->end += 8;
    }
    memcpy(page->bytes + page->end, record, size);
    page->end += words * 4;
    page->ns = ns;
    return 1;
}

/* `flags` are the bits of the head that say what was lost. */
static inline void made_end(struct made_page *page, unsigned long flags)
{
    const unsigned long commit = (page->end - MADE_DATA) | flags;
    memcpy(page->bytes + 8, &commit, sizeof commit);
}

#endif
