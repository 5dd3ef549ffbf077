/* SPDX-License-Identifier: MIT */
/* Fuzz target: a heap dump of Java. The sums of classes and objects are one, and what keeps an object retains at least
 * as much. */
#include "hprof/hprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_hprof *dump = lull_hprof_read(data, size, "dump", 0, NULL);
    uint64_t of_classes = 0, of_objects = 0, kept_by_root = 0;
    for (size_t i = 0; dump && i < dump->classes.count; i++) {
        g_assert_true(g_utf8_validate(dump->classes.items[i].name, -1, NULL));
        of_classes += dump->classes.items[i].bytes;
    }
    for (size_t i = 0; dump && i < dump->objects.count; i++) {
        const struct lull_hprof_object *object = &dump->objects.items[i];
        of_objects += object->bytes;
        if (object->keeper != LULL_HPROF_ROOT) {
            g_assert_cmpuint(dump->objects.items[object->keeper].retained, >=, object->retained);
        } else {
            kept_by_root += object->retained;
        }
    }
    if (dump) {
        g_assert_cmpuint(of_classes, ==, of_objects);
        g_assert_cmpuint(of_objects, ==, dump->bytes);
        g_assert_cmpuint(kept_by_root, ==, dump->reachable_bytes);
    }
    lull_hprof_free(dump);
    return 0;
}
