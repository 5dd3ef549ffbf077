/* SPDX-License-Identifier: MIT */
/* Classes from the kernel's `format` files: what the fields of records made by hand are. The texts
 * are in the form of Documentation/trace/events.rst, the records follow from their offsets. */
#include "source/format/format.h"

#include <string.h>

#define COMMON                                                                                     \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                         \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                         \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                 \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char mixed[] = "name: mixed\nID: 300\nformat:\n" COMMON
                            "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
                            "\tfield:s16 small;\toffset:16;\tsize:2;\tsigned:1;\n"
                            "\tfield:u32 wide;\toffset:20;\tsize:4;\tsigned:0;\n"
                            "\tfield:void * where;\toffset:24;\tsize:8;\tsigned:0;\n"
                            "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
                            "\tfield:__data_loc u16[] list;\toffset:36;\tsize:4;\tsigned:0;\n"
                            "\tfield:__rel_loc char[] near;\toffset:40;\tsize:4;\tsigned:0;\n"
                            "\tfield:unsigned long args[2];\toffset:48;\tsize:16;\tsigned:0;\n"
                            "\nprint fmt: \"%s\", REC->comm\n";

static const char fixed[] =
    "name: fixed\nID: 7\nformat:\n" COMMON "\tfield:char comm[4];\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:u8 pair[2];\toffset:20;\tsize:2;\tsigned:0;\n"
    "\nprint fmt: \"\"\n";

struct fields {
    uint64_t have;
    int64_t pid, small, wide, where, none;
    struct lull_text comm, name, list, near, args;
};

static const char *const names[] = {"*", NULL};
#define PATH(text) ((const char *const[]){"absent", text, NULL})
static const struct lull_binding bindings[] = {
    {PATH("context.common_pid"), LULL_BIND_INT, offsetof(struct fields, pid)},
    {PATH("small"), LULL_BIND_INT, offsetof(struct fields, small)},
    {PATH("payload.wide"), LULL_BIND_INT, offsetof(struct fields, wide)},
    {PATH("where"), LULL_BIND_INT, offsetof(struct fields, where)},
    {PATH("comm"), LULL_BIND_INT, offsetof(struct fields, none)},
    {PATH("comm"), LULL_BIND_TEXT, offsetof(struct fields, comm)},
    {PATH("name"), LULL_BIND_TEXT, offsetof(struct fields, name)},
    {PATH("list"), LULL_BIND_RAW, offsetof(struct fields, list)},
    {PATH("near"), LULL_BIND_TEXT, offsetof(struct fields, near)},
    {PATH("args"), LULL_BIND_RAW, offsetof(struct fields, args)},
};

static void put(uint8_t *at, uint64_t value, unsigned bytes, bool is_big_endian)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[is_big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
    }
}

/* 64 bytes of fixed fields, then "eth0\0", the numbers 513 and 2, then "near\0". */
static void make_record(uint8_t *r, bool be)
{
    memset(r, 0, 96);
    put(r, 300, 2, be);
    put(r + 4, 4711, 4, be);
    memcpy(r + 8, "task\0xyz", 8);
    put(r + 16, (uint64_t)-5, 2, be);
    put(r + 20, 4000000000u, 4, be);
    put(r + 24, 0xffff888012345678u, 8, be);
    put(r + 32, 64 | 5u << 16, 4, be);
    put(r + 36, 70 | 4u << 16, 4, be);
    put(r + 40, (74 - 44) | 5u << 16, 4, be);
    put(r + 48, 11, 8, be);
    put(r + 56, 22, 8, be);
    memcpy(r + 64, "eth0", 5);
    put(r + 70, 513, 2, be);
    put(r + 72, 2, 2, be);
    memcpy(r + 74, "near", 5);
}

