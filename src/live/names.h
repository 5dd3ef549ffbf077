/* SPDX-License-Identifier: MIT */
/* What this machine calls things: addresses of kernel functions, interrupts, disks. Read when first asked
 * for. */
#ifndef LULL_LIVE_NAMES_H
#define LULL_LIVE_NAMES_H

#include "live/records.h"

#include <glib.h>
#include <stdbool.h>

/* By vector; ends with NULL. */
extern const char *const lull_softirq_names[];

struct lull_machine_names;

/* Free with lull_machine_names_free(). */
struct lull_machine_names *lull_machine_names_new(void);
void lull_machine_names_free(struct lull_machine_names *names);

/* The kernel's function at that address; NULL if it is not known, as without CAP_SYSLOG. */
const char *lull_machine_function(struct lull_machine_names *names, uint64_t address);
/* Of `n` frames of the kernel those without the tracer's own, which are innermost; *n is how many are left. */
const uint64_t *lull_machine_own_frames(struct lull_machine_names *names, const uint64_t *frames,
                                        uint32_t *n);
/* The address of a packet or a connection. */
#define LULL_TRACK_ADDRESS 46
void lull_track_address(const struct lull_track_hop *hop, char out[LULL_TRACK_ADDRESS]);
/* The name of a disk, as in /sys/class/block; "" if it is not known. */
#define LULL_TRACK_DISK_NAME_ROOM 256
void lull_track_disk(const struct lull_track_hop *hop, char out[LULL_TRACK_DISK_NAME_ROOM]);
/* The ids that a task has itself, in a container with its own process ids. False if it has no others, or has
 * ended. */
bool lull_machine_own_ids(uint32_t pid, uint32_t tid, uint32_t *own_pid, uint32_t *own_tid);
/* Appends what a hop is, in words: "disk vda (write)", "a packet from 10.9.0.3:5432". Tasks only have a
 * name, which is appended as it came. */
void lull_machine_describe(struct lull_machine_names *names, const struct lull_track_hop *hop,
                           GString *out);
/* The same of a link; of a packet the port that names the service: "a packet from 10.9.0.3:5432", "a
 * packet from 10.9.0.7 to port 80". */
void lull_machine_describe_link(struct lull_machine_names *names,
                                const struct lull_track_link *link, GString *out);

#endif
