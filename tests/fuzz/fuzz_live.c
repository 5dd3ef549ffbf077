/* SPDX-License-Identifier: MIT */
/* Fuzz target: all that a relay answers, from the first byte of the connection to its end. The
 * socket below the protocol (source/live/wire.h) is replaced by one that is fed from memory, and
 * time passes only in its pauses, so that no outcome depends on the machine. */
#include <stdint.h>
#include <string.h>

#include <lull/error.h>
#include <lull/session.h>

#include "filter/filter.h"
#include "source/live/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* So often reading may wait: long enough for metadata to be given up. */
#define WAITS 200

static const uint8_t *answers;
static size_t n_left;
static gint64 now_us;

gint64 g_get_monotonic_time(void)
{
    return now_us;
}

bool live_wire_open(struct live_wire *wire, const struct lull_live_url *url, GError **error)
{
    wire->fd = 0;
    wire->name = g_strdup(url->relay);
    return true;
}

void live_wire_close(struct live_wire *wire)
{
    wire->fd = -1;
    g_clear_pointer(&wire->name, g_free);
}

/* A relay that says everything at once, and does not listen. */
bool live_wire_send(struct live_wire *wire, const void *data, size_t size, GError **error)
{
    return true;
}

bool live_wire_receive(struct live_wire *wire, void *data, size_t size, GError **error)
{
    if (size > n_left) {
        wire->is_broken = true;
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: the relay has gone away", wire->name);
        return false;
    }
    memcpy(data, answers, size);
    answers += size;
    n_left -= size;
    return true;
}

bool live_wire_pause(struct live_wire *wire, int ms)
{
    now_us += 1000 * (gint64)ms;
    if (!wire->is_stopped && wire->wait && !wire->wait(wire->user)) {
        wire->is_stopped = true;
    }
    return !wire->is_stopped;
}

static bool wait_a_while(void *user)
{
    return ++*(unsigned *)user < WAITS;
}

static void ignore_start(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void ignore_end(void *user, enum lull_visit_kind kind)
{
}

static void touch_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    *(uint64_t *)user += value->label ? strlen(value->label) : 0;
}

static void ignore_real(void *user, const char *name, double value)
{
}

static void touch_text(void *user, const char *name, struct lull_text value)
{
    for (uint32_t i = 0; i < value.length; i++) {
        *(uint64_t *)user += (uint8_t)value.data[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lull_visitor visitor = {.start = ignore_start,
                                                .end = ignore_end,
                                                .integer = touch_integer,
                                                .real = ignore_real,
                                                .text = touch_text};
    static const char *const all[] = {"*", NULL};
    unsigned waits = 0;
    uint64_t sum = 0;
    answers = data;
    n_left = size;
    now_us = 1;
    struct lull_session *session = lull_session_new();
    lull_session_on_wait(session, wait_a_while, &waits);
    if (lull_session_add(session, "net://relay/host/machine/test", NULL)) {
        lull_filter_attach(lull_filter_parse("number < 8 || name == \"t*\"", false, NULL), session);
        lull_session_subscribe(session, all, NULL, 0, 0);
        const struct lull_event *event;
        while ((event = lull_session_read(session))) {
            lull_event_visit(event, &visitor, &sum, NULL);
        }
        g_autoptr(GError) error = NULL;
        lull_session_failed(session, &error);
    }
    lull_session_free(session);
    return 0;
}
