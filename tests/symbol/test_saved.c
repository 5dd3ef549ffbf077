/* SPDX-License-Identifier: MIT */
/* Functions in a recording; texts, names and offsets are written by hand. */
#include <glib.h>
#include <string.h>

#include "symbol/object.h"
#include "symbol/saved.h"
#include "symbol/table.h"
#include "unwind/cfi.h"

static struct lull_saved *parse(const char *text)
{
    return lull_saved_new(g_strdup(text), strlen(text));
}

static void check(const struct lull_object *object, uint64_t file_offset, const char *name,
                  uint64_t offset)
{
    uint64_t found = 0;
    g_assert_cmpstr(lull_object_find(object, file_offset, &found), ==, name);
    g_assert_cmphex(found, ==, offset);
}

static void test_read(void)
{
    struct lull_saved *saved = parse("object 0123ab 77 /usr/bin/a program\n"
                                     "load 0 1000 400000\n"
                                     "load 1000 2000 402000\n"
                                     "402010 20 main\n"
                                     "402100 8 operator new(unsigned long)\n"
                                     "object - 78 /lib/other\n"
                                     "load 0 1000 0\n"
                                     "10 10 other\n");
    struct lull_object *object = lull_saved_read(saved, "/usr/bin/a program", 77);
    g_assert_cmpstr(object->build_id, ==, "0123ab");
    check(object, 0x1010, "main", 0);
    check(object, 0x102f, "main", 0x1f);
    check(object, 0x1030, NULL, 0);
    check(object, 0x1107, "operator new(unsigned long)", 7);
    check(object, 0x10, NULL, 0);
    check(object, 0x3000, NULL, 0);
    lull_object_free(object);
    object = lull_saved_read(saved, "/lib/other", 78);
    g_assert_null(object->build_id);
    check(object, 0x1f, "other", 0xf);
    lull_object_free(object);
    g_assert_null(lull_saved_read(saved, "/lib/other", 77));
    g_assert_null(lull_saved_read(saved, "/lib/othe", 78));
    lull_saved_free(saved);
}

