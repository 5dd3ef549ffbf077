/* SPDX-License-Identifier: MIT */
/* What a filter rejects is not read: classes are not subscribed to, other CPUs' and hosts' streams
 * and packets outside the time are not even looked at, so that damage there is not found. */
#include <string.h>

#include <glib/gstdio.h>

#include "filter/events.h"
#include "filter/filter.h"
#include "lib/scratch.h"
#include "source/session/event_filter.h"
#include "source/session/private.h"

static const char *const everything[] = {"*", NULL};
static const char *const only_switches[] = {"switch", NULL};

static void attach(struct lull_session *session, const char *expression)
{
    GError *error = NULL;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    g_assert_no_error(error);
    lull_filter_attach(filter, session);
}

static struct lull_session *open_all(const char *dir)
{
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_subscribe(session, everything, NULL, 0, 0);
    return session;
}

/* ---- classes ---- */

static enum lull_verdict verdict_on(const struct lull_session *session, const char *name)
{
    const struct lull_source *source = lull_session_trace_at(session, 0)->source;
    for (uint32_t i = 0; i < source->n_classes; i++) {
        if (strcmp(source->classes[i]->name, name) == 0) {
            return source->classes[i]->filter->verdict;
        }
    }
    g_assert_not_reached();
}

static uint32_t fields_of(const struct lull_session *session, const char *name)
{
    const struct lull_source *source = lull_session_trace_at(session, 0)->source;
    for (uint32_t i = 0; i < source->n_classes; i++) {
        if (strcmp(source->classes[i]->name, name) == 0) {
            return source->classes[i]->filter->extra.n_bindings;
        }
    }
    g_assert_not_reached();
}

static void test_classes(void)
{
    /* Verdicts on all, switch and empty, and how many fields are bound in them. */
    static const struct {
        const char *expression;
        enum lull_verdict verdicts[3];
        uint32_t fields[3];
    } cases[] = {
#define P LULL_VERDICT_PASS
#define R LULL_VERDICT_REJECT
#define T LULL_VERDICT_TEST
        {"name == \"switch\"", {R, P, R}, {0}},
        {"name =~ \"s*\" && next_comm =~ \"p*\"", {R, T, R}, {0, 1, 0}},
        {"next_comm == \"x\"", {R, T, R}, {0, 1, 0}},
        {"next_comm == \"x\" || byte == 1", {T, T, R}, {1, 1, 0}},
        {"byte == 1 || byte == 2 || small == 3", {T, R, R}, {2, 0, 0}},
        {"host == \"box\" && exists(byte)", {P, R, R}, {0}},
        {"host != \"box\" || name == \"empty\"", {R, R, P}, {0}},
        {"!(name == \"all\" && byte == 1)", {T, P, P}, {1, 0, 0}},
        {"name == \"all\" && exists(choice.one)", {T, R, R}, {1, 0, 0}},
        {"byte == \"text\" || pair == 1", {R, R, R}, {0}},
        {"name == \"all\" && list[0].x == 1", {T, R, R}, {0}},
        {"name in (\"switch\", \"empty\") || false && tid == 3", {R, P, P}, {0}},
        {"cpu == 1 && (true || tid == 5)", {T, T, T}, {0}},
        {"tid == 5 && name == \"nosuch\"", {R, R, R}, {0}},
#undef P
#undef R
#undef T
    };
    static const char *const names[] = {"all", "switch", "empty"};
    static const struct ctf_options how;
    g_autofree char *dir = scratch_dir();
    write_events(dir, &how);
    struct lull_session *session = open_all(dir);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        attach(session, cases[i].expression);
        lull_session_read(session);
        g_test_message("%s", cases[i].expression);
        for (int k = 0; k < 3; k++) {
            g_assert_cmpint(verdict_on(session, names[k]), ==, cases[i].verdicts[k]);
            g_assert_cmpint(fields_of(session, names[k]), ==, cases[i].fields[k]);
        }
    }
    lull_session_free(session);
    scratch_remove(dir);
}

/* ---- what the source is told ---- */

static const struct lull_source_ops *real_ops;
static int32_t reported[3]; /* of_class of the last subscribe() */

