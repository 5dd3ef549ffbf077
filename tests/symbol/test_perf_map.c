/* SPDX-License-Identifier: MIT */
/* Perf maps; texts, names and offsets are written by hand. */
#include <glib.h>
#include <string.h>

#include "symbol/object.h"
#include "symbol/perf_map.h"

static void check(const struct lull_object *object, uint64_t address, const char *name,
                  uint64_t offset)
{
    uint64_t found = 0;
    g_assert_cmpstr(lull_object_find(object, address, &found), ==, name);
    g_assert_cmphex(found, ==, offset);
}

/* As Python, Java and V8 write them; memory that was used again has its last name. */
static void test_read(void)
{
    static const char text[] = "7f4ffeab6000 b py::f:/a/b.py\n"
                               "0x00007f4000001000 0x00000270 void A.b(int)\n"
                               "7f4000002000 100 old\n"
                               "\nnonsense\n7f4000003000\n7f4000003000 10\n7f4000003000 10 \n"
                               "7f4000003000 0 empty\n0x 10 none\n11112222333344445 1 long\n"
                               "7f4000002000 40 new\n7f4000004000 20 LazyCompile:*f /x.js:1";
    struct lull_object *object = lull_perf_map_parse(text, strlen(text));
    check(object, 0x7f4ffeab600a, "py::f:/a/b.py", 10);
    check(object, 0x7f4ffeab600b, NULL, 0);
    check(object, 0x7f400000126f, "void A.b(int)", 0x26f);
    check(object, 0x7f4000001270, NULL, 0);
    check(object, 0x7f400000203f, "new", 0x3f);
    check(object, 0x7f4000002040, NULL, 0);
    check(object, 0x7f4000003000, NULL, 0);
    check(object, 0x7f400000401f, "LazyCompile:*f /x.js:1", 0x1f);
    lull_object_free(object);
    g_assert_null(lull_perf_map_parse("", 0));
    g_assert_null(lull_perf_map_parse("nothing\n", 8));
}

static void test_is_for(void)
{
    static const char *const made[] = {"//anon", "[anon:v8]", "/memfd:doublemapper",
                                       "/dev/zero (deleted)", "[heap]"};
    static const char *const files[] = {"/bin/x", "[vdso]", "", "[kernel.kallsyms]", "/dev/shm/x"};
    for (size_t i = 0; i < G_N_ELEMENTS(made); i++) {
        g_assert_true(lull_perf_map_is_for(made[i]));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_assert_false(lull_perf_map_is_for(files[i]));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbol/perf-map/read", test_read);
    g_test_add_func("/symbol/perf-map/is-for", test_is_for);
    return g_test_run();
}
