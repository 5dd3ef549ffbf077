/* SPDX-License-Identifier: MIT */
/* A thread for each connection; each ends when the other side does nothing for some seconds. Who does not know the key
 * cannot keep others out: a connection finds a place, since it is taken from who has most of them, and needs none when
 * it has shown that it knows the key. */
#include "trigger/set_server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/places.h"
#include "trigger/peer_socket.h"
#include "trigger/tls.h"

/* Those that have lost their place, too, until they have noticed. */
#define MOST_THREADS (2 * SERVER_PLACES)
/* Of those that know the key. */
#define MOST_SERVED 4
#define IDLE_SECONDS 10
#define SET_BYTES 24

struct lull_set_server {
    struct lull_set_question question;
    struct server_places *places;
    int n_threads, n_served; /* atomic */
};

struct client {
    struct lull_set_server *server;
    int socket;
};

struct lull_set_server *lull_set_server_new(const struct lull_set_question *question)
{
    struct lull_set_server *server = g_new0(struct lull_set_server, 1);
    server->question = *question;
    server->places = server_places_new();
    return server;
}

/* The name of the set that it wants. */
static bool read_name(struct lull_tls *tls, char set[static LULL_SET_ID])
{
    size_t n = 0;
    while (n < SET_BYTES) {
        const ssize_t got = lull_tls_read(tls, (uint8_t *)set + n, SET_BYTES - n);
        if (got <= 0) {
            return false;
        }
        n += (size_t)got;
    }
    set[SET_BYTES] = '\0';
    return lull_sets_is_name(set);
}

static bool copy(int in, struct lull_tls *tls)
{
    g_autofree uint8_t *buffer = g_malloc(1 << 14);
    for (;;) {
        const ssize_t n = read(in, buffer, 1 << 14);
        if (n == 0) {
            return true;
        }
        if (n < 0 ? errno != EINTR : !lull_tls_write(tls, buffer, (size_t)n)) {
            return false;
        }
    }
}

static void send_set(const struct lull_set_server *server, struct lull_tls *tls)
{
    char set[LULL_SET_ID];
    int ends[2];
    if (!read_name(tls, set) || pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    server->question.ask(server->question.user, set, ends[1]);
    close(ends[1]);
    if (copy(ends[0], tls)) {
        lull_tls_end(tls);
    }
    close(ends[0]);
}

static gpointer serve(gpointer data)
{
    struct client *client = data;
    struct lull_set_server *server = client->server;
    struct lull_tls *tls = lull_tls_server(client->socket, server->question.keys, NULL);
    server_places_leave(server->places, client);
    if (tls && g_atomic_int_add(&server->n_served, 1) < MOST_SERVED) {
        send_set(server, tls);
    }
    if (tls) {
        g_atomic_int_add(&server->n_served, -1);
        lull_tls_free(tls);
    }
    close(client->socket);
    g_free(client);
    g_atomic_int_add(&server->n_threads, -1);
    return NULL;
}

void lull_set_server_accept(struct lull_set_server *server)
{
    const struct timeval idle = {.tv_sec = IDLE_SECONDS};
    int64_t who;
    const int fd = lull_peer_socket_accept(server->question.config, server->question.socket, &who);
    if (fd < 0) {
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &idle, sizeof idle);
    struct client *client = g_new(struct client, 1);
    *client = (struct client){server, fd};
    GThread *thread = NULL;
    if (g_atomic_int_add(&server->n_threads, 1) < MOST_THREADS) {
        server_places_take(server->places, client, fd, who);
        thread = g_thread_try_new("lull-collect", serve, client, NULL);
    }
    if (thread) {
        g_thread_unref(thread);
        return;
    }
    server_places_leave(server->places, client);
    close(fd);
    g_free(client);
    g_atomic_int_add(&server->n_threads, -1);
}
