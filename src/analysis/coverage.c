/* SPDX-License-Identifier: MIT */
/* Finds the first and the last event of each host without reading what is between. */
#include "analysis/coverage.h"

#include "base/clock.h"
#include "base/time.h"
#include "source/session/streams.h"

static const char *const every_name[] = {"*", NULL};

/* Reads from start_ns on: to the end if `last_ns`, else the first event only. INT64_MAX if there is
 * none. */
static int64_t first_after(struct lull_session *session, int64_t start_ns, int64_t *last_ns)
{
    const struct lull_event *event;
    int64_t first_ns = INT64_MAX;
    lull_session_limit(session, start_ns, INT64_MAX);
    while ((event = lull_session_read(session))) {
        first_ns = MIN(first_ns, event->time_ns);
        if (!last_ns) {
            break;
        }
        *last_ns = event->time_ns;
    }
    return first_ns;
}

/* By reading: almost always in the last packets; else ever longer ends of the host's traces are looked at. */
static void read_last(struct lull_session *session, uint32_t host, struct lull_coverage *coverage)
{
    int64_t end_ns = coverage->first_ns, reach_ns = LULL_NS_PER_S / 1000;
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_trace *trace = lull_session_trace(session, traces[i]);
        if (trace->start_ns <= trace->end_ns) {
            end_ns =
                MAX(end_ns, lull_clock_join(lull_session_clock(session, host), trace->end_ns, 0));
        }
    }
    const int64_t span_ns = end_ns - coverage->first_ns;
    while (reach_ns < span_ns &&
           first_after(session, end_ns - reach_ns, &coverage->last_ns) == INT64_MAX) {
        reach_ns = reach_ns < span_ns / 16 ? reach_ns * 16 : span_ns;
    }
    if (reach_ns >= span_ns) {
        first_after(session, coverage->first_ns, &coverage->last_ns);
    }
}

struct lull_coverage *lull_coverage_find(struct lull_session *session, int32_t only_host)
{
    const uint32_t n_hosts = lull_session_host_count(session);
    struct lull_coverage *hosts = g_new0(struct lull_coverage, MAX(n_hosts, 1));
    lull_session_unsubscribe_all(session);
    lull_session_share_classes(session, lull_session_subscribe(session, every_name, NULL, 0, 0));
    for (uint32_t host = 0; host < n_hosts; host++) {
        hosts[host] = (struct lull_coverage){INT64_MAX, INT64_MIN};
        if (only_host >= 0 && host != (uint32_t)only_host) {
            continue;
        }
        lull_session_select(session, (int32_t)host, -1);
        hosts[host].first_ns = first_after(session, INT64_MIN, NULL);
        lull_session_limit(session, INT64_MIN, INT64_MAX);
        if (hosts[host].first_ns != INT64_MAX &&
            !lull_session_last_event(session, host, &hosts[host].last_ns)) {
            read_last(session, host, &hosts[host]);
        }
    }
    lull_session_select(session, only_host, -1);
    lull_session_unsubscribe_all(session);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    return hosts;
}
