/* SPDX-License-Identifier: MIT */
/* The ring buffer that the kernel shares: perf_event_open(2), "MMAP layout". The kernel writes
 * at data_head, the reader gives space back by moving data_tail. */
#include "record/perf/perf.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

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
                    "cannot get a buffer of %s for each CPU: %s%s", size, g_strerror(why),
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
    if (ring->page) {
        munmap(ring->page, (size_t)(ring->data - (uint8_t *)ring->page) + ring->bytes);
    }
    ring->page = NULL;
}

struct perfrec_records perfrec_ring_look(const struct perfrec_ring *ring)
{
    uint64_t end = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    return (struct perfrec_records){ring->data, ring->bytes - 1, ring->page->data_tail, end};
}

void perfrec_ring_taken(struct perfrec_ring *ring, uint64_t end)
{
    __atomic_store_n(&ring->page->data_tail, end, __ATOMIC_RELEASE);
}
