/* SPDX-License-Identifier: MIT */
/* The recorder's side of its socket. A request is one message: the path of the snapshot, or
 * nothing. The answer is one message too: a letter, and the path or the reason. */
#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/tree.h"
#include "record/control_private.h"

/* Of files that a tracer made in the directory of a recorder. */
#define DEPTH 4

static bool fail(const char *path, int why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot listen for 'lull snapshot' at “%s”: %s",
                path, g_strerror(why));
    return false;
}

/* ---- where ---- */

char *lull_control_root(uid_t uid)
{
    const char *given = g_getenv("XDG_RUNTIME_DIR");
    g_autofree char *usual = g_strdup_printf("/run/user/%u", (unsigned)uid);
    if (uid == 0) {
        return g_strdup("/run/lull");
    }
    if (uid == geteuid() && given && g_path_is_absolute(given)) {
        return g_build_filename(given, "lull", NULL);
    }
    if (g_file_test(usual, G_FILE_TEST_IS_DIR)) {
        return g_build_filename(usual, "lull", NULL);
    }
    return g_strdup_printf("/tmp/lull-%u", (unsigned)uid);
}

DIR *lull_control_open_root(const char *path, uid_t uid)
{
    struct stat st;
    const int fd = lull_tree_open(AT_FDCWD, path);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == uid && (st.st_mode & 022) == 0) {
        return fdopendir(fd);
    }
    if (fd >= 0) {
        close(fd);
        errno = EPERM;
    }
    return NULL;
}

/* A path of a socket would be followed again, links too: this leads to the one that was looked at.
 */
static bool connect_to(int fd, int file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file);
    return connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

/* Who listens there is that user. */
static bool is_of(int fd, uid_t uid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return false;
    }
    errno = EPERM;
    return peer.uid == uid;
}

int lull_control_connect(int root, const char *name, uid_t uid, struct stat *st)
{
    int fd = -1, why = ENOTSOCK;
    const int dir = lull_tree_open(root, name);
    const int file =
        dir >= 0 ? openat(dir, LULL_CONTROL_SOCKET, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (file < 0 || fstat(file, st) != 0) {
        why = errno;
    } else if (S_ISSOCK(st->st_mode)) {
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd >= 0 && (!connect_to(fd, file) || !is_of(fd, uid))) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if ((i == 0 ? file : dir) >= 0) {
            close(i == 0 ? file : dir);
        }
    }
    errno = why;
    return fd;
}

bool lull_control_is_name(const char *name, pid_t *pid)
{
    guint64 number;
    if (!g_ascii_string_to_unsigned(name, 10, 1, INT32_MAX, &number, NULL)) {
        return false;
    }
    *pid = (pid_t)number;
    return true;
}

/* ---- opening ---- */

/* Nobody listens at the socket of a recorder that was killed. One that is just being made has none
 * yet, but its process lives. */
static void remove_left(DIR *root)
{
    const struct dirent *entry;
    while ((entry = readdir(root))) {
        struct stat st;
        pid_t pid;
        g_autofree char *process = g_strdup_printf("/proc/%s", entry->d_name);
        if (!lull_control_is_name(entry->d_name, &pid)) {
            continue;
        }
        int fd = lull_control_connect(dirfd(root), entry->d_name, geteuid(), &st);
        if (fd >= 0) {
            close(fd);
        } else if (errno == ECONNREFUSED ||
                   (errno == ENOENT && !g_file_test(process, G_FILE_TEST_EXISTS))) {
            lull_tree_remove_at(dirfd(root), entry->d_name, DEPTH);
        }
    }
}

static bool make_directory(struct lull_control *control, GError **error)
{
    g_autofree char *path = lull_control_root(geteuid());
    g_autofree char *name = g_strdup_printf("%d", (int)getpid());
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        return fail(path, errno, error);
    }
    DIR *root = lull_control_open_root(path, geteuid());
    if (!root) {
        return fail(path, errno, error);
    }
    remove_left(root);
    g_autofree char *dir = g_build_filename(path, name, NULL);
    bool is_made = mkdirat(dirfd(root), name, 0755) == 0;
    if (is_made) {
        control->dir = g_strdup(dir);
        is_made = fchmodat(dirfd(root), name, 0755, 0) == 0;
    }
    int why = errno;
    closedir(root);
    return is_made || fail(dir, why, error);
}

