/* SPDX-License-Identifier: MIT */
/* Fuzz target: a perf map. What is found starts at or before its address, under a name of the
 * text. */
#include <glib.h>
#include <string.h>

#include "symbol/object.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_object *object = lull_perf_map_parse((const char *)data, size);
    for (uint64_t at = 0; object && at < 512; at++) {
        uint64_t offset = UINT64_MAX;
        const char *name = lull_object_find(object, at, &offset);
        g_assert_true(!name || (offset <= at && memmem(data, size, name, strlen(name))));
    }
    lull_object_free(object);
    return 0;
}
