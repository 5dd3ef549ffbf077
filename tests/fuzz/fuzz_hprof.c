/* SPDX-License-Identifier: MIT */
/* Fuzz target: a heap dump of Java. The sums of classes and objects are one, and what keeps an object retains at least
 * as much. What can be reached has a path from a root. */
#include "hprof/hprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What can be reached has a path, which starts at a root, and nothing else has. */
static void check_path(const struct lull_hprof *dump, uint32_t object)
{
    struct lull_hprof_path path = {0};
    const bool is_found = lull_hprof_find_path(dump, object, true, &path);
    g_assert_true(is_found == (dump->keepers[object] != LULL_HPROF_NOBODY));
    for (size_t i = 0; i < path.count; i++) {
        g_assert_true(g_utf8_validate(path.items[i].reference, -1, NULL));
        g_assert_true(dump->keepers[path.items[i].object] != LULL_HPROF_NOBODY);
    }
    g_assert_true(!is_found || path.items[path.count - 1].object == object);
    lull_hprof_path_clear(&path);
    g_assert_true(!lull_hprof_find_path(dump, object, false, &path) || is_found);
    lull_hprof_path_clear(&path);
}

/* No two have anything in common. */
static void check_suspects(const struct lull_hprof *dump)
{
    struct lull_hprof_suspects suspects = {0};
    uint64_t retained = 0;
    lull_hprof_find_suspects(dump, 0.1, &suspects);
    for (size_t i = 0; i < suspects.count; i++) {
        retained += suspects.items[i].retained;
        g_assert_cmpuint(suspects.items[i].kept_retained, <=, suspects.items[i].retained);
    }
    g_assert_cmpuint(retained, <=, dump->reachable_bytes);
    lull_vec_free(&suspects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_hprof *dump = lull_hprof_read(data, size, "dump", 0, NULL);
    uint64_t of_classes = 0, of_objects = 0, kept_by_root = 0;
    for (size_t i = 0; dump && i < dump->classes.count; i++) {
        g_assert_true(g_utf8_validate(dump->classes.items[i].name, -1, NULL));
        of_classes += dump->classes.items[i].bytes;
    }
    for (uint32_t i = 0; dump && i < dump->n_objects; i++) {
        const uint32_t keeper = dump->keepers[i];
        of_objects += lull_hprof_object(dump, i).bytes;
        if (keeper < dump->n_objects) {
            g_assert_cmpuint(dump->retained[keeper], >=, dump->retained[i]);
        } else {
            kept_by_root += dump->retained[i];
        }
    }
    if (dump) {
        g_assert_cmpuint(of_classes, ==, of_objects);
        g_assert_cmpuint(of_objects, ==, dump->bytes);
        g_assert_cmpuint(kept_by_root, ==, dump->reachable_bytes);
        check_suspects(dump);
        for (uint32_t i = 0; i < dump->n_objects && i < 3; i++) {
            check_path(dump, i);
        }
    }
    lull_hprof_free(dump);
    return 0;
}
