/* SPDX-License-Identifier: MIT */
/* Who holds the connections of a server, and who has to go: connections here are socket pairs, and of whom they are is
 * made up; but for the last test, in which the kernel says it. */
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/places.h"

#define NOBODY 65534

struct line {
    int here, there;
};

static void take(struct server_places *places, struct line *line, int64_t user)
{
    int pair[2];
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
    *line = (struct line){pair[0], pair[1]};
    server_places_take(places, line, line->here, user);
}

/* The other end is told. */
static bool has_lost(const struct line *line)
{
    struct pollfd is_over = {.fd = line->there, .events = POLLIN};
    return poll(&is_over, 1, 0) == 1;
}

static void leave(struct server_places *places, struct line *lines, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        server_places_leave(places, &lines[i]);
        close(lines[i].here);
        close(lines[i].there);
    }
    server_places_free(places);
}

/* One user may have all places. The next one takes the oldest of them, and is not itself in danger. */
static void test_greedy(void)
{
    struct server_places *places = server_places_new();
    struct line lines[2 * SERVER_PLACES + 1];
    for (unsigned i = 0; i < SERVER_PLACES; i++) {
        take(places, &lines[i], 7);
    }
    for (unsigned i = 0; i < SERVER_PLACES; i++) {
        g_assert_false(has_lost(&lines[i]));
    }
    take(places, &lines[SERVER_PLACES], 8);
    for (unsigned i = SERVER_PLACES + 1; i < G_N_ELEMENTS(lines); i++) {
        take(places, &lines[i], 7);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_assert_cmpint(has_lost(&lines[i]), ==, i <= SERVER_PLACES + 1 && i != SERVER_PLACES);
    }
    leave(places, lines, G_N_ELEMENTS(lines));
}

/* Of two who have as many, it is the one that wants one more; the oldest of all if each has one. */
static void test_even(void)
{
    struct server_places *places = server_places_new();
    struct line lines[SERVER_PLACES + 1];
    for (unsigned i = 0; i < SERVER_PLACES; i++) {
        take(places, &lines[i], i % 2);
    }
    take(places, &lines[SERVER_PLACES], 1);
    for (unsigned i = 0; i <= SERVER_PLACES; i++) {
        g_assert_cmpint(has_lost(&lines[i]), ==, i == 1);
    }
    leave(places, lines, G_N_ELEMENTS(lines));
    places = server_places_new();
    for (unsigned i = 0; i <= SERVER_PLACES; i++) {
        take(places, &lines[i], i);
    }
    for (unsigned i = 0; i <= SERVER_PLACES; i++) {
        g_assert_cmpint(has_lost(&lines[i]), ==, i == 0);
    }
    leave(places, lines, G_N_ELEMENTS(lines));
}

/* A place that somebody left is free. */
static void test_leave(void)
{
    struct server_places *places = server_places_new();
    struct line lines[SERVER_PLACES + 1];
    for (unsigned i = 0; i < SERVER_PLACES; i++) {
        take(places, &lines[i], 7);
    }
    server_places_leave(places, &lines[5]);
    server_places_leave(places, &lines[SERVER_PLACES]); /* never had one */
    take(places, &lines[SERVER_PLACES], 7);
    for (unsigned i = 0; i <= SERVER_PLACES; i++) {
        g_assert_false(has_lost(&lines[i]));
    }
    leave(places, lines, G_N_ELEMENTS(lines));
}

/* A child of that user, with a connection to the port. */
static pid_t connect_as(uid_t user, const struct sockaddr_in *to)
{
    const pid_t pid = fork();
    if (pid == 0) {
        const int fd = setresuid(user, user, user) == 0 ? socket(AF_INET, SOCK_STREAM, 0) : -1;
        if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof *to) == 0) {
            pause();
        }
        _exit(1);
    }
    g_assert_cmpint(pid, >, 0);
    return pid;
}

static void test_user(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in other;
    socklen_t size = sizeof own;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const uid_t user = geteuid() == 0 ? NOBODY : geteuid();
    g_assert_cmpint(bind(listener, (struct sockaddr *)&own, sizeof own), ==, 0);
    g_assert_cmpint(listen(listener, 1), ==, 0);
    g_assert_cmpint(getsockname(listener, (struct sockaddr *)&own, &size), ==, 0);
    const pid_t child = connect_as(user, &own);
    const int fd = accept(listener, (struct sockaddr *)&other, &size);
    g_assert_cmpint(fd, >=, 0);
    const int64_t found = server_places_user(&other, &own);
    g_assert_cmpint(kill(child, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
    if (found == SERVER_NOBODY_KNOWN) {
        g_test_skip("the kernel does not report its connections (CONFIG_INET_DIAG)");
    } else {
        g_assert_cmpint(found, ==, user);
    }
    /* Who has closed it is nobody any more: not root, as which the kernel knows such sockets. */
    g_assert_cmpint(server_places_user(&other, &own), ==, SERVER_NOBODY_KNOWN);
    other.sin_port = htons(1); /* which nobody has */
    g_assert_cmpint(server_places_user(&other, &own), ==, SERVER_NOBODY_KNOWN);
    close(fd);
    close(listener);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/places/greedy", test_greedy);
    g_test_add_func("/places/even", test_even);
    g_test_add_func("/places/leave", test_leave);
    g_test_add_func("/places/user", test_user);
    return g_test_run();
}
