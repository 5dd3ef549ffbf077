/* SPDX-License-Identifier: MIT */
/* The options of a trace.dat: what was recorded how, and in version 7 where the sections are. */
#include "source/tracedat/tracedat.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu_slots.h"

enum option {
    OPTION_DONE = 0,
    OPTION_DATE = 1,
    OPTION_CPUSTAT = 2,
    OPTION_BUFFER = 3,
    OPTION_CLOCK = 4,
    OPTION_UNAME = 5,
    OPTION_OFFSET = 7,
    OPTION_VERSION = 9,
    OPTION_TRACEID = 11,
    OPTION_TIME_SHIFT = 12,
    OPTION_GUEST = 13,
    OPTION_TSC2NSEC = 14,
    OPTION_HEADER_INFO = 16,
    OPTION_CMDLINES = 21,
};

static char *text_of(struct lull_tracedat_in *in)
{
    return lull_tracedat_block(in, in->end - in->pos);
}

static void take_text(struct lull_tracedat_in *in, char **text)
{
    g_free(*text);
    *text = text_of(in);
}

/* A number as text; the unit of one is so many ns. */
static void add_offset(struct lull_tracedat *file, struct lull_tracedat_in *in, int64_t unit_ns)
{
    g_autofree char *text = text_of(in);
    int64_t offset = text ? g_ascii_strtoll(text, NULL, 0) : 0;
    if (__builtin_mul_overflow(offset, unit_ns, &offset) ||
        __builtin_add_overflow(file->offset_ns, offset, &file->offset_ns) ||
        !lull_time_is_valid(file->offset_ns)) {
        lull_report_problem(file->report,
                            "%s: with the offset that it gives, " LULL_TIME_OUTSIDE
                            "; the offset is not used",
                            file->path);
        file->offset_ns = 0;
    }
}

static void take_cpus(struct lull_tracedat_in *in, struct lull_tracedat_buffer *buffer)
{
    buffer->page_bytes = (uint32_t)lull_tracedat_number(in, 4);
    uint64_t n = lull_tracedat_number(in, 4);
    in->is_short = in->is_short || n > LULL_MAX_CPUS;
    for (uint64_t i = 0; i < n && !in->is_short; i++) {
        struct lull_tracedat_cpu cpu = {.cpu = (int32_t)(lull_tracedat_number(in, 4) & 0x7fffffff)};
        cpu.offset = lull_tracedat_number(in, 8);
        cpu.size = lull_tracedat_number(in, 8);
        if (!in->is_short) {
            g_array_append_val(buffer->cpus, cpu);
        }
    }
}

/* The header of the pages' section says whether they are compressed. */
static bool is_packed(struct lull_tracedat *file, uint64_t at)
{
    struct lull_tracedat_in in = {.file = file, .pos = at, .end = file->size};
    lull_tracedat_skip(&in, 2);
    return (lull_tracedat_number(&in, 2) & 1) != 0;
}

static void take_buffer(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    struct lull_tracedat_buffer *buffer = g_new0(struct lull_tracedat_buffer, 1);
    uint64_t at = lull_tracedat_number(in, 8);
    buffer->name = lull_tracedat_string(in);
    buffer->page_bytes = file->page_bytes;
    buffer->cpus = g_array_new(FALSE, FALSE, sizeof(struct lull_tracedat_cpu));
    if (file->version == 6) { /* the CPUs are there */
        struct lull_tracedat_cpu cpu = {.offset = at};
        g_array_append_val(buffer->cpus, cpu);
    } else {
        buffer->clock = lull_tracedat_string(in);
        buffer->is_packed = is_packed(file, at);
        take_cpus(in, buffer);
    }
    if (!buffer->name) {
        buffer->name = g_strdup("");
    }
    if (!buffer->clock) {
        buffer->clock = g_strdup("");
    }
    g_ptr_array_add(file->buffers, buffer);
}

static void take_tsc(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    uint32_t mult = (uint32_t)lull_tracedat_number(in, 4);
    uint32_t shift = (uint32_t)lull_tracedat_number(in, 4);
    if (in->is_short || shift > 63) {
        in->is_short = true;
    } else {
        file->mult = mult, file->shift = shift;
    }
}

/* ---- counts of the kernel ---- */

/* The number after `key` at the start of a line; 0: it is not there. */
static uint64_t find_count(const char *text, const char *key)
{
    g_autofree char *line = g_strconcat("\n", key, ": ", NULL);
    const char *at = strstr(text, line);
    return at ? g_ascii_strtoull(at + strlen(line), NULL, 10) : 0;
}

/* The text of per_cpu/cpuN/stats after "CPU: N"; or a "Buffer: NAME", of which are those that
 * follow. */
