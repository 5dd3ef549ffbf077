/* SPDX-License-Identifier: MIT */
/* Slots by number: what was put in stays through growth, all others are 0. */
#include "base/slots.h"

static void test_sparse(void)
{
    static const uint32_t numbers[] = {0, 63, 64, 65, 5000, 70, 1000003, 5001};
    struct lull_slots slots = {0};
    for (uint32_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_assert_cmpuint(*lull_slots_at(&slots, numbers[i]), ==, 0);
        *lull_slots_at(&slots, numbers[i]) = i + 1;
    }
    uint32_t used = 0;
    for (uint32_t number = 0; number <= 1000003; number++) {
        used += lull_slots_get(&slots, number) != 0;
    }
    g_assert_cmpuint(used, ==, G_N_ELEMENTS(numbers));
    g_assert_cmpuint(lull_slots_get(&slots, UINT32_MAX - 1), ==, 0);
    for (uint32_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_assert_cmpuint(*lull_slots_at(&slots, numbers[i]), ==, i + 1);
    }
    lull_slots_free(&slots);
    g_assert_cmpuint(*lull_slots_at(&slots, 63), ==, 0);
    lull_slots_free(&slots);
}

/* In order of number, wherever one starts. */
static void test_next(void)
{
    static const uint32_t numbers[] = {3, 63, 64, 640, 65535};
    struct lull_slots slots = {0};
    uint32_t number = 0;
    g_assert_false(lull_slots_next(&slots, &number));
    for (uint32_t i = G_N_ELEMENTS(numbers); i-- > 0;) {
        *lull_slots_at(&slots, numbers[i]) = 1;
    }
    lull_slots_at(&slots, 200); /* a page with nothing in it */
    for (uint32_t i = 0; i < G_N_ELEMENTS(numbers); i++, number++) {
        g_assert_true(lull_slots_next(&slots, &number));
        g_assert_cmpuint(number, ==, numbers[i]);
        number = numbers[i];
    }
    g_assert_false(lull_slots_next(&slots, &number));
    lull_slots_free(&slots);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/slots/sparse", test_sparse);
    g_test_add_func("/base/slots/next", test_next);
    return g_test_run();
}
