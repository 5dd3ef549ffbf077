/* SPDX-License-Identifier: MIT */
/* Fuzz target: the text of a filter, compiled for the classes of valid traces and run on their
 * events. Each event passes either the filter or its negation. */
#include <string.h>

#include "filter/filter.h"
#include "source/session/event_filter.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lull_session *session;
static uint64_t all_events;

static uint64_t read_events(void)
{
    uint64_t n = 0;
    while (lull_session_read(session)) {
        n++;
    }
    return n;
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

/* How many events pass; takes the filter. */
static uint64_t passing(struct lull_filter *filter)
{
    uint64_t counted = 0;
    lull_filter_attach(filter, session);
    uint64_t n = read_events();
    lull_session_count(session, add_count, &counted);
    g_assert_cmpuint(counted, ==, n);
    lull_session_set_filter(session, NULL);
    return n;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const all[] = {"*", NULL};
    static const char *const traces[] = {
        FUZZ_DIRECTORY "/traces/a-events-compact", FUZZ_DIRECTORY "/traces/e-kernel",
        FUZZ_DIRECTORY "/traces/i-numbers", FUZZ_DIRECTORY "/traces/n-variants"};
    g_autoptr(GError) error = NULL;
    session = lull_session_new();
    if (!lull_session_add_all(session, traces, G_N_ELEMENTS(traces), &error)) {
        g_error("%s", error->message);
    }
    lull_session_subscribe(session, all, NULL, 0, 0);
    all_events = read_events();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *opposite = g_strdup_printf("!(%s)", text);
    g_autoptr(GError) error = NULL;
    struct lull_filter *filter = lull_filter_parse(text, false, &error);
    if (!filter) {
        g_assert_nonnull(error);
        g_assert_nonnull(strchr(error->message, '^')); /* it says where */
        return 0;
    }
    uint64_t n = passing(filter);
    filter = lull_filter_parse(opposite, false, NULL);
    if (filter) { /* it may be nested too deep now */
        g_assert_cmpuint(n + passing(filter), ==, all_events);
    }
    return 0;
}
