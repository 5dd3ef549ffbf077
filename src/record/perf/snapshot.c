/* SPDX-License-Identifier: MIT */
/* The flight recorder of the tracer perf. The kernel writes the ring buffers backwards, newest
 * record first, and over the oldest: so a walk from the head finds whole records until it comes to
 * the one that is being overwritten (perf_event_open(2), write_backward). */
#include <errno.h>
#include <sys/ioctl.h>

#include "record/perf/perf.h"

static void pause_all(const struct perfrec_open *open, uint32_t n, uint32_t is_paused)
{
    for (uint32_t i = 0; i < n; i++) {
        ioctl(open->rings[i].fd, PERF_EVENT_IOC_PAUSE_OUTPUT, is_paused);
    }
}

bool perfrec_freeze(const struct perfrec_open *open, GError **error)
{
    for (uint32_t i = 0; i < open->n_rings; i++) {
        if (ioctl(open->rings[i].fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) < 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                        "the kernel does not pause a buffer of perf events: %s", g_strerror(errno));
            pause_all(open, i, 0);
            return false;
        }
    }
    return true;
}

void perfrec_thaw(const struct perfrec_open *open)
{
    pause_all(open, open->n_rings, 0);
}

/* All that was written and not written over, newest first; the last record may be cut. */
static GByteArray *copy_ring(const struct perfrec_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t n = MIN(-head, ring->bytes), first = head & (ring->bytes - 1);
    uint64_t straight = MIN(n, ring->bytes - first);
    GByteArray *bytes = g_byte_array_sized_new((guint)n);
    g_byte_array_append(bytes, ring->data + first, (guint)straight);
    g_byte_array_append(bytes, ring->data, (guint)(n - straight));
    return bytes;
}

/* The same records, oldest first. */
static GByteArray *reverse(GByteArray *bytes)
{
    struct perfrec_records records = {bytes->data, UINT64_MAX, 0, bytes->len};
    GArray *positions = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    struct perf_event_header head;
    for (uint32_t at = 0; at < bytes->len; at += head.size) {
        head = perfrec_head(&records, at);
        if (head.size == 0) {
            break;
        }
        g_array_append_val(positions, at);
    }
    GByteArray *turned = g_byte_array_sized_new(bytes->len);
    for (guint i = positions->len; i-- > 0;) {
        uint32_t at = g_array_index(positions, uint32_t, i);
        g_byte_array_append(turned, bytes->data + at, perfrec_head(&records, at).size);
    }
    g_array_free(positions, TRUE);
    g_byte_array_free(bytes, TRUE);
    return turned;
}

static bool append(struct perfrec_file *file, const GByteArray *bytes, struct perfrec_tally *tally,
                   GError **error)
{
    struct iovec part = {bytes->data, bytes->len};
    perfrec_tally_records(tally, &(struct perfrec_records){bytes->data, UINT64_MAX, 0, bytes->len});
    return perfrec_file_append(file, &part, 1, error);
}

/* All parts, one for each ring, as one round. */
static bool append_parts(struct perfrec_file *file, GByteArray *const *parts, uint32_t n,
                         struct perfrec_filter *filter, struct perfrec_tally *tally, GError **error)
{
    struct perfrec_records *records = g_new(struct perfrec_records, n);
    for (uint32_t i = 0; i < n; i++) {
        records[i] = (struct perfrec_records){parts[i]->data, UINT64_MAX, 0, parts[i]->len};
    }
    if (filter) {
        perfrec_filter_learn(filter, records, n);
    }
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < n; i++) {
        if (!filter) {
            is_good = append(file, parts[i], tally, error);
            continue;
        }
        GByteArray *passed = g_byte_array_new();
        perfrec_filter_pass(filter, &records[i], passed);
        is_good = append(file, passed, tally, error);
        g_byte_array_free(passed, TRUE);
    }
    g_free(records);
    return is_good && perfrec_file_append_round(file, error);
}

bool perfrec_snapshot(const struct perfrec_open *open, struct perfrec_filter *filter,
                      struct perfrec_file *file, struct perfrec_tally *tally, GError **error)
{
    GByteArray **parts = g_new(GByteArray *, open->n_rings);
    for (uint32_t i = 0; i < open->n_rings; i++) {
        parts[i] = copy_ring(&open->rings[i]);
    }
    perfrec_thaw(open);
    for (uint32_t i = 0; i < open->n_rings; i++) {
        parts[i] = reverse(parts[i]);
    }
    tally->first_ns = UINT64_MAX;
    bool is_good = append_parts(file, parts, open->n_rings, filter, tally, error);
    for (uint32_t i = 0; i < open->n_rings; i++) {
        g_byte_array_free(parts[i], TRUE);
    }
    g_free(parts);
    return is_good;
}