static void spy_subscribe(struct lull_source *source, const struct lull_subscription *subscriptions,
                          const int32_t *of_class, uint32_t max_fields_size,
                          const struct lull_fields *const *extra, uint32_t max_extra_size)
{
    g_assert_cmpuint(source->n_classes, ==, G_N_ELEMENTS(reported));
    memcpy(reported, of_class, sizeof reported);
    real_ops->subscribe(source, subscriptions, of_class, max_fields_size, extra, max_extra_size);
}

/* Events of a class that a name excludes are skipped over: the source does not hear of them, so it
 * neither decodes their fields nor hands them out. */
static void test_unsubscribed(void)
{
    static const struct {
        const char *expression, *class;
    } cases[] = {
        {"name == \"switch\"", "switch"},
        {"name == \"empty\" && cpu >= 0", "empty"},
        {"byte == 1", "all"},
        {"name == \"nosuch\"", "none"},
    };
    static const struct ctf_options how;
    g_autofree char *dir = scratch_dir();
    write_events(dir, &how);
    struct lull_session *session = open_all(dir);
    struct lull_source *source = lull_session_trace_at(session, 0)->source;
    real_ops = source->ops;
    struct lull_source_ops spy = *real_ops;
    spy.subscribe = spy_subscribe;
    source->ops = &spy;
    lull_session_read(session);
    for (uint32_t k = 0; k < source->n_classes; k++) {
        g_assert_cmpint(reported[k], ==, 0); /* without a filter, all */
    }
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        attach(session, cases[i].expression);
        lull_session_read(session);
        for (uint32_t k = 0; k < source->n_classes; k++) {
            bool is_wanted = strcmp(source->classes[k]->name, cases[i].class) == 0;
            g_test_message("%s: %s", cases[i].expression, source->classes[k]->name);
            g_assert_cmpint(reported[k], ==, is_wanted ? 0 : -1);
        }
    }
    source->ops = real_ops;
    lull_session_free(session);
    scratch_remove(dir);
}

/* ---- time ---- */

static void test_range(void)
{
#define B EVENTS_T0
#define S INT64_C(1000000000)
    static const struct {
        const char *expression;
        int64_t start_ns, end_ns; /* reading begins at B */
    } cases[] = {
        {"cpu == 1", INT64_MIN, INT64_MAX},
        {"time >= +1s", B + S, INT64_MAX},
        {"time > +1s", B + S + 1, INT64_MAX},
        {"time < +1s", INT64_MIN, B + S},
        {"time <= +1s", INT64_MIN, B + S + 1},
        {"time == +1s", B + S, B + S + 1},
        {"time != +1s", INT64_MIN, INT64_MAX},
        {"time >= +1s && cpu == 0 && time < +2s", B + S, B + 2 * S},
        {"time < +1s && cpu == 0 || time == +3s", INT64_MIN, B + 3 * S + 1},
        {"time > +1s && time < +2s || time > +4s && time < +5s", B + S + 1, B + 5 * S},
        {"time < +1s || cpu == 1", INT64_MIN, INT64_MAX},
        {"!(time < +1s || time >= +2s)", B + S, B + 2 * S},
        {"!(time < +1s && cpu == 1)", INT64_MIN, INT64_MAX},
        {"!(time == +1s)", INT64_MIN, INT64_MAX},
        {"!(time != +1s)", B + S, B + S + 1},
        {"time in (+2s, +1s, +3s)", B + S, B + 3 * S + 1},
        {"false && cpu == 1 || time == +1s", B + S, B + S + 1},
        {"true || time == +1s", INT64_MIN, INT64_MAX},
    };
#undef S
#undef B
    static const struct ctf_options how;
    g_autofree char *dir = scratch_dir();
    write_events(dir, &how);
    struct lull_session *session = open_all(dir);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        attach(session, cases[i].expression);
        lull_session_read(session);
        g_test_message("%s", cases[i].expression);
        g_assert_cmpint(session->filter->start_ns, ==, cases[i].start_ns);
        g_assert_cmpint(session->filter->end_ns, ==, cases[i].end_ns);
    }
    lull_session_free(session);
    scratch_remove(dir);
}

/* ---- damage ---- */

static const struct ctf_label kinds[] = {{"one", 1, 1}, {"two", 2, 2}, {NULL, 0, 0}};
static const struct ctf_field options[] = {CTF_U(32, "one"), CTF_U(32, "two"), CTF_DONE};
static const struct ctf_field odd_fields[] = {
    {.kind = CTF_INT, .name = "kind", .size = 8, .labels = kinds},
    {.kind = CTF_VARIANT, .name = "choice", .reference = "kind", .members = options},
    CTF_STR("mark"),
    CTF_DONE,
};
static const struct ctf_class odd = {.name = "odd", .fields = odd_fields};

