/* SPDX-License-Identifier: MIT */
/* Messages to systemd. */
#ifndef LULL_TRIGGER_NOTIFY_H
#define LULL_TRIGGER_NOTIFY_H

/* The daemon is ready, which systemd waits for if it started it. */
void lull_notify_ready(void);

#endif
