/* SPDX-License-Identifier: MIT */
/* Writes the events of language.txt: fields of every kind. */
#include "filter/events.h"

#include <string.h>

#define FIELDS(...) ((const struct ctf_field[]){__VA_ARGS__, CTF_DONE})
#define LABELS(...) ((const struct ctf_label[]){__VA_ARGS__, {NULL, 0, 0}})

static const struct ctf_field all_fields[] = {
    CTF_I(64, "least"),
    CTF_U(64, "most"),
    CTF_U(8, "byte"),
    CTF_I(16, "small"),
    {.kind = CTF_INT, .name = "word", .size = 16, .order = CTF_BIG},
    {.kind = CTF_INT, .name = "state", .size = 8, .labels = LABELS({"idle", 0, 0}, {"busy", 1, 5})},
    CTF_STR("text"),
    CTF_TEXT("comm", 8),
    {.kind = CTF_ARRAY, .name = "pair", .length = 2, .members = FIELDS(CTF_U(8, NULL))},
    CTF_U(8, "n"),
    {.kind = CTF_SEQUENCE,
     .name = "list",
     .reference = "n",
     .members =
         FIELDS({.kind = CTF_STRUCT,
                 .members = FIELDS(CTF_I(16, "x"), {.kind = CTF_FLOAT, .name = "y", .size = 64})})},
    {.kind = CTF_FLOAT, .name = "ratio", .size = 32},
    {.kind = CTF_ARRAY, .name = "bits", .length = 3, .members = FIELDS(CTF_U(3, NULL))},
    CTF_U(8, "m"),
    {.kind = CTF_SEQUENCE, .name = "words", .reference = "m", .members = FIELDS(CTF_U(16, NULL))},
    {.kind = CTF_INT, .name = "kind", .size = 8, .labels = LABELS({"one", 1, 1}, {"two", 2, 2})},
    {.kind = CTF_VARIANT,
     .name = "choice",
     .reference = "kind",
     .members = FIELDS(
         CTF_U(64, "one"),
         {.kind = CTF_STRUCT, .name = "two", .members = FIELDS(CTF_U(16, "v"), CTF_STR("s"))})},
    {.kind = CTF_STRUCT,
     .name = "inside",
     .members = FIELDS({.kind = CTF_STRUCT, .name = "deep", .members = FIELDS(CTF_U(32, "tid"))})},
    CTF_I(64, "stamp"),
    CTF_DONE,
};
static const struct ctf_field switch_fields[] = {
    CTF_STR("name"), CTF_TEXT("next_comm", 16), CTF_I(64, "prev_state"), CTF_I(32, "cpu"), CTF_DONE,
};
static const struct ctf_class all = {.name = "all", .fields = all_fields};
static const struct ctf_class switches = {.name = "switch", .fields = switch_fields};
static const struct ctf_class empty = {.name = "empty"};

void write_events(const char *dir, const struct ctf_options *how)
{
    static const int64_t steps[] = EVENTS_STEPS;
    struct ctf_options options = *how;
    options.no_kernel_classes = true;
    options.contexts = CTF_TID | CTF_PROCNAME;
    options.hostname = "box";
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    ctf_writer_class(w, &all);
    ctf_writer_class(w, &switches);
    ctf_writer_class(w, &empty);
    ctf_writer_current(w, 0, 7, 7, "postgres");
    ctf_writer_current(w, 1, 8, 8, "ba\"sh");
    ctf_writer_current(w, 2, 0, 0, "");
    ctf_event(w, 0, EVENTS_T0 + steps[0], "all",
              "least=-9223372036854775808 most=18446744073709551615 byte=200 small=-5 word=4660 "
              "state=3 text=\"hello*w\303\266rld\" comm=\"post\" pair=[1 255] "
              "list=[{x=-1 y=0.5} {x=2 y=-3}] ratio=1.5 bits=[1 0 1] words=[7 65535] "
              "choice={one=9} inside={deep={tid=99}} stamp=1795224179999999999");
    ctf_event(w, 1, EVENTS_T0 + steps[1], "all",
              "state=77 choice={two={v=7 s=\"x\"}} stamp=1795224179999999999");
    ctf_event(w, 0, EVENTS_T0 + steps[2], "switch",
              "name=\"inner\" next_comm=\"postgres: wal\" prev_state=1 cpu=9");
    ctf_event(w, 1, EVENTS_T0 + steps[3], "switch", "next_comm=\"kworker/0:1\" prev_state=2");
    ctf_event(w, 2, EVENTS_T0 + steps[4], "empty", "%s", "");
    ctf_writer_close(w);
}

char **read_language(void)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "filter", "language.txt", NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GPtrArray *kept = g_ptr_array_new();
    for (char **line = lines; *line; line++) {
        if (**line != '\0' && **line != '#') {
            g_ptr_array_add(kept, g_strdup(*line));
        }
    }
    g_ptr_array_add(kept, NULL);
    return (char **)g_ptr_array_free(kept, FALSE);
}

char *read_letters(struct lull_session *session)
{
    static const int64_t steps[] = EVENTS_STEPS;
    GString *letters = g_string_new(NULL);
    struct lull_event event;
    while (lull_session_next(session, &event) == 1) {
        for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
            if (event.time_ns == EVENTS_T0 + steps[i]) {
                g_string_append_c(letters, (char)('a' + i));
            }
        }
    }
    if (letters->len == 0) {
        g_string_append_c(letters, '-');
    }
    return g_string_free(letters, FALSE);
}
