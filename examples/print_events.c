/* SPDX-License-Identifier: MIT */
/* Prints events with all their fields, of traces or of a live session (net://…).
 *
 *   cc print_events.c $(pkg-config --cflags --libs lull) -o print_events
 *   ./print_events TRACE [COUNT]
 *
 * Shows the walk over fields that are not known before, one field by its name, and live reading. */
#include <lull/lull.h>

#include <stdio.h>
#include <stdlib.h>

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    printf(" %s{", name ? name : "");
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    printf(" }");
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    printf(" %s=%" G_GINT64_FORMAT, name ? name : "", (int64_t)value->bits);
}

static void on_real(void *user, const char *name, double value)
{
    printf(" %s=%g", name ? name : "", value);
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    printf(" %s=%.*s", name ? name : "", (int)value.length, value.data);
}

static bool print_event(const struct lull_event *event, GError **error)
{
    static const struct lull_visitor visitor = {
        .start = on_start, .end = on_end, .integer = on_integer, .real = on_real, .text = on_text};
    const struct lull_event_class *class = event->event_class;
    struct lull_field_value next;
    uint64_t cycles;
    printf("%" G_GINT64_FORMAT " %s", event->time_ns, lull_event_class_name(class));
    if (lull_event_cycles(event, &cycles)) {
        printf(" at cycle %" G_GUINT64_FORMAT, cycles);
    }
    if (lull_event_class_log_level(class) >= 0 || lull_event_class_model_uri(class)) {
        printf(" (level %" G_GINT64_FORMAT ")", lull_event_class_log_level(class));
    }
    if (lull_event_field(event, "next_comm", &next, NULL) == 1) {
        printf(" to %.*s:", (int)next.text.length, next.text.data);
    }
    const bool done = lull_event_visit_packet(event, &visitor, NULL, error) &&
                      lull_event_visit(event, &visitor, NULL, error);
    printf("\n");
    return done;
}

/* What was printed is shown while a live session has nothing new. */
static bool flush(void *user)
{
    return fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"*", NULL};
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE [COUNT]\n", argv[0]);
        return 2;
    }
    const long count = argc > 2 ? atol(argv[2]) : 10;
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_on_wait(session, flush, NULL);
    lull_session_follow_from_start(session, true);
    bool done = lull_session_add(session, argv[1], &error);
    lull_session_set_order(session, LULL_ORDER_BABELTRACE);
    lull_session_subscribe(session, all, NULL, 0, 0);
    const struct lull_event *event = NULL;
    for (long i = 0; done && i < count && (event = lull_session_read(session)); i++) {
        done = print_event(event, &error);
    }
    printf("%.1f %% read\n", 100 * lull_session_progress(session));
    lull_session_rewind(session);
    done = done && !lull_session_failed(session, &error);
    if (!done) {
        fprintf(stderr, "%s: %s\n", argv[0], error->message);
        g_error_free(error);
    }
    lull_session_free(session);
    return !done;
}
