/* SPDX-License-Identifier: MIT */
/* Names by hand, as the ABI of C++ and Rust's RFC 2603 write them; and what is none, or would never end. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "symbol/demangle.h"

static void test_names(void)
{
    static const struct {
        const char *name, *readable; /* NULL: it stays as it is */
    } names[] = {
        {"_Z4mainv", "main"},
        {"_ZN4llvm3Foo3barEi", "llvm::Foo::bar"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
        {"_ZN3FooD1Ev", "Foo::~Foo"},
        {"_ZNK3FoocvbEv", "Foo::operator bool"},
        {"_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work"},
        {"_ZTV3Foo", "vtable for Foo"},
        /* Rust, as it was first, with a hash of 16 digits; and as RFC 2603 has it. */
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_ZN52_$LT$std..path..Path$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
         "<std::path::Path as core::fmt::Debug>::fmt"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        {"_RNvMs_Cs1234_7mycrateNtB4_3Foo3new", "<mycrate::Foo>::new"},
        {"_ZN3FooD1Ev@plt", "Foo::~Foo@plt"},
        {"main", NULL},
        {"malloc@plt", NULL},
        {"@plt", NULL},
        {"_start", NULL},
        {"__libc_start_main", NULL},
        {"_Z", NULL},
        {"_ZN", NULL},
        {"_ZN3Foo", NULL},
        {"_Z9999999999x", NULL},
        {"_R", NULL},
        {"_RNv", NULL},
        {"", NULL},
        {"\xff\xfe", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *readable = lull_demangle(names[i].name);
        g_assert_cmpstr(readable, ==, names[i].readable);
    }
}

/* What nm lists of modules that Cython 0.29 made, and where their sources have it. */
static void test_cython(void)
{
    static const struct {
        const char *name, *readable;
    } names[] = {
        {"__pyx_f_4foo2_cleaf", "foo2.cleaf"},
        {"__pyx_pf_4foo2_foo", "foo2.foo"},
        {"__pyx_pw_4foo2_1foo", "foo2.foo [wrapper]"},
        {"__pyx_pf_4foo2_2bar", "foo2.bar"},
        {"__pyx_pw_4foo2_3bar", "foo2.bar [wrapper]"}, /* its third, not three letters */
        {"__pyx_pw_3pkg_3mod_8bar_x", "pkg.mod.bar_x [wrapper]"},
        {"__pyx_f_7mod_one_5Point_inner", "mod_one.Point.inner"},
        {"__pyx_pf_3pkg_3mod_5Point___init__", "pkg.mod.Point.__init__"},
        {"__pyx_pf_3pkg_3mod_5Point_10__setstate_cython__", "pkg.mod.Point.__setstate_cython__"},
        {"__pyx_pf_3pkg_3mod_5Point_8__init___3sum", "pkg.mod.Point.__init__.sum"},
        {"__pyx_pw_3pkg_3mod_10__pyx_unpickle_Point", "pkg.mod.__pyx_unpickle_Point [wrapper]"},
        {"__pyx_f_3pkg_3mod___pyx_unpickle_Point__set_state",
         "pkg.mod.__pyx_unpickle_Point__set_state"},
        {"__pyx_pf_3pkg_3mod_5Plain_9other_one_nested", "pkg.mod.Plain.other_one.nested"},
        {"__pyx_pw_3pkg_3mod_5Plain_9other_one_1nested",
         "pkg.mod.Plain.other_one.nested [wrapper]"},
        {"__pyx_pf_3pkg_3mod_5outer", "pkg.mod.outer"}, /* its fifth, and five letters */
        {"__pyx_pw_3pkg_3mod_5outer_lambda", "pkg.mod.outer.lambda [wrapper]"},
        {"__pyx_pf_3pkg_3mod_5Point_1y___get__", "pkg.mod.Point.y.__get__"},
        {"__pyx_getprop_3pkg_3mod_5Point_y", "pkg.mod.Point.y [get]"},
        {"__pyx_gb_3pkg_3mod_4generator", "pkg.mod.generator"},
        {"__pyx_f_3mod_work.constprop.0", "mod.work.constprop.0"},
        /* Cython's own, and none of it. */
        {"__pyx_pymod_exec_mod", NULL},
        {"__pyx_find_code_object", NULL},
        {"__pyx_f_", NULL},
        {"__pyx_f_work", NULL},
        {"__pyx_f_3mod", NULL},
        {"__pyx_f_3mod_", NULL},
        {"__pyx_f_0_x", NULL},
        {"__pyx_f_99999999999999999999999_x", NULL},
        {"__pyx_f_9999_x", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *readable = lull_demangle(names[i].name);
        g_assert_cmpstr(readable, ==, names[i].readable);
    }
    g_autoptr(GString) deep = g_string_new("__pyx_f_");
    for (uint32_t i = 0; i < 4000; i++) {
        g_string_append(deep, "1a_");
    }
    g_string_append(deep, "f");
    g_autofree char *none = lull_demangle(deep->str);
    g_assert_null(none);
}

/* Each pair is made of two of the one before: 2^40 words in 700 bytes. */
static void test_explosion(void)
{
    g_autoptr(GString) name = g_string_new("_Z1fISt4pairIiiE");
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (uint32_t i = 0; i < 40; i++) {
        g_autofree char *last =
            i < 36 ? g_strdup_printf("S%c_", digits[i]) : g_strdup_printf("S1%c_", digits[i - 36]);
        g_string_append_printf(name, "S0_I%s%sE", last, last);
    }
    g_string_append(name, "Evv");
    const int64_t start_us = g_get_monotonic_time();
    g_autofree char *readable = lull_demangle(name->str);
    g_assert_null(readable);
    g_assert_cmpint(g_get_monotonic_time() - start_us, <, 5 * G_USEC_PER_SEC);
    g_string_assign(name, "_Z1fISt4pairIiiES0_IS1_S1_EEvv"); /* the same, once */
    g_autofree char *small = lull_demangle(name->str);
    g_assert_cmpstr(
        small, ==, "f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> > >");
}

/* A name of many levels, and one that is too long for anybody. */
static void test_deep(void)
{
    g_autoptr(GString) deep = g_string_new("_Z1f");
    for (uint32_t i = 0; i < 4000; i++) {
        g_string_append_c(deep, 'P');
    }
    g_string_append_c(deep, 'i');
    g_autofree char *readable = lull_demangle(deep->str);
    g_assert_true(!readable || strcmp(readable, "f") == 0);
    g_autoptr(GString) scopes = g_string_new("_ZN");
    for (uint32_t i = 0; i < 1000; i++) {
        g_string_append(scopes, "1a");
    }
    g_string_append(scopes, "Ev");
    g_autofree char *none = lull_demangle(scopes->str);
    g_assert_null(none);
    g_string_set_size(deep, 0);
    for (uint32_t i = 0; i < 5000; i++) {
        g_string_append(deep, "_Z");
    }
    g_autofree char *longer = lull_demangle(deep->str);
    g_assert_null(longer);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbol/demangle/names", test_names);
    g_test_add_func("/symbol/demangle/cython", test_cython);
    g_test_add_func("/symbol/demangle/explosion", test_explosion);
    g_test_add_func("/symbol/demangle/deep", test_deep);
    return g_test_run();
}
