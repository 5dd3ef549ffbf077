/* perf writes what it finds in one ring buffer after the other: rounds. Times go back from buffer
 * to buffer, but what a round holds is not earlier than the latest of the round before the last. So
 * records wait, by CPU, for the end of the next round. */
#include "source/perf.h"

#include <string.h>

/* So much waits at most if no round ends. */
#define MOST_WAITING (UINT64_C(256) << 20)

struct ref {
    uint64_t time;
    uint64_t offset; /* in the queue's bytes; also the order of equal times */
    uint32_t size;
};

struct queue {
    int32_t cpu;
    bool is_unsorted;
    GArray *refs; /* struct ref */
    uint8_t *bytes;
    size_t used, capacity;
};

struct perf_order {
    GPtrArray *queues;     /* struct queue, by CPU + 1; NULL where none is */
    struct queue *noted;   /* copies of those that say what tasks are called */
    uint64_t waiting;      /* bytes */
    uint64_t latest;       /* time */
    uint64_t round_latest; /* of the rounds that have ended */
    uint64_t settled;      /* everything up to here has been emitted */
};

static struct queue *queue_new(int32_t cpu)
{
    struct queue *queue = g_new0(struct queue, 1);
    queue->cpu = cpu;
    queue->refs = g_array_new(FALSE, FALSE, sizeof(struct ref));
    return queue;
}

static void queue_free(gpointer data)
{
    struct queue *queue = data;
    if (queue == NULL)
        return;
    g_array_unref(queue->refs);
    g_free(queue->bytes);
    g_free(queue);
}

struct perf_order *perf_order_new(void)
{
    struct perf_order *order = g_new0(struct perf_order, 1);
    order->queues = g_ptr_array_new_with_free_func(queue_free);
    order->noted = queue_new(-1);
    return order;
}

void perf_order_free(struct perf_order *order)
{
    if (order == NULL)
        return;
    g_ptr_array_unref(order->queues);
    queue_free(order->noted);
    g_free(order);
}

static void queue_add(struct queue *queue, uint64_t time, const uint8_t *record, uint32_t size)
{
    if (queue->capacity - queue->used < size) {
        queue->capacity = MAX(queue->capacity * 2, queue->used + size);
        queue->bytes = g_realloc(queue->bytes, queue->capacity);
    }
    memcpy(queue->bytes + queue->used, record, size);
    struct ref ref = {time, queue->used, size};
    if (queue->refs->len > 0 &&
        g_array_index(queue->refs, struct ref, queue->refs->len - 1).time > time)
        queue->is_unsorted = true;
    g_array_append_val(queue->refs, ref);
    queue->used += size;
}

void perf_order_add(struct perf_order *order, int32_t cpu, uint64_t time, const uint8_t *record,
                    uint32_t size)
{
    guint index = (guint)(cpu + 1);
    if (index >= order->queues->len)
        g_ptr_array_set_size(order->queues, (gint)index + 1);
    if (order->queues->pdata[index] == NULL)
        order->queues->pdata[index] = queue_new(cpu);
    queue_add(order->queues->pdata[index], time, record, size);
    order->waiting += size + sizeof(struct ref);
    order->latest = MAX(order->latest, time);
}

void perf_order_note(struct perf_order *order, uint64_t time, const uint8_t *record, uint32_t size)
{
    queue_add(order->noted, time, record, size);
}

bool perf_order_is_full(const struct perf_order *order)
{
    return order->waiting > MOST_WAITING;
}

static int compare(gconstpointer a, gconstpointer b)
{
    const struct ref *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Keeps the records from number `first` on. */
static void queue_drop(struct queue *queue, guint first)
{
    struct queue rest = {.refs = g_array_new(FALSE, FALSE, sizeof(struct ref))};
    if (first == 0) {
        g_array_unref(rest.refs);
        return;
    }
    for (guint i = first; i < queue->refs->len; i++) {
        const struct ref *ref = &g_array_index(queue->refs, struct ref, i);
        queue_add(&rest, ref->time, queue->bytes + ref->offset, ref->size);
    }
    g_array_unref(queue->refs);
    g_free(queue->bytes);
    rest.cpu = queue->cpu;
    *queue = rest;
}

static void queue_flush(struct queue *queue, struct perf_file *file, uint64_t limit,
                        uint64_t settled)
{
    struct perf_order *order = file->order;
    guint i = 0;
    if (queue->is_unsorted)
        g_array_sort(queue->refs, compare);
    queue->is_unsorted = false;
    for (; i < queue->refs->len; i++) {
        const struct ref *ref = &g_array_index(queue->refs, struct ref, i);
        const uint8_t *record = queue->bytes + ref->offset;
        if (ref->time > limit)
            break;
        if (queue == order->noted) {
            perf_event_note(file, record, ref->time, settled);
            continue;
        }
        perf_event_emit(file, queue->cpu, ref->time, record, ref->size);
        order->waiting -= ref->size + sizeof(struct ref);
    }
    queue_drop(queue, i);
}

void perf_order_flush(struct perf_order *order, struct perf_file *file, bool all)
{
    uint64_t limit = all ? UINT64_MAX : order->round_latest;
    queue_flush(order->noted, file, limit, order->settled);
    for (guint i = 0; i < order->queues->len; i++)
        if (order->queues->pdata[i] != NULL)
            queue_flush(order->queues->pdata[i], file, limit, order->settled);
    order->settled = MIN(limit, order->latest);
    order->round_latest = order->latest;
}