/* CPUs 0 and 1; on CPU 1 the second of two packets, from 2 s on, has a tag that means nothing. */
static void write_damaged(const char *dir)
{
    static const struct ctf_options how = {.no_kernel_classes = true};
    struct ctf_writer *w = ctf_writer_new(dir, &how);
    ctf_writer_class(w, &odd);
    ctf_event(w, 0, 1000000000, "odd", "choice={one=1} mark=zero");
    ctf_event(w, 1, 1000000500, "odd", "choice={one=1} mark=first");
    ctf_writer_end_packet(w, 1);
    ctf_event(w, 1, 2000000000, "odd", "choice={two=1} mark=second");
    ctf_event(w, 1, 2000000100, "odd", "choice={two=1} mark=third");
    ctf_event(w, 0, 3000000000, "odd", "choice={one=1} mark=last");
    ctf_writer_close(w);
    bool done = false;
    g_autoptr(GDir) listing = g_dir_open(dir, 0, NULL);
    for (const char *name; (name = g_dir_read_name(listing));) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_autofree char *data = NULL;
        gsize size;
        if (!g_file_get_contents(path, &data, &size, NULL)) {
            continue;
        }
        char *mark = memmem(data, size, "second", 7);
        if (!mark || strcmp(name, "metadata") == 0) {
            continue;
        }
        g_assert_cmpint(mark[-5], ==, 2); /* the tag, before the 32-bit option */
        mark[-5] = 9;
        g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
        done = true;
    }
    g_assert_true(done);
}

static void test_damage(void)
{
    static const struct {
        const char *expression;
        uint32_t events, problems;
    } cases[] = {
        {"true", 3, 1}, /* the damaged packet is lost */
        {"cpu == 0", 2, 0},
        {"cpu == 1", 1, 1},
        {"cpu != 1 && exists(mark)", 2, 0},
        {"time < +500ms", 2, 0},
        {"time > +500ms", 1, 1},
        {"time > +1500ms", 1, 1}, /* its last events might have been there, behind its end */
        {"time < +100ns || time > +1500ms && cpu == 0", 2, 1}, /* one range encloses both */
        {"name == \"other\"", 0, 0},
        {"host == \"elsewhere\"", 0, 0},
        {"nosuch == 1", 0, 0},
        {"mark == \"last\"", 1, 1},
    };
    g_autofree char *dir = scratch_dir();
    write_damaged(dir);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_session *session = open_all(dir);
        uint32_t events = 0;
        attach(session, cases[i].expression);
        while (lull_session_read(session)) {
            events++;
        }
        g_test_message("%s", cases[i].expression);
        g_assert_cmpuint(events, ==, cases[i].events);
        g_assert_cmpuint(lull_session_problem_count(session), ==, cases[i].problems);
        lull_session_free(session);
    }
    scratch_remove(dir);
}

/* ---- who is exempt ---- */

static void test_exempt(void)
{
    static const struct ctf_options how;
    g_autofree char *dir = scratch_dir();
    GError *error = NULL;
    write_events(dir, &how);
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    uint32_t switches = lull_session_subscribe(session, only_switches, NULL, 0, 0);
    lull_session_subscribe(session, everything, NULL, 0, 0);
    lull_session_exempt(session, switches);
    attach(session, "time >= +60s || next_comm =~ \"k*\"");
    static const struct {
        int64_t after_ns;
        bool passes;
    } expected[] = {{1000000000, false}, {2000000000, true}, {60000000000, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct lull_event *event = lull_session_read(session);
        g_assert_nonnull(event);
        g_assert_cmpint(event->time_ns - EVENTS_T0, ==, expected[i].after_ns);
        g_assert_cmpint(lull_session_passes(session, event), ==, expected[i].passes);
    }
    g_assert_null(lull_session_read(session));
    lull_session_free(session);
    scratch_remove(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/filter/push-down/classes", test_classes);
    g_test_add_func("/filter/push-down/unsubscribed", test_unsubscribed);
    g_test_add_func("/filter/push-down/range", test_range);
    g_test_add_func("/filter/push-down/damage", test_damage);
    g_test_add_func("/filter/push-down/exempt", test_exempt);
    return g_test_run();
}
