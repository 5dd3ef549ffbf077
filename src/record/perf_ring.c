/* The ring buffer that the kernel shares: perf_event_open(2), "MMAP layout". The kernel writes
 * behind data_head, the reader gives space back by moving data_tail. */
#include "record/perf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where a sample has its time: behind its head, identifier, process and task. */
#define SAMPLE_TIME 24

bool perfrec_ring_map(struct perfrec_ring *ring, int fd, uint64_t bytes, bool is_overwritten,
                      GError **error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    int access = is_overwritten ? PROT_READ : PROT_READ | PROT_WRITE;
    void *base = mmap(NULL, page + bytes, access, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        int why = errno;
        char *size = g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "cannot have a buffer of %s for each CPU: %s%s", size, g_strerror(why),
                    why == EPERM ? "; ask for a smaller one, run as root, or raise "
                                   "kernel.perf_event_mlock_kb"
                                 : "");
        g_free(size);
        return false;
    }
    *ring = (struct perfrec_ring){fd, base, (uint8_t *)base + page, bytes};
    return true;
}

void perfrec_ring_unmap(struct perfrec_ring *ring)
{
    if (ring->page)
        munmap(ring->page, (size_t)(ring->data - (uint8_t *)ring->page) + ring->bytes);
    ring->page = NULL;
}

/* Words never lie across the end of the buffer: records are multiples of them. */
static uint64_t word(const struct perfrec_ring *ring, uint64_t at)
{
    return *(const uint64_t *)(const void *)(ring->data + (at & (ring->bytes - 1)));
}

static uint64_t tally_record(const struct perfrec_ring *ring, uint64_t at,
                             struct perfrec_tally *tally)
{
    uint64_t head = word(ring, at);
    struct perf_event_header record;
    memcpy(&record, &head, sizeof record);
    switch (record.type) {
    case PERF_RECORD_SAMPLE: {
        uint64_t time = word(ring, at + SAMPLE_TIME);
        tally->samples++;
        tally->first_ns = MIN(tally->first_ns, time);
        tally->last_ns = MAX(tally->last_ns, time);
        break;
    }
    case PERF_RECORD_LOST:
        tally->lost += word(ring, at + 16);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        tally->lost += word(ring, at + 8);
        break;
    default:
        break;
    }
    return record.size;
}

uint32_t perfrec_ring_look(const struct perfrec_ring *ring, uint64_t *head, struct iovec parts[2],
                           struct perfrec_tally *tally)
{
    uint64_t begin = ring->page->data_tail;
    uint64_t end = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    *head = end;
    if (begin == end)
        return 0;
    for (uint64_t at = begin, size = 0; at < end; at += size) {
        size = tally_record(ring, at, tally);
        if (size == 0)
            break; /* the kernel does not do this */
    }
    uint64_t first = begin & (ring->bytes - 1), n = MIN(end - begin, ring->bytes - first);
    parts[0] = (struct iovec){ring->data + first, n};
    parts[1] = (struct iovec){ring->data, end - begin - n};
    return parts[1].iov_len ? 2 : 1;
}

void perfrec_ring_taken(struct perfrec_ring *ring, uint64_t head)
{
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}
