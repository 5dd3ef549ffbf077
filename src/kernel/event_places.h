/* SPDX-License-Identifier: MIT */
/* In which function of which file programs were when events happened: for events that say an address
 * (LTTng's context ip, samples of perf). What lies where may be recorded after such events, so the
 * session is read once before they are shown. */
#ifndef LULL_KERNEL_EVENT_PLACES_H
#define LULL_KERNEL_EVENT_PLACES_H

#include <lull/session.h>

#include "symbol/lines.h"

/* Texts belong to the struct lull_event_places. */
struct lull_event_place {
    const char *object;   /* path of the file, or what the memory is called; never NULL */
    uint64_t offset;      /* in it, of the address that was recorded */
    const char *function; /* NULL: not known */
    struct lull_source_line source;
};

struct lull_event_places;

/* Reads the session with its limits, and forgets its subscriptions. `progress` may be NULL. Free with
 * lull_event_places_free(), before the session. */
struct lull_event_places *lull_event_places_new(struct lull_session *session,
                                                void (*progress)(void *user), void *user);
void lull_event_places_free(struct lull_event_places *places);

/* Whether any event said where it happened. */
bool lull_event_places_any(const struct lull_event_places *places);

/* What lay at the address of a process (-1: not known, for addresses of the kernel) at `time_ns`, when an event said
 * so; if nothing was known to lie there then, what was the next to. NULL: nothing. Files are read for names now; the
 * place is that of `places`. */
const struct lull_event_place *lull_event_places_find(struct lull_event_places *places,
                                                      uint32_t host, int32_t pid, uint64_t address,
                                                      int64_t time_ns);

#endif
