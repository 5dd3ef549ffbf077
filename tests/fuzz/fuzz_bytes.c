/* SPDX-License-Identifier: MIT */
/* A stream file that lies in memory. */
#include "fuzz/fuzz_bytes.h"

#include <glib.h>
#include <string.h>

struct memory_bytes {
    struct lull_bytes base;
    const uint8_t *data;
    size_t size;
};

static const char *memory_open(struct lull_bytes *bytes)
{
    return NULL;
}

static uint64_t memory_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                            const char **why)
{
    const struct memory_bytes *bytes = (const struct memory_bytes *)base;
    *why = "the file has become shorter";
    if (offset >= bytes->size) {
        return 0;
    }
    size = MIN(size, bytes->size - offset);
    memcpy(buf, bytes->data + offset, size);
    return size;
}

static void memory_close(struct lull_bytes *bytes)
{
}

static void memory_free(struct lull_bytes *bytes)
{
    g_free(bytes);
}

struct lull_bytes *fuzz_bytes_new(const uint8_t *data, size_t size)
{
    static const struct lull_bytes_ops ops = {
        .open = memory_open, .read = memory_read, .close = memory_close, .free = memory_free};
    struct memory_bytes *bytes = g_new0(struct memory_bytes, 1);
    *bytes = (struct memory_bytes){{.ops = &ops}, data, size};
    return &bytes->base;
}
