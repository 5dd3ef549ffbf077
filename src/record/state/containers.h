/* SPDX-License-Identifier: MIT */
/* The names that people gave to containers. Control groups only have their ids. */
#ifndef LULL_RECORD_STATE_CONTAINERS_H
#define LULL_RECORD_STATE_CONTAINERS_H

#include "record/state/trace.h"

/* Puts what docker, podman and containerd have in their files below `root` ("" is the machine's own
 * file system). What cannot be read is left out. */
void lull_state_dump_containers(struct lull_state_trace *trace, const char *root);

#endif
