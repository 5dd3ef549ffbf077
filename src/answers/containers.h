/* SPDX-License-Identifier: MIT */
/* The containers of a recording, without reading all of it. */
#ifndef LULL_ANSWERS_CONTAINERS_H
#define LULL_ANSWERS_CONTAINERS_H

#include <lull/session.h>

/* Containers, pods and services in which tasks were as the recording of their host started. */
struct lull_container_note {
    uint32_t host;
    char *name, *runtime, *id, *pod, *cgroup; /* "": not known, or there is none */
    uint32_t tasks;
};

/* struct lull_container_note, which the array owns, in the order in which they were recorded; empty if
 * the traces do not say. Reads the session, without filter, and leaves it without subscriptions. */
GPtrArray *lull_containers_list(struct lull_session *session);

#endif
