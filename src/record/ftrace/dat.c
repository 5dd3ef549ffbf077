/* SPDX-License-Identifier: MIT */
/* Writes a trace.dat of version 6, as trace-cmd.dat.v6(5) describes it: formats of pages and
 * events, names of tasks, options, and the pages of each CPU at a multiple of their size. */
#include <lull/version.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/ftrace/ftrace.h"

#define FILE_NAME "trace.dat"

enum option {
    OPTION_DONE = 0,
    OPTION_CPUSTAT = 2,
    OPTION_CLOCK = 4,
    OPTION_UNAME = 5,
    OPTION_OFFSET = 7,
    OPTION_VERSION = 9,
};

/* Errors of writing are looked for once, at the end. */
static void put(FILE *file, const void *data, size_t size)
{
    fwrite(data, 1, size, file);
}

static void put_text(FILE *file, const char *text)
{
    put(file, text, strlen(text) + 1);
}

/* All numbers have the byte order of the machine, which the header states. */
static void put_2(FILE *file, uint16_t number)
{
    put(file, &number, sizeof number);
}

static void put_4(FILE *file, uint32_t number)
{
    put(file, &number, sizeof number);
}

static void put_8(FILE *file, uint64_t number)
{
    put(file, &number, sizeof number);
}

static void put_head(FILE *file)
{
    const uint16_t one = 1;
    const uint8_t is_big_endian = *(const uint8_t *)&one == 0;
    const uint8_t long_bytes = sizeof(long);
    put(file, "\x17\x08\x44tracing", 10);
    put_text(file, "6");
    put(file, &is_big_endian, 1);
    put(file, &long_bytes, 1);
    put_4(file, (uint32_t)sysconf(_SC_PAGESIZE));
}

/* ---- files of tracefs ---- */

static bool fail(const char *what, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot read %s of tracefs: %s", what,
                g_strerror(errno));
    return false;
}

/* A text file, of the instance or (NULL) of the whole, with its size before it. */
static bool put_file(FILE *file, const struct lull_ftrace_instance *instance, const char *name,
                     unsigned size_bytes, GError **error)
{
    int size = 0;
    char *text = tracefs_instance_file_read(instance ? instance->tracefs : NULL, name, &size);
    if (!text) {
        return fail(name, error);
    }
    if (size_bytes == 4) {
        put_4(file, (uint32_t)size);
    } else {
        put_8(file, (uint64_t)size);
    }
    put(file, text, (size_t)size);
    free(text);
    return true;
}

static bool put_pages_format(FILE *file, const struct lull_ftrace_dat *dat, GError **error)
{
    put_text(file, "header_page");
    if (!put_file(file, dat->instance, "events/header_page", 8, error)) {
        return false;
    }
    put_text(file, "header_event");
    return put_file(file, dat->instance, "events/header_event", 8, error);
}

static bool put_format(FILE *file, const char *system, const char *event, GError **error)
{
    g_autofree char *name = g_strdup_printf("events/%s/%s/format", system, event);
    return put_file(file, NULL, name, 8, error);
}

/* The events of ftrace itself, such as trace_printk(). */
static bool put_ftrace_formats(FILE *file, GError **error)
{
    char **events = tracefs_system_events(NULL, "ftrace");
    uint32_t n = 0;
    for (uint32_t i = 0; events && events[i]; i++) {
        n += tracefs_event_file_exists(NULL, "ftrace", events[i], "format");
    }
    put_4(file, n);
    bool done = true;
    for (uint32_t i = 0; done && events && events[i]; i++) {
        done = !tracefs_event_file_exists(NULL, "ftrace", events[i], "format") ||
               put_format(file, "ftrace", events[i], error);
    }
    tracefs_list_free(events);
    return done;
}

/* Of one system, from the place of its first event in the list; *count of them. */
static bool put_system(FILE *file, const char *const *events, uint32_t first, uint32_t *count,
                       GError **error)
{
    const size_t length = (size_t)(strchr(events[first], ':') - events[first]);
    g_autofree char *system = g_strndup(events[first], length);
    *count = 0;
    while (events[first + *count] &&
           strncmp(events[first + *count], events[first], length + 1) == 0) {
        ++*count;
    }
    put_text(file, system);
    put_4(file, *count);
    for (uint32_t i = 0; i < *count; i++) {
        if (!put_format(file, system, events[first + i] + length + 1, error)) {
            return false;
        }
    }
    return true;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool put_formats(FILE *file, const char *const *events, GError **error)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    for (uint32_t i = 0; events[i]; i++) {
        g_ptr_array_add(sorted, (void *)events[i]);
    }
    g_ptr_array_sort(sorted, compare_texts);
    g_ptr_array_add(sorted, NULL);
    const char *const *list = (const char *const *)sorted->pdata;
    uint32_t n_systems = 0, count;
    for (uint32_t i = 0; list[i]; i++) {
        const size_t length = strcspn(list[i], ":") + 1;
        n_systems += i == 0 || strncmp(list[i], list[i - 1], length) != 0;
    }
    put_4(file, n_systems);
    for (uint32_t i = 0; list[i]; i += count) {
        if (!put_system(file, list, i, &count, error)) {
            return false;
        }
    }
    return true;
}