static void take_stats(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    g_autofree char *text = text_of(in), *all = g_strconcat("\n", text, NULL);
    const char *name = strstr(all, "\nBuffer: "), *cpu = strstr(all, "\nCPU: ");
    struct lull_tracedat_stat stat = {.cpu = -1};
    if (name) {
        name += strlen("\nBuffer: ");
        stat.buffer = g_strndup(name, strcspn(name, "\n"));
    } else if (!cpu) {
        return;
    } else if (file->stats->len > 0) {
        stat.buffer = g_strdup(
            g_array_index(file->stats, struct lull_tracedat_stat, file->stats->len - 1).buffer);
    } else {
        stat.buffer = g_strdup("");
    }
    if (cpu) {
        stat.cpu = (int32_t)(g_ascii_strtoull(cpu + strlen("\nCPU: "), NULL, 10) & 0x7fffffff);
        stat.overwritten = find_count(all, "overrun");
        stat.dropped = find_count(all, "dropped events") + find_count(all, "commit overrun");
    }
    if (file->stats->len < LULL_MAX_CPUS) {
        g_array_append_val(file->stats, stat);
    } else {
        g_free(stat.buffer);
    }
}

/* ---- virtual machines ---- */

static void take_guest(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    g_autofree char *name = lull_tracedat_string(in);
    uint64_t id = lull_tracedat_number(in, 8), n = lull_tracedat_number(in, 4);
    if (in->is_short || n > (in->end - in->pos) / 8) {
        in->is_short = true;
        return;
    }
    struct lull_tracedat_guest *guest = g_new0(struct lull_tracedat_guest, 1);
    guest->name = g_steal_pointer(&name);
    guest->id = id;
    guest->tids = g_array_new(FALSE, TRUE, sizeof(int32_t));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t cpu = lull_tracedat_number(in, 4);
        int32_t tid = (int32_t)lull_tracedat_number(in, 4);
        if (cpu >= MIN(n, LULL_MAX_CPUS)) {
            continue;
        }
        if (cpu >= guest->tids->len) {
            g_array_set_size(guest->tids, (guint)cpu + 1);
        }
        g_array_index(guest->tids, int32_t, cpu) = tid;
    }
    g_ptr_array_add(file->guests, guest);
}

static bool take_option(struct lull_tracedat *file, unsigned id, struct lull_tracedat_in *in,
                        GError **error)
{
    switch (id) {
    case OPTION_DATE:
        add_offset(file, in, 1000);
        break;
    case OPTION_OFFSET:
        add_offset(file, in, 1);
        break;
    case OPTION_BUFFER:
        take_buffer(file, in);
        break;
    case OPTION_CLOCK:
        take_text(in, &file->clock);
        break;
    case OPTION_UNAME:
        take_text(in, &file->uname);
        break;
    case OPTION_VERSION:
        take_text(in, &file->tool);
        break;
    case OPTION_TSC2NSEC:
        take_tsc(file, in);
        break;
    case OPTION_CPUSTAT:
        take_stats(file, in);
        break;
    case OPTION_TRACEID:
        file->id = lull_tracedat_number(in, 8);
        break;
    case OPTION_TIME_SHIFT:
        lull_tracedat_take_shifts(file, in);
        break;
    case OPTION_GUEST:
        take_guest(file, in);
        break;
    default:
        if (file->version == 7 && id >= OPTION_HEADER_INFO && id <= OPTION_CMDLINES) {
            return lull_tracedat_section(file, id, lull_tracedat_number(in, 8), error);
        }
    }
    return true;
}

bool lull_tracedat_options(struct lull_tracedat *file, struct lull_tracedat_in *in, uint64_t *next,
                           GError **error)
{
    *next = 0;
    for (;;) {
        uint64_t at = in->pos;
        unsigned id = (unsigned)lull_tracedat_number(in, 2);
        if (!in->is_short && id == OPTION_DONE && file->version == 6) {
            return true;
        }
        uint64_t size = lull_tracedat_number(in, 4);
        g_autofree char *data = lull_tracedat_block(in, size);
        struct lull_tracedat_in option = {
            .file = file, .data = (const uint8_t *)data, .end = size, .is_short = !data};
        if (data && id == OPTION_DONE) {
            *next = lull_tracedat_number(&option, 8);
        } else if (data && !take_option(file, id, &option, error)) {
            return false;
        }
        if (option.is_short) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                        "%s: option %u, at byte %" G_GUINT64_FORMAT " of the options, is cut",
                        file->path, id, at);
            return false;
        }
        if (id == OPTION_DONE) {
            return true;
        }
    }
}
