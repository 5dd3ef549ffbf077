/* SPDX-License-Identifier: MIT */
/* The directory of the snapshots: it may hold so much, and the oldest have to go. */
#ifndef LULL_TRIGGER_SETS_H
#define LULL_TRIGGER_SETS_H

#include "trigger/config.h"

/* "20261122-140211-7f3a9c01" and a NUL. */
#define LULL_SET_ID 32

/* Makes the directory if it is not there. False and an error if it is not one that only this user can
 * change. */
bool lull_sets_prepare(const char *directory, GError **error);
/* A name that nobody can guess, and that starts with the time of day. */
void lull_sets_name(int64_t epoch_ns, char id[static LULL_SET_ID]);
/* Whether lull_sets_name() makes such names. */
bool lull_sets_is_name(const char *name);
/* Removes the sets that were written first, as long as all together are larger than the configuration allows or too
 * little of the disk is free. `kept` (or NULL) has been written just now and stays; from then on it is the latest, even
 * if the clock was set back since others were written. False and an error if the disk is too full even so. */
bool lull_sets_make_room(const struct lull_trigger_config *config, const char *kept,
                         uint32_t *n_removed, GError **error);

#endif
