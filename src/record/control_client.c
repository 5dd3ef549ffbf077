/* SPDX-License-Identifier: MIT */
/* The other side of a recorder's socket: finds the recorder and sends it the request. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/control_private.h"

/* A recorder that answers. */
struct found {
    int socket; /* -1: none yet */
    struct timespec since;
    bool is_denied; /* there are some of others */
};

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static void consider(struct found *found, DIR *root, const char *name, uid_t uid)
{
    struct stat st;
    int fd = lull_control_connect(dirfd(root), name, uid, &st);
    if (fd < 0) {
        found->is_denied |= errno == EACCES || errno == EPERM;
        return;
    }
    if (found->socket >= 0 && !is_later(&st.st_ctim, &found->since)) {
        close(fd);
        return;
    }
    if (found->socket >= 0) {
        close(found->socket);
    }
    found->socket = fd;
    found->since = st.st_ctim;
}

/* Of another user anything may be there. */
static void search(struct found *found, uid_t uid, pid_t wanted)
{
    g_autofree char *path = lull_control_root(uid);
    DIR *root = lull_control_open_root(path, uid);
    const struct dirent *entry;
    while (root && (entry = readdir(root))) {
        pid_t pid;
        if (lull_control_is_name(entry->d_name, &pid) && (wanted == 0 || pid == wanted)) {
            consider(found, root, entry->d_name, uid);
        }
    }
    if (root) {
        closedir(root);
    }
}

/* Recorders of root, of the caller, and, under sudo, of the user who called that. */
static int find(pid_t pid, GError **error)
{
    struct found found = {.socket = -1};
    struct lull_invoker invoker;
    if (!lull_invoker_init(&invoker, error)) {
        return -1;
    }
    search(&found, 0, pid);
    if (geteuid() != 0) {
        search(&found, geteuid(), pid);
    }
    if (invoker.is_other) {
        search(&found, invoker.uid, pid);
    }
    lull_invoker_clear(&invoker);
    if (found.socket >= 0) {
        return found.socket;
    }
    if (found.is_denied) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "the recorder belongs to another user; take the snapshot with sudo");
    } else if (pid != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "no recorder with process id %d keeps events in memory", (int)pid);
    } else {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "no recorder that keeps events in memory is running; 'lull record "
                            "--snapshot' starts one");
    }
    return -1;
}

static bool send_request(int fd, const char *output)
{
    g_autofree char *path = output ? g_canonicalize_filename(output, NULL) : g_strdup("");
    g_autofree char *message = g_strdup_printf("%c%s", LULL_CONTROL_REQUEST, path);
    size_t size = strlen(message);
    ssize_t n;
    if (size > LULL_CONTROL_MOST_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    while ((n = send(fd, message, size, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    return n == (ssize_t)size;
}

/* The path, or NULL and why not. */
static char *receive(int fd, GError **error)
{
    char text[LULL_CONTROL_MOST_BYTES + 1];
    ssize_t n;
    while ((n = recv(fd, text, LULL_CONTROL_MOST_BYTES, 0)) < 0 && errno == EINTR) {
    }
    text[MAX(n, 0)] = '\0';
    if (n > 0 && text[0] == LULL_CONTROL_IS_DONE) {
        return g_strdup(text + 1);
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "no snapshot: %s",
                n > 0    ? text + 1
                : n == 0 ? "the recorder ended"
                         : g_strerror(errno));
    return NULL;
}

char *lull_control_snapshot(pid_t pid, const char *output, GError **error)
{
    char *path = NULL;
    int fd = find(pid, error);
    if (fd < 0) {
        return NULL;
    }
    if (send_request(fd, output)) {
        path = receive(fd, error);
    } else {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot reach the recorder: %s",
                    g_strerror(errno));
    }
    close(fd);
    return path;
}
