/* SPDX-License-Identifier: MIT */
/* Requests, found from packets alone: on a TCP connection a client sends payload, waits, and has
 * received the last payload of the answer before it sends again. Only clients on traced hosts are
 * seen.
 *
 * Ownership: all is borrowed from the struct lull_waits that read the traces. */
#ifndef LULL_REQUESTS_H
#define LULL_REQUESTS_H

#include <lull/waits.h>

G_BEGIN_DECLS

/** One request. */
struct lull_request {
    uint32_t id;         /**< 1, 2, … in order of start; the same for the same traces */
    uint32_t host;       /**< of the client, for lull_session_host() */
    uint32_t task;       /**< that sent the first payload, for lull_waits_task(); or LULL_NONE */
    int32_t tid;         /**< its tid; -1: not known */
    const char *comm;    /**< its name at the end; "?": not known */
    const char *peer;    /**< address of the server */
    uint16_t port;       /**< of the server */
    int64_t start_ns;    /**< first payload sent, joined clock */
    int64_t end_ns;      /**< last payload of the answer received: when the client, if it was
                               waiting, ran again */
    int64_t blocked_ns;  /**< of that the client's task was blocked */
    uint64_t bytes_sent; /**< payload, each byte once however often it was sent */
    uint64_t bytes_received; /**< the same of the answer */
    uint32_t flow;           /**< the same number: the same connection */
};

/** All requests in order of their ids: that of index i has the id i + 1. After lull_waits_read()
 * with LULL_WANT_REQUESTS. */
uint32_t lull_waits_request_count(const struct lull_waits *waits);
const struct lull_request *lull_waits_request(const struct lull_waits *waits, uint32_t index);

/** Those of the selection that overlap its time, as const struct lull_request *, in order of their
 * ids; with slowest >= 0 only that many that took longest, the slowest first. The array is the
 * caller's: free it with g_ptr_array_unref(). */
GPtrArray *lull_waits_select_requests(const struct lull_waits *waits,
                                      const struct lull_selection *selection, int64_t slowest);

G_END_DECLS

#endif
