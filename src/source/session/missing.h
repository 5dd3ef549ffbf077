/* SPDX-License-Identifier: MIT */
/* What a session did not record, for those who read its events in order: after that nothing is known of a CPU until its next events
 * say it. */
#ifndef LULL_SOURCE_SESSION_MISSING_H
#define LULL_SOURCE_SESSION_MISSING_H

#include <lull/session.h>

#include "base/cpu_slots.h"
#include "base/vec.h"

/* Events of a CPU of the host, or of all if cpu < 0, are missing, since start_ns at the earliest; those after cut_ns are there again. */
struct lull_missing_place {
    int64_t start_ns, cut_ns;
    uint32_t host;
    int32_t cpu;
    bool is_exact; /* start_ns is when the last event came before */
};

struct lull_missing {
    struct lull_session *session;
    const unsigned *loss_counter;               /* how many losses the session has found */
    unsigned n_losses;                          /* of these, those taken in */
    LULL_VEC(struct lull_missing_place) places; /* those to come by cut_ns, the last one first */
    int64_t next_ns; /* after this time the next one is due; INT64_MAX: there is none */
    /* When the last event came, of a host's CPU, while places are to come. */
    struct lull_cpu_slots cpus; /* → index in last_ns + 1 */
    LULL_VEC(int64_t) last_ns;
};

/* May rewind the session. NULL: nothing is missing. */
void lull_missing_init(struct lull_missing *missing, struct lull_session *session);
void lull_missing_clear(struct lull_missing *missing);

/* What is due before the next event, at time_ns, into *place, one after the other; false: nothing more. next_ns is up to date then. */
bool lull_missing_take(struct lull_missing *missing, int64_t time_ns,
                       struct lull_missing_place *place);
void lull_missing_note_event(struct lull_missing *missing, const struct lull_event *event);

/* Whether something may be due before an event at that time. To be asked before each. */
static inline bool lull_missing_is_due(const struct lull_missing *missing, int64_t time_ns)
{
    return G_UNLIKELY(time_ns > missing->next_ns || *missing->loss_counter != missing->n_losses);
}

/* Notes that an event came: what is missing later starts after it. */
static inline void lull_missing_note(struct lull_missing *missing, const struct lull_event *event)
{
    if (G_UNLIKELY(missing->next_ns != INT64_MAX)) {
        lull_missing_note_event(missing, event);
    }
}

/* Events after this time come after what was lost (machine_lost.c says why). */
int64_t lull_loss_cut(const struct lull_session *session, const struct lull_loss *loss);

#endif
