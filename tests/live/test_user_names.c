/* SPDX-License-Identifier: MIT */
/* Names of the functions of a program that runs: this one, two of whose functions have names as C++ and Rust give
 * them. */
#include <inttypes.h>
#include <unistd.h>

#include "live/user_names.h"

void cpp_function(void) __asm__("_ZN4lull4Test3runEi");
void rust_function(void) __asm__("_ZN4lull4test3run17h0123456789abcdefE");

__attribute__((noinline)) void cpp_function(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline)) void rust_function(void)
{
    __asm__ volatile("nop; nop");
}

static char *name_at(uint32_t pid, uint64_t address)
{
    struct lull_user_names *names = lull_user_names_new(true);
    GString *text = g_string_new(NULL);
    lull_user_names_append(names, pid, address, text);
    lull_user_names_free(names);
    return g_string_free(text, FALSE);
}

static void test_readable(void)
{
    g_autofree char *cpp = name_at((uint32_t)getpid(), (uint64_t)(uintptr_t)cpp_function);
    g_autofree char *rust = name_at((uint32_t)getpid(), (uint64_t)(uintptr_t)rust_function);
    g_assert_cmpstr(cpp, ==, "lull::Test::run");
    g_assert_cmpstr(rust, ==, "lull::test::run");
}

static void test_unknown(void)
{
    int in_no_file;
    const uint64_t address = (uint64_t)(uintptr_t)&in_no_file;
    g_autofree char *stack = name_at((uint32_t)getpid(), address);
    g_autofree char *nobody = name_at(0, (uint64_t)(uintptr_t)cpp_function);
    g_autofree char *expected = g_strdup_printf("0x%" PRIx64, address);
    g_autofree char *plain = g_strdup_printf("0x%" PRIx64, (uint64_t)(uintptr_t)cpp_function);
    g_assert_cmpstr(stack, ==, expected);
    g_assert_cmpstr(nobody, ==, plain);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/user_names/readable", test_readable);
    g_test_add_func("/live/user_names/unknown", test_unknown);
    return g_test_run();
}
