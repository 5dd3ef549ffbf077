/* SPDX-License-Identifier: MIT */
/* Which descriptors poll() and select() wait for, and which became ready: LTTng records both, and lull's recorder, beside other
 * tracers, what a call that has waited found ready. Only a few say what a wait is for, as with epoll. */
#include <string.h>

#include "base/map.h"
#include "kernel/machine.h"
#include "kernel/wait_reason.h"

/* What both events carry. */
struct arrays {
    struct lull_text records, sets[3];
    int64_t n_records;
};
#define ARRAYS(ev)                                                                                 \
    ((struct arrays){                                                                              \
        (ev)->records, {(ev)->readable, (ev)->writable, (ev)->exceptional}, (ev)->n_records})

void polled_add(struct call *call, int64_t fd)
{
    struct lull_polled *polled = &call->polled;
    if (fd < 0 || fd > INT32_MAX) {
        return; /* poll(2): is left out */
    }
    for (uint32_t i = 0; i < MIN(polled->n, LULL_POLLED_NAMED); i++) {
        if (polled->fds[i] == fd) {
            return;
        }
    }
    if (polled->n < LULL_POLLED_NAMED) {
        polled->fds[polled->n] = (int32_t)fd;
        polled->files[polled->n] = LULL_NONE; /* until polled_label() looks for it */
    }
    polled->n += polled->n < UINT32_MAX;
}

void polled_add_file(struct call *call, uint32_t file)
{
    struct lull_polled *polled = &call->polled;
    for (uint32_t i = 0; i < MIN(polled->n, LULL_POLLED_NAMED); i++) {
        if (polled->files[i] == file) {
            return;
        }
    }
    if (file == LULL_NONE) {
        polled->n = UINT32_MAX;
    } else if (polled->n < LULL_POLLED_NAMED) {
        polled->files[polled->n] = file;
    }
    polled->n += polled->n < UINT32_MAX;
}

/* Of struct pollfd, as LTTng records it, the descriptor comes first. */
static void take_records(struct call *call, const struct call_class *call_class,
                         const struct arrays *arrays)
{
    const uint64_t n = arrays->n_records > 0 ? (uint64_t)arrays->n_records : 0;
    const uint64_t size = n ? arrays->records.length / n : 0;
    for (uint64_t i = 0; size >= 4 && i < n && call->polled.n <= LULL_POLLED_NAMED; i++) {
        const struct lull_text record = {arrays->records.data + i * size, (uint32_t)size};
        polled_add(call, (int32_t)calls_number_at(record, 0, 4, call_class->is_big_endian));
    }
}

/* LTTng puts the bytes of fd_set so that the lowest descriptors come first on every machine. */
static void take_set(struct call *call, struct lull_text set)
{
    for (uint32_t i = 0; i < set.length && call->polled.n <= LULL_POLLED_NAMED; i++) {
        for (unsigned byte = (uint8_t)set.data[i]; byte; byte &= byte - 1) {
            polled_add(call, (int64_t)i * 8 + __builtin_ctz(byte));
        }
    }
}

static void take(struct call *call, const struct call_class *call_class,
                 const struct arrays *arrays)
{
    take_records(call, call_class, arrays);
    for (size_t i = 0; i < G_N_ELEMENTS(arrays->sets); i++) {
        take_set(call, arrays->sets[i]);
    }
}

void polled_started(struct call *call, const struct call_class *call_class,
                    const struct lull_ev_poll_entry *ev)
{
    take(call, call_class, &ARRAYS(ev));
}

void polled_ended(struct call *call, const struct call_class *call_class,
                  const struct lull_ev_poll_exit *ev)
{
    const struct lull_polled waited = call->polled;
    call->polled.n = 0;
    take(call, call_class, &ARRAYS(ev));
    if (call->polled.n == 0) { /* it has timed out, or a signal came */
        call->polled = waited;
    }
}

/* All that the words depend on. */
struct alternatives {
    struct {
        uint32_t path;
        uint16_t type, is_datagram;
    } files[LULL_POLLED_NAMED];
};

static guint hash_alternatives(gconstpointer key)
{
    return lull_hash_words(key, sizeof(struct alternatives));
}

static gboolean equal_alternatives(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct alternatives)) == 0;
}

/* "10.9.0.2:80, a pipe or a timerfd" */
static uint32_t make_label(struct lull_model *model, const uint32_t *files, uint32_t n)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < n; i++) {
        g_string_truncate(text, 0);
        lull_wait_reason_append_peer(model, files[i], model->files.items[files[i]].path, text);
        if (text->len == 0) {
            return LULL_NONE;
        }
        if (!g_ptr_array_find_with_equal_func(names, text->str, g_str_equal, NULL)) {
            g_ptr_array_add(names, g_strdup(text->str));
        }
    }
    g_string_truncate(text, 0);
    for (guint i = 0; i < names->len; i++) {
        g_string_append(text, i == 0 ? "" : i + 1 == names->len ? " or " : ", ");
        g_string_append(text, names->pdata[i]);
    }
    return model_label(model, text->str);
}

uint32_t polled_alternatives(struct lull_model *model, const uint32_t *files, uint32_t n)
{
    struct alternatives key;
    gpointer found;
    if (n == 0) {
        return LULL_NONE;
    }
    memset(&key, 0xff, sizeof key);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_file *file = &model->files.items[files[i]];
        key.files[i].path = file->path;
        key.files[i].type = file->type;
        key.files[i].is_datagram = file->is_datagram;
    }
    if (!model->alternatives) {
        model->alternatives =
            g_hash_table_new_full(hash_alternatives, equal_alternatives, g_free, NULL);
    }
    if (!g_hash_table_lookup_extended(model->alternatives, &key, NULL, &found)) {
        found = GUINT_TO_POINTER(make_label(model, files, n));
        g_hash_table_insert(model->alternatives, g_memdup2(&key, sizeof key), found);
    }
    return GPOINTER_TO_UINT(found);
}

uint32_t polled_label(struct lull_model *model, struct call *call)
{
    struct lull_polled *polled = &call->polled;
    for (uint32_t i = 0; i < polled->n && polled->n <= LULL_POLLED_NAMED; i++) {
        if (polled->files[i] == LULL_NONE) {
            polled->files[i] = files_find(model, call->task, polled->fds[i]);
        }
        if (polled->files[i] == LULL_NONE) {
            polled->n = UINT32_MAX;
        }
    }
    if (polled->n > LULL_POLLED_NAMED) {
        polled->n = 0;
    }
    return polled_alternatives(model, polled->files, polled->n);
}
