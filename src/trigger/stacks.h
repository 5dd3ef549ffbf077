/* SPDX-License-Identifier: MIT */
/* The stacks of what was too slow, as its snapshot names them. */
#ifndef LULL_TRIGGER_STACKS_H
#define LULL_TRIGGER_STACKS_H

#include <lull/recording.h>

#include "live/alarm.h"
#include "live/names.h"
#include "live/user_names.h"

/* Has `trigger` name those that `wanted` has the bits of (LULL_TRACK_KERNEL_STACK …); undone with
 * lull_trigger_stacks_clear(). Functions of the kernel have names. Of programs there are only files and offsets:
 * the daemon, which is root, reads no file that may be anybody's. */
void lull_trigger_stacks_add(struct lull_recording_trigger *trigger,
                             const struct lull_track_alarm *alarm, uint32_t wanted,
                             struct lull_machine_names *names, struct lull_user_names *user_names);
void lull_trigger_stacks_clear(struct lull_recording_trigger *trigger);

#endif