static struct lull_formats *make_formats(bool is_big_endian)
{
    g_autoptr(GError) error = NULL;
    struct lull_formats *formats = lull_formats_new(is_big_endian, 8);
    g_assert_true(lull_formats_add(formats, "test", mixed, strlen(mixed), NULL, 0, &error));
    g_assert_no_error(error);
    g_assert_true(lull_formats_add(formats, "test", fixed, strlen(fixed), NULL, 0, &error));
    g_assert_no_error(error);
    lull_formats_finish(formats, NULL);
    return formats;
}

static void check_loads(bool be)
{
    struct lull_formats *formats = make_formats(be);
    const struct lull_subscription all = {.names = names,
                                          .bindings = bindings,
                                          .n_bindings = G_N_ELEMENTS(bindings),
                                          .fields_size = sizeof(struct fields)};
    const int32_t of_class[] = {0, -1};
    const struct lull_fields *const extra[] = {NULL, NULL};
    struct fields fields;
    uint8_t data[96];
    make_record(data, be);
    memset(&fields, 0x55, sizeof fields);
    lull_formats_subscribe(formats, &all, of_class, sizeof fields, extra);
    const struct lull_format *format = lull_formats_find(formats, 300);
    g_assert_cmpuint(format->least_size, ==, 64);
    const struct lull_format_record record = {data, 80, NULL};
    lull_format_load(format, &record, (uint8_t *)&fields);
    g_assert_cmphex(fields.have, ==, 0x3ef);
    g_assert_cmpint(fields.pid, ==, 4711);
    g_assert_cmpint(fields.small, ==, -5);
    g_assert_cmpint(fields.wide, ==, 4000000000);
    g_assert_cmphex((uint64_t)fields.where, ==, 0xffff888012345678u);
    g_assert_cmpint(fields.none, ==, 0);
    g_assert_cmpmem(fields.comm.data, fields.comm.length, "task", 4);
    g_assert_cmpmem(fields.name.data, fields.name.length, "eth0", 4);
    g_assert_cmpmem(fields.list.data, fields.list.length, data + 70, 4);
    g_assert_cmpmem(fields.near.data, fields.near.length, "near", 4);
    g_assert_cmpmem(fields.args.data, fields.args.length, data + 48, 16);
    lull_formats_free(formats);
}

static void test_loads(void)
{
    check_loads(false);
    check_loads(true);
}

/* References that leave the record. */
static void test_outside(void)
{
    struct lull_formats *formats = make_formats(false);
    const struct lull_format *format = lull_formats_find(formats, 300);
    uint8_t data[96];
    make_record(data, false);
    const struct lull_format_record record = {data, 80, NULL};
    static const uint32_t bad[] = {76 | 5u << 16, 0xffff | 0xffffu << 16, 81 | 1u << 16};
    struct lull_text text;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        put(data + 32, bad[i], 4, false);
        put(data + 40, bad[i], 4, false);
        g_assert_false(
            lull_format_bytes(format, lull_format_find_field(format, "name"), &record, &text));
        g_assert_cmpuint(text.length, ==, 0);
        g_assert_false(
            lull_format_bytes(format, lull_format_find_field(format, "near"), &record, &text));
    }
    put(data + 32, 75 | 5u << 16, 4, false);
    g_assert_true(
        lull_format_bytes(format, lull_format_find_field(format, "name"), &record, &text));
    lull_formats_free(formats);
}

static void show_start(void *user, const char *name, enum lull_visit_kind kind)
{
    g_string_append_printf(user, "%s{", name);
}

static void show_end(void *user, enum lull_visit_kind kind)
{
    g_string_append(user, "}");
}

static void show_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    g_string_append_printf(
        user, value->base == 16 ? "%s=%" G_GINT64_MODIFIER "x " : "%s=%" G_GINT64_FORMAT " ",
        name ? name : "", (int64_t)value->bits);
}

static void show_text(void *user, const char *name, struct lull_text value)
{
    g_string_append_printf(user, "%s='%.*s' ", name, (int)value.length, value.data);
}

