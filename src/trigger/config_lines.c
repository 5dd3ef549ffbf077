/* SPDX-License-Identifier: MIT */
/* A line is empty, a comment, a group or a key with its value. */
#include "trigger/config_lines.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

/* Of a line that is quoted. */
#define MOST_SHOWN 40

struct reader {
    struct lull_config_lines *lines;
    void (*report)(void *user, uint32_t line, const char *group, const char *key, const char *why);
    void *user;
    char *group;  /* NULL: none yet */
    bool is_lost; /* what follows belongs to a group that is not known */
    uint32_t number;
};

static void report(const struct reader *reader, const char *key, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void report(const struct reader *reader, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *why = g_strdup_vprintf(format, args);
    va_end(args);
    reader->report(reader->user, reader->number, reader->group ? reader->group : "", key, why);
}

static char *name_of(const char *group, const char *key)
{
    return key ? g_strconcat(group, "\n", key, NULL) : g_strdup(group);
}

/* The line that had the name before; 0: none. */
static uint32_t add(const struct reader *reader, const char *key)
{
    char *name = name_of(reader->group, key);
    const uint32_t before = lull_config_lines_find(reader->lines, reader->group, key);
    g_hash_table_insert(reader->lines->of, name,
                        GUINT_TO_POINTER(before ? before : reader->number));
    return before;
}

/* Free with g_free(). */
static char *shorten(const char *line)
{
    if (g_utf8_strlen(line, -1) <= MOST_SHOWN) {
        return g_strdup(line);
    }
    g_autofree char *start = g_utf8_substring(line, 0, MOST_SHOWN - 1);
    return g_strconcat(start, "…", NULL);
}

static bool take_group(struct reader *reader, char *line)
{
    char *end = strchr(line, ']');
    if (!end || end == line + 1 || end[1] != '\0') {
        g_autofree char *shown = shorten(line);
        report(reader, NULL, "expected [NAME] and nothing after it, not “%s”", shown);
        reader->is_lost = true;
        return false;
    }
    reader->is_lost = false;
    g_free(reader->group);
    reader->group = g_strndup(line + 1, (gsize)(end - line) - 1);
    const uint32_t before = add(reader, NULL);
    if (before && g_str_has_prefix(reader->group, "rule ")) { /* parts of others belong together */
        report(reader, NULL, "line %u has it already: each rule needs a name of its own", before);
    }
    return true;
}

static bool take_key(struct reader *reader, const char *line)
{
    const char *equals = strchr(line, '=');
    if (!equals || equals == line) {
        g_autofree char *shown = shorten(line);
        report(reader, NULL, "“%s” is neither KEY = VALUE nor [GROUP] nor a # comment", shown);
        return false;
    }
    g_autofree char *key = g_strchomp(g_strndup(line, (gsize)(equals - line)));
    if (reader->is_lost) {
        return false;
    }
    if (!reader->group) {
        report(reader, key, "it comes before the first group: put [daemon] above it");
        reader->is_lost = true;
        return false;
    }
    if (strchr(key, '[')) { /* GKeyFile takes it for a translation */
        report(reader, key, "there is no such key here");
        return false;
    }
    const uint32_t before = add(reader, key);
    if (before) {
        report(reader, key, "line %u has it already: remove one of them", before);
    }
    return true;
}

/* Whether GKeyFile has to see it. */
static bool take_line(struct reader *reader, const char *text, size_t size)
{
    g_autofree char *line = g_strstrip(g_strndup(text, size));
    if (memchr(text, '\0', size) || !g_utf8_validate(text, (gssize)size, NULL)) {
        report(reader, NULL, "the line is not valid UTF-8: write it again");
        return false;
    }
    if (*line == '\0' || *line == '#') {
        return true;
    }
    return *line == '[' ? take_group(reader, line) : take_key(reader, line);
}

void lull_config_lines_read(struct lull_config_lines *lines, const char *text, size_t size,
                            void (*wrong)(void *user, uint32_t line, const char *group,
                                          const char *key, const char *why),
                            void *user)
{
    *lines = (struct lull_config_lines){
        .of = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .text = g_string_sized_new(size)};
    struct reader reader = {.lines = lines, .report = wrong, .user = user};
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        const size_t length = newline ? (size_t)(newline - text) - at : size - at;
        reader.number++;
        if (take_line(&reader, text + at, length)) {
            g_string_append_len(lines->text, text + at, (gssize)length);
        }
        g_string_append_c(lines->text, '\n');
        at += length + 1;
    }
    g_free(reader.group);
}

uint32_t lull_config_lines_find(const struct lull_config_lines *lines, const char *group,
                                const char *key)
{
    g_autofree char *name = name_of(group, key);
    return GPOINTER_TO_UINT(g_hash_table_lookup(lines->of, name));
}

void lull_config_lines_clear(struct lull_config_lines *lines)
{
    g_hash_table_unref(lines->of);
    g_string_free(lines->text, TRUE);
}