/* ---- options ---- */

static void put_option(FILE *file, enum option option, const char *text)
{
    put_2(file, (uint16_t)option);
    put_4(file, (uint32_t)strlen(text) + 1);
    put_text(file, text);
}

static void put_options(FILE *file, const struct lull_ftrace_dat *dat)
{
    struct utsname name;
    g_autofree char *offset = g_strdup_printf("%" G_GINT64_FORMAT, dat->epoch_offset_ns);
    put(file, "options  ", 10);
    put_option(file, OPTION_OFFSET, offset);
    put_option(file, OPTION_CLOCK, "[mono]");
    if (uname(&name) == 0) {
        g_autofree char *text =
            g_strdup_printf("%s %s %s %s", name.sysname, name.nodename, name.release, name.machine);
        put_option(file, OPTION_UNAME, text);
    }
    put_option(file, OPTION_VERSION, "lull " LULL_VERSION);
    for (uint32_t i = 0; i < dat->n_cpus; i++) {
        g_autofree char *text = g_strdup_printf("CPU: %d\n%s", dat->cpus[i].cpu, dat->stats[i]);
        put_option(file, OPTION_CPUSTAT, text);
    }
    put_2(file, OPTION_DONE);
}

/* ---- pages ---- */

static uint64_t align(uint64_t at, uint64_t page_bytes)
{
    return (at + page_bytes - 1) / page_bytes * page_bytes;
}

/* Where the pages of each CPU are to be; returns the end of the last. */
static uint64_t put_positions(FILE *file, const struct lull_ftrace_dat *dat)
{
    put(file, "flyrecord", 10);
    uint64_t at = (uint64_t)ftello(file) + 16 * (uint64_t)dat->n_cpus;
    for (uint32_t i = 0; i < dat->n_cpus; i++) {
        at = align(at, dat->cpus[i].page_bytes);
        put_8(file, at);
        put_8(file, dat->cpus[i].bytes);
        at += dat->cpus[i].bytes;
    }
    return at;
}

/* The kernel copies, or shares the blocks where the file system can. */
static bool copy_pages(int out, const struct lull_ftrace_cpu *cpu)
{
    off_t from = 0;
    uint64_t left = cpu->bytes;
    while (left > 0) {
        const ssize_t n = copy_file_range(cpu->out, &from, out, NULL, left, 0);
        if (n > 0) {
            left -= (uint64_t)n;
        } else if (n == 0 || errno != EINTR) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
    }
    return true;
}

static bool put_pages(FILE *file, const struct lull_ftrace_dat *dat)
{
    if (fflush(file) != 0 || ferror(file)) {
        return false;
    }
    off_t at = ftello(file);
    for (uint32_t i = 0; i < dat->n_cpus; i++) {
        at = (off_t)align((uint64_t)at, dat->cpus[i].page_bytes);
        if (lseek(fileno(file), at, SEEK_SET) != at || !copy_pages(fileno(file), &dat->cpus[i])) {
            return false;
        }
        at += (off_t)dat->cpus[i].bytes;
    }
    return true;
}

static bool put_all(FILE *file, const struct lull_ftrace_dat *dat, uint64_t *bytes, GError **error)
{
    errno = 0;
    put_head(file);
    if (!put_pages_format(file, dat, error) || !put_ftrace_formats(file, error) ||
        !put_formats(file, dat->events, error)) {
        return false;
    }
    put_4(file, 0); /* no symbols: they would reveal where this kernel has its functions */
    if (!put_file(file, NULL, "printk_formats", 4, error) ||
        !put_file(file, NULL, "saved_cmdlines", 8, error)) {
        return false;
    }
    put_4(file, dat->n_cpus);
    put_options(file, dat);
    *bytes = put_positions(file, dat);
    return put_pages(file, dat) && ftruncate(fileno(file), (off_t)*bytes) == 0;
}

bool lull_ftrace_dat_write(const struct lull_ftrace_dat *dat, const struct lull_keeper *keeper,
                           uint64_t *bytes, GError **error)
{
    const int fd = lull_keeper_create(keeper, FILE_NAME, error);
    if (fd < 0) {
        return false;
    }
    GError *own = NULL;
    FILE *file = fdopen(fd, "w");
    bool done = file && put_all(file, dat, bytes, &own);
    const int why = errno;
    if (file ? fclose(file) != 0 : close(fd) != 0) {
        done = false;
    }
    if (own) {
        g_propagate_error(error, own);
    } else if (!done) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s/" FILE_NAME "”: %s",
                    keeper->part, g_strerror(why));
    }
    return done;
}