/* What is no build-id is not taken for one: it would become a part of paths. */
static void test_ids(void)
{
    g_autofree char *longest = g_strnfill(128, 'a'), *longer = g_strnfill(130, 'a');
    const struct {
        const char *id;
        bool is_one;
    } ids[] = {{"0123456789abcdef", true},
               {"AB", true},
               {longest, true},
               {longer, false},
               {"abc", false},
               {"../../..", false},
               {"ab/cd1", false},
               {"0x1234", false},
               {"-", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        g_autofree char *text =
            g_strdup_printf("object %s 7 /a\nload 0 100 0\n10 10 work\n", ids[i].id);
        struct lull_saved *saved = parse(text);
        struct lull_object *object = lull_saved_read(saved, "/a", 7);
        g_assert_cmpstr(object->build_id, ==, ids[i].is_one ? ids[i].id : NULL);
        check(object, 0x1f, "work", 0xf);
        lull_object_free(object);
        lull_saved_free(saved);
    }
}

/* What is no line of the form is passed over, wherever the text is cut. */
static void test_damaged(void)
{
    static const char text[] = "10 10 before\nobject\nobject x\nobject - 5 /a\nload 0 1000\n"
                               "load 0 1000 0 more\nload 0 1000 0\n20 \n20 10\n20 0 empty\n"
                               "x 10 word\n111111111111111111 10 long\n30 10 good\n"
                               "\nffffffffffffffff ffffffffffffffff far\n40 10 last";
    struct lull_saved *saved = parse(text);
    struct lull_object *object = lull_saved_read(saved, "/a", 5);
    check(object, 0x10, NULL, 0);
    check(object, 0x20, NULL, 0);
    check(object, 0x3f, "good", 0xf);
    check(object, 0x4f, "last", 0xf);
    lull_object_free(object);
    lull_saved_free(saved);
    for (size_t n = 0; n < sizeof text; n++) {
        saved = lull_saved_new(g_strndup(text, n), n);
        object = lull_saved_read(saved, "/a", 5);
        g_assert_true((object != NULL) ==
                      (n >= strlen("10 10 before\nobject\nobject x\n") + strlen("object - 5 /a")));
        lull_object_free(object);
        lull_saved_free(saved);
    }
}

/* A section of .eh_frame by hand (Linux Standard Base, "Exception Frames"): one common part, whose frame's address is
 * rsp + 8 and whose return address lies there, and a function of 32 bytes at 0x401000. */
static const uint8_t section[] = {
    20, 0, 0,  0, 0, 0, 0,  0, 1, 'z', 'R',  0,    1,    0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1,
    0,  0, 16, 0, 0, 0, 28, 0, 0, 0,   0x00, 0x10, 0x40, 0,    32, 0, 0,    0,    0, 0, 0,    0,
};

static void check_frames(const char *text, bool is_there)
{
    struct lull_saved *saved = parse(text);
    struct lull_object *object = lull_saved_read_frames(saved, "/a", 5);
    g_assert_true((object != NULL) == is_there);
    if (object) {
        g_assert_cmpuint(object->n_loads, ==, 1);
        g_assert_null(lull_cfi_find(object->cfi, 0x400fff));
        const struct lull_cfi_row *row = lull_cfi_find(object->cfi, 0x40101f);
        g_assert_nonnull(row);
        g_assert_cmpint(row->frame.offset, ==, 8);
        g_assert_null(lull_cfi_find(object->cfi, 0x401020));
        lull_object_free(object);
    }
    object = lull_saved_read(saved, "/a", 5); /* names are not disturbed */
    check(object, 0x1007, "main", 7);
    lull_object_free(object);
    lull_saved_free(saved);
}

static void test_frames(void)
{
    static const char head[] = "object - 5 /a\nload 0 2000 400000\n", tail[] = "\n401000 20 main\n";
    g_autofree char *base64 = g_base64_encode(section, sizeof section);
    static const struct {
        const char *start;
        bool is_there;
    } cases[] = {
        {"frames 3e 500000 0 ", true},     {"frames 3e 500000 0 AAAA\nframes 3e 500000 0 ", true},
        {"frames 7 500000 0 ", false}, /* no machine that is known */
        {"frames 1003e 500000 0 ", false}, {"frames 3e 500000 1 ", false},
        {"frames 3e 500000 ", false},      {"frame 3e 500000 0 ", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat(head, cases[i].start, base64, tail, NULL);
        check_frames(text, cases[i].is_there);
    }
    for (size_t n = 0; n < strlen(base64); n++) {
        g_autofree char *text =
            g_strdup_printf("%sframes 3e 500000 0 %.*s%s", head, (int)n, base64, tail);
        struct lull_saved *saved = parse(text);
        lull_object_free(lull_saved_read_frames(saved, "/a", 5));
        lull_saved_free(saved);
    }
    g_autofree char *text = g_strconcat(head, "frames 3e 500000 0 ", base64, tail, NULL);
    struct lull_saved *saved = parse(text);
    g_autoptr(GString) again = g_string_new(NULL);
    struct lull_object *object = lull_saved_read_frames(saved, "/a", 5);
    lull_saved_append(again, object, "/a", 5);
    g_string_append(again, "401000 20 main\n");
    g_assert_cmpstr(again->str, ==, text);
    lull_object_free(object);
    lull_saved_free(saved);
}

static void test_write(void)
{
    struct lull_object *object = lull_object_new();
    g_autoptr(GString) text = g_string_new("before\n");
    lull_object_add_load(object, &(struct lull_load){0x1000, 0x2000, 0x401000});
    lull_symbol_table_add(object->table, 0x401040, 0, 0x401050, 0, "second", 6);
    lull_symbol_table_add(object->table, 0x401000, 0x10, 0x402000, 0, "first one", 9);
    lull_symbol_table_add(object->table, 0x401080, 0x10, 0x402000, 0, "new\nline", 8);
    lull_symbol_table_finish(object->table);
    lull_saved_append(text, object, "/bin/x", 9);
    object->build_id = g_strdup("ab12");
    lull_saved_append(text, object, "/bin/y", UINT64_MAX);
    g_assert_cmpstr(text->str, ==,
                    "before\nobject - 9 /bin/x\nload 1000 2000 401000\n401000 10 first one\n"
                    "401040 10 second\nobject ab12 18446744073709551615 /bin/y\n"
                    "load 1000 2000 401000\n401000 10 first one\n401040 10 second\n");
    lull_object_free(object);
    g_assert_true(lull_saved_can_hold("/a b"));
    g_assert_false(lull_saved_can_hold("/a\nb"));
    g_assert_false(lull_saved_can_hold(""));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbol/saved/read", test_read);
    g_test_add_func("/symbol/saved/ids", test_ids);
    g_test_add_func("/symbol/saved/damaged", test_damaged);
    g_test_add_func("/symbol/saved/write", test_write);
    g_test_add_func("/symbol/saved/frames", test_frames);
    return g_test_run();
}
