/* SPDX-License-Identifier: MIT */
/* From the time stamps of a trace.dat to nanoseconds. A guest's are first moved to the clock of its
 * host: trace-cmd measured the difference at some times, for each CPU (option TIME_SHIFT). Cycles
 * of the TSC are then scaled as the kernel says (option TSC2NSEC). */
#include "source/tracedat/tracedat.h"

#include <string.h>

#include "base/cpu_slots.h"

#define FLAG_INTERPOLATE 1u

struct lull_tracedat_sample {
    uint64_t time; /* when it was measured */
    int64_t offset;
    uint64_t scaling, fraction; /* clock * scaling >> fraction */
};

/* ---- reading the option ---- */

static int by_time(const void *a, const void *b)
{
    const struct lull_tracedat_sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* In order of time, of equal times the first. */
static void sort(struct lull_tracedat_shift *shift)
{
    uint32_t n = 0;
    qsort(shift->samples, shift->n_samples, sizeof *shift->samples, by_time);
    for (uint32_t i = 0; i < shift->n_samples; i++) {
        if (i == 0 || shift->samples[i].time != shift->samples[n - 1].time) {
            shift->samples[n++] = shift->samples[i];
        }
    }
    shift->n_samples = n;
}

/* The samples of a CPU: first all times, then all offsets, then all scales. */
static void take_samples(struct lull_tracedat_in *in, struct lull_tracedat_shift *shift)
{
    uint64_t n = lull_tracedat_number(in, 4);
    if (in->is_short || n > (in->end - in->pos) / 24) {
        in->is_short = true;
        return;
    }
    shift->n_samples = (uint32_t)n;
    shift->samples = g_new0(struct lull_tracedat_sample, MAX(n, 1));
    for (uint64_t i = 0; i < n; i++) {
        shift->samples[i].time = lull_tracedat_number(in, 8);
    }
    for (uint64_t i = 0; i < n; i++) {
        shift->samples[i].offset = (int64_t)lull_tracedat_number(in, 8);
    }
    for (uint64_t i = 0; i < n; i++) {
        shift->samples[i].scaling = lull_tracedat_number(in, 8);
    }
}

void lull_tracedat_take_shifts(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    lull_tracedat_free_shifts(file);
    file->peer_id = lull_tracedat_number(in, 8);
    file->interpolates = (lull_tracedat_number(in, 4) & FLAG_INTERPOLATE) != 0;
    uint64_t n = lull_tracedat_number(in, 4);
    if (in->is_short || n > LULL_MAX_CPUS || n > (in->end - in->pos) / 4) {
        in->is_short = true;
        return;
    }
    file->n_shifts = (uint32_t)n;
    file->shifts = g_new0(struct lull_tracedat_shift, MAX(n, 1));
    for (uint64_t i = 0; i < n && !in->is_short; i++) {
        take_samples(in, &file->shifts[i]);
    }
    bool has_fractions = in->pos < in->end; /* older files end here */
    for (uint64_t i = 0; i < n && !in->is_short; i++) {
        for (uint32_t k = 0; has_fractions && k < file->shifts[i].n_samples; k++) {
            file->shifts[i].samples[k].fraction = lull_tracedat_number(in, 8);
        }
        sort(&file->shifts[i]);
    }
}

void lull_tracedat_free_shifts(struct lull_tracedat *file)
{
    for (uint32_t i = 0; i < file->n_shifts; i++) {
        g_free(file->shifts[i].samples);
    }
    g_clear_pointer(&file->shifts, g_free);
    file->n_shifts = 0;
}

/* ---- times ---- */

/* What is added between two samples, where `first` counts unless it is to be interpolated. */
static int64_t offset_at(const struct lull_tracedat *file, const struct lull_tracedat_sample *first,
                         uint64_t clock)
{
    if (!file->interpolates) {
        return first->offset;
    }
    __int128 delta = (__int128)first[1].time - first->time;
    __int128 change = (__int128)first[1].offset - first->offset;
    __int128 part = ((__int128)clock - first->time) * change;
    return (int64_t)(first->offset + (part + delta / 2) / delta);
}

/* The sample that counts: the last one before the time that has another after it, or the first. */
static const struct lull_tracedat_sample *find_sample(const struct lull_tracedat_shift *shift,
                                                      uint64_t clock)
{
    uint32_t low = 0, high = shift->n_samples - 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (shift->samples[middle].time <= clock) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &shift->samples[low];
}

static uint64_t shifted(const struct lull_tracedat *file, const struct lull_tracedat_shift *shift,
                        uint64_t clock)
{
    const struct lull_tracedat_sample *sample = shift->samples;
    if (shift->n_samples == 1) {
        return clock + (uint64_t)sample->offset;
    }
    sample = find_sample(shift, clock);
    unsigned __int128 scaled =
        (unsigned __int128)clock * sample->scaling >> MIN(sample->fraction, 127);
    return (uint64_t)scaled + (uint64_t)offset_at(file, sample, clock);
}

const struct lull_tracedat_shift *lull_tracedat_shift_of(const struct lull_tracedat *file,
                                                         int32_t cpu)
{
    if (cpu < 0 || (uint32_t)cpu >= file->n_shifts || file->shifts[cpu].n_samples == 0) {
        return NULL;
    }
    return &file->shifts[cpu];
}

uint64_t lull_tracedat_nanoseconds(const struct lull_tracedat *file,
                                   const struct lull_tracedat_shift *shift, uint64_t clock)
{
    if (shift) {
        clock = shifted(file, shift, clock);
    }
    if (file->mult == 0) {
        return clock;
    }
    return (uint64_t)((unsigned __int128)clock * file->mult >> file->shift);
}
