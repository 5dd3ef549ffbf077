/* SPDX-License-Identifier: MIT */
/* Which of many instances are slow, and which typical, by the rules of the manual page, counted by
 * hand. */
#include "analysis/slow.h"

#define NO_LIMIT INT64_MIN

/* Took in this order; the numbers of the arrays that are chosen: "5 6 | 0 1 2". */
static char *choose(const int64_t *took, uint32_t count, struct lull_slow_rule rule)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct lull_timed));
    for (uint32_t i = 0; i < count; i++) {
        g_array_append_val(all, ((struct lull_timed){i, took[i]}));
    }
    struct lull_slow chosen = lull_slow_choose(all, &rule);
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < chosen.slow->len; i++) {
        g_string_append_printf(out, "%u ",
                               g_array_index(chosen.slow, struct lull_timed, i).position);
    }
    g_string_append_c(out, '|');
    for (guint i = 0; i < chosen.typical->len; i++) {
        g_string_append_printf(out, " %u",
                               g_array_index(chosen.typical, struct lull_timed, i).position);
    }
    lull_slow_clear(&chosen);
    return g_string_free(out, FALSE);
}

#define EXPECT(took, rule, expected)                                                               \
    do {                                                                                           \
        g_autofree char *found_ = choose(took, G_N_ELEMENTS(took), rule);                          \
        g_assert_cmpstr(found_, ==, expected);                                                     \
    } while (0)

static struct lull_slow_rule rule_of(double slowest, int64_t slower_than_ns)
{
    return (struct lull_slow_rule){slowest, slower_than_ns, {25, 75}, 0};
}

/* Of twelve, from the quickest: 1 11 3 9 5 7 6 8 4 10 2 0. The middle half are the 4th to the 9th. */
static const int64_t twelve[] = {112, 101, 111, 103, 109, 105, 107, 106, 108, 104, 110, 102};

static void test_given(void)
{
    EXPECT(twelve, rule_of(25, NO_LIMIT), "10 2 0 | 9 5 7 6 8 4");
    EXPECT(twelve, rule_of(1, NO_LIMIT), "0 | 9 5 7 6 8 4"); /* at least one */
    EXPECT(twelve, rule_of(50, NO_LIMIT), "6 8 4 10 2 0 | 9 5 7");
    EXPECT(twelve, rule_of(-1, 109), "10 2 0 | 9 5 7 6 8 4"); /* took longer, not as long */
    EXPECT(twelve, rule_of(-1, 200), "| 9 5 7 6 8 4");
    EXPECT(twelve, rule_of(50, 111), "0 | 9 5 7 6 8 4"); /* the limit counts */
    struct lull_slow_rule rule = rule_of(-1, NO_LIMIT);
    rule.n_slowest = 2;
    EXPECT(twelve, rule, "2 0 | 9 5 7 6 8 4");
    rule.n_slowest = 99;
    EXPECT(twelve, rule, "1 11 3 9 5 7 6 8 4 10 2 0 |");
}

/* A tenth of twelve is one; nothing lies beyond the fence, which is at 109 + 1.5 * 5. */
static void test_tenth(void)
{
    EXPECT(twelve, rule_of(-1, NO_LIMIT), "0 | 9 5 7 6 8 4");
}

/* Twenty of 100 to 109, twice each; the two last take longer. The quartiles are the 6th, 102, and the
 * 15th, 107: the fence is at 107 + 1.5 * 5 = 114.5, and a tenth is two. */
static void test_fence(void)
{
    int64_t took[20];
    for (int i = 0; i < 20; i++) {
        took[i] = 100 + i / 2;
    }
    const char *const typical = "5 6 7 8 9 10 11 12 13 14";
    static const struct {
        int64_t last[2];
        const char *slow;
    } cases[] = {{{114, 114}, "18 19"}, {{114, 115}, "19"}, {{115, 900}, "18 19"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        took[18] = cases[i].last[0];
        took[19] = cases[i].last[1];
        g_autofree char *expected = g_strdup_printf("%s | %s", cases[i].slow, typical);
        EXPECT(took, rule_of(-1, NO_LIMIT), expected);
    }
}

static void test_too_few(void)
{
    g_autofree char *found = choose(twelve, LULL_FEWEST_INSTANCES - 1, rule_of(50, NO_LIMIT));
    g_assert_cmpstr(found, ==, "|");
    g_autofree char *enough = choose(twelve, LULL_FEWEST_INSTANCES, rule_of(1, NO_LIMIT));
    g_assert_cmpstr(enough, !=, "|");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/slow/given", test_given);
    g_test_add_func("/analysis/slow/tenth", test_tenth);
    g_test_add_func("/analysis/slow/fence", test_fence);
    g_test_add_func("/analysis/slow/too-few", test_too_few);
    return g_test_run();
}
