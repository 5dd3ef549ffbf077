/* SPDX-License-Identifier: MIT */
/* Which files a task polls that sleeps in poll(), select() or the like: they are in its memory. */
#ifndef LULL_RECORD_STATE_POLLED_H
#define LULL_RECORD_STATE_POLLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/state/state.h"

/* Memory of a process; false if not all of it is there, or may not be read. */
bool lull_state_read_memory(int32_t pid, uint64_t address, void *to, size_t size);

/* More are not looked at. */
#define LULL_STATE_POLLED_MOST 64

struct lull_state_polled {
    int32_t fd;
    bool is_to_read, is_to_write; /* what it waits for; neither: something else */
};

/* Those of the call in which a task of the process sleeps: how many they are; 0 if the call is none such, or asks for more, or
 * for exceptions (select(2)), or if it is not known. */
size_t lull_state_read_polled(int32_t pid, const struct lull_state_call *call,
                              struct lull_state_polled polled[LULL_STATE_POLLED_MOST]);

#endif
