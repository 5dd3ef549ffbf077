/* SPDX-License-Identifier: MIT */
/* Reads /proc/kallsyms. */
#include "symbol/kallsyms.h"

#include <glib.h>
#include <string.h>

/* No function is longer: what lies farther from a symbol lies behind the last one of its area. */
#define MOST_FUNCTION_BYTES (UINT64_C(1) << 20)
#define MOST_NAME 512

/* Moves on to what follows the spaces; the length of the word there. */
static size_t next_word(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t')) {
        ++*at;
    }
    size_t n = 0;
    while (*at + n < end && (*at)[n] != ' ' && (*at)[n] != '\t') {
        n++;
    }
    return n;
}

static bool parse_address(const char *text, size_t length, uint64_t *address)
{
    *address = 0;
    for (size_t i = 0; i < length; i++) {
        const int digit = g_ascii_xdigit_value(text[i]);
        if (digit < 0) {
            return false;
        }
        *address = *address << 4 | (unsigned)digit;
    }
    return length > 0 && length <= 16 && *address != 0;
}

/* A line; false: the table is full. Lines that are none, and data, are passed over. */
static bool add_line(struct lull_symbol_table *table, const char *at, const char *end, bool *is_any)
{
    uint64_t address;
    size_t n = next_word(&at, end);
    if (!parse_address(at, n, &address)) {
        return true;
    }
    at += n;
    n = next_word(&at, end);
    if (n != 1 || !strchr("tTwW", *at)) {
        return true;
    }
    const unsigned rank = *at == 'T' ? 0 : *at == 't' ? 2 : 1;
    at += n;
    n = next_word(&at, end);
    char name[2 * MOST_NAME];
    if (n == 0 || n > MOST_NAME) {
        return true;
    }
    memcpy(name, at, n);
    at += n;
    const size_t module = next_word(&at, end);
    if (module > 0 && module < MOST_NAME && *at == '[') {
        memcpy(name + n, at, module);
        n += module;
    }
    *is_any = true;
    return lull_symbol_table_add(
        table, address, 0,
        address > UINT64_MAX - MOST_FUNCTION_BYTES ? UINT64_MAX : address + MOST_FUNCTION_BYTES,
        rank, name, n);
}

struct lull_symbol_table *lull_kallsyms_parse(const char *text, size_t length)
{
    struct lull_symbol_table *table = lull_symbol_table_new();
    const char *end = text + length;
    bool is_any = false, has_room = true;
    while (text < end && has_room) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        line = line ? line : end;
        has_room = add_line(table, text, line, &is_any);
        text = line + 1;
    }
    if (!is_any) {
        lull_symbol_table_free(table);
        return NULL;
    }
    lull_symbol_table_finish(table);
    return table;
}
