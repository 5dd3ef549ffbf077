/* SPDX-License-Identifier: MIT */
/* Which container a control group is: the programs that run containers give their groups names of a
 * known form (specification of virtual machines and states, B2). */
#ifndef LULL_KERNEL_CONTAINERS_H
#define LULL_KERNEL_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>

/* What is known of where a task runs. Texts that are not known are "". */
struct lull_container {
    const char *path;    /* of its control group; "": only its pid namespace is known */
    const char *runtime; /* "docker", "podman", "lxc", "systemd" (a service), "pidns", "host", … */
    const char *id;      /* 64 hexadecimal digits, or the name that the runtime uses; "" for host */
    const char *pod;     /* of Kubernetes: "NAMESPACE/POD" if that was recorded, else its UID */
    const char *name;    /* as people know it, never "" */
};

/* What a row of a table is of. */
enum lull_group_by {
    LULL_BY_TASK,
    LULL_BY_CONTAINER,
    LULL_BY_POD,
    LULL_BY_CGROUP,
    LULL_BY_VM,
    LULL_BY_COUNT
};

/* "control group"; NULL: LULL_BY_TASK. */
const char *lull_group_by_name(enum lull_group_by by);

/* A part of a path. */
struct lull_span_text {
    const char *text;
    size_t length;
};

struct lull_group_name {
    const char *runtime;       /* NULL: no container */
    struct lull_span_text id;  /* as it is in the path */
    struct lull_span_text pod; /* UID, with '_' or '-' between its parts; length 0: none */
};

/* Takes the path of a control group apart. A container in a container is the inner one; a service of
 * systemd counts where there is no container. False if neither is there. */
bool lull_group_parse(const char *path, struct lull_group_name *name);

/* Whether a pattern of a list with commas between matches: the name or the path as a shell would
 * match it, or the start of the id, six digits at least. */
bool lull_container_matches(const char *patterns, const struct lull_container *container);

#endif
