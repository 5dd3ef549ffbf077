/* SPDX-License-Identifier: MIT */
/* What of a TSDL text is of one machine, and that texts which differ in anything else are not taken
 * for the same. */
#include "ctf/tsdl/machine.h"

#include <string.h>

#include "ctf/metadata.h"

#define TRACE(uuid)                                                                                \
    "trace { major = 1; minor = 8; uuid = \"" uuid "\"; byte_order = le;\n"                        \
    "  packet.header := struct { integer { size = 32; } magic; }; };\n"
#define ENV(text) "env { " text " };\n"
#define CLOCK(uuid, offset)                                                                        \
    "clock { name = \"c\"; uuid = \"" uuid "\"; freq = 1000; offset = " offset "; };\n"
#define EVENT(name)                                                                                \
    "event { name = \"" name "\"; fields := struct { integer { size = 8; } v; }; };\n"

#define UUID_A "11111111-1111-1111-1111-111111111111"
#define UUID_B "22222222-2222-2222-2222-222222222222"

static const char first[] =
    TRACE(UUID_A) ENV("hostname = \"a\"; n = 1;") CLOCK(UUID_A, "7") EVENT("e");

static bool same_rest(const char *a, const char *b)
{
    struct tsdl_machine of_a, of_b;
    bool same = tsdl_machine_find(&of_a, a, strlen(a)) && tsdl_machine_find(&of_b, b, strlen(b));
    same = same && tsdl_machine_same_rest(&of_a, a, strlen(a), &of_b, b, strlen(b));
    if (same) {
        g_assert_cmpuint(tsdl_machine_hash(&of_a, a, strlen(a)), ==,
                         tsdl_machine_hash(&of_b, b, strlen(b)));
    }
    tsdl_machine_clear(&of_a);
    tsdl_machine_clear(&of_b);
    return same;
}

static void test_same(void)
{
    g_assert_true(same_rest(first, first));
    g_assert_true(same_rest(first, TRACE(UUID_B) ENV("hostname = \"a } /* \\\" b\";")
                                       CLOCK(UUID_B, "1234567890123") EVENT("e")));
    g_assert_true(same_rest(first, TRACE(UUID_B) ENV("/* } */ x = \"{\"; // }\n") CLOCK(UUID_B, "0")
                                       EVENT("e")));
}

static void test_different(void)
{
    static const char *const others[] = {
        TRACE(UUID_A) ENV("hostname = \"a\"; n = 1;") CLOCK(UUID_A, "7") EVENT("f"),
        TRACE(UUID_A) ENV("hostname = \"a\"; n = 1;") CLOCK(UUID_A, "7") EVENT("e") EVENT("e"),
        TRACE(UUID_A) ENV("hostname = \"a\"; n = 1;") EVENT("e"),
        TRACE(UUID_A) ENV("n = 1;") "clock { name = \"c\"; uuid = \"" UUID_A
                                    "\"; freq = 1001; offset = 7; };\n" EVENT("e"),
        /* A clock of another name, and the words of a clock where they mean nothing. */
        TRACE(UUID_A) ENV("n = 1;") "clock { name = \"d\"; uuid = \"" UUID_A
                                    "\"; freq = 1000; offset = 7; };\n" EVENT("e"),
        TRACE(UUID_A) ENV("n = 1;") "event { name = \"e\"; offset = 7; };\n" CLOCK(UUID_A, "7"),
    };
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        g_assert_false(same_rest(first, others[i]));
    }
    /* What only looks like a machine's is compared. */
    g_assert_false(same_rest("event { uuid = \"a\"; };", "event { uuid = \"b\"; };"));
    g_assert_false(same_rest("trace { x := struct { uuid = \"a\"; }; };",
                             "trace { x := struct { uuid = \"b\"; }; };"));
}

static void test_undivided(void)
{
    static const char *const texts[] = {
        "trace { ",
        "}",
        "env { x = \"",
        "/* env { */ }",
        TRACE(UUID_A) "event { fields := struct { integer { size = 8; } v[env.n]; }; };",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct tsdl_machine machine;
        g_assert_false(tsdl_machine_find(&machine, texts[i], strlen(texts[i])));
        tsdl_machine_clear(&machine);
    }
}

/* Whether the fast way is taken, and finds what the other does. */
static bool found_like(const char *text, const char *other)
{
    struct tsdl_machine of_other, whole, fast;
    g_assert_true(tsdl_machine_find(&of_other, other, strlen(other)));
    g_assert_true(tsdl_machine_find(&whole, text, strlen(text)));
    const bool is_like =
        tsdl_machine_find_like(&fast, text, strlen(text), &of_other, other, strlen(other));
    if (is_like) {
        g_assert_cmpstr(fast.blocks->str, ==, whole.blocks->str);
        g_assert_cmpuint(fast.after, ==, whole.after);
        g_assert_cmpmem(fast.spans->data, fast.spans->len * sizeof(struct tsdl_span),
                        whole.spans->data, whole.spans->len * sizeof(struct tsdl_span));
        tsdl_machine_clear(&fast);
    }
    tsdl_machine_clear(&of_other);
    tsdl_machine_clear(&whole);
    return is_like;
}

static void test_like(void)
{
    g_assert_true(found_like(first, first));
    g_assert_true(
        found_like(TRACE(UUID_B) ENV("x = \"}\";") CLOCK(UUID_B, "123") EVENT("e"), first));
    /* Another rest; a block more, or one where the other has none; one that the rest ends within. */
    g_assert_false(found_like(TRACE(UUID_B) CLOCK(UUID_B, "123") EVENT("f"), first));
    g_assert_false(found_like(first, EVENT("e")));
    g_assert_false(
        found_like(first, TRACE(UUID_A) EVENT("x") CLOCK(UUID_A, "7") EVENT("e") "/**/"));
    g_assert_false(found_like(TRACE(UUID_A) "/* " CLOCK(UUID_A, "7") EVENT("e") "*/", first));
    g_assert_false(found_like(TRACE(UUID_A) "event {" CLOCK(UUID_A, "7") EVENT("e") "};", first));
}

/* The blocks are a text of their own, which says the same of the machine as the whole. */
static void test_blocks(void)
{
    struct tsdl_machine machine;
    g_assert_true(tsdl_machine_find(&machine, first, strlen(first)));
    g_autoptr(GError) error = NULL;
    struct lull_schema *whole = lull_metadata_parse_text("whole", first, strlen(first), &error);
    g_assert_no_error(error);
    struct lull_schema *own =
        lull_metadata_parse_text("own", machine.blocks->str, machine.blocks->len, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(own->n_streams, ==, 0);
    g_assert_cmpuint(own->n_env, ==, 2);
    g_assert_cmpstr(lull_schema_env_text(own, "hostname"), ==, "a");
    g_assert_cmpmem(own->uuid, 16, whole->uuid, 16);
    g_assert_cmpuint(own->n_clocks, ==, 1);
    g_assert_cmpuint(own->clocks[0].offset_cycles, ==, 7);
    g_assert_cmpuint(own->clocks[0].frequency, ==, 1000);
    lull_schema_free(own);
    lull_schema_free(whole);
    tsdl_machine_clear(&machine);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/machine/same", test_same);
    g_test_add_func("/machine/different", test_different);
    g_test_add_func("/machine/undivided", test_undivided);
    g_test_add_func("/machine/like", test_like);
    g_test_add_func("/machine/blocks", test_blocks);
    return g_test_run();
}
