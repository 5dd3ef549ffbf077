/* SPDX-License-Identifier: MIT */
/* What a trace.dat holds before the pages: formats of pages and events, names of tasks, options
 * that say where the pages are. Sizes come from the file and are checked against it. */
#include "source/tracedat/tracedat.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Larger sections of descriptions are nonsense. */
#define MAX_SECTION (UINT64_C(256) << 20)
#define MAX_NAME 4096u
#define MAX_SECTIONS 4096u

bool lull_tracedat_unpack(enum lull_packing packing, const uint8_t *in, size_t in_size,
                          uint8_t *out, size_t out_size)
{
    uLongf got = out_size;
    if (packing == LULL_PACKING_ZLIB) {
        return uncompress(out, &got, in, in_size) == Z_OK && got == out_size;
    }
    return packing == LULL_PACKING_ZSTD && ZSTD_decompress(out, out_size, in, in_size) == out_size;
}

bool lull_tracedat_read(struct lull_bytes *bytes, uint64_t offset, uint8_t *out, uint64_t size)
{
    while (size > 0) {
        const char *why;
        uint64_t n = bytes->ops->read(bytes, offset, out, size, &why);
        if (n == 0) {
            return false;
        }
        offset += n;
        out += n;
        size -= n;
    }
    return true;
}

/* ---- reading in order ---- */

static bool take(struct lull_tracedat_in *in, uint8_t *out, uint64_t size)
{
    if (in->is_short || in->pos > in->end || size > in->end - in->pos) {
        in->is_short = true;
    } else if (in->data) {
        memcpy(out, in->data + in->pos, size);
    } else {
        in->is_short = !lull_tracedat_read(in->file->bytes, in->pos, out, size);
    }
    in->pos += in->is_short ? 0 : size;
    return !in->is_short;
}

uint64_t lull_tracedat_number(struct lull_tracedat_in *in, unsigned bytes)
{
    uint8_t data[8];
    return take(in, data, bytes)
               ? lull_format_integer(data, (uint8_t)bytes, false, in->file->is_big_endian)
               : 0;
}

char *lull_tracedat_string(struct lull_tracedat_in *in)
{
    g_autoptr(GString) text = g_string_new(NULL);
    uint8_t c;
    while (take(in, &c, 1) && c != 0 && text->len < MAX_NAME) {
        g_string_append_c(text, (char)c);
    }
    if (in->is_short || text->len >= MAX_NAME) {
        in->is_short = true;
        return NULL;
    }
    return g_strdup(text->str);
}

char *lull_tracedat_block(struct lull_tracedat_in *in, uint64_t size)
{
    char *block = NULL;
    if (in->is_short || size > MAX_SECTION || size > in->end - MIN(in->pos, in->end) ||
        !(block = g_try_malloc(size + 1))) {
        in->is_short = true;
        return NULL;
    }
    if (!take(in, (uint8_t *)block, size)) {
        g_free(block);
        return NULL;
    }
    block[size] = '\0';
    return block;
}

void lull_tracedat_skip(struct lull_tracedat_in *in, uint64_t size)
{
    if (in->is_short || in->pos > in->end || size > in->end - in->pos) {
        in->is_short = true;
    } else {
        in->pos += size;
    }
}

static bool fail(const struct lull_tracedat *file, uint64_t at, const char *what, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: byte %" G_GUINT64_FORMAT ": %s",
                file->path, at, what);
    return false;
}

/* ---- descriptions ---- */

static bool find_numbers(const char *text, const char *field, uint32_t *offset, uint32_t *bytes)
{
    const char *at = strstr(text, field);
    at = at ? strstr(at, "offset:") : NULL;
    return at && sscanf(at, "offset:%u; size:%u;", offset, bytes) == 2;
}

