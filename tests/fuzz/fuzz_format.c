/* SPDX-License-Identifier: MIT */
/* Fuzz target: the text of a tracepoint's `format` file. A class that comes of it can be loaded and
 * visited on any record that is long enough, and its fields are found by their names. */
#include <stdlib.h>
#include <string.h>

#include "source/format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libtraceevent forgets some bytes of a format that it refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void on_end(void *user, enum lull_visit_kind kind)
{
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    ++*(uint64_t *)user;
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    ++*(uint64_t *)user;
}

static void on_field(void *user, const struct lull_field_info *field)
{
    struct lull_field_type type;
    if (!lull_format_describe(user, field->path, &type)) {
        abort();
    }
}

/* Reads a record of so many bytes, which nothing behind may be touched of. */
static void try_record(const struct lull_format *format, uint32_t size, uint8_t value)
{
    static const struct lull_visitor visitor = {
        .start = on_start, .end = on_end, .integer = on_integer, .text = on_text};
    g_autofree uint8_t *data = g_malloc(MAX(size, 1));
    const struct lull_format_record record = {data, size, NULL};
    struct lull_source_tally tally = {0, 0};
    uint64_t visited = 0;
    memset(data, value, size);
    bool is_whole = lull_format_visit(format, &record, &visitor, &visited, NULL);
    lull_format_sum(format, &record, &tally);
    if (is_whole && tally.fields != visited) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    g_autoptr(GError) error = NULL;
    struct lull_formats *formats = lull_formats_new(data[0] & 1, (data[0] & 2) != 0 ? 4 : 8);
    bool ok = lull_formats_add(formats, "fuzz", (const char *)data + 1, size - 1, NULL, 0, &error);
    if (ok == (error != NULL)) {
        abort();
    }
    if (ok) {
        struct lull_format *format = formats->all->pdata[0];
        lull_formats_finish(formats, NULL);
        lull_format_each_field(format, on_field, format);
        lull_layout_free(lull_format_layout(format));
        if (format->least_size <= 1u << 16) {
            try_record(format, format->least_size, 0);
            try_record(format, format->least_size + 3, 0xff);
        }
    }
    lull_formats_free(formats);
    return 0;
}
