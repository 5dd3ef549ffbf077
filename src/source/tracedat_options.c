/* The options of a trace.dat: what was recorded how, and in version 7 where the sections are. */
#include "source/tracedat.h"

#include <stdlib.h>
#include <string.h>

enum option {
    OPTION_DONE = 0,
    OPTION_DATE = 1,
    OPTION_BUFFER = 3,
    OPTION_CLOCK = 4,
    OPTION_UNAME = 5,
    OPTION_OFFSET = 7,
    OPTION_VERSION = 9,
    OPTION_TSC2NSEC = 14,
    OPTION_HEADER_INFO = 16,
    OPTION_CMDLINES = 21,
};

#define MAX_CPUS 65536u

static char *text_of(struct lull_tracedat_in *in)
{
    return lull_tracedat_block(in, in->end - in->pos);
}

static void take_text(struct lull_tracedat_in *in, char **text)
{
    g_free(*text);
    *text = text_of(in);
}

/* A number as text; the unit of one is so many ns. */
static void add_offset(struct lull_tracedat *file, struct lull_tracedat_in *in, int64_t unit_ns)
{
    g_autofree char *text = text_of(in);
    int64_t offset = text != NULL ? g_ascii_strtoll(text, NULL, 0) : 0;
    if (__builtin_mul_overflow(offset, unit_ns, &offset) ||
        __builtin_add_overflow(file->offset_ns, offset, &file->offset_ns)) {
        lull_report_problem(file->report,
                            "%s: the offset of its times does not fit 64 bits of nanoseconds and "
                            "is left out",
                            file->path);
        file->offset_ns = 0;
    }
}

static void take_cpus(struct lull_tracedat_in *in, struct lull_tracedat_buffer *buffer)
{
    buffer->page_bytes = (uint32_t)lull_tracedat_number(in, 4);
    uint64_t n = lull_tracedat_number(in, 4);
    in->is_short = in->is_short || n > MAX_CPUS;
    for (uint64_t i = 0; i < n && !in->is_short; i++) {
        struct lull_tracedat_cpu cpu = {.cpu = (int32_t)(lull_tracedat_number(in, 4) & 0x7fffffff)};
        cpu.offset = lull_tracedat_number(in, 8);
        cpu.size = lull_tracedat_number(in, 8);
        if (!in->is_short)
            g_array_append_val(buffer->cpus, cpu);
    }
}

/* Whether the pages are compressed stands in the head of their section. */
static bool is_packed(struct lull_tracedat *file, uint64_t at)
{
    struct lull_tracedat_in in = {.file = file, .pos = at, .end = file->size};
    lull_tracedat_skip(&in, 2);
    return (lull_tracedat_number(&in, 2) & 1) != 0;
}

static void take_buffer(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    struct lull_tracedat_buffer *buffer = g_new0(struct lull_tracedat_buffer, 1);
    uint64_t at = lull_tracedat_number(in, 8);
    buffer->name = lull_tracedat_string(in);
    buffer->page_bytes = file->page_bytes;
    buffer->cpus = g_array_new(FALSE, FALSE, sizeof(struct lull_tracedat_cpu));
    if (file->version == 6) { /* the CPUs stand there */
        struct lull_tracedat_cpu cpu = {.offset = at};
        g_array_append_val(buffer->cpus, cpu);
    } else {
        buffer->clock = lull_tracedat_string(in);
        buffer->is_packed = is_packed(file, at);
        take_cpus(in, buffer);
    }
    if (buffer->name == NULL)
        buffer->name = g_strdup("");
    if (buffer->clock == NULL)
        buffer->clock = g_strdup("");
    g_ptr_array_add(file->buffers, buffer);
}

static void take_tsc(struct lull_tracedat *file, struct lull_tracedat_in *in)
{
    uint32_t mult = (uint32_t)lull_tracedat_number(in, 4);
    uint32_t shift = (uint32_t)lull_tracedat_number(in, 4);
    if (in->is_short || shift > 63)
        in->is_short = true;
    else
        file->mult = mult, file->shift = shift;
}

static bool take_option(struct lull_tracedat *file, unsigned id, struct lull_tracedat_in *in,
                        GError **error)
{
    switch (id) {
    case OPTION_DATE:
        add_offset(file, in, 1000);
        break;
    case OPTION_OFFSET:
        add_offset(file, in, 1);
        break;
    case OPTION_BUFFER:
        take_buffer(file, in);
        break;
    case OPTION_CLOCK:
        take_text(in, &file->clock);
        break;
    case OPTION_UNAME:
        take_text(in, &file->uname);
        break;
    case OPTION_VERSION:
        take_text(in, &file->tool);
        break;
    case OPTION_TSC2NSEC:
        take_tsc(file, in);
        break;
    default:
        if (file->version == 7 && id >= OPTION_HEADER_INFO && id <= OPTION_CMDLINES)
            return lull_tracedat_section(file, id, lull_tracedat_number(in, 8), error);
    }
    return true;
}

bool lull_tracedat_options(struct lull_tracedat *file, struct lull_tracedat_in *in, uint64_t *next,
                           GError **error)
{
    *next = 0;
    for (;;) {
        uint64_t at = in->pos;
        unsigned id = (unsigned)lull_tracedat_number(in, 2);
        if (!in->is_short && id == OPTION_DONE && file->version == 6)
            return true;
        uint64_t size = lull_tracedat_number(in, 4);
        g_autofree char *data = lull_tracedat_block(in, size);
        struct lull_tracedat_in option = {
            .file = file, .data = (const uint8_t *)data, .end = size, .is_short = data == NULL};
        if (data != NULL && id == OPTION_DONE)
            *next = lull_tracedat_number(&option, 8);
        else if (data != NULL && !take_option(file, id, &option, error))
            return false;
        if (option.is_short) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                        "%s: option %u, at byte %" G_GUINT64_FORMAT " of the options, is cut",
                        file->path, id, at);
            return false;
        }
        if (id == OPTION_DONE)
            return true;
    }
}
