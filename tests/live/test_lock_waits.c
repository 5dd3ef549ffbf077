/* SPDX-License-Identifier: MIT */
/* Texts as the kernel writes them in /proc/locks (proc_locks(5)): who waits for whom. Processes that are not there have
 * numbers beyond the largest pid. */
#include "live/lock_waits.h"

#define LATER INT64_C(3000000000)

static void check(const struct lull_lock_waits *waits, guint i, const char *call, int32_t waiter,
                  int32_t holder, int64_t ns)
{
    const GArray *all = lull_lock_waits_waiting(waits);
    g_assert_cmpuint(all->len, >, i);
    const struct lull_lock_wait *wait = &g_array_index(all, struct lull_lock_wait, i);
    g_assert_cmpstr(wait->call, ==, call);
    g_assert_cmpint(wait->waiter.pid, ==, waiter);
    g_assert_cmpint(wait->holder.pid, ==, holder);
    g_assert_cmpint(wait->at_least_ns, ==, ns);
    g_assert_null(wait->path);
}

static guint count(const struct lull_lock_waits *waits)
{
    return lull_lock_waits_waiting(waits)->len;
}

/* Who came since the last look is shown at the next, with the time in between; numbers of lines change. */
static void test_ages(void)
{
    struct lull_lock_waits *waits = lull_lock_waits_new();
    lull_lock_waits_take(waits,
                         "1: FLOCK  ADVISORY  WRITE 90000001 fe:00:131074 0 EOF\n"
                         "1: -> FLOCK  ADVISORY  WRITE 90000002 fe:00:131074 0 EOF\n",
                         1000);
    g_assert_cmpuint(count(waits), ==, 0);
    lull_lock_waits_take(waits,
                         "1: POSIX  ADVISORY  READ  90000009 fe:00:7 0 EOF\n"
                         "2: FLOCK  ADVISORY  WRITE 90000001 fe:00:131074 0 EOF\n"
                         "2: -> FLOCK  ADVISORY  WRITE 90000002 fe:00:131074 0 EOF\n"
                         "2: -> FLOCK  ADVISORY  WRITE 90000003 fe:00:131074 0 EOF\n",
                         1000 + LATER);
    g_assert_cmpuint(count(waits), ==, 1);
    check(waits, 0, "flock", 90000002, 90000001, LATER);
    /* Another has it now, and the third waits for that one. */
    lull_lock_waits_take(waits,
                         "1: FLOCK  ADVISORY  WRITE 90000002 fe:00:131074 0 EOF\n"
                         "1: -> FLOCK  ADVISORY  WRITE 90000003 fe:00:131074 0 EOF",
                         1000 + 2 * LATER);
    g_assert_cmpuint(count(waits), ==, 1);
    check(waits, 0, "flock", 90000003, 90000002, LATER);
    lull_lock_waits_take(waits, "", 1000 + 3 * LATER);
    g_assert_cmpuint(count(waits), ==, 0);
    lull_lock_waits_free(waits);
}

/* Who waits behind another waits for the same lock; locks of open files are nobody's; leases are no calls. */
static void test_kinds(void)
{
    static const char text[] = "1: POSIX  ADVISORY  WRITE 90000001 08:10:5 10 19\n"
                               "1: -> POSIX  ADVISORY  WRITE 90000002 08:10:5 10 19\n"
                               "1:  -> POSIX  ADVISORY  WRITE 90000003 08:10:5 12 13\n"
                               "2: OFDLCK ADVISORY  WRITE -1 08:10:6 0 EOF\n"
                               "2: -> OFDLCK ADVISORY  WRITE -1 08:10:6 0 EOF\n"
                               "3: LEASE  ACTIVE    READ  90000004 08:10:7 0 EOF\n"
                               "3: -> LEASE  BREAKER   READ  90000005 08:10:7 0 EOF\n";
    struct lull_lock_waits *waits = lull_lock_waits_new();
    lull_lock_waits_take(waits, text, 0);
    lull_lock_waits_take(waits, text, 5);
    g_assert_cmpuint(count(waits), ==, 3);
    check(waits, 0, "fcntl", 0, 0, 5);
    check(waits, 1, "fcntl", 90000002, 90000001, 5);
    check(waits, 2, "fcntl", 90000003, 90000001, 5);
    lull_lock_waits_free(waits);
}

static void test_odd(void)
{
    static const char *const texts[] = {
        "1: -> FLOCK  ADVISORY  WRITE 90000002 fe:00:1 0 EOF\n", /* of nothing */
        "1: FLOCK  ADVISORY  WRITE 90000001 fe:00:1 0 EOF\n1: ->\n",
        "1: FLOCK  ADVISORY  WRITE 90000001 fe:00:1 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 900000",
        "1: FLOCK  ADVISORY  WRITE <none>:0 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 90000002 fe:00:1 0 EOF\n",
        "\n\n:\n: ->\n1:\n",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct lull_lock_waits *waits = lull_lock_waits_new();
        lull_lock_waits_take(waits, texts[i], 0);
        lull_lock_waits_take(waits, texts[i], 5);
        g_assert_cmpuint(count(waits), ==, 0);
        lull_lock_waits_free(waits);
    }
}

/* As many as are kept, and no more. */
static void test_many(void)
{
    g_autoptr(GString) text =
        g_string_new("1: FLOCK  ADVISORY  WRITE 90000001 fe:00:131074 0 EOF\n");
    for (int i = 0; i < 2 * LULL_LOCK_WAITS; i++) {
        g_string_append_printf(text, "1: -> FLOCK  ADVISORY  WRITE %d fe:00:131074 0 EOF\n",
                               91000000 + i);
    }
    struct lull_lock_waits *waits = lull_lock_waits_new();
    lull_lock_waits_take(waits, text->str, 0);
    lull_lock_waits_take(waits, text->str, 5);
    g_assert_cmpuint(count(waits), ==, LULL_LOCK_WAITS);
    lull_lock_waits_free(waits);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lock-waits/ages", test_ages);
    g_test_add_func("/lock-waits/kinds", test_kinds);
    g_test_add_func("/lock-waits/odd", test_odd);
    g_test_add_func("/lock-waits/many", test_many);
    return g_test_run();
}
