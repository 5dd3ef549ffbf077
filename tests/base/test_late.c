/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded when they are called. */
#include "base/late.h"

#include <math.h>
#include <string.h>

#include <lull/error.h>

#define FUNCTIONS(X) X(cos) X(ldexp)
static LULL_LATE_STRUCT(functions, FUNCTIONS) libm, nowhere, lacking;

static void test_calls(void)
{
    struct lull_late late = LULL_LATE("libm.so.6", libm, FUNCTIONS);
    GError *error = NULL;
    g_assert_true(lull_late_load(&late, &error));
    g_assert_no_error(error);
    g_assert_true(lull_late_load(&late, NULL));
    g_assert_cmpfloat(libm.cos(0), ==, 1);
    g_assert_cmpfloat(libm.ldexp(3, 4), ==, 48);
}

/* What is not there is named, and what to do; it may be there the next time. */
static void test_missing(void)
{
    struct lull_late late = LULL_LATE("libnot-there.so.7", nowhere, FUNCTIONS);
    for (int i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(lull_late_load(&late, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_IO);
        g_assert_nonnull(strstr(error->message, "install the package that has libnot-there.so.7"));
    }
    late.soname = "libm.so.6";
    g_assert_true(lull_late_load(&late, NULL));
    g_assert_cmpfloat(nowhere.cos(0), ==, 1);
}

static void test_lacking(void)
{
    static const char *const names[] = {"cos", "no_such_function", NULL};
    struct lull_late late = LULL_LATE("libm.so.6", lacking, FUNCTIONS);
    g_autoptr(GError) error = NULL;
    late.names = names;
    g_assert_false(lull_late_load(&late, &error));
    g_assert_nonnull(strstr(error->message, "no_such_function"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/late/calls", test_calls);
    g_test_add_func("/base/late/missing", test_missing);
    g_test_add_func("/base/late/lacking", test_lacking);
    return g_test_run();
}
