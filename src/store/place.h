/* SPDX-License-Identifier: MIT */
/* Where the store of some traces lies, and what it must have been made of. */
#ifndef LULL_STORE_PLACE_H
#define LULL_STORE_PLACE_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

struct lull_store_place {
    char *path; /* in the cache directory: of the traces' paths, how they are joined, and states */
    uint8_t key[32]; /* of the files too: size, time of change and inode of each */
};

struct lull_states;

/* `is_joined`: their clocks are. `states`: what users declare, or NULL. False and an error if a trace is
 * not there. */
bool lull_store_place_find(const char *const *traces, uint32_t count, bool is_joined,
                           const struct lull_states *states, struct lull_store_place *place,
                           GError **error);
/* Makes the directory for it, for the user alone. */
bool lull_store_place_make(const struct lull_store_place *place, GError **error);
void lull_store_place_clear(struct lull_store_place *place);

#endif