/* Where in the head of a page is what. */
static bool read_header_page(struct lull_tracedat *file, struct lull_tracedat_in *in,
                             GError **error)
{
    uint64_t at = in->pos;
    uint32_t ignored;
    g_autofree char *name = lull_tracedat_string(in);
    uint64_t size = lull_tracedat_number(in, 8);
    g_autofree char *text = lull_tracedat_block(in, size);
    if (!text || strcmp(name, "header_page") != 0) {
        return fail(file, at, "there is no description of the pages", error);
    }
    if (!find_numbers(text, " commit;", &file->commit_offset, &file->commit_bytes) ||
        !find_numbers(text, " data;", &file->data_offset, &ignored) ||
        (file->commit_bytes != 4 && file->commit_bytes != 8) || file->commit_offset < 8 ||
        file->commit_offset > 64 || file->data_offset > 128 ||
        file->data_offset < file->commit_offset + file->commit_bytes) {
        return fail(file, at, "the pages are described in an unknown way", error);
    }
    g_autofree char *event = lull_tracedat_string(in);
    lull_tracedat_skip(in, lull_tracedat_number(in, 8));
    return (!in->is_short && strcmp(event, "header_event") == 0) ||
           fail(file, in->pos, "there is no description of the events", error);
}

/* One format; what is wrong with it is a problem of that class of events only. */
static void read_format(struct lull_tracedat *file, struct lull_tracedat_in *in, const char *system)
{
    g_autoptr(GError) error = NULL;
    uint64_t at = in->pos, size = lull_tracedat_number(in, 8);
    g_autofree char *text = lull_tracedat_block(in, size);
    if (text && !lull_formats_add(file->formats, system, text, size, NULL, 0, &error)) {
        lull_report_problem(file->report, "%s: byte %" G_GUINT64_FORMAT "%s: %s", file->path, at,
                            in->data ? " of the unpacked section" : "", error->message);
    }
}

static bool read_ftrace_formats(struct lull_tracedat *file, struct lull_tracedat_in *in,
                                GError **error)
{
    uint64_t n = lull_tracedat_number(in, 4);
    for (uint64_t i = 0; i < n && !in->is_short; i++) {
        read_format(file, in, "ftrace");
    }
    return !in->is_short || fail(file, in->pos, "the formats of ftrace's events are cut", error);
}

static bool read_formats(struct lull_tracedat *file, struct lull_tracedat_in *in, GError **error)
{
    uint64_t n_systems = lull_tracedat_number(in, 4);
    for (uint64_t i = 0; i < n_systems && !in->is_short; i++) {
        g_autofree char *system = lull_tracedat_string(in);
        uint64_t n = lull_tracedat_number(in, 4);
        for (uint64_t k = 0; k < n && !in->is_short; k++) {
            read_format(file, in, system);
        }
    }
    return !in->is_short || fail(file, in->pos, "the formats of events are cut", error);
}

static bool read_cmdlines(struct lull_tracedat *file, struct lull_tracedat_in *in, GError **error)
{
    uint64_t size = lull_tracedat_number(in, 8);
    g_free(file->cmdlines);
    file->cmdlines = lull_tracedat_block(in, size);
    return !in->is_short || fail(file, in->pos, "the names of tasks are cut", error);
}

/* ---- version 6 ---- */

static void free_buffer(gpointer data)
{
    struct lull_tracedat_buffer *buffer = data;
    g_free(buffer->name);
    g_free(buffer->clock);
    g_array_unref(buffer->cpus);
    g_free(buffer);
}

/* Options, if there are any, and the places of each CPU's pages. */
static bool read_flyrecord(struct lull_tracedat *file, struct lull_tracedat_in *in,
                           struct lull_tracedat_buffer *buffer, bool is_top, GError **error)
{
    uint64_t next, at = in->pos;
    g_autofree char *tag = lull_tracedat_block(in, 10);
    if (tag && strcmp(tag, "options  ") == 0) {
        if (is_top && !lull_tracedat_options(file, in, &next, error)) {
            return false;
        }
        for (uint64_t id = 1; !is_top && id != 0 && !in->is_short;) {
            id = lull_tracedat_number(in, 2);
            if (id != 0) {
                lull_tracedat_skip(in, lull_tracedat_number(in, 4));
            }
        }
        g_free(tag);
        at = in->pos;
        tag = lull_tracedat_block(in, 10);
    }
    if (tag && strcmp(tag, "latency  ") == 0) {
        return true; /* text of the latency tracers, no pages */
    }
    if (!tag || strcmp(tag, "flyrecord") != 0) {
        return fail(file, at, "the places of the pages are not there", error);
    }
    for (uint32_t i = 0; i < file->n_cpus && !in->is_short; i++) {
        struct lull_tracedat_cpu cpu = {.cpu = (int32_t)i};
        cpu.offset = lull_tracedat_number(in, 8);
        cpu.size = lull_tracedat_number(in, 8);
        if (!in->is_short) {
            g_array_append_val(buffer->cpus, cpu);
        }
    }
    return !in->is_short || fail(file, at, "the places of the pages are cut", error);
}

