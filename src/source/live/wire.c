/* SPDX-License-Identifier: MIT */
/* The socket below the live protocol. It does not block: all waiting is done here, in slices, so
 * that whoever reads can stop at any time. */
#include "source/live/wire.h"

#include <errno.h>
#include <lull/error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "source/live/resolve.h"

/* A relay answers at once; one that is silent for so long is gone. */
#define TIMEOUT_MS 10000
#define SLICE_MS 100
/* A long answer may take longer, if it comes at least this fast. */
#define SLOWEST_BYTES_PER_S (16 << 10)

static bool G_GNUC_PRINTF(3, 4)
    fail(struct live_wire *wire, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *why = g_strdup_vprintf(format, args);
    va_end(args);
    wire->is_broken = true;
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", wire->name, why);
    return false;
}

static bool may_wait(struct live_wire *wire)
{
    wire->asked_us = g_get_monotonic_time();
    if (!wire->is_stopped && wire->wait && !wire->wait(wire->user)) {
        wire->is_stopped = true;
    }
    return !wire->is_stopped;
}

static void start_clock(struct live_wire *wire)
{
    wire->deadline_us = g_get_monotonic_time() + INT64_C(1000) * wire->timeout_ms;
}

/* Waits until the socket is ready for `events`. */
static bool await(struct live_wire *wire, short events, const char *what, GError **error)
{
    struct pollfd pollfd = {.fd = wire->fd, .events = events};
    /* Most answers are there at once. */
    int ready = poll(&pollfd, 1, 1);
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
        if (!may_wait(wire)) {
            return fail(wire, error, "interrupted");
        }
        if (g_get_monotonic_time() >= wire->deadline_us) {
            return fail(wire, error, "the relay did not %s within %d s", what,
                        wire->timeout_ms / 1000);
        }
        ready = poll(&pollfd, 1, SLICE_MS);
    }
    if (ready < 0) {
        return fail(wire, error, "%s", g_strerror(errno));
    }
    return true;
}

/* ---- connecting ---- */

static bool connect_to(struct live_wire *wire, const struct addrinfo *address, GError **error)
{
    int one = 1, cause = 0;
    socklen_t size = sizeof cause;
    wire->is_broken = false;
    start_clock(wire);
    wire->fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                      address->ai_protocol);
    if (wire->fd < 0) {
        return fail(wire, error, "%s", g_strerror(errno));
    }
    setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(wire->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    if (connect(wire->fd, address->ai_addr, address->ai_addrlen) == 0) {
        return true;
    }
    if (errno != EINPROGRESS) {
        return fail(wire, error, "cannot connect to the relay: %s", g_strerror(errno));
    }
    if (!await(wire, POLLOUT, "accept the connection", error)) {
        return false;
    }
    if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &cause, &size) != 0) {
        cause = errno;
    }
    if (cause != 0) {
        return fail(wire, error, "cannot connect to the relay: %s", g_strerror(cause));
    }
    return true;
}

static bool await_lookup(struct live_wire *wire, struct live_lookup *lookup,
                         struct addrinfo **found, GError **error)
{
    int code;
    start_clock(wire);
    while (!live_lookup_wait(lookup, SLICE_MS, &code, found)) {
        if (!may_wait(wire)) {
            return fail(wire, error, "interrupted");
        }
        if (g_get_monotonic_time() >= wire->deadline_us) {
            return fail(wire, error, "the relay's address cannot be found within %d s",
                        wire->timeout_ms / 1000);
        }
    }
    if (code != 0) {
        return fail(wire, error, "the relay's address cannot be found: %s", gai_strerror(code));
    }
    return true;
}

bool live_wire_open(struct live_wire *wire, const struct lull_live_url *url, GError **error)
{
    struct addrinfo *found;
    wire->fd = -1;
    wire->name = g_strdup(url->relay);
    wire->timeout_ms = TIMEOUT_MS;
    struct live_lookup *lookup = live_lookup_new(url);
    bool done = false;
    if (!await_lookup(wire, lookup, &found, error)) {
        live_lookup_free(lookup);
        return false;
    }
    for (const struct addrinfo *a = found; a && !done && !wire->is_stopped; a = a->ai_next) {
        if (wire->fd >= 0) {
            close(wire->fd);
        }
        g_clear_error(error); /* the last address' reason is reported */
        done = connect_to(wire, a, error);
    }
    live_lookup_free(lookup);
    return done;
}

void live_wire_close(struct live_wire *wire)
{
    if (wire->fd >= 0) {
        close(wire->fd);
    }
    wire->fd = -1;
    g_clear_pointer(&wire->name, g_free);
}

/* ---- bytes ---- */

bool live_wire_send(struct live_wire *wire, const void *data, size_t size, GError **error)
{
    const char *p = data;
    start_clock(wire);
    /* A relay that always answers at once is never waited for. Nothing was sent yet, so whoever
     * stops here can still say goodbye. */
    if (g_get_monotonic_time() - wire->asked_us >= INT64_C(1000) * SLICE_MS && !may_wait(wire)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: interrupted", wire->name);
        return false;
    }
    while (size > 0) {
        ssize_t n = send(wire->fd, p, size, MSG_NOSIGNAL);
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return fail(wire, error, "the connection to the relay broke: %s", g_strerror(errno));
        } else if (!await(wire, POLLOUT, "take a request", error)) {
            return false;
        }
    }
    return true;
}

bool live_wire_receive(struct live_wire *wire, void *data, size_t size, GError **error)
{
    char *p = data;
    while (size > 0) {
        ssize_t n = recv(wire->fd, p, size, 0);
        if (n > 0) {
            p += n;
            size -= (size_t)n;
            wire->deadline_us += n * INT64_C(1000000) / SLOWEST_BYTES_PER_S;
        } else if (n == 0) {
            return fail(wire, error, "the relay closed the connection");
        } else if (errno != EAGAIN && errno != EINTR) {
            return fail(wire, error, "the connection to the relay broke: %s", g_strerror(errno));
        } else if (!await(wire, POLLIN, "answer", error)) {
            return false;
        }
    }
    return true;
}

bool live_wire_pause(struct live_wire *wire, int ms)
{
    while (may_wait(wire) && ms > 0) {
        poll(NULL, 0, MIN(ms, SLICE_MS));
        ms -= SLICE_MS;
    }
    return !wire->is_stopped;
}
