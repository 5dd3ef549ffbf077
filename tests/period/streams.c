/* SPDX-License-Identifier: MIT */
/* Streams of events for the tests of periods. */
#include "period/streams.h"

#include <lull/session.h>
#include <math.h>

#define FIELDS(...) ((const struct ctf_field[]){__VA_ARGS__, CTF_DONE})
#define LABELS(...) ((const struct ctf_label[]){__VA_ARGS__, {NULL, 0, 0}})

static const struct ctf_field plain[] = {
    CTF_I(64, "id"),
    CTF_U(64, "big"),
    CTF_STR("s"),
    {.kind = CTF_FLOAT, .name = "ratio", .size = 64},
    {.kind = CTF_INT, .name = "state", .size = 8, .labels = LABELS({"idle", 0, 0}, {"busy", 1, 1})},
    CTF_DONE,
};
static const struct ctf_class classes[] = {
    {.name = "a", .fields = plain},
    {.name = "b", .fields = plain},
    {.name = "c", .fields = plain},
    {.name = "d", .fields = plain},
    {.name = "e", .fields = plain},
    {.name = "f", .fields = plain},
    {.name = "bare"},
    {.name = "other", .fields = FIELDS(CTF_U(32, "id"), CTF_STR("which"))},
    {.name = "sched_switch",
     .fields = FIELDS(CTF_TEXT("prev_comm", 16), CTF_I(32, "prev_tid"), CTF_I(32, "prev_prio"),
                      CTF_I(64, "prev_state"), CTF_TEXT("next_comm", 16), CTF_I(32, "next_tid"),
                      CTF_I(32, "next_prio"))},
    {.name = "req_begin", .fields = FIELDS(CTF_I(32, "id"), CTF_STR("who"))},
    {.name = "a_begin", .fields = FIELDS(CTF_I(32, "id"), CTF_I(32, "fd"))},
    {.name = "b_begin", .fields = FIELDS(CTF_I(32, "id"), CTF_I(32, "k"))},
    {.name = "b_end", .fields = FIELDS(CTF_I(32, "id"))},
    {.name = "a_end", .fields = FIELDS(CTF_I(32, "id"), CTF_I(32, "ret"))},
    {.name = "req_end", .fields = FIELDS(CTF_I(32, "id"), CTF_I(32, "st"))},
};

const struct stream_event stream_requests[] = {
    {0, 0, "bare", ""},
    {1, 0, "req_begin", "id=0 who=\"w0\""},
    {2, 0, "a_begin", "id=0 fd=0"},
    {3, 0, "b_begin", "id=0 k=7"},
    {4, 0, "b_end", "id=0"},
    {5, 0, "a_end", "id=0 ret=0"},
    {6, 0, "req_end", "id=0 st=0"},
    {13, 0, "req_begin", "id=1 who=\"w1\""},
    {14, 0, "a_begin", "id=1 fd=1"},
    {15, 0, "b_begin", "id=1 k=7"},
    {16.1, 0, "b_end", "id=1"},
    {17, 0, "a_end", "id=1 ret=1"},
    {17.5, 0, "a_begin", "id=1 fd=9"},
    {17.75, 0, "a_end", "id=1 ret=22"},
    {19, 0, "req_end", "id=1 st=2"},
    {25, 0, "req_begin", "id=2 who=\"w0\""},
    {26, 0, "a_begin", "id=2 fd=2"},
    {27, 0, "b_begin", "id=2 k=7"},
    {28.2, 0, "b_end", "id=2"},
    {29, 0, "a_end", "id=2 ret=2"},
    {32, 0, "req_end", "id=2 st=4"},
    {37, 0, "req_begin", "id=3 who=\"w1\""},
    {38, 0, "a_begin", "id=3 fd=0"},
    {41, 0, "a_end", "id=3 ret=3"},
    {45, 0, "req_end", "id=3 st=6"},
    {49, 0, "req_begin", "id=4 who=\"w0\""},
    {50, 0, "a_begin", "id=4 fd=1"},
    {51, 0, "b_begin", "id=4 k=7"},
    {52.4, 0, "b_end", "id=4"},
    {53, 0, "a_end", "id=4 ret=4"},
    {58, 0, "req_end", "id=4 st=8"},
    {61, 0, "req_begin", "id=77 who=\"x\""},
    {62, 0, "a_begin", "id=77 fd=5"},
    {63, 0, "a_end", "id=77 ret=1"},
    {64, 0, "bare", ""},
    {0, 0, NULL, NULL},
};

