/* SPDX-License-Identifier: MIT */
/* Tables of symbols and /proc/kallsyms; what is expected is worked out by hand. */
#include <glib.h>
#include <string.h>

#include "symbol/kallsyms.h"

static void add(struct lull_symbol_table *table, uint64_t start, uint64_t size, unsigned rank,
                const char *name)
{
    g_assert_true(lull_symbol_table_add(table, start, size, 0x10000, rank, name, strlen(name)));
}

static void check(const struct lull_symbol_table *table, uint64_t address, const char *name,
                  uint64_t offset)
{
    uint64_t found = 0;
    g_assert_cmpstr(lull_symbol_table_find(table, address, &found), ==, name);
    g_assert_cmphex(found, ==, offset);
}

static void test_overlap(void)
{
    struct lull_symbol_table *table = lull_symbol_table_new();
    add(table, 0x150, 0x10, 0, "innermost");
    add(table, 0x100, 0x100, 0, "outer");
    add(table, 0x140, 0x40, 0, "inner");
    add(table, 0x1f0, 0x30, 0, "crosses");
    add(table, 0x300, 0x10, 0, "alone");
    lull_symbol_table_finish(table);
    check(table, 0xff, NULL, 0);
    check(table, 0x100, "outer", 0);
    check(table, 0x13f, "outer", 0x3f);
    check(table, 0x140, "inner", 0);
    check(table, 0x15f, "innermost", 0xf);
    check(table, 0x160, "inner", 0x20);
    check(table, 0x17f, "inner", 0x3f);
    check(table, 0x180, "outer", 0x80);
    check(table, 0x1f0, "crosses", 0);
    check(table, 0x21f, "crosses", 0x2f);
    check(table, 0x220, NULL, 0);
    check(table, 0x30f, "alone", 0xf);
    check(table, 0x310, NULL, 0);
    check(table, UINT64_MAX, NULL, 0);
    lull_symbol_table_free(table);
}

/* A function that ends together with the one around it. */
static void test_same_end(void)
{
    struct lull_symbol_table *table = lull_symbol_table_new();
    add(table, 0x100, 0x100, 0, "outer");
    add(table, 0x180, 0x80, 0, "inner");
    add(table, 0x280, UINT64_MAX, 0, "endless");
    lull_symbol_table_finish(table);
    check(table, 0x1ff, "inner", 0x7f);
    check(table, 0x200, NULL, 0);
    check(table, UINT64_MAX - 1, "endless", UINT64_MAX - 1 - 0x280);
    lull_symbol_table_free(table);
}

/* Lists that are in order but for some places, or in none, some with two symbols of one start. */
static void test_order(void)
{
    for (unsigned n_runs = 1; n_runs <= 20; n_runs++) {
        struct lull_symbol_table *table = lull_symbol_table_new();
        for (unsigned run = 0; run < n_runs; run++) {
            for (unsigned i = 0; i < 1000; i++) {
                g_autofree char *name = g_strdup_printf("f%u", i);
                if (i * 2654435761u / 7 % n_runs == run) {
                    add(table, 0x100 + i * 16, 0, 1, name);
                }
                if (i % 7 == 0 && i % n_runs == run) {
                    add(table, 0x100 + i * 16, 0, i % 2 * 2, "other");
                }
            }
        }
        lull_symbol_table_finish(table);
        g_assert_cmpuint(lull_symbol_table_count(table), ==, 1000);
        for (unsigned i = 0; i < 1000; i++) {
            g_autofree char *name = g_strdup_printf("f%u", i);
            check(table, 0x103 + i * 16, i % 7 == 0 && i % 2 == 0 ? "other" : name, 3);
        }
        lull_symbol_table_free(table);
    }
}