/* The instances, whose offsets the options gave. */
static void read_instances(struct lull_tracedat *file)
{
    for (guint i = 1; i < file->buffers->len; i++) {
        g_autoptr(GError) error = NULL;
        struct lull_tracedat_buffer *buffer = file->buffers->pdata[i];
        uint64_t at = g_array_index(buffer->cpus, struct lull_tracedat_cpu, 0).offset;
        struct lull_tracedat_in in = {.file = file, .pos = at, .end = file->size};
        g_array_set_size(buffer->cpus, 0);
        if (!read_flyrecord(file, &in, buffer, false, &error)) {
            lull_report_problem(file->report, "%s; buffer '%s' is left out", error->message,
                                buffer->name);
        }
    }
}

static bool read_version_6(struct lull_tracedat *file, struct lull_tracedat_in *in, GError **error)
{
    struct lull_tracedat_buffer *top = g_new0(struct lull_tracedat_buffer, 1);
    top->name = g_strdup("");
    top->clock = g_strdup("");
    top->page_bytes = file->page_bytes;
    top->cpus = g_array_new(FALSE, FALSE, sizeof(struct lull_tracedat_cpu));
    g_ptr_array_add(file->buffers, top);
    if (!read_header_page(file, in, error) || !read_ftrace_formats(file, in, error) ||
        !read_formats(file, in, error)) {
        return false;
    }
    file->symbols_at = in->pos;
    lull_tracedat_skip(in, lull_tracedat_number(in, 4)); /* symbols of the kernel */
    lull_tracedat_skip(in, lull_tracedat_number(in, 4)); /* formats of trace_printk() */
    if (!read_cmdlines(file, in, error)) {
        return false;
    }
    file->n_cpus = (uint32_t)lull_tracedat_number(in, 4);
    if (in->is_short) {
        return fail(file, in->pos, "the number of CPUs is not there", error);
    }
    if (!read_flyrecord(file, in, top, true, error)) {
        return false;
    }
    read_instances(file);
    return true;
}

/* ---- version 7 ---- */

enum section {
    SECTION_STRINGS = 15,
    SECTION_HEADER,
    SECTION_FTRACE,
    SECTION_FORMATS,
    SECTION_SYMBOLS,
    SECTION_PRINTK,
    SECTION_CMDLINES
};

/* Reads and unpacks the section at `at`. */
static uint8_t *read_section(struct lull_tracedat *file, uint64_t at, unsigned id, uint64_t *size,
                             GError **error)
{
    struct lull_tracedat_in in = {.file = file, .pos = at, .end = file->size};
    uint64_t found = lull_tracedat_number(&in, 2);
    bool is_packed = (lull_tracedat_number(&in, 2) & 1) != 0;
    lull_tracedat_skip(&in, 4);
    *size = lull_tracedat_number(&in, 8);
    if (in.is_short || found != id) {
        fail(file, at, "a section is not where the options say it is", error);
        return NULL;
    }
    uint64_t packed = is_packed ? lull_tracedat_number(&in, 4) : *size;
    if (is_packed) {
        *size = lull_tracedat_number(&in, 4);
    }
    g_autofree char *data = lull_tracedat_block(&in, packed);
    if (!data || *size > MAX_SECTION) {
        fail(file, at, "a section is cut", error);
        return NULL;
    }
    if (!is_packed) {
        return (uint8_t *)g_steal_pointer(&data);
    }
    uint8_t *out = g_try_malloc(*size + 1);
    if (out && lull_tracedat_unpack(file->packing, (uint8_t *)data, packed, out, *size)) {
        return out;
    }
    g_free(out);
    fail(file, at, "a section cannot be unpacked", error);
    return NULL;
}

