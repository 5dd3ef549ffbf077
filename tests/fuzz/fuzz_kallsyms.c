/* SPDX-License-Identifier: MIT */
/* Fuzz target: a list of the kernel's symbols. What is found starts at or before its address, under
 * a name that the text has. */
#include <glib.h>
#include <string.h>

#include "symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    g_autofree char *modules = g_strndup(text, size);
    struct lull_symbol_table *table = lull_kallsyms_parse(text, size, modules);
    for (size_t at = 0; table && at + 8 <= size; at += 8) {
        uint64_t address, offset = UINT64_MAX;
        memcpy(&address, data + at, sizeof address);
        const char *name = lull_symbol_table_find(table, address, &offset);
        if (name) {
            g_assert_cmpuint(offset, <=, address);
            const size_t length = strcspn(name, "[");
            g_assert_nonnull(memmem(text, size, name, length));
        }
    }
    lull_symbol_table_free(table);
    return 0;
}
