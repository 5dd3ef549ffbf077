/* Finds the first and the last event of a session without reading what is between. */
#include "analysis/coverage.h"

#include "base/time.h"

static const char *const every_name[] = {"*", NULL};

/* Reads from begin_ns on: to the end if `last_ns`, else the first event only. INT64_MAX if there is
 * none. */
static int64_t first_after(struct lull_session *session, int64_t begin_ns, int64_t *last_ns)
{
    const struct lull_event *event;
    int64_t first_ns = INT64_MAX;
    lull_session_limit(session, begin_ns, INT64_MAX);
    while ((event = lull_session_read(session))) {
        first_ns = MIN(first_ns, event->time_ns);
        if (!last_ns) {
            break;
        }
        *last_ns = event->time_ns;
    }
    return first_ns;
}

/* Almost always in the last packets; else ever longer ends of the session are looked at. */
static void find_last(struct lull_session *session, int64_t first_ns, int64_t *last_ns)
{
    int64_t begin_ns, end_ns, from_ns, reach_ns = LULL_NS_PER_S / 1000;
    *last_ns = first_ns;
    if (!lull_session_range(session, &begin_ns, &end_ns)) {
        return;
    }
    do {
        if (__builtin_sub_overflow(end_ns, reach_ns, &from_ns) || from_ns < first_ns) {
            from_ns = first_ns;
        }
        if (first_after(session, from_ns, last_ns) != INT64_MAX) {
            return;
        }
        reach_ns = reach_ns < INT64_MAX / 16 ? reach_ns * 16 : INT64_MAX;
    } while (from_ns > first_ns);
}

bool lull_coverage_find(struct lull_session *session, int64_t *first_ns, int64_t *last_ns)
{
    lull_session_unsubscribe_all(session);
    lull_session_subscribe(session, every_name, NULL, 0, 0);
    *first_ns = first_after(session, INT64_MIN, NULL);
    const bool is_found = *first_ns != INT64_MAX;
    if (is_found) {
        find_last(session, *first_ns, last_ns);
    }
    lull_session_unsubscribe_all(session);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    return is_found;
}
