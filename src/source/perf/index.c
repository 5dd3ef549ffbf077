/* SPDX-License-Identifier: MIT */
/* Which parts of the records belong to which CPU. perf empties one ring buffer after the other, so
 * records of a CPU lie together in runs; the index has an entry for each run, not for each record.
 * Where runs are so short that the index would grow large, neighbours become one entry, and who
 * reads it steps over the records of others in between. */
#include "source/perf/perf.h"

#include <string.h>

/* Runs become one entry up to this size. */
#define MOST_BYTES UINT64_C(262144)
/* With so many entries the distance is doubled. */
#define MOST_EXTENTS (UINT32_C(1) << 18)

static struct perf_cpu *cpu_new(struct perf_file *file, int32_t number, bool is_state)
{
    struct perf_cpu *cpu = g_new0(struct perf_cpu, 1);
    cpu->cpu = number;
    cpu->is_state = is_state;
    cpu->extents = g_array_new(FALSE, FALSE, sizeof(struct perf_extent));
    cpu->first = UINT64_MAX;
    g_ptr_array_add(file->cpus, cpu);
    return cpu;
}

void perf_cpu_free(gpointer data)
{
    struct perf_cpu *cpu = data;
    g_array_unref(cpu->extents);
    g_free(cpu->totals);
    g_free(cpu);
}

struct perf_cpu *perf_cpu_get(struct perf_file *file, int32_t cpu, bool is_state)
{
    uint32_t at = (uint32_t)(cpu + 1);
    if (is_state) {
        if (!file->state) {
            file->state = cpu_new(file, -1, true);
        }
        return file->state;
    }
    if (at >= file->n_by_cpu) {
        uint32_t n = MAX(at + 1, MAX(2 * file->n_by_cpu, 64));
        file->by_cpu = g_renew(struct perf_cpu *, file->by_cpu, n);
        memset(file->by_cpu + file->n_by_cpu, 0, (n - file->n_by_cpu) * sizeof *file->by_cpu);
        file->n_by_cpu = n;
    }
    if (!file->by_cpu[at]) {
        file->by_cpu[at] = cpu_new(file, cpu, false);
    }
    return file->by_cpu[at];
}

/* ---- extents ---- */

static struct perf_extent *last_of(const struct perf_cpu *cpu)
{
    return &g_array_index(cpu->extents, struct perf_extent, cpu->extents->len - 1);
}

static bool may_join(const struct perf_file *file, const struct perf_extent *extent,
                     uint64_t offset, uint64_t size)
{
    return offset - (extent->offset + extent->size) <= file->gap &&
           offset + size - extent->offset <= MOST_BYTES;
}

static void join(struct perf_extent *to, const struct perf_extent *from)
{
    to->is_sorted = to->is_sorted && from->is_sorted && from->later >= to->last;
    to->later = MIN(to->later, from->later);
    to->last = MAX(to->last, from->last);
    to->size = (uint32_t)(from->offset + from->size - to->offset);
}

/* Doubles the gap until there are far fewer extents, or they are as large as they may be. */
static void coarsen(struct perf_file *file)
{
    uint32_t before = file->n_extents;
    while (file->n_extents > before / 2 && file->gap < MOST_BYTES) {
        file->gap *= 2;
        file->n_extents = 0;
        for (guint i = 0; i < file->cpus->len; i++) {
            GArray *extents = ((struct perf_cpu *)file->cpus->pdata[i])->extents;
            struct perf_extent *list = (struct perf_extent *)(void *)extents->data;
            guint n = 0;
            for (guint k = 0; k < extents->len; k++) {
                if (n > 0 && may_join(file, &list[n - 1], list[k].offset, list[k].size)) {
                    join(&list[n - 1], &list[k]);
                } else {
                    list[n++] = list[k];
                }
            }
            g_array_set_size(extents, n);
            file->n_extents += n;
        }
    }
}

static void start_extent(struct perf_file *file, struct perf_cpu *cpu,
                         const struct perf_extent *extent)
{
    g_array_append_vals(cpu->extents, extent, 1);
    if (++file->n_extents > MOST_EXTENTS && file->gap < MOST_BYTES) {
        coarsen(file);
    }
}

static void count(struct perf_cpu *cpu, uint32_t slot)
{
    if (G_UNLIKELY(slot >= cpu->n_totals)) {
        uint32_t n = (slot | 63) + 1;
        cpu->totals = g_renew(uint64_t, cpu->totals, n);
        memset(cpu->totals + cpu->n_totals, 0, (n - cpu->n_totals) * sizeof *cpu->totals);
        cpu->n_totals = n;
    }
    cpu->totals[slot]++;
}

void perf_cpu_add(struct perf_file *file, struct perf_cpu *cpu, uint32_t slot, uint64_t offset,
                  uint32_t size, uint64_t time)
{
    struct perf_extent *extent = cpu->extents->len > 0 ? last_of(cpu) : NULL;
    count(cpu, slot);
    cpu->n_events++;
    cpu->n_bytes += size;
    cpu->first = MIN(cpu->first, time);
    cpu->last = MAX(cpu->last, time);
    if (G_UNLIKELY(!extent || !may_join(file, extent, offset, size))) {
        const struct perf_extent fresh = {offset, time, time, size, true};
        start_extent(file, cpu, &fresh);
        return;
    }
    if (G_UNLIKELY(time < extent->last)) {
        extent->is_sorted = false;
    }
    extent->later = MIN(extent->later, time);
    extent->last = MAX(extent->last, time);
    extent->size = (uint32_t)(offset + size - extent->offset);
}

static int by_number(gconstpointer a, gconstpointer b)
{
    const struct perf_cpu *x = *(struct perf_cpu *const *)a, *y = *(struct perf_cpu *const *)b;
    if (x->is_state != y->is_state) {
        return x->is_state ? -1 : 1;
    }
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

void perf_index_finish(struct perf_file *file)
{
    g_ptr_array_sort(file->cpus, by_number);
    for (guint i = 0; i < file->cpus->len; i++) {
        struct perf_cpu *cpu = file->cpus->pdata[i];
        uint64_t later = UINT64_MAX;
        cpu->number = i;
        for (guint k = cpu->extents->len; k > 0; k--) {
            struct perf_extent *extent = &g_array_index(cpu->extents, struct perf_extent, k - 1);
            extent->later = later = MIN(later, extent->later);
        }
    }
}