/* It appears under its name when it listens, and from the start nobody else may use it. */
static bool listen_at(struct lull_control *control, const char *path, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_autofree char *early = g_strconcat(path, ".new", NULL);
    if (g_strlcpy(address.sun_path, early, sizeof address.sun_path) >= sizeof address.sun_path) {
        return fail(path, ENAMETOOLONG, error);
    }
    control->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(0177);
    bool is_ok = control->socket >= 0 &&
                 bind(control->socket, (const struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    umask(before);
    if (!is_ok) {
        return fail(path, why, error);
    }
    if ((control->invoker->is_other &&
         lchown(early, control->invoker->uid, control->invoker->gid) != 0) ||
        listen(control->socket, 8) != 0 || rename(early, path) != 0) {
        return fail(path, errno, error);
    }
    return true;
}

bool lull_control_open(struct lull_control *control, const struct lull_invoker *invoker,
                       GError **error)
{
    *control = (struct lull_control){.socket = -1, .invoker = invoker};
    if (!make_directory(control, error)) {
        return false;
    }
    g_autofree char *path = g_build_filename(control->dir, LULL_CONTROL_SOCKET, NULL);
    return listen_at(control, path, error);
}

void lull_control_clear(struct lull_control *control)
{
    if (control->dir) {
        g_autofree char *root = g_path_get_dirname(control->dir);
        lull_tree_remove(control->dir, DEPTH);
        rmdir(root); /* the last one */
    }
    if (control->socket >= 0) {
        close(control->socket);
    }
    g_clear_pointer(&control->dir, g_free);
    control->socket = -1;
}

/* ---- requests ---- */

static bool send_all(int fd, char letter, const char *text)
{
    g_autofree char *message = g_strdup_printf("%c%s", letter, text);
    size_t size = MIN(strlen(message), LULL_CONTROL_MOST_BYTES);
    ssize_t n;
    while ((n = send(fd, message, size, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    return n == (ssize_t)size;
}

static bool is_allowed(const struct lull_control *control,
                       const struct lull_control_request *request)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(request->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return false;
    }
    return peer.uid == 0 || peer.uid == geteuid() || peer.uid == control->invoker->uid;
}

/* Who has connected and says nothing does not hold the recorder up for long. */
static bool receive(struct lull_control_request *request)
{
    static const struct timeval patience = {.tv_sec = 1};
    char text[LULL_CONTROL_MOST_BYTES + 1];
    ssize_t n;
    setsockopt(request->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(request->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while ((n = recv(request->socket, text, sizeof text, 0)) < 0 && errno == EINTR) {
    }
    if (n < 1 || (size_t)n == sizeof text || text[0] != LULL_CONTROL_REQUEST ||
        memchr(text, '\0', (size_t)n)) {
        return false;
    }
    text[n] = '\0';
    request->output = n > 1 ? g_strdup(text + 1) : NULL;
    return !request->output || g_path_is_absolute(request->output);
}

bool lull_control_take(const struct lull_control *control, struct lull_control_request *request)
{
    *request =
        (struct lull_control_request){.socket = accept4(control->socket, NULL, NULL, SOCK_CLOEXEC)};
    if (request->socket < 0) {
        return false;
    }
    if (!is_allowed(control, request)) {
        send_all(request->socket, LULL_CONTROL_FAILS, "this recorder belongs to another user");
    } else if (receive(request)) {
        return true;
    }
    g_clear_pointer(&request->output, g_free);
    close(request->socket);
    return false;
}

void lull_control_answer(struct lull_control_request *request, const char *path,
                         const GError *error)
{
    if (path) {
        send_all(request->socket, LULL_CONTROL_IS_DONE, path);
    } else {
        send_all(request->socket, LULL_CONTROL_FAILS, error->message);
    }
    close(request->socket);
    g_clear_pointer(&request->output, g_free);
}
