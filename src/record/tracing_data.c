/* SPDX-License-Identifier: MIT */
/* Appends the formats of events as tracefs has them: a header, formats of pages, those of ftrace's
 * own events, and those of the others by system. */
#include "record/tracing_data.h"

#include <string.h>
#include <unistd.h>

static void put(GByteArray *to, const void *bytes, size_t n)
{
    g_byte_array_append(to, bytes, (guint)n);
}

static void put_text(GByteArray *to, const char *text)
{
    put(to, text, strlen(text) + 1);
}

void lull_tracing_put_4(GByteArray *to, uint32_t number)
{
    put(to, &number, sizeof number);
}

void lull_tracing_put_8(GByteArray *to, uint64_t number)
{
    put(to, &number, sizeof number);
}

bool lull_tracing_read(GByteArray *to, const char *directory, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(directory, name, NULL), *text = NULL;
    gsize n = 0;
    g_autoptr(GError) why = NULL;
    if (!g_file_get_contents(path, &text, &n, &why)) {
        const bool is_absent = g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT);
        g_set_error(error, LULL_ERROR, is_absent ? LULL_ERROR_QUESTION : LULL_ERROR_IO, "%s",
                    why->message);
        return false;
    }
    put(to, text, n);
    return true;
}

bool lull_tracing_put_file(GByteArray *to, const char *directory, const char *name,
                           unsigned size_bytes, GError **error)
{
    g_autoptr(GByteArray) text = g_byte_array_new();
    if (!lull_tracing_read(text, directory, name, error)) {
        return false;
    }
    if (size_bytes == 4) {
        lull_tracing_put_4(to, text->len);
    } else {
        lull_tracing_put_8(to, text->len);
    }
    put(to, text->data, text->len);
    return true;
}

static bool put_format(GByteArray *to, const char *tracefs, const char *system, const char *event,
                       GError **error)
{
    g_autofree char *name = g_build_filename("events", system, event, "format", NULL);
    return lull_tracing_put_file(to, tracefs, name, 8, error);
}

/* Of one system, from the first of its events in the list; *count of them. */
static bool put_system(GByteArray *to, const char *tracefs, const char *const *events,
                       uint32_t *count, GError **error)
{
    const size_t length = strcspn(events[0], ":");
    g_autofree char *system = g_strndup(events[0], length);
    *count = 0;
    while (events[*count] && strncmp(events[*count], events[0], length + 1) == 0) {
        ++*count;
    }
    put_text(to, system);
    lull_tracing_put_4(to, *count);
    for (uint32_t i = 0; i < *count; i++) {
        if (!put_format(to, tracefs, system, events[i] + length + 1, error)) {
            return false;
        }
    }
    return true;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once; ends with NULL. */
static GPtrArray *in_order(const char *const *events)
{
    GPtrArray *list = g_ptr_array_new();
    guint n = 0;
    for (; *events; events++) {
        g_ptr_array_add(list, (void *)*events);
    }
    g_ptr_array_sort(list, compare_texts);
    for (guint i = 0; i < list->len; i++) {
        if (i == 0 || strcmp(list->pdata[i], list->pdata[n - 1]) != 0) {
            list->pdata[n++] = list->pdata[i];
        }
    }
    g_ptr_array_set_size(list, (gint)n);
    g_ptr_array_add(list, NULL);
    return list;
}

static bool put_systems(GByteArray *to, const struct lull_tracing_events *events, GError **error)
{
    g_autoptr(GPtrArray) sorted = in_order(events->events);
    const char *const *list = (const char *const *)sorted->pdata;
    uint32_t n_systems = 0, count;
    for (uint32_t i = 0; list[i]; i++) {
        n_systems += i == 0 || strncmp(list[i], list[i - 1], strcspn(list[i], ":") + 1) != 0;
    }
    lull_tracing_put_4(to, n_systems);
    for (; *list; list += count) {
        if (!put_system(to, events->tracefs, list, &count, error)) {
            return false;
        }
    }
    return true;
}

bool lull_tracing_put_events(GByteArray *to, const struct lull_tracing_events *events,
                             GError **error)
{
    put(to, "\x17\x08\x44tracing", 10);
    put_text(to, events->version);
    put(to, (const uint8_t[]){G_BYTE_ORDER == G_BIG_ENDIAN, sizeof(long)}, 2);
    lull_tracing_put_4(to, (uint32_t)sysconf(_SC_PAGESIZE));
    put_text(to, "header_page");
    if (!lull_tracing_put_file(to, events->buffer, "events/header_page", 8, error)) {
        return false;
    }
    put_text(to, "header_event");
    if (!lull_tracing_put_file(to, events->buffer, "events/header_event", 8, error)) {
        return false;
    }
    lull_tracing_put_4(to, g_strv_length((char **)events->internal));
    for (uint32_t i = 0; events->internal[i]; i++) {
        if (!put_format(to, events->tracefs, "ftrace", events->internal[i], error)) {
            return false;
        }
    }
    return put_systems(to, events, error);
}