void write_stream(const char *dir, const struct stream_event *events, unsigned contexts)
{
    const struct ctf_options options = {.no_kernel_classes = true, .contexts = contexts};
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
        ctf_writer_class(w, &classes[i]);
    }
    ctf_writer_current(w, 0, 70, 71, "zero");
    ctf_writer_current(w, 1, 80, 81, "one");
    for (; events->name; events++) {
        const int64_t time_ns = llround(events->ms * 1e6);
        if (strcmp(events->name, LOST) == 0) {
            ctf_writer_discard(w, events->cpu, 1, time_ns);
        } else {
            ctf_event(w, events->cpu, time_ns, events->name, "%s", events->values);
        }
    }
    ctf_writer_close(w);
}

struct lull_session *open_stream(const char *dir)
{
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    return session;
}

static void append_value(GString *out, const struct lull_value *value)
{
    if (value->kind == LULL_VALUE_NONE) {
        g_string_append(out, "?");
    } else if (value->text.data) {
        g_string_append_printf(out, "'%.*s'", (int)value->text.length, value->text.data);
    } else if (value->kind == LULL_VALUE_REAL) {
        g_string_append_printf(out, "%g", value->real);
    } else if (value->is_signed) {
        g_string_append_printf(out, "%" G_GINT64_FORMAT, (int64_t)value->bits);
    } else {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT, value->bits);
    }
}

static void append_captures(GString *out, const struct lull_period_tracker *tracker,
                            uint32_t instance, bool at_end, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(out, "%s%s=", i > 0 ? " " : "", names[i]);
        append_value(out, lull_period_value(tracker, instance, at_end, i));
    }
}

char *describe_periods(struct lull_session *session, const struct lull_periods *periods,
                       struct lull_period_tracker *tracker)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < lull_period_instance_count(tracker); i++) {
        const struct lull_period_instance *at = lull_period_at(tracker, i);
        const struct lull_period *period = lull_periods_at(periods, at->period);
        g_string_append_printf(out, "%s%s[%g-%g%s]", i > 0 ? " " : "", period->path,
                               (double)at->start_ns / 1e6, (double)at->end_ns / 1e6,
                               at->is_complete ? "" : "!");
        if (period->n_start_captures + period->n_end_captures == 0) {
            continue;
        }
        g_string_append(out, "{");
        append_captures(out, tracker, i, false, period->start_captures, period->n_start_captures);
        g_string_append(out, "|");
        append_captures(out, tracker, i, true, period->end_captures, period->n_end_captures);
        g_string_append(out, "}");
    }
    return g_string_free(out, FALSE);
}

char *find_periods(const char *dir, const char *const *definitions, const char *const *captures)
{
    GError *error = NULL;
    int64_t start_ns, end_ns;
    struct lull_session *session = open_stream(dir);
    struct lull_periods *periods = lull_periods_parse(definitions, captures, &error);
    g_assert_no_error(error);
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    g_assert_null(lull_session_read(session)); /* nobody subscribed to anything */
    g_assert_true(lull_session_range(session, &start_ns, &end_ns));
    lull_period_tracker_finish(tracker, end_ns);
    char *text = describe_periods(session, periods, tracker);
    lull_period_tracker_free(tracker);
    lull_periods_free(periods);
    lull_session_free(session);
    return text;
}
