/* SPDX-License-Identifier: MIT */
/* Joining the clock of a guest with its host's by containment: a guest records events only while one
 * of its virtual CPUs is entered. That bounds its clock on both sides, several thousand times a
 * second, without a packet, a hypercall or an agent. */
#ifndef LULL_CLOCK_CONTAIN_H
#define LULL_CLOCK_CONTAIN_H

#include "clock/sync.h"

/* Finds which host is the guest of which process of another, and adds to `sync` what that says of
 * their clocks. A pair is accepted only if one offset has nearly all of the guest's events inside, and
 * no other has. Reads the session once if hosts of virtual machines are in it, else not at all. */
void lull_contain(struct lull_session *session, struct lull_sync *sync,
                  void (*progress)(void *user), void *user);

#endif
