/* SPDX-License-Identifier: MIT */
/* What a session did not record: losses of its streams, and gaps between the recordings of a host. */
#include "source/session/missing.h"

#include <stdlib.h>

#include "source/session/streams.h"

int64_t lull_loss_cut(const struct lull_session *session, const struct lull_loss *loss)
{
    if (!loss->events) {
        return loss->start_ns; /* a missing packet leaves a hole */
    }
    /* Discarded events may be missing up to the event at the end, which comes after them; after the last packet none does. */
    const bool is_last = loss->end_ns == lull_session_stream(session, loss->stream).end_ns;
    return is_last ? loss->end_ns : MAX(loss->start_ns, loss->end_ns - 1);
}

void lull_missing_init(struct lull_missing *missing, struct lull_session *session)
{
    static const unsigned none;
    *missing =
        (struct lull_missing){.session = session,
                              .loss_counter = session ? lull_session_loss_counter(session) : &none,
                              .next_ns = INT64_MAX};
    if (!session) {
        return;
    }
    struct lull_gaps gaps;
    lull_session_find_gaps(session, NULL, &gaps);
    for (size_t i = gaps.all.count; i-- > 0;) {
        const struct lull_gap *gap = &gaps.all.items[i];
        lull_vec_push(&missing->places, ((struct lull_missing_place){gap->start_ns, gap->start_ns,
                                                                     gap->host, -1, true}));
    }
    lull_vec_free(&gaps.all);
}

void lull_missing_clear(struct lull_missing *missing)
{
    lull_cpu_slots_free(&missing->cpus);
    lull_vec_free(&missing->last_ns);
    lull_vec_free(&missing->places);
}

static int last_first(const void *a, const void *b)
{
    const struct lull_missing_place *x = a, *y = b;
    return x->cut_ns < y->cut_ns ? 1 : x->cut_ns > y->cut_ns ? -1 : 0;
}

/* Behind all that are due later: those that are found while events are read are due soon. */
static void keep(struct lull_missing *missing, struct lull_missing_place place)
{
    size_t i = missing->places.count;
    lull_vec_push(&missing->places, place);
    for (; i > 0 && missing->places.items[i - 1].cut_ns < place.cut_ns; i--) {
        missing->places.items[i] = missing->places.items[i - 1];
    }
    missing->places.items[i] = place;
}

/* Takes in what the session has found since. */
static void learn(struct lull_missing *missing)
{
    const bool is_first = missing->n_losses == 0 && *missing->loss_counter > 0;
    while (missing->n_losses < *missing->loss_counter) {
        const struct lull_loss loss =
            lull_session_found_loss(missing->session, missing->n_losses++);
        const struct lull_missing_place place = {
            loss.start_ns, lull_loss_cut(missing->session, &loss), loss.host,
            lull_session_stream(missing->session, loss.stream).cpu, !loss.events};
        if (is_first) {
            lull_vec_push(&missing->places, place);
        } else {
            keep(missing, place);
        }
    }
    if (is_first) {
        qsort(missing->places.items, missing->places.count, sizeof *missing->places.items,
              last_first);
    }
    const size_t n = missing->places.count;
    missing->next_ns = n ? missing->places.items[n - 1].cut_ns : INT64_MAX;
}

void lull_missing_note_event(struct lull_missing *missing, const struct lull_event *event)
{
    uint32_t *slot = lull_cpu_slots_at(&missing->cpus, event->host, event->cpu);
    if (!slot) {
        return;
    }
    if (*slot == 0) {
        lull_vec_push(&missing->last_ns, event->time_ns);
        *slot = (uint32_t)missing->last_ns.count;
    }
    missing->last_ns.items[*slot - 1] = event->time_ns;
}

bool lull_missing_take(struct lull_missing *missing, int64_t time_ns,
                       struct lull_missing_place *place)
{
    learn(missing);
    if (missing->next_ns >= time_ns) {
        return false;
    }
    *place = lull_vec_pop(&missing->places);
    const uint32_t *slot = lull_cpu_slots_at(&missing->cpus, place->host, place->cpu);
    if (!place->is_exact && slot && *slot) {
        place->start_ns = MAX(place->start_ns, missing->last_ns.items[*slot - 1]);
    }
    learn(missing);
    return true;
}
