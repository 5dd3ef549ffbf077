/* SPDX-License-Identifier: MIT */
/* What to keep when the disk is full: what the CPUs saw until one time. The buffer of a CPU that
 * had little to report holds its oldest events to the end, so the newest pages of the others make
 * room for them. */
#include <unistd.h>

#include "record/ftrace/ftrace.h"

/* How many pages are given up at a time. */
#define PAGES 16

struct room {
    struct lull_ftrace_cpu *cpus;
    uint32_t n;
    uint64_t end_ns; /* until then nothing was given up; UINT64_MAX: nothing at all */
};

/* When the page at `at` of the file starts: its first number. 0: it cannot be read. */
static uint64_t page_ns(const struct lull_ftrace_cpu *cpu, uint64_t at)
{
    uint64_t ns;
    return pread(cpu->out, &ns, sizeof ns, (off_t)at) == sizeof ns ? ns : 0;
}

uint64_t lull_ftrace_first_ns(const struct lull_ftrace_cpu *cpus, uint32_t n)
{
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (cpus[i].bytes > 0) {
            first_ns = MIN(first_ns, page_ns(&cpus[i], 0));
        }
    }
    return first_ns;
}

static uint64_t whole_bytes(const struct lull_ftrace_cpu *cpu)
{
    return cpu->bytes - cpu->bytes % cpu->page_bytes;
}

/* When the last whole page starts; 0: there is none. */
static uint64_t last_ns(const struct lull_ftrace_cpu *cpu)
{
    const uint64_t bytes = whole_bytes(cpu);
    return bytes ? page_ns(cpu, bytes - cpu->page_bytes) : 0;
}

/* Gives up the page that is not whole, and up to n_pages before it that start at `from_ns` or
 * later. Whether there are such. */
static bool cut(struct room *room, struct lull_ftrace_cpu *cpu, uint64_t from_ns, uint64_t n_pages)
{
    const uint64_t whole = whole_bytes(cpu);
    uint64_t bytes = whole;
    uint64_t first_ns = cpu->bytes > whole ? page_ns(cpu, whole) : UINT64_MAX;
    for (; n_pages > 0 && bytes > 0 && page_ns(cpu, bytes - cpu->page_bytes) >= from_ns;
         n_pages--) {
        bytes -= cpu->page_bytes;
        first_ns = page_ns(cpu, bytes);
    }
    if (bytes == cpu->bytes || ftruncate(cpu->out, (off_t)bytes) != 0 ||
        lseek(cpu->out, (off_t)bytes, SEEK_SET) < 0) {
        return false;
    }
    room->end_ns = MIN(room->end_ns, first_ns);
    cpu->bytes = bytes;
    cpu->is_cut = true;
    return true;
}

/* Has the other CPU that saw most give up some of it; false if all is older than what is to be
 * saved. */
static bool make_room(struct room *room, const struct lull_ftrace_cpu *saved)
{
    struct lull_ftrace_cpu *newest = NULL;
    const uint64_t from_ns = last_ns(saved) + 1;
    uint64_t newest_ns = from_ns;
    for (uint32_t i = 0; i < room->n; i++) {
        struct lull_ftrace_cpu *cpu = &room->cpus[i];
        const uint64_t ns = cpu == saved ? 0 : last_ns(cpu);
        if (ns >= newest_ns) {
            newest = cpu;
            newest_ns = ns;
        }
    }
    return newest && cut(room, newest, from_ns, PAGES);
}

/* Nothing can follow what does not reach the file. */
static void give_up(struct room *room, struct lull_ftrace_cpu *cpu)
{
    uint64_t first_ns = 0;
    if (!cut(room, cpu, UINT64_MAX, 0) &&
        read(cpu->pipe[0], &first_ns, sizeof first_ns) == sizeof first_ns) {
        cpu->in_pipe -= sizeof first_ns;
        room->end_ns = MIN(room->end_ns, first_ns);
    }
    cpu->is_cut = true;
}

static bool finish(struct room *room, struct lull_ftrace_cpu *cpu, GError **error)
{
    g_autoptr(GError) why = NULL;
    if (cpu->off_ns) {
        room->end_ns = MIN(room->end_ns, cpu->off_ns);
    }
    while (!cpu->is_cut && !lull_ftrace_cpu_finish(cpu, &why)) {
        if (!lull_tracer_is_full(cpu->why)) {
            g_propagate_error(error, g_steal_pointer(&why));
            return false;
        }
        if (!make_room(room, cpu)) {
            give_up(room, cpu);
        }
        g_clear_error(&why);
    }
    return true;
}

bool lull_ftrace_finish_all(struct lull_ftrace_cpu *cpus, uint32_t n, uint64_t *end_ns,
                            GError **error)
{
    struct room room = {.cpus = cpus, .n = n, .end_ns = UINT64_MAX};
    for (uint32_t i = 0; i < n; i++) {
        lull_ftrace_cpu_stop(&cpus[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!finish(&room, &cpus[i], error)) {
            return false;
        }
    }
    *end_ns = room.end_ns == UINT64_MAX ? 0 : room.end_ns;
    for (uint32_t i = 0; i < n && *end_ns; i++) {
        cut(&room, &cpus[i], *end_ns, UINT64_MAX);
    }
    return true;
}
