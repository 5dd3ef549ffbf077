/* SPDX-License-Identifier: MIT */
/* Writes which functions the kernel has. */
#include "record/kernel_functions.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/tracer.h"
#include "symbol/here.h"

#define FUNCTIONS "kallsyms"
#define MODULES "modules"
#define KERNEL_ID "kernel-build-id"

/* The lines of functions, as they are; none if the kernel hides its addresses, which then are 0. */
static GString *functions_of(const char *symbols)
{
    GString *lines = g_string_new(NULL);
    for (const char *line = symbols, *end; (end = strchr(line, '\n')); line = end + 1) {
        char *kind;
        const uint64_t address = g_ascii_strtoull(line, &kind, 16);
        if (address != 0 && *kind == ' ' && strchr("tTwW", kind[1]) && kind[1] != '\0') {
            g_string_append_len(lines, line, end + 1 - line);
        }
    }
    return lines;
}

/* A recording is whole without it: on a full disk it stays empty, so that there is room for
 * events. */
static bool save(const struct lull_keeper *keeper, const char *name, const GString *lines,
                 GError **error)
{
    const int fd = lull_keeper_create(keeper, name, error);
    if (fd < 0) {
        return false;
    }
    const int why = lull_file_write(fd, lines->str, lines->len);
    const bool is_good = why == 0 || (lull_tracer_is_full(why) && ftruncate(fd, 0) == 0);
    if (!is_good) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s/%s: cannot write: %s", keeper->part, name,
                    g_strerror(why));
    }
    close(fd);
    return is_good;
}

/* Where they end, which the list of functions does not say. */
static bool save_modules(const struct lull_keeper *keeper, GError **error)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/modules", &text, NULL, NULL) || *text == '\0') {
        return true;
    }
    g_string_append(lines, text);
    return save(keeper, MODULES, lines, error);
}

/* By which the file with its debug information is known from others. */
static bool save_id(const struct lull_keeper *keeper, GError **error)
{
    g_autofree char *id = lull_here_kernel_id();
    g_autoptr(GString) line = g_string_new(NULL);
    if (!id) {
        return true;
    }
    g_string_append_printf(line, "%s\n", id);
    return save(keeper, KERNEL_ID, line, error);
}

bool lull_kernel_functions_save(const struct lull_keeper *keeper, const char *kallsyms,
                                GError **error)
{
    g_autoptr(GString) functions = functions_of(kallsyms);
    return save(keeper, FUNCTIONS, functions, error) && save_modules(keeper, error) &&
           save_id(keeper, error);
}
