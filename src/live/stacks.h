/* SPDX-License-Identifier: MIT */
/* Which stacks of a wait somebody asks for, in words. */
#ifndef LULL_LIVE_STACKS_H
#define LULL_LIVE_STACKS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Adds the bits of "kernel,waker,user" or some of them (LULL_TRACK_KERNEL_STACK …); false and an error that
 * lists them. */
bool lull_track_stacks_parse(const char *text, uint32_t *stacks, GError **error);

#endif
