/* SPDX-License-Identifier: MIT */
/* Reads /proc/kallsyms and /proc/modules. */
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

/* -1: it is none. */
static int digit_of(char letter)
{
    const unsigned number = (unsigned)letter - '0', low = ((unsigned)letter | 0x20) - 'a';
    return number < 10 ? (int)number : low < 6 ? (int)low + 10 : -1;
}

static bool parse_address(const char *text, size_t length, uint64_t *address)
{
    *address = 0;
    for (size_t i = 0; i < length; i++) {
        const int digit = digit_of(text[i]);
        if (digit < 0) {
            return false;
        }
        *address = *address << 4 | (unsigned)digit;
    }
    return length > 0 && length <= 16 && *address != 0;
}

/* Where the modules lie: name → struct module. */
struct module {
    uint64_t start, end;
};

/* Lines "NAME SIZE USERS DEPENDENTS STATE 0xADDRESS". */
static GHashTable *read_modules(const char *text)
{
    GHashTable *modules = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (size_t i = 0; lines[i]; i++) {
        g_auto(GStrv) words = g_strsplit(lines[i], " ", 7);
        if (g_strv_length(words) >= 6) {
            const uint64_t start = g_ascii_strtoull(words[5], NULL, 16);
            const uint64_t size = g_ascii_strtoull(words[1], NULL, 10);
            struct module *module = g_new(struct module, 1);
            *module = (struct module){start, size > UINT64_MAX - start ? UINT64_MAX : start + size};
            g_hash_table_replace(modules, g_strdup(words[0]), module);
        }
    }
    return modules;
}

/* Where a function that starts there ends at the latest. */
static uint64_t limit_of(GHashTable *modules, const char *name, uint64_t address)
{
    const uint64_t most =
        address > UINT64_MAX - MOST_FUNCTION_BYTES ? UINT64_MAX : address + MOST_FUNCTION_BYTES;
    const struct module *module = name ? g_hash_table_lookup(modules, name) : NULL;
    return module && address >= module->start && address < module->end ? MIN(most, module->end)
                                                                       : most;
}

/* A line; false: the table is full. Lines that are none, and data, are passed over. */
static bool add_line(struct lull_symbol_table *table, GHashTable *modules, const char *at,
                     const char *end, bool *is_any)
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
    const size_t length = next_word(&at, end);
    g_autofree char *module = NULL;
    if (length > 2 && length < MOST_NAME && *at == '[') {
        memcpy(name + n, at, length);
        n += length;
        module = g_strndup(at + 1, length - 2);
    }
    *is_any = true;
    return lull_symbol_table_add(table, address, 0, limit_of(modules, module, address), rank, name,
                                 n);
}

struct lull_symbol_table *lull_kallsyms_parse(const char *text, size_t length, const char *modules)
{
    struct lull_symbol_table *table = lull_symbol_table_new();
    g_autoptr(GHashTable) ends = read_modules(modules);
    const char *end = text + length;
    bool is_any = false, has_room = true;
    while (text < end && has_room) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        line = line ? line : end;
        has_room = add_line(table, ends, text, line, &is_any);
        text = line + 1;
    }
    if (!is_any) {
        lull_symbol_table_free(table);
        return NULL;
    }
    lull_symbol_table_finish(table);
    return table;
}

uint64_t lull_kallsyms_start(const char *text, size_t length)
{
    static const char end[] = " T _text\n";
    const char *found = g_strstr_len(text, (gssize)length, end);
    const char *start = found;
    uint64_t address;
    while (start > text && start[-1] != '\n') {
        start--;
    }
    return found && parse_address(start, (size_t)(found - start), &address) ? address : 0;
}
