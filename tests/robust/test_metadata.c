/* SPDX-License-Identifier: MIT */
/* The metadata parser over thousands of damaged and hostile metadata files, from memory.
 * LULL_MUTATIONS and LULL_MUTATION_SEED as in test_mutations.c. */
#include "ctf/metadata.h"
#include "lib/ctf_writer.h"
#include "lib/image.h"
#include "lib/scratch.h"
#include "robust/mutate.h"
#include "robust/watch.h"

#include <lull/error.h>

#include <string.h>

#define DEFAULT_CASES 4000 /* fuzzers with sanitizers go on from there */
#define CASE_SECONDS 5

static struct image *make_image(bool big_endian, bool plain)
{
    g_autofree char *dir = scratch_dir();
    struct ctf_options options = {.big_endian = big_endian,
                                  .plain_metadata = plain,
                                  .contexts = CTF_PID | CTF_TID | CTF_PROCNAME};
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    ctf_event(w, 0, 1, "sched_switch", "%s", "");
    ctf_writer_close(w);
    struct image *image = image_read(dir);
    scratch_remove(dir);
    return image;
}

static uint64_t number_from(const char *variable, uint64_t fallback)
{
    const char *text = g_getenv(variable);
    return text ? g_ascii_strtoull(text, NULL, 0) : fallback;
}

/* An error that a person can use, or a schema. */
static bool parse(const GByteArray *bytes)
{
    GError *error = NULL;
    /* of exactly its size, so that ASan sees a read behind its end */
    g_autofree uint8_t *data = g_memdup2(bytes->data, bytes->len);
    struct lull_schema *schema = lull_metadata_parse("the-name", data, bytes->len, &error);
    bool ok = schema != NULL;
    g_assert_true(ok == (!error));
    if (error) {
        g_assert_true(error->domain == LULL_ERROR);
        g_assert_nonnull(strstr(error->message, "the-name"));
        g_assert_null(strchr(error->message, '\n'));
        g_assert_cmpuint(strlen(error->message), <, 1000);
        g_error_free(error);
    }
    if (schema) {
        lull_schema_free(schema);
    }
    return ok;
}

static void test_damaged(void)
{
    struct image *base[4];
    for (unsigned i = 0; i < 4; i++) {
        base[i] = make_image(i & 1, i & 2);
        g_assert_true(parse(image_find(base[i], "metadata")->bytes));
    }
    uint64_t seed = number_from("LULL_MUTATION_SEED", 20261121);
    unsigned cases = (unsigned)number_from("LULL_MUTATIONS", DEFAULT_CASES), refused = 0;
    g_test_message("seed %" G_GUINT64_FORMAT ", %u cases", seed, cases);
    for (unsigned i = 0; i < cases; i++) {
        struct random random = {seed + i * UINT64_C(0x9E3779B97F4A7C15)};
        struct image *image = image_copy(base[random_below(&random, 4)]);
        struct mutation first = mutate_metadata(&random, image);
        g_autofree char *name =
            g_strdup_printf("# seed %" G_GUINT64_FORMAT " case %u: %s\n", seed, i, first.what);
        watch_start(name, CASE_SECONDS);
        bool ok = parse(image_find(image, "metadata")->bytes);
        watch_end();
        const GByteArray *bytes = image_find(image, "metadata")->bytes;
        if (ok && first.must_report && !metadata_ends_whole(bytes->data, bytes->len)) {
            g_error("%sthe cut was not noticed", name);
        }
        refused += !ok;
        image_free(image);
    }
    g_test_message("%u of %u refused", refused, cases);
    g_assert_cmpuint(refused, >, cases / 4); /* else the damage does not arrive */
    for (unsigned i = 0; i < 4; i++) {
        image_free(base[i]);
    }
}

/* One construct repeated until a recursive or quadratic reader breaks. */
static void test_hostile(void)
{
    static const struct {
        const char *before, *part, *after;
    } texts[] = {
        {"", "struct { ", ""},
        {"", "{ ", ""},
        {"typealias ", "struct { integer { size = 8; } a; } ", ":= x;"},
        {"", "typealias integer { size = 8; } := t;\n", ""},
        {"", "typealias integer { size = 8; } := unsigned long;\n",
         "\nstruct a { unsigned long x; };"},
        {"struct s { ", "integer { size = 8; } a; ", "};"},
        {"enum e : integer { size = 8; } { ", "a, ", "};"},
        {"", "/* ", ""},
        {"", "// x\n", ""},
        {"env { a = \"", "\\x41", "\"; };"},
        {"env { ", "a = 1; ", "};"},
        {"env { a = ", "-", "1; };"},
        {"env { a = ", "9", "; };"},
        {"trace { a.", "b.", "c = 1; };"},
        {"struct s { integer { size = 8; } a", "[1]", "; };"},
        {"struct s { integer { size = 8; } a", "[4294967295]", "; };"},
        {"", "event { name = \"e\"; id = 0; };\n", ""},
        {"", "event { name = \"e\"; };\n", ""},
        {"", "stream { id = 0; };\n", ""},
        {"", "struct s { struct s a; };\n", ""},
        {"struct s { ", "variant <a> { struct { ", ""},
        {"", "typedef integer { size = 8; } *", "x;"},
        {"", "callsite { name = \"x\"; };\n", ""},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        for (unsigned many = 1; many <= 1u << 17; many *= 16) {
            GByteArray *bytes = g_byte_array_new();
            g_autofree char *name =
                g_strdup_printf("# text %u, part '%s' %u times\n", i, texts[i].part, many);
            const char *head = "/* CTF 1.8 */\n";
            g_byte_array_append(bytes, (const guint8 *)head, (guint)strlen(head));
            g_byte_array_append(bytes, (const guint8 *)texts[i].before,
                                (guint)strlen(texts[i].before));
            for (unsigned k = 0; k < many; k++) {
                g_byte_array_append(bytes, (const guint8 *)texts[i].part,
                                    (guint)strlen(texts[i].part));
            }
            g_byte_array_append(bytes, (const guint8 *)texts[i].after,
                                (guint)strlen(texts[i].after));
            watch_start(name, CASE_SECONDS);
            parse(bytes);
            watch_end();
            g_byte_array_unref(bytes);
        }
    }
}

/* Types that double with each line: sizes overflow, and a reader that copies runs out of memory. */
static void test_doubling(void)
{
    GString *text = g_string_new("/* CTF 1.8 */\nstruct s0 { integer { size = 8; } a; };\n");
    for (unsigned i = 1; i < 64; i++) {
        g_string_append_printf(text, "struct s%u { struct s%u a; struct s%u b; };\n", i, i - 1,
                               i - 1);
    }
    g_string_append(text, "struct big { struct s63 a[4000000000]; };\n");
    g_string_append(text,
                    "trace { major = 1; minor = 8; byte_order = le; };\n"
                    "stream { }; event { name = \"e\"; fields := struct { struct big x; }; };\n");
    GByteArray bytes = {.data = (guint8 *)text->str, .len = (guint)text->len};
    watch_start("# doubling structures\n", CASE_SECONDS);
    parse(&bytes);
    watch_end();
    g_string_free(text, TRUE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/robust/metadata/hostile", test_hostile);
    g_test_add_func("/robust/metadata/doubling", test_doubling);
    g_test_add_func("/robust/metadata/damaged", test_damaged);
    return g_test_run();
}
