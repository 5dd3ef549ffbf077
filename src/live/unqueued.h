/* SPDX-License-Identifier: MIT */
/* Disks whose requests are not queued: a rule about the time in the queue sees hardly anything of them. */
#ifndef LULL_LIVE_UNQUEUED_H
#define LULL_LIVE_UNQUEUED_H

#include "live/rule.h"

/* What a rule about queues does not see, in words; NULL: it sees all that it is about. Free with g_free(). */
char *lull_track_unqueued(const struct lull_track_rule *rule);

#endif
