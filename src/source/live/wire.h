/* SPDX-License-Identifier: MIT */
/* A connection to a relay: bytes out, bytes in, never longer than a relay may take, and interrupted
 * when the reader wants to stop. */
#ifndef LULL_SOURCE_LIVE_WIRE_H
#define LULL_SOURCE_LIVE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "source/live/url.h"

struct live_wire {
    int fd;
    char *name; /* for messages */
    int timeout_ms;
    int64_t deadline_us; /* monotonic: what is waited for now must be done by then */
    int64_t asked_us;    /* when `wait` was called last */
    /* Called before waiting and ten times a second, however busy the relay is; false: stop. May be
     * NULL. */
    bool (*wait)(void *user);
    void *user;
    bool is_stopped; /* the wait said so: calls fail, and it is nobody's fault */
    bool is_broken;  /* a call failed: requests and replies may no longer match */
};

/* Connects. On failure false with an error, unless is_stopped. */
bool live_wire_open(struct live_wire *wire, const struct lull_live_url *url, GError **error);
void live_wire_close(struct live_wire *wire);

/* Sends a request and starts the time in which it must be answered. */
bool live_wire_send(struct live_wire *wire, const void *data, size_t size, GError **error);
/* Receives exactly `size` bytes of the answer. */
bool live_wire_receive(struct live_wire *wire, void *data, size_t size, GError **error);
/* Lets time pass; false if stopped. */
bool live_wire_pause(struct live_wire *wire, int ms);

#endif
