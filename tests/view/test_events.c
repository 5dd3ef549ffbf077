/* SPDX-License-Identifier: MIT */
/* One event as text and as JSON: nested fields, enumerations, empty structures, text that would
 * harm a terminal. The writer of
 * traces puts an underscore before labels, as LTTng does; labels are shown as they are. */
#include "lib/ctf_writer.h"
#include "lib/scratch.h"
#include "view/event/json.h"
#include "view/event/text.h"

#define T0 INT64_C(1795224179432835564) /* 2026-11-21T01:22:59.432835564Z */

static const struct ctf_label states[] = {{"idle", 0, 0}, {"busy", 1, 5}, {NULL, 0, 0}};
static const struct ctf_field point[] = {
    CTF_I(16, "x"), {.kind = CTF_FLOAT, .name = "y", .size = 64}, CTF_DONE};
static const struct ctf_field points[] = {{.kind = CTF_STRUCT, .members = point}, CTF_DONE};
static const struct ctf_field byte[] = {CTF_U(8, NULL), CTF_DONE};
static const struct ctf_label kinds[] = {{"none", 0, 0}, {"one", 1, 1}, {NULL, 0, 0}};
static const struct ctf_field nothing[] = {CTF_DONE};
static const struct ctf_field options[] = {
    {.kind = CTF_STRUCT, .name = "none", .members = nothing}, CTF_U(64, "one"), CTF_DONE};
static const struct ctf_field fields[] = {
    CTF_I(64, "least"),
    CTF_U(64, "most"),
    CTF_X(32, "address"),
    {.kind = CTF_INT, .name = "mode", .size = 16, .base = 8},
    {.kind = CTF_INT, .name = "state", .size = 8, .labels = states},
    CTF_STR("text"),
    {.kind = CTF_ARRAY, .name = "pair", .length = 2, .members = byte},
    CTF_U(8, "n"),
    {.kind = CTF_SEQUENCE, .name = "list", .reference = "n", .members = points},
    {.kind = CTF_INT, .name = "kind", .size = 8, .labels = kinds},
    {.kind = CTF_VARIANT, .name = "choice", .reference = "kind", .members = options},
    CTF_DONE,
};
static const struct ctf_class everything = {.name = "everything", .fields = fields};
static const struct ctf_class empty = {.name = "empty"};

static void write_trace(const char *dir)
{
    const struct ctf_options how = {
        .no_kernel_classes = true, .contexts = CTF_TID | CTF_PROCNAME, .hostname = "box"};
    struct ctf_writer *writer = ctf_writer_new(dir, &how);
    ctf_writer_class(writer, &everything);
    ctf_writer_class(writer, &empty);
    ctf_writer_current(writer, 3, 7, 7, "a\x1b[1mb");
    ctf_event(writer, 3, T0, "everything",
              "least=-9223372036854775808 most=18446744073709551615 address=0xfffffff0 mode=420 "
              "state=3 text=\"tab\there\" pair=[1 255] list=[{x=-1 y=0.5} {x=2 y=-3}] "
              "choice={one=9}");
    ctf_event(writer, 3, T0 + 1, "everything", "state=77 choice={none={}}");
    ctf_event(writer, 3, T0 + 1000000000, "empty", "%s", "");
    ctf_writer_close(writer);
}

static void check_lines(struct lull_session *session, bool is_json, const char *const *expected)
{
    static const char *const all[] = {"*", NULL};
    GError *error = NULL;
    struct lull_event_text text = {
        .session = session, .fields = {.dialect = lull_dialect_plain}, .with_host = true};
    struct lull_event_json json = {.session = session};
    struct lull_event event;
    lull_session_unsubscribe_all(session);
    lull_session_subscribe(session, all, NULL, 0, 0);
    for (; *expected; expected++) {
        g_assert_cmpint(lull_session_next(session, &event), ==, 1);
        bool done = is_json ? lull_event_json_format(&json, &event, &error)
                            : lull_event_text_format(&text, &event, &error);
        g_assert_no_error(error);
        g_assert_true(done);
        struct lull_linebuf *line = is_json ? &json.line : &text.line;
        g_autofree char *got = g_strndup(line->data, line->length);
        g_assert_cmpstr(got, ==, *expected);
        line->length = 0;
    }
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
    lull_event_text_clear(&text);
    lull_event_json_clear(&json);
}

static void check(bool is_json, const char *const *expected)
{
    GError *error = NULL;
    g_autofree char *dir = scratch_dir();
    write_trace(dir);
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    check_lines(session, is_json, expected);
    lull_session_free(session);
    scratch_remove(dir);
}

static void test_text(void)
{
    static const char *const expected[] = {
        "01:22:59.432835564 box cpu3 everything (tid = 7, procname = \"a\\x1b[1mb\") "
        "least = -9223372036854775808, most = 18446744073709551615, address = 0xFFFFFFF0, "
        "mode = 0644, state = _busy (3), text = \"tab\\there\", pair = [1, 255], n = 2, "
        "list = [{x = -1, y = 0.5}, {x = 2, y = -3}], kind = _one (1), choice = one: 9\n",
        "01:22:59.432835565 box cpu3 everything (tid = 7, procname = \"a\\x1b[1mb\") "
        "least = 0, most = 0, address = 0x0, mode = 00, state = 77, text = \"\", pair = [0, 0], "
        "n = 0, list = [], kind = _none (0), choice = none: {}\n",
        "01:23:00.432835564 box cpu3 empty (tid = 7, procname = \"a\\x1b[1mb\")\n",
        NULL,
    };
    check(false, expected);
}

static void test_json(void)
{
    static const char *const expected[] = {
        "{\"time_ns\":1795224179432835564,\"host\":\"box\",\"cpu\":3,\"name\":\"everything\","
        "\"context\":{\"tid\":7,\"procname\":\"a\\u001b[1mb\"},"
        "\"fields\":{\"least\":-9223372036854775808,\"most\":18446744073709551615,"
        "\"address\":4294967280,\"mode\":420,\"state\":{\"value\":3,\"label\":\"_busy\"},"
        "\"text\":\"tab\\there\",\"pair\":[1,255],\"n\":2,"
        "\"list\":[{\"x\":-1,\"y\":0.5},{\"x\":2,\"y\":-3}],"
        "\"kind\":{\"value\":1,\"label\":\"_one\"},\"choice\":{\"one\":9}}}\n",
        "{\"time_ns\":1795224179432835565,\"host\":\"box\",\"cpu\":3,\"name\":\"everything\","
        "\"context\":{\"tid\":7,\"procname\":\"a\\u001b[1mb\"},"
        "\"fields\":{\"least\":0,\"most\":0,\"address\":0,\"mode\":0,"
        "\"state\":{\"value\":77,\"label\":null},\"text\":\"\",\"pair\":[0,0],\"n\":0,"
        "\"list\":[],\"kind\":{\"value\":0,\"label\":\"_none\"},\"choice\":{\"none\":{}}}}\n",
        "{\"time_ns\":1795224180432835564,\"host\":\"box\",\"cpu\":3,\"name\":\"empty\","
        "\"context\":{\"tid\":7,\"procname\":\"a\\u001b[1mb\"},\"fields\":{}}\n",
        NULL,
    };
    check(true, expected);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/view/events/text", test_text);
    g_test_add_func("/view/events/json", test_json);
    return g_test_run();
}
