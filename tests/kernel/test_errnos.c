/* SPDX-License-Identifier: MIT */
/* Names of error numbers against those that the C library of this machine knows, and the kernel's
 * own (include/linux/errno.h of Linux 6.1). */
#include "kernel/errnos.h"

#include <glib.h>
#include <string.h>

static void test_user(void)
{
#if defined __x86_64__ || defined __aarch64__ || defined __i386__ || defined __arm__ ||            \
    defined __riscv || defined __s390x__
    uint32_t n = 0;
    for (int i = 1; i < 200; i++) {
        const char *expected = strerrorname_np(i);
        /* The C library may call it ENOTSUP, which is the same number. */
        if (expected && strcmp(expected, "ENOTSUP") == 0) {
            expected = "EOPNOTSUPP";
        }
        g_assert_cmpstr(lull_errno_name(i), ==, expected);
        n += expected != NULL;
    }
    g_assert_cmpuint(n, >, 100);
#else
    g_test_skip("error numbers of this machine are not those of asm-generic");
#endif
}

static void test_kernel(void)
{
    static const char *const names[] = {
        [512] = "ERESTARTSYS",
        [513] = "ERESTARTNOINTR",
        [514] = "ERESTARTNOHAND",
        [515] = "ENOIOCTLCMD",
        [516] = "ERESTART_RESTARTBLOCK",
        [517] = "EPROBE_DEFER",
        [518] = "EOPENSTALE",
        [519] = "ENOPARAM",
        [521] = "EBADHANDLE",
        [522] = "ENOTSYNC",
        [523] = "EBADCOOKIE",
        [524] = "ENOTSUPP",
        [525] = "ETOOSMALL",
        [526] = "ESERVERFAULT",
        [527] = "EBADTYPE",
        [528] = "EJUKEBOX",
        [529] = "EIOCBQUEUED",
        [530] = "ERECALLCONFLICT",
        [531] = "ENOGRACE",
    };
    for (int i = 512; i < (int)G_N_ELEMENTS(names); i++) {
        g_assert_cmpstr(lull_errno_name(i), ==, names[i]);
    }
    static const int64_t none[] = {0, -1, INT64_MIN, 41, 200, 511, 520, 532, 600, INT64_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(none); i++) {
        g_assert_null(lull_errno_name(none[i]));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernel/errnos/user", test_user);
    g_test_add_func("/kernel/errnos/kernel", test_kernel);
    return g_test_run();
}