static void test_visit(void)
{
    static const struct lull_visitor visitor = {
        .start = show_start, .end = show_end, .integer = show_integer, .text = show_text};
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) shown = g_string_new("");
    struct lull_formats *formats = make_formats(true);
    const struct lull_format *format = lull_formats_find(formats, 300);
    uint8_t data[96];
    make_record(data, true);
    const struct lull_format_record record = {data, 80, NULL};
    g_assert_true(lull_format_visit(format, &record, &visitor, shown, &error));
    g_assert_cmpstr(shown->str, ==,
                    "context{common_flags=0 common_preempt_count=0 common_pid=4711 }"
                    "payload{comm='task' small=-5 wide=4000000000 where=ffff888012345678 "
                    "name='eth0' list{=513 =2 }near='near' args{=11 =22 }}");
    /* 0 + 0 + 4711 + (4 + "task") - 5 + 4000000000 + where + (4 + "eth0") + 513 + 2 + (4 + "near")
     * + 11 + 22 */
    struct lull_source_tally tally = {0, 0};
    lull_format_sum(format, &record, &tally);
    g_assert_cmpuint(tally.fields, ==, 13);
    g_assert_cmphex(tally.checksum, ==,
                    UINT64_C(4711) + 12u + 0x6b736174u + 0x30687465u + 0x7261656eu - 5u +
                        4000000000u + 0xffff888012345678u + 513u + 2u + 33u);
    put(data + 32, 79 | 5u << 16, 4, true);
    g_assert_false(lull_format_visit(format, &record, &visitor, shown, &error));
    g_assert_cmpstr(error->message, ==,
                    "event 'mixed': the bytes of field 'name' are not in the event");
    lull_formats_free(formats);
}

/* What has its fields at places of their own has no layout. */
static void test_layout(void)
{
    static const enum lull_step_kind kinds[] = {
        LULL_STEP_SCOPE, LULL_STEP_INT,       LULL_STEP_INT,   LULL_STEP_INT, LULL_STEP_INT,
        LULL_STEP_INT,   LULL_STEP_SCOPE_END, LULL_STEP_SCOPE, LULL_STEP_TEXT};
    struct lull_formats *formats = make_formats(false);
    g_assert_null(lull_format_layout(lull_formats_find(formats, 300)));
    struct lull_layout *layout = lull_format_layout(lull_formats_find(formats, 7));
    g_assert_nonnull(layout);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_assert_cmpint(layout->steps[i].kind, ==, kinds[i]);
    }
    g_assert_true(layout->steps[1].is_hidden); /* common_type, two bytes */
    g_assert_true(layout->steps[2].is_hidden);
    g_assert_cmpstr(layout->steps[3].name, ==, "common_flags");
    g_assert_cmpint(layout->steps[layout->n_steps - 1].kind, ==, LULL_STEP_DONE);
    lull_layout_free(layout);
    lull_formats_free(formats);
}

