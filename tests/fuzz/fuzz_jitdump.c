/* SPDX-License-Identifier: MIT */
/* Fuzz target: a dump of code of process 40. What was at an address is in the file, under a name of it; the same
 * place has the same name. */
#include <glib.h>
#include <string.h>

#include "symbol/jitdump.h"
#include "symbol/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_jitdump *dump = lull_jitdump_parse(data, size, 40);
    struct lull_object *object = dump ? lull_jitdump_take_object(dump) : NULL;
    for (uint64_t time = 0; dump && time <= 64; time++) {
        for (uint64_t address = 0; address < 128; address++) {
            uint64_t offset, within;
            if (!lull_jitdump_place(dump, address, time == 64 ? UINT64_MAX : time, &offset)) {
                continue;
            }
            g_assert_cmpuint(offset, <, size);
            const char *name = lull_object_find(object, offset, &within);
            g_assert_true(!name || (within <= offset && memmem(data, size, name, strlen(name))));
            const struct lull_source_line line = lull_jitdump_line(dump, offset);
            g_assert_true(!line.file || memmem(data, size, line.file, strlen(line.file)));
        }
    }
    lull_object_free(object);
    lull_jitdump_free(dump);
    return 0;
}