bool lull_tracedat_section(struct lull_tracedat *file, unsigned id, uint64_t at, GError **error)
{
    static bool (*const readers[])(struct lull_tracedat *, struct lull_tracedat_in *,
                                   GError **) = {[SECTION_HEADER] = read_header_page,
                                                 [SECTION_FTRACE] = read_ftrace_formats,
                                                 [SECTION_FORMATS] = read_formats,
                                                 [SECTION_CMDLINES] = read_cmdlines};
    if (id == SECTION_SYMBOLS) {
        file->symbols_at = at;
    }
    if (id >= G_N_ELEMENTS(readers) || !readers[id]) {
        return true;
    }
    struct lull_tracedat_in in = {.file = file};
    g_autofree uint8_t *data = read_section(file, at, id, &in.end, error);
    in.data = data;
    if (data && readers[id](file, &in, error)) {
        return true;
    }
    g_prefix_error(error, "section %u: ", id);
    return false;
}

/* They are many, and seldom wanted. */
static char *read_symbols(struct lull_tracedat *file, gsize *length)
{
    struct lull_tracedat_in in = {.file = file, .pos = file->symbols_at, .end = file->size};
    g_autofree uint8_t *section = NULL;
    if (file->version == 7) {
        section = read_section(file, file->symbols_at, SECTION_SYMBOLS, &in.end, NULL);
        if (!section) {
            return NULL;
        }
        in.data = section;
        in.pos = 0;
    }
    *length = lull_tracedat_number(&in, 4);
    return lull_tracedat_block(&in, *length);
}

char *lull_tracedat_symbols(struct lull_tracedat *file, gsize *length)
{
    if (file->symbols_at == 0 || file->bytes->ops->open(file->bytes)) {
        return NULL;
    }
    char *text = read_symbols(file, length);
    file->bytes->ops->close(file->bytes);
    return text;
}

static void report_cut(const struct lull_tracedat *file, uint64_t at, const char *what)
{
    lull_report_problem(file->report, "%s: byte %" G_GUINT64_FORMAT ": the file is cut short: %s",
                        file->path, at, what);
}

/* Sections follow one another. One that is not read, such as the last, which holds their names,
 * shows by its head alone that the file is cut; others say so when they are read. Where the names
 * are missing altogether, though sections have some, the file ends between two sections. */
static void check_sections(const struct lull_tracedat *file, uint64_t at)
{
    bool has_names = false, wants_names = false;
    for (unsigned n = 0; n < MAX_SECTIONS; n++) {
        if (at == file->size && wants_names && !has_names) {
            report_cut(file, at, "the section with the names of the others is missing");
            return;
        }
        struct lull_tracedat_in in = {
            .file = (struct lull_tracedat *)file, .pos = at, .end = file->size};
        unsigned id = (unsigned)lull_tracedat_number(&in, 2);
        lull_tracedat_skip(&in, 2);
        wants_names |= lull_tracedat_number(&in, 4) != 0; /* where its name is among them */
        has_names |= id == SECTION_STRINGS;
        uint64_t size = lull_tracedat_number(&in, 8), room = file->size - MIN(in.pos, file->size);
        if (in.is_short || id > SECTION_CMDLINES) {
            return;
        }
        if (size > room) {
            if (id == SECTION_STRINGS || id == SECTION_SYMBOLS || id == SECTION_PRINTK) {
                g_autofree char *what = g_strdup_printf(
                    "this section should have %" G_GUINT64_FORMAT " bytes more than there are",
                    size - room);
                report_cut(file, at, what);
            }
            return;
        }
        at = in.pos + size;
    }
}

