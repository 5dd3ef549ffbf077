/* SPDX-License-Identifier: MIT */
/* Trace writer: the little language in which tests give values:
 *     value := word | "quoted" | [ items ] | { items }      items := ( name= )? value …
 * Items are separated by blanks or commas; a quoted text knows \" \\ and \xHH. */
#include "lib/ctf_internal.h"

#include <string.h>

static void skip_blank(const char **at)
{
    while (**at == ' ' || **at == ',' || **at == '\n' || **at == '\t') {
        ++*at;
    }
}

static char *read_quoted(const char **at)
{
    GString *text = g_string_new(NULL);
    for (++*at; **at != '"'; ++*at) {
        if (!**at) {
            g_error("ctf writer: a quote is not closed");
        }
        if (**at != '\\') {
            g_string_append_c(text, **at);
            continue;
        }
        ++*at;
        if (**at == 'x') {
            g_string_append_c(
                text, (char)(g_ascii_xdigit_value((*at)[1]) * 16 + g_ascii_xdigit_value((*at)[2])));
            *at += 2;
        } else {
            g_string_append_c(text, **at);
        }
    }
    ++*at;
    return g_string_free(text, FALSE);
}

static char *read_word(const char **at, const char *stop)
{
    size_t length = strcspn(*at, stop);
    char *word = g_strndup(*at, length);
    *at += length;
    return word;
}

static struct ctf_value *read_value(const char **at);

static GPtrArray *read_items(const char **at, char close)
{
    GPtrArray *items = g_ptr_array_new_with_free_func((GDestroyNotify)ctf_value_free);
    for (skip_blank(at); **at != close; skip_blank(at)) {
        if (!**at) {
            g_error("ctf writer: a bracket is not closed");
        }
        size_t name =
            strspn(*at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        char *label = NULL;
        if (name && (*at)[name] == '=') {
            label = g_strndup(*at, name);
            *at += name + 1;
        }
        struct ctf_value *value = read_value(at);
        value->name = label;
        g_ptr_array_add(items, value);
    }
    if (close) {
        ++*at;
    }
    return items;
}

static struct ctf_value *read_value(const char **at)
{
    struct ctf_value *value = g_new0(struct ctf_value, 1);
    char first = **at;
    if (first == '[' || first == '{') {
        ++*at;
        value->items = read_items(at, first == '[' ? ']' : '}');
    } else if (first == '"') {
        value->text = read_quoted(at);
    } else {
        value->text = read_word(at, " ,\n\t]}");
    }
    return value;
}

struct ctf_value *ctf_value_parse(const char *text)
{
    struct ctf_value *value = g_new0(struct ctf_value, 1);
    value->items = read_items(&text, '\0');
    return value;
}

void ctf_value_free(struct ctf_value *value)
{
    if (!value) {
        return;
    }
    g_free(value->name);
    g_free(value->text);
    if (value->items) {
        g_ptr_array_unref(value->items);
    }
    g_free(value);
}

const struct ctf_value *ctf_value_member(const struct ctf_value *value, const char *name)
{
    for (size_t i = 0; value && value->items && i < value->items->len; i++) {
        const struct ctf_value *item = g_ptr_array_index(value->items, i);
        if (item->name && !strcmp(item->name, name)) {
            return item;
        }
    }
    return NULL;
}
