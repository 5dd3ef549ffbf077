/* SPDX-License-Identifier: MIT */
/* Takes records from the pages of the CPUs, always the earliest. */
#include "live/ftrace/pages.h"

#include <lull/error.h>
#include <string.h>

#include "base/time.h"
#include "source/session/merge.h"

/* The head of a page, as this machine's kernel lays it out: a time, then a long. */
enum { COMMIT_AT = 8, DATA_AT = COMMIT_AT + sizeof(long) };

struct cpu {
    uint8_t *page;
    uint32_t pos, end;
    uint64_t clock; /* of the record */
    struct lull_format_record record;
    bool has_record;
    bool is_empty; /* it had nothing since the start */
};

struct lull_ftrace_pages {
    struct lull_ftrace_pages_ops ops;
    uint32_t n_cpus, page_bytes;
    uint64_t until_ns, damaged;
    struct lull_merge merge; /* by CPU */
    bool is_merged;          /* since the start */
    bool is_taken;           /* the winner's record was handed out */
    struct cpu cpus[];
};

struct lull_ftrace_pages *lull_ftrace_pages_new(uint32_t n_cpus, uint32_t page_bytes,
                                                const struct lull_ftrace_pages_ops *ops)
{
    struct lull_ftrace_pages *pages =
        g_malloc0(sizeof *pages + (size_t)n_cpus * sizeof pages->cpus[0]);
    pages->ops = *ops;
    pages->n_cpus = n_cpus;
    pages->page_bytes = page_bytes;
    lull_merge_init(&pages->merge, n_cpus);
    for (uint32_t i = 0; i < n_cpus; i++) {
        pages->cpus[i].page = g_malloc0(page_bytes + LULL_LOAD_SLACK);
    }
    return pages;
}

void lull_ftrace_pages_free(struct lull_ftrace_pages *pages)
{
    if (pages) {
        for (uint32_t i = 0; i < pages->n_cpus; i++) {
            g_free(pages->cpus[i].page);
        }
        lull_merge_clear(&pages->merge);
        g_free(pages);
    }
}

void lull_ftrace_pages_start(struct lull_ftrace_pages *pages, uint64_t until_ns)
{
    pages->until_ns = until_ns;
    pages->is_merged = false;
    for (uint32_t i = 0; i < pages->n_cpus; i++) {
        pages->cpus[i].is_empty = false;
    }
}

/* ---- pages ---- */

static uint64_t load_long(const uint8_t *p)
{
    unsigned long v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void start_page(struct lull_ftrace_pages *pages, uint32_t index, uint32_t bytes)
{
    struct cpu *cpu = &pages->cpus[index];
    const uint64_t before = cpu->clock;
    const uint64_t commit = bytes >= DATA_AT ? load_long(cpu->page + COMMIT_AT) : 0;
    const uint64_t filled = commit & LULL_RING_COMMIT;
    if (bytes < DATA_AT || filled > bytes - DATA_AT) {
        pages->damaged++;
        return;
    }
    memcpy(&cpu->clock, cpu->page, sizeof cpu->clock);
    cpu->pos = DATA_AT;
    cpu->end = DATA_AT + (uint32_t)filled;
    if (commit & LULL_RING_MISSED) {
        const bool is_counted =
            commit & LULL_RING_MISSED_STORED && bytes - cpu->end >= sizeof(unsigned long);
        pages->ops.lost(pages->ops.user, index, MIN(before, cpu->clock), cpu->clock,
                        is_counted ? load_long(cpu->page + cpu->end) : 0);
    }
}

/* Goes on to the next record of the CPU. False and an error. */
static bool step(struct lull_ftrace_pages *pages, uint32_t index, GError **error)
{
    struct cpu *cpu = &pages->cpus[index];
    cpu->has_record = false;
    while (!cpu->has_record && !cpu->is_empty) {
        const char *why = NULL;
        cpu->has_record =
            lull_ring_next(cpu->page, &cpu->pos, cpu->end, &cpu->clock,
                           __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, &cpu->record, &why);
        if (cpu->has_record && cpu->clock <= LULL_TIME_MAX) {
            return true;
        }
        if (why || cpu->has_record) {
            pages->damaged++;
            cpu->has_record = false;
        }
        cpu->pos = cpu->end = 0;
        const ssize_t n =
            pages->ops.read(pages->ops.user, index, cpu->page, pages->page_bytes, error);
        if (n < 0) {
            return false;
        }
        cpu->is_empty = n == 0;
        if (n > 0) {
            start_page(pages, index, (uint32_t)n);
        }
    }
    return true;
}

/* ---- all CPUs ---- */

static int64_t time_of(const struct cpu *cpu)
{
    return cpu->has_record ? (int64_t)cpu->clock : INT64_MAX;
}

/* Asks all CPUs that have no record. False and an error. */
static bool merge_all(struct lull_ftrace_pages *pages, GError **error)
{
    for (uint32_t i = 0; i < pages->n_cpus; i++) {
        if (!pages->cpus[i].has_record && !step(pages, i, error)) {
            return false;
        }
        pages->merge.times[i] = time_of(&pages->cpus[i]);
    }
    lull_merge_play(&pages->merge);
    pages->is_merged = true;
    return true;
}

/* Goes on from the record that was handed out. False and an error. */
static bool go_on(struct lull_ftrace_pages *pages, GError **error)
{
    const uint32_t index = pages->merge.winner;
    if (pages->is_taken) {
        if (!step(pages, index, error)) {
            return false;
        }
        pages->is_taken = false;
        if (pages->is_merged) {
            lull_merge_update(&pages->merge, time_of(&pages->cpus[index]));
        }
    }
    return pages->is_merged || merge_all(pages, error);
}

int lull_ftrace_pages_next(struct lull_ftrace_pages *pages, struct lull_ftrace_record *record,
                           GError **error)
{
    if (!go_on(pages, error)) {
        return -1;
    }
    const uint32_t index = pages->merge.winner;
    const struct cpu *cpu = &pages->cpus[index];
    if (!cpu->has_record || cpu->clock > pages->until_ns) {
        return 0;
    }
    pages->is_taken = true;
    *record = (struct lull_ftrace_record){.ns = cpu->clock, .cpu = index, .record = cpu->record};
    return 1;
}

uint64_t lull_ftrace_pages_take_damaged(struct lull_ftrace_pages *pages)
{
    const uint64_t damaged = pages->damaged;
    pages->damaged = 0;
    return damaged;
}