static void test_choice(void)
{
    struct lull_symbol_table *table = lull_symbol_table_new();
    add(table, 0x100, 0x10, 1, "weak");
    add(table, 0x100, 0x10, 0, "__nanosleep");
    add(table, 0x100, 0x10, 0, "nanosleep_long");
    add(table, 0x100, 0x10, 0, "nanosleep");
    add(table, 0x200, 0, 0, "best");
    add(table, 0x200, 0x20, 1, "sized");
    add(table, 0x300, 0, 0, "unsized");
    add(table, 0x400, 0, 0, "last");
    lull_symbol_table_finish(table);
    check(table, 0x10f, "nanosleep", 0xf);
    check(table, 0x21f, "best", 0x1f);
    check(table, 0x220, NULL, 0);
    check(table, 0x3ff, "unsized", 0xff);
    check(table, 0xffff, "last", 0xfbff);
    check(table, 0x10000, NULL, 0);
    lull_symbol_table_free(table);
}

static void test_empty(void)
{
    struct lull_symbol_table *table = lull_symbol_table_new();
    lull_symbol_table_finish(table);
    check(table, 0, NULL, 0);
    lull_symbol_table_free(table);
}

static void test_kallsyms_places(void)
{
    static const char text[] = "ffffffff81000040 t do_nanosleep\n"
                               "ffffffff81000080 D a_variable\n"
                               "not a line\n"
                               "ffffffff810000c0 T\n"
                               "ffffffff81000100 W weak_one\n"
                               "ffffffffc0001000 t ext4_sync_file\t[ext4]\n"
                               "ffffffffc0001010 t the_last";
    struct lull_symbol_table *table = lull_kallsyms_parse(text, strlen(text), NULL);
    g_assert_nonnull(table);
    check(table, UINT64_C(0xffffffff8100003f), NULL, 0);
    check(table, UINT64_C(0xffffffff810000ff), "do_nanosleep", 0xbf);
    check(table, UINT64_C(0xffffffff81000100), "weak_one", 0);
    check(table, UINT64_C(0xffffffffc000100f), "ext4_sync_file[ext4]", 0xf);
    check(table, UINT64_C(0xffffffffc0001011), "the_last", 1);
    /* No function has megabytes: what is far behind one is something else. */
    check(table, UINT64_C(0xffffffff92000000), NULL, 0);
    lull_symbol_table_free(table);
}

static void test_hidden(void)
{
    static const char *const texts[] = {"", "0000000000000000 T _text\n0000000000000000 t sleep\n",
                                        "\n\n\n", "zz T _text\n", "12345678123456789 T long\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_null(lull_kallsyms_parse(texts[i], strlen(texts[i]), NULL));
    }
}

/* The last function of a module ends with it, by /proc/modules; if that does not know, far behind. */
static void test_modules(void)
{
    static const char text[] = "ffffffffc0001000 t first\t[disk]\nffffffffc0001100 t last\t[disk]\n"
                               "ffffffffc0100000 t alone\t[net]\nffffffffc0300000 t code\t[bpf]\n";
    struct lull_symbol_table *table = lull_kallsyms_parse(
        text, strlen(text),
        "disk 12288 1 - Live 0xffffffffc0000000\nnonsense\n"
        "net 4096 0 disk,other, Live 0xffffffffc0100000 (OE)\nbpf 1 0 - Live 0x0000000000000000\n");
    check(table, UINT64_C(0xffffffffc00010ff), "first[disk]", 0xff);
    check(table, UINT64_C(0xffffffffc0002fff), "last[disk]", 0x1eff);
    check(table, UINT64_C(0xffffffffc0003000), NULL, 0);
    check(table, UINT64_C(0xffffffffc0100fff), "alone[net]", 0xfff);
    check(table, UINT64_C(0xffffffffc0101000), NULL, 0);
    check(table, UINT64_C(0xffffffffc03fffff), "code[bpf]", 0xfffff);
    check(table, UINT64_C(0xffffffffc0400000), NULL, 0);
    lull_symbol_table_free(table);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbol/table/overlap", test_overlap);
    g_test_add_func("/symbol/table/same-end", test_same_end);
    g_test_add_func("/symbol/table/choice", test_choice);
    g_test_add_func("/symbol/table/order", test_order);
    g_test_add_func("/symbol/table/empty", test_empty);
    g_test_add_func("/symbol/kallsyms/places", test_kallsyms_places);
    g_test_add_func("/symbol/kallsyms/hidden", test_hidden);
    g_test_add_func("/symbol/kallsyms/modules", test_modules);
    return g_test_run();
}