static bool read_version_7(struct lull_tracedat *file, struct lull_tracedat_in *in, GError **error)
{
    g_autofree char *packing = lull_tracedat_string(in);
    g_autofree char *packing_version = lull_tracedat_string(in);
    uint64_t next = lull_tracedat_number(in, 8);
    if (in->is_short) {
        return fail(file, in->pos, "the file header is cut", error);
    }
    if (strcmp(packing, "zlib") == 0) {
        file->packing = LULL_PACKING_ZLIB;
    } else if (strcmp(packing, "zstd") == 0) {
        file->packing = LULL_PACKING_ZSTD;
    } else if (strcmp(packing, "none") != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "%s: it is compressed with '%s' (known: zlib, zstd)", file->path, packing);
        return false;
    }
    check_sections(file, in->pos);
    for (unsigned n = 0; next != 0; n++) {
        if (n >= MAX_SECTIONS) {
            return fail(file, next, "there are too many sections of options", error);
        }
        struct lull_tracedat_in options = {.file = file};
        g_autofree uint8_t *data = read_section(file, next, 0, &options.end, error);
        options.data = data;
        if (!data || !lull_tracedat_options(file, &options, &next, error)) {
            return false;
        }
    }
    if (file->commit_bytes == 0) {
        return fail(file, 0, "there is no description of the pages", error);
    }
    return true;
}

/* ---- opening ---- */

static bool read_head(struct lull_tracedat *file, struct lull_tracedat_in *in, GError **error)
{
    static const char magic[] = "\x17\x08\x44tracing";
    g_autofree char *start = lull_tracedat_block(in, 10);
    if (!start || memcmp(start, magic, 10) != 0) {
        return fail(file, 0, "this is not a trace.dat", error);
    }
    g_autofree char *version = lull_tracedat_string(in);
    uint64_t is_big_endian = lull_tracedat_number(in, 1);
    file->long_bytes = (uint32_t)lull_tracedat_number(in, 1);
    file->is_big_endian = is_big_endian == 1;
    file->page_bytes = (uint32_t)lull_tracedat_number(in, 4);
    if (in->is_short || is_big_endian > 1 || (file->long_bytes != 4 && file->long_bytes != 8)) {
        return fail(file, in->pos, "the file header is damaged", error);
    }
    file->version = (unsigned)g_ascii_strtoull(version, NULL, 10);
    if (file->version == 6 || file->version == 7) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "%s: its format has version '%s' (known: 6, 7)", file->path, version);
    return false;
}

static void free_guest(gpointer data)
{
    struct lull_tracedat_guest *guest = data;
    g_free(guest->name);
    g_array_unref(guest->tids);
    g_free(guest);
}

static void clear_stat(gpointer stat)
{
    g_free(((struct lull_tracedat_stat *)stat)->buffer);
}

void lull_tracedat_free(struct lull_tracedat *file)
{
    lull_formats_free(file->formats);
    g_ptr_array_unref(file->buffers);
    g_ptr_array_unref(file->guests);
    g_array_unref(file->stats);
    lull_tracedat_free_shifts(file);
    file->bytes->ops->free(file->bytes);
    g_free(file->path);
    g_free(file->uname);
    g_free(file->clock);
    g_free(file->tool);
    g_free(file->cmdlines);
    g_free(file);
}

struct lull_tracedat *lull_tracedat_open(const char *path, struct lull_bytes *bytes, uint64_t size,
                                         const struct lull_report *report, GError **error)
{
    struct lull_tracedat *file = g_new0(struct lull_tracedat, 1);
    file->path = g_strdup(path);
    file->bytes = bytes;
    file->size = size;
    file->report = report;
    file->buffers = g_ptr_array_new_with_free_func(free_buffer);
    file->guests = g_ptr_array_new_with_free_func(free_guest);
    file->stats = g_array_new(FALSE, TRUE, sizeof(struct lull_tracedat_stat));
    g_array_set_clear_func(file->stats, clear_stat);
    struct lull_tracedat_in in = {.file = file, .end = size};
    const char *why = bytes->ops->open(bytes);
    bool ok = !why;
    if (!ok) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, why);
    } else {
        ok = read_head(file, &in, error);
        if (ok) {
            file->formats = lull_formats_new(file->is_big_endian, file->long_bytes);
        }
        ok = ok && (file->version == 6 ? read_version_6(file, &in, error)
                                       : read_version_7(file, &in, error));
        bytes->ops->close(bytes);
    }
    if (!ok) {
        lull_tracedat_free(file);
        return NULL;
    }
    return file;
}