static void refuse(struct lull_formats *formats, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(lull_formats_add(formats, "test", text, strlen(text), NULL, 0, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
}

/* A class whose fields cannot be read keeps its name, its number and what all classes have. */
static void test_undecoded(void)
{
    static const char *const texts[] = {
        "name: x\nID: 8\nformat:\n"
        "\tfield:int other;\toffset:0;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
        "name: y\nID: 9\nformat:\n" COMMON
        "\tfield:int far;\toffset:99999999;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
        "name: z\nID: 10\nformat:\n" COMMON
        "\tfield:int (*call)(void);\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n",
        "name: w\nID: 11\nformat:\n" COMMON "\tfield:char gap;\toffset:8;\tsize:0;\tsigned:0;\n"
        "\tfield:int after;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n",
    };
    static const char *const common[] = {"common_flags", "common_preempt_count", "common_pid"};
    struct lull_formats *formats = make_formats(false);
    for (uint16_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_true(lull_formats_add(formats, "test", texts[i], strlen(texts[i]), NULL, 0, NULL));
        const struct lull_format *format = lull_formats_find(formats, 8 + i);
        g_assert_nonnull(format);
        g_assert_nonnull(format->undecoded);
        g_assert_cmpint(format->event_class.name[0], ==, "xyzw"[i]);
        g_assert_cmpuint(format->n_fields, ==, G_N_ELEMENTS(common));
        for (uint32_t k = 0; k < format->n_fields; k++) {
            g_assert_cmpstr(format->fields[k].name, ==, common[k]);
        }
        g_assert_cmpuint(format->least_size, ==, 8);
    }
    g_assert_null(lull_formats_find(formats, 300)->undecoded);
    lull_formats_free(formats);
}

struct seen {
    int64_t numbers[8];
    uint32_t n_numbers;
    char text[64];
};

static void see_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct seen *seen = user;
    if (!name && seen->n_numbers < G_N_ELEMENTS(seen->numbers)) {
        seen->numbers[seen->n_numbers++] = (int64_t)value->bits;
    }
}

static void see_text(void *user, const char *name, struct lull_text text)
{
    struct seen *seen = user;
    size_t used = strlen(seen->text);
    g_snprintf(seen->text + used, sizeof seen->text - used, "%s=%.*s;", name, (int)text.length,
               text.data);
}

static void see_nothing(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void see_end(void *user, enum lull_visit_kind kind)
{
}

/* Kernels around 3.10 and 4.4 write lengths as they are in the source, and arrays that go on to the
 * end of the record as one element of size 0. Each text is one field behind those that all have. */
static void test_old_kernels(void)
{
    static const struct {
        const char *field;
        const char *text; /* what is shown of the 16 bytes 'A' to 'P' behind the common fields */
        int64_t numbers[8];
        uint32_t n_numbers;
    } cases[] = {
        {"char f;\toffset:8;\tsize:0;\tsigned:0;", "f=ABCDEFGHIJKLMNOP;", {0}, 0},
        {"char f[2+1];\toffset:8;\tsize:3;\tsigned:0;", "f=ABC;", {0}, 0},
        {"__u8 f[1 + 2];\toffset:8;\tsize:3;\tsigned:0;", "", {65, 66, 67}, 3},
        {"__u8 f[6 + 2];\toffset:8;\tsize:8;\tsigned:0;", "", {65, 66, 67, 68, 69, 70, 71, 72}, 8},
        {"__u8 f[SOME_MAX + 2];\toffset:8;\tsize:2;\tsigned:0;", "", {65, 66}, 2},
        {"u32 f;\toffset:8;\tsize:0;\tsigned:0;",
         "",
         {0x44434241, 0x48474645, 0x4c4b4a49, 0x504f4e4d},
         4},
        {"__u16 f[1+1];\toffset:8;\tsize:4;\tsigned:0;", "", {0x4241, 0x4443}, 2},
        {"unsigned long f;\toffset:8;\tsize:0;\tsigned:0;",
         "",
         {0x4847464544434241, 0x504f4e4d4c4b4a49},
         2},
        {"unsigned long f[];\toffset:8;\tsize:0;\tsigned:0;",
         "",
         {0x4847464544434241, 0x504f4e4d4c4b4a49},
         2},
        {"int f;\toffset:16;\tsize:0;\tsigned:1;", "", {0x4c4b4a49, 0x504f4e4d}, 2},
    };
    static const struct lull_visitor visitor = {
        .start = see_nothing, .end = see_end, .integer = see_integer, .text = see_text};
    uint8_t data[24] = {12, 0};
    for (uint32_t i = 8; i < sizeof data; i++) {
        data[i] = (uint8_t)('A' + i - 8);
    }
    const struct lull_format_record record = {.data = data, .size = sizeof data};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_formats *formats = make_formats(false);
        g_autofree char *text =
            g_strdup_printf("name: old\nID: 12\nformat:\n" COMMON "\tfield:%s\n\nprint fmt: \"\"\n",
                            cases[i].field);
        g_assert_true(lull_formats_add(formats, "ftrace", text, strlen(text), NULL, 0, NULL));
        const struct lull_format *format = lull_formats_find(formats, 12);
        g_assert_null(format->undecoded);
        struct seen seen = {.n_numbers = 0};
        g_assert_true(lull_format_visit(format, &record, &visitor, &seen, NULL));
        g_assert_cmpuint(seen.n_numbers, ==, cases[i].n_numbers);
        for (uint32_t k = 0; k < seen.n_numbers; k++) {
            g_assert_cmphex((uint64_t)seen.numbers[k], ==, (uint64_t)cases[i].numbers[k]);
        }
        g_assert_cmpstr(seen.text, ==, cases[i].text);
        lull_formats_free(formats);
    }
}

static void test_refused(void)
{
    struct lull_formats *formats = make_formats(false);
    refuse(formats, "");
    refuse(formats, "name: x\n");
    refuse(formats, mixed); /* twice */
    refuse(formats, "name: x\nID: 70000\nformat:\n" COMMON "\nprint fmt: \"\"\n");
    /* Parts of lines are missing, which libtraceevent must not be shown. */
    for (size_t size = 1; size < strlen(mixed) - strlen("print fmt: \"%s\", REC->comm\n"); size++) {
        g_autofree char *text = g_strdup(mixed);
        memmove(text + size, text + size + 1, strlen(text + size));
        g_autoptr(GError) error = NULL;
        struct lull_formats *other = lull_formats_new(false, 8);
        if (!lull_formats_add(other, "test", text, strlen(text), NULL, 0, &error)) {
            g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
        }
        lull_formats_free(other);
        g_autofree char *cut = g_strndup(mixed, size);
        refuse(formats, cut);
    }
    lull_formats_free(formats);
}

/* Fields that a source knows besides the record, and classes that have no record. */
static void test_aside(void)
{
    struct aside {
        int64_t tid;
        struct lull_text comm;
    } aside = {-1, {"worker", 6}};
    static const struct lull_format_field fields[] = {{.name = "tid",
                                                       .kind = LULL_INFO_INT,
                                                       .element_bytes = 8,
                                                       .is_signed = true,
                                                       .is_context = true,
                                                       .is_aside = true,
                                                       .offset = offsetof(struct aside, tid)},
                                                      {.name = "comm",
                                                       .kind = LULL_INFO_TEXT,
                                                       .element_bytes = 1,
                                                       .is_aside = true,
                                                       .offset = offsetof(struct aside, comm)}};
    static const struct lull_visitor visitor = {
        .start = show_start, .end = show_end, .integer = show_integer, .text = show_text};
    struct lull_formats *formats = lull_formats_new(true, 8);
    g_assert_true(lull_formats_add(formats, "a", fixed, strlen(fixed), fields, 1, NULL));
    lull_formats_declare(formats, "b", "fixed", fields, 2);
    lull_formats_finish(formats, NULL);
    g_assert_cmpstr(formats->classes[0]->name, ==, "a:fixed");
    g_assert_cmpstr(formats->classes[1]->name, ==, "b:fixed");
    g_autoptr(GString) shown = g_string_new("");
    const struct lull_format_record record = {NULL, 0, &aside};
    g_assert_true(lull_format_visit(formats->all->pdata[1], &record, &visitor, shown, NULL));
    g_assert_cmpstr(shown->str, ==, "context{tid=-1 }payload{comm='worker' }");
    g_assert_nonnull(lull_format_find_field(formats->all->pdata[0], "context.tid"));
    g_assert_null(lull_format_find_field(formats->all->pdata[0], "tid"));
    lull_formats_free(formats);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/format/loads", test_loads);
    g_test_add_func("/format/outside", test_outside);
    g_test_add_func("/format/visit", test_visit);
    g_test_add_func("/format/layout", test_layout);
    g_test_add_func("/format/refused", test_refused);
    g_test_add_func("/format/undecoded", test_undecoded);
    g_test_add_func("/format/old_kernels", test_old_kernels);
    g_test_add_func("/format/aside", test_aside);
    return g_test_run();
}
