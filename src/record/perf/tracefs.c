/* SPDX-License-Identifier: MIT */
/* What the tracer perf reads from tracefs: the numbers of tracepoints and their formats. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/perf/perf.h"

const char *perfrec_tracefs(GError **error)
{
    static const char *const positions[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int why = ENOENT;
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++) {
        /* Not access(2), which does not ask for what capabilities allow. */
        char *events = g_strconcat(positions[i], "/events/header_page", NULL);
        struct stat st;
        bool is_there = stat(events, &st) == 0;
        if (!is_there && errno != ENOENT) {
            why = errno;
        }
        g_free(events);
        if (is_there) {
            return positions[i];
        }
    }
    if (why == ENOENT) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "tracefs, which lists the kernel's events, is not mounted "
                    "(mount -t tracefs tracefs %s)",
                    positions[0]);
    } else {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "%s, which lists the kernel's events, cannot be entered: %s (run as root, or "
                    "be in its group)",
                    positions[0], g_strerror(why));
    }
    return NULL;
}

bool perfrec_tracefs_read(const char *name, GByteArray *to, GError **error)
{
    const char *tracefs = perfrec_tracefs(error);
    if (!tracefs) {
        return false;
    }
    char *path = g_strconcat(tracefs, "/", name, NULL), *text = NULL;
    gsize n = 0;
    GError *why = NULL;
    if (g_file_get_contents(path, &text, &n, &why)) {
        g_byte_array_append(to, (const guint8 *)text, (guint)n);
    } else {
        bool is_absent = g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT);
        g_set_error(error, LULL_ERROR, is_absent ? LULL_ERROR_QUESTION : LULL_ERROR_IO, "%s",
                    why->message);
        g_error_free(why);
    }
    bool is_good = text != NULL;
    g_free(text);
    g_free(path);
    return is_good;
}

bool perfrec_tracepoint_id(const char *system, const char *name, uint64_t *id, GError **error)
{
    GByteArray *text = g_byte_array_new();
    char *position = g_strdup_printf("events/%s/%s/id", system, name);
    bool is_good = perfrec_tracefs_read(position, text, error);
    if (is_good) {
        g_byte_array_append(text, (const guint8 *)"", 1);
        *id = g_ascii_strtoull((const char *)text->data, NULL, 10);
    }
    g_free(position);
    g_byte_array_free(text, TRUE);
    return is_good;
}

static void put(GByteArray *to, const void *bytes, size_t n)
{
    g_byte_array_append(to, bytes, (guint)n);
}

static void put_u32(GByteArray *to, uint32_t value)
{
    put(to, &value, sizeof value);
}

/* A file with its size before it, in 64 bits. */
static bool put_file(GByteArray *to, const char *name, GError **error)
{
    uint64_t size = 0;
    guint at = to->len;
    put(to, &size, sizeof size);
    if (!perfrec_tracefs_read(name, to, error)) {
        return false;
    }
    size = to->len - at - sizeof size;
    memcpy(to->data + at, &size, sizeof size);
    return true;
}

/* The length of what is before the colon: a tracepoint's system. */
static size_t system_length(const struct perfrec_class *class)
{
    return strcspn(class->name, ":");
}

static bool is_of(const struct perfrec_class *class, const struct perfrec_class *first)
{
    return class->attr.type == PERF_TYPE_TRACEPOINT &&
           strncmp(class->name, first->name, system_length(first) + 1) == 0;
}

/* Whether no class before it is of the same system, or is the same tracepoint. */
static bool is_first(const struct perfrec_classes *classes, uint32_t at, bool is_system)
{
    if (classes->all[at].attr.type != PERF_TYPE_TRACEPOINT) {
        return false;
    }
    for (uint32_t i = 0; i < at; i++) {
        if (is_system ? is_of(&classes->all[i], &classes->all[at])
                      : strcmp(classes->all[i].name, classes->all[at].name) == 0) {
            return false;
        }
    }
    return true;
}

/* The formats of one system's events: its name, how many, each. */
static bool put_system(GByteArray *to, const struct perfrec_classes *classes, uint32_t first,
                       GError **error)
{
    const struct perfrec_class *class = &classes->all[first];
    put(to, class->name, system_length(class));
    put(to, "", 1);
    guint counted = to->len;
    uint32_t n = 0;
    put_u32(to, 0);
    for (uint32_t i = first; i < classes->n; i++) {
        if (!is_of(&classes->all[i], class) || !is_first(classes, i, false)) {
            continue;
        }
        char *position = g_strdup_printf("events/%s/format", classes->all[i].name);
        *strchr(position, ':') = '/';
        bool is_good = put_file(to, position, error);
        g_free(position);
        if (!is_good) {
            return false;
        }
        n++;
    }
    memcpy(to->data + counted, &n, sizeof n);
    return true;
}

bool perfrec_tracing_data(GByteArray *to, const struct perfrec_classes *classes, GError **error)
{
    static const char magic[] = "\x17\x08\x44tracing0.6";
    put(to, magic, sizeof magic);
    put(to, (const uint8_t[]){G_BYTE_ORDER == G_BIG_ENDIAN, sizeof(long)}, 2);
    put_u32(to, (uint32_t)sysconf(_SC_PAGESIZE));
    static const char *const headers[] = {"header_page", "header_event"};
    for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
        put(to, headers[i], strlen(headers[i]) + 1);
        char *position = g_strconcat("events/", headers[i], NULL);
        bool is_good = put_file(to, position, error);
        g_free(position);
        if (!is_good) {
            return false;
        }
    }
    put_u32(to, 0); /* of ftrace's own events */
    uint32_t n_systems = 0;
    for (uint32_t i = 0; i < classes->n; i++) {
        n_systems += is_first(classes, i, true);
    }
    put_u32(to, n_systems);
    for (uint32_t i = 0; i < classes->n; i++) {
        if (is_first(classes, i, true) && !put_system(to, classes, i, error)) {
            return false;
        }
    }
    /* Kernel symbols, formats of trace_printk, names of tasks: none is of use to these events. */
    put(to, (const uint8_t[16]){0}, 4 + 4 + 8);
    return true;
}
