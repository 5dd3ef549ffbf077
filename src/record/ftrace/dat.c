/* SPDX-License-Identifier: MIT */
/* Writes a trace.dat of version 6, as trace-cmd.dat.v6(5) describes it: formats of pages and
 * events, names of tasks, options, and the pages of each CPU at a multiple of their size. */
#include <lull/version.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/ftrace/ftrace.h"
#include "record/tracing_data.h"

#define FILE_NAME "trace.dat"

enum option {
    OPTION_DONE = 0,
    OPTION_CPUSTAT = 2,
    OPTION_CLOCK = 4,
    OPTION_UNAME = 5,
    OPTION_OFFSET = 7,
    OPTION_VERSION = 9,
};

static void put(GByteArray *to, const void *data, size_t size)
{
    g_byte_array_append(to, data, (guint)size);
}

static void put_2(GByteArray *to, uint16_t number)
{
    put(to, &number, sizeof number);
}

/* ---- options ---- */

static void put_option(GByteArray *to, enum option option, const char *text)
{
    const size_t size = strlen(text) + 1;
    put_2(to, (uint16_t)option);
    lull_tracing_put_4(to, (uint32_t)size);
    put(to, text, size);
}

static void put_options(GByteArray *to, const struct lull_ftrace_dat *dat)
{
    struct utsname name;
    g_autofree char *offset = g_strdup_printf("%" G_GINT64_FORMAT, dat->epoch_offset_ns);
    put(to, "options  ", 10);
    put_option(to, OPTION_OFFSET, offset);
    put_option(to, OPTION_CLOCK, "[mono]");
    if (uname(&name) == 0) {
        g_autofree char *text =
            g_strdup_printf("%s %s %s %s", name.sysname, name.nodename, name.release, name.machine);
        put_option(to, OPTION_UNAME, text);
    }
    put_option(to, OPTION_VERSION, "lull " LULL_VERSION);
    for (uint32_t i = 0; i < dat->n_cpus; i++) {
        g_autofree char *text = g_strdup_printf("CPU: %d\n%s", dat->cpus[i].cpu, dat->stats[i]);
        put_option(to, OPTION_CPUSTAT, text);
    }
    put_2(to, OPTION_DONE);
}

/* ---- pages ---- */

static uint64_t align(uint64_t at, uint64_t page_bytes)
{
    return (at + page_bytes - 1) / page_bytes * page_bytes;
}

/* Where the pages of each CPU are to be; returns the end of the last. */
static uint64_t put_positions(GByteArray *to, const struct lull_ftrace_dat *dat)
{
    put(to, "flyrecord", 10);
    uint64_t at = to->len + 16 * (uint64_t)dat->n_cpus;
    for (uint32_t i = 0; i < dat->n_cpus; i++) {
        at = align(at, dat->cpus[i].page_bytes);
        lull_tracing_put_8(to, at);
        lull_tracing_put_8(to, dat->cpus[i].bytes);
        at += dat->cpus[i].bytes;
    }
    return at;
}

/* Gives the room of what was copied back to a full disk; whether there was any. */
static bool make_room(const struct lull_ftrace_cpu *cpu, off_t *freed, off_t copied)
{
    const off_t from = *freed;
    *freed = copied;
    return copied > from && fallocate(cpu->out, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
                                      copied - from) == 0;
}

/* The kernel copies, or shares the blocks where the file system can. */
static bool copy_pages(int out, const struct lull_ftrace_cpu *cpu)
{
    off_t from = 0, freed = 0;
    uint64_t left = cpu->bytes;
    while (left > 0) {
        const ssize_t n = copy_file_range(cpu->out, &from, out, NULL, left, 0);
        const int why = n == 0 ? EIO : errno;
        if (n > 0) {
            left -= (uint64_t)n;
        } else if (why != EINTR && !(lull_tracer_is_full(why) && make_room(cpu, &freed, from))) {
            errno = why;
            return false;
        }
    }
    return true;
}

/* What the header says, and behind it the pages. */
static bool write_all(FILE *file, const GByteArray *header, const struct lull_ftrace_dat *dat,
                      uint64_t bytes)
{
    errno = 0;
    if (fwrite(header->data, 1, header->len, file) != header->len || fflush(file) != 0) {
        return false;
    }
    uint64_t at = header->len;
    for (uint32_t i = 0; i < dat->n_cpus; i++) {
        at = align(at, dat->cpus[i].page_bytes);
        if (lseek(fileno(file), (off_t)at, SEEK_SET) != (off_t)at ||
            !copy_pages(fileno(file), &dat->cpus[i])) {
            return false;
        }
        (void)!ftruncate(dat->cpus[i].out, 0); /* the next may need the room */
        at += dat->cpus[i].bytes;
    }
    return ftruncate(fileno(file), (off_t)bytes) == 0;
}

/* All that comes before the pages; *bytes is where they end. */
static bool put_header(GByteArray *to, const struct lull_ftrace_dat *dat, const char *tracefs,
                       const char *buffer, const char *const *internal, uint64_t *bytes,
                       GError **error)
{
    const struct lull_tracing_events events = {.version = "6",
                                               .tracefs = tracefs,
                                               .buffer = buffer,
                                               .internal = internal,
                                               .events = dat->events};
    if (!lull_tracing_put_events(to, &events, error)) {
        return false;
    }
    lull_tracing_put_4(to, 0); /* no symbols: they would reveal where this kernel's functions are */
    if (!lull_tracing_put_file(to, tracefs, "printk_formats", 4, error) ||
        !lull_tracing_put_file(to, tracefs, "saved_cmdlines", 8, error)) {
        return false;
    }
    lull_tracing_put_4(to, dat->n_cpus);
    put_options(to, dat);
    *bytes = put_positions(to, dat);
    return true;
}

static bool make_header(GByteArray *to, const struct lull_ftrace_dat *dat, uint64_t *bytes,
                        GError **error)
{
    /* The events of ftrace itself, such as trace_printk(). */
    char **all = tracefs_system_events(NULL, "ftrace");
    g_autoptr(GPtrArray) internal = g_ptr_array_new();
    for (char **event = all; event && *event; event++) {
        if (tracefs_event_file_exists(NULL, "ftrace", *event, "format")) {
            g_ptr_array_add(internal, *event);
        }
    }
    g_ptr_array_add(internal, NULL);
    char *buffer = tracefs_instance_get_dir(dat->instance->tracefs);
    const bool done = put_header(to, dat, tracefs_tracing_dir(), buffer,
                                 (const char *const *)internal->pdata, bytes, error);
    tracefs_put_tracing_file(buffer);
    tracefs_list_free(all);
    return done;
}

bool lull_ftrace_dat_write(const struct lull_ftrace_dat *dat, const struct lull_keeper *keeper,
                           uint64_t *bytes, GError **error)
{
    g_autoptr(GByteArray) header = g_byte_array_new();
    if (!make_header(header, dat, bytes, error)) {
        return false;
    }
    const int fd = lull_keeper_create(keeper, FILE_NAME, error);
    if (fd < 0) {
        return false;
    }
    FILE *file = fdopen(fd, "w");
    bool done = file && write_all(file, header, dat, *bytes);
    const int why = errno;
    if (file ? fclose(file) != 0 : close(fd) != 0) {
        done = false;
    }
    if (!done) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s/" FILE_NAME "”: %s",
                    keeper->part, g_strerror(why));
    }
    return done;
}
