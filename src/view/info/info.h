/* SPDX-License-Identifier: MIT */
/* What `lull info` is about to show, for its text and its JSON. */
#ifndef LULL_VIEW_INFO_H
#define LULL_VIEW_INFO_H

#include <stdio.h>

#include <lull/session.h>

#include "analysis/questions.h"
#include "source/session/streams.h"
#include "view/view.h"

struct lull_info {
    struct lull_session *session;
    int32_t host;                     /* the only one to show, or -1 for all */
    GArray *events;                   /* of struct lull_event_count; NULL: not counted */
    GPtrArray *containers;            /* lull_containers_list() */
    struct lull_declared **declared;  /* by host */
    int64_t *first_ns;                /* by host: its first event; INT64_MAX: none, or not known */
    struct lull_gaps gaps;            /* by host, and then by start, on the host's own clock */
    struct lull_clock_transform *own; /* by host: its clock as it was recorded, not joined */
    bool *hides_idle; /* by host, see lull_model_hides_idle(); NULL: no host has traces of perf */
    int64_t
        zero_ns; /* the first of all hosts, on the joined clock: what "+1s" counts from; likewise */
    uint32_t zero_host; /* whose event that is */
    uint64_t lost_events, lost_packets;
};

static inline bool lull_info_shows(const struct lull_info *info, uint32_t host)
{
    return info->host < 0 || (uint32_t)info->host == host;
}

/* When nothing of the host was recorded, between its first event and its last, in order; *n: how often. NULL: never. */
const struct lull_gap *lull_info_gaps(const struct lull_info *info, uint32_t host, size_t *n);

/* A virtual machine that the recorder of a trace traced too, as texts of the session. */
struct lull_info_guest {
    const char *name, *trace_id;
    const char *vcpu_tids; /* of the host's threads that are its CPUs, with spaces between */
};

/* Guest `number` of a trace; false if there are not so many. */
bool lull_info_guest(const struct lull_session *session, uint32_t trace, uint32_t number,
                     struct lull_info_guest *guest);

bool lull_info_print_text(const struct lull_info *info, const struct lull_view_style *style,
                          GError **error);
/* The recordings of a host, lines for people, or "". Free with g_free(). */
char *lull_info_recordings_text(const struct lull_info *info, uint32_t host, bool ascii);
void lull_info_print_json(const struct lull_info *info, FILE *file);

#endif
