/* SPDX-License-Identifier: MIT */
/* The recorder's end: sends requests, and checks the replies. */
#include "record/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/keeper_private.h"

/* Descriptions of events, of each CPU's buffer, recording.json: some hundred kilobytes. */
#define RESERVE_NAME "reserve.part"
#define RESERVE_BYTES (1 << 20)

/* ---- messages ---- */

bool lull_keeper_send(int socket, const void *message, size_t size, int fd)
{
    struct iovec part = {(void *)message, size};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        all.msg_control = &control;
        all.msg_controllen = sizeof control;
    }
    ssize_t n;
    while ((n = sendmsg(socket, &all, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    return n == (ssize_t)size;
}

ssize_t lull_keeper_receive(int socket, void *message, size_t most, int *fd)
{
    struct iovec part = {message, most};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr all = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t n;
    while ((n = recvmsg(socket, &all, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    const struct cmsghdr *header = n >= 0 ? CMSG_FIRSTHDR(&all) : NULL;
    *fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof *fd)) {
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    }
    if (n >= 0 && (all.msg_flags & MSG_TRUNC) != 0) {
        errno = EMSGSIZE;
        return -1;
    }
    return n;
}

struct answer {
    struct lull_keeper_answer head;
    char text[LULL_KEEPER_MOST_BYTES + 1];
} __attribute__((packed));

static bool fail(GError **error, int why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "the helper process that writes the recording for you %s",
                why == 0 ? "has ended" : g_strerror(why));
    return false;
}

/* Takes the answer; *fd is -1 if it comes without a descriptor. */
static bool receive(const struct lull_keeper *keeper, struct answer *answer, int *fd,
                    GError **error)
{
    const ssize_t n = lull_keeper_receive(keeper->socket, answer, sizeof *answer - 1, fd);
    if (n < (ssize_t)sizeof answer->head) {
        return fail(error, n < 0 && errno != ECONNRESET ? errno : 0);
    }
    answer->text[(size_t)n - sizeof answer->head] = '\0';
    if (answer->head.error >= 0) {
        g_set_error_literal(error, LULL_ERROR, answer->head.error, answer->text);
    }
    return answer->head.error < 0;
}

/* A descriptor that nobody requested is closed. */
static bool call(const struct lull_keeper *keeper, enum lull_keeper_request request,
                 const char *first, const char *second, struct answer *answer, int *fd,
                 GError **error)
{
    g_autoptr(GByteArray) message = g_byte_array_new();
    const uint8_t kind = (uint8_t)request;
    int given = -1;
    g_byte_array_append(message, &kind, 1);
    g_byte_array_append(message, (const guint8 *)first, (guint)strlen(first) + 1);
    g_byte_array_append(message, (const guint8 *)second, (guint)strlen(second) + 1);
    if (message->len > LULL_KEEPER_MOST_BYTES) {
        return fail(error, ENAMETOOLONG);
    }
    if (!lull_keeper_send(keeper->socket, message->data, message->len, -1)) {
        return fail(error, errno == EPIPE ? 0 : errno);
    }
    const bool is_done = receive(keeper, answer, &given, error);
    if (fd && is_done) {
        *fd = given;
    } else if (given >= 0) {
        close(given);
    }
    return is_done;
}

static bool call_simply(const struct lull_keeper *keeper, enum lull_keeper_request request,
                        const char *first, const char *second, GError **error)
{
    struct answer answer;
    return call(keeper, request, first, second, &answer, NULL, error);
}

/* ---- from its start to its end ---- */

bool lull_keeper_meet(struct lull_keeper *keeper, GError **error)
{
    struct answer answer;
    int fd;
    const bool is_there = receive(keeper, &answer, &fd, error);
    if (fd >= 0) {
        close(fd);
    }
    return is_there;
}

void lull_keeper_leave(struct lull_keeper *keeper)
{
    if (keeper->socket >= 0) {
        close(keeper->socket);
    }
    if (keeper->reserve >= 0) {
        close(keeper->reserve);
    }
    keeper->socket = keeper->reserve = -1;
}

/* ---- requests ---- */

/* An empty text is none. */
bool lull_keeper_make(struct lull_keeper *keeper, const char *output, const char *command,
                      GError **error)
{
    struct answer answer;
    g_clear_pointer(&keeper->path, g_free);
    g_clear_pointer(&keeper->part, g_free);
    if (output && !*output) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "the directory of a recording needs a name");
        return false;
    }
    if (!call(keeper, LULL_KEEPER_MAKE, output ? output : "", command ? command : "", &answer, NULL,
              error)) {
        return false;
    }
    keeper->path = g_strdup(answer.text);
    keeper->part = g_strconcat(answer.text, ".part", NULL);
    return true;
}

/* Whatever the keeper may be made to give: root writes to nothing but new, empty files. */
static bool is_new_file(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
           st.st_nlink <= 1;
}

static int create(const struct lull_keeper *keeper, enum lull_keeper_request request,
                  const char *name, GError **error)
{
    struct answer answer;
    int fd = -1;
    if (!call(keeper, request, name, "", &answer, &fd, error)) {
        return -1;
    }
    if (!is_new_file(fd)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "“%s” in “%s” is not a new file", name,
                    keeper->part);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

int lull_keeper_create(const struct lull_keeper *keeper, const char *name, GError **error)
{
    return create(keeper, LULL_KEEPER_CREATE, name, error);
}

int lull_keeper_create_unnamed(const struct lull_keeper *keeper, const char *name, GError **error)
{
    return create(keeper, LULL_KEEPER_CREATE_UNNAMED, name, error);
}

bool lull_keeper_create_directory(const struct lull_keeper *keeper, const char *name,
                                  GError **error)
{
    return call_simply(keeper, LULL_KEEPER_CREATE_DIRECTORY, name, "", error);
}

bool lull_keeper_expect(const struct lull_keeper *keeper, const char *pattern, GError **error)
{
    return call_simply(keeper, LULL_KEEPER_EXPECT, pattern, "", error);
}

bool lull_keeper_lift(const struct lull_keeper *keeper, const char *prefix, const char *name,
                      GError **error)
{
    return call_simply(keeper, LULL_KEEPER_LIFT, prefix, name, error);
}

static bool save(const struct lull_keeper *keeper, enum lull_keeper_request request,
                 const char *path, uint64_t number, int64_t time_ns, bool wants_frames,
                 bool *is_full, GError **error)
{
    struct answer answer;
    char which[64];
    g_snprintf(which, sizeof which, "%" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %d", number,
               time_ns, wants_frames);
    const bool is_done = call(keeper, request, path, which, &answer, NULL, error);
    *is_full = is_done && answer.head.number != 0;
    return is_done;
}

bool lull_keeper_save_symbols(const struct lull_keeper *keeper, const char *path, uint64_t inode,
                              int64_t mapped_ns, bool wants_frames, bool *is_full, GError **error)
{
    return save(keeper, LULL_KEEPER_SAVE_SYMBOLS, path, inode, mapped_ns, wants_frames, is_full,
                error);
}

bool lull_keeper_save_map(const struct lull_keeper *keeper, int pid, int64_t since_ns,
                          bool *is_full, GError **error)
{
    return save(keeper, LULL_KEEPER_SAVE_MAP, "", (uint64_t)pid, since_ns, false, is_full, error);
}

bool lull_keeper_save_jitdump(const struct lull_keeper *keeper, const char *path, uint64_t inode,
                              GError **error)
{
    bool is_full;
    return save(keeper, LULL_KEEPER_SAVE_JITDUMP, path, inode, 0, false, &is_full, error);
}

bool lull_keeper_measure(const struct lull_keeper *keeper, const char *name, uint64_t *bytes,
                         GError **error)
{
    struct answer answer;
    const bool is_done = call(keeper, LULL_KEEPER_MEASURE, name, "", &answer, NULL, error);
    *bytes = is_done ? answer.head.number : 0;
    return is_done;
}

bool lull_keeper_has_room(const struct lull_keeper *keeper, GError **error)
{
    return call_simply(keeper, LULL_KEEPER_HAS_ROOM, "", "", error);
}

uint64_t lull_keeper_find_left(const struct lull_keeper *keeper, char **first)
{
    struct answer answer;
    const bool is_done = call(keeper, LULL_KEEPER_FIND_LEFT, "", "", &answer, NULL, NULL);
    const bool is_any = is_done && answer.head.number > 0;
    *first = is_any ? g_strdup(answer.text) : NULL;
    return is_any ? answer.head.number : 0;
}

bool lull_keeper_reserve(struct lull_keeper *keeper, GError **error)
{
    keeper->reserve = lull_keeper_create_unnamed(keeper, RESERVE_NAME, error);
    if (keeper->reserve < 0) {
        return false;
    }
    const int why = posix_fallocate(keeper->reserve, 0, RESERVE_BYTES);
    if (why != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "there is no room for a recording in “%s”: %s", keeper->part, g_strerror(why));
    }
    return why == 0;
}

void lull_keeper_release(const struct lull_keeper *keeper)
{
    if (keeper->reserve >= 0) {
        (void)!ftruncate(keeper->reserve, 0);
    }
}

const char *lull_keeper_path_for_daemon(const struct lull_keeper *keeper, GError **error)
{
    return call_simply(keeper, LULL_KEEPER_PATH_FOR_DAEMON, "", "", error) ? keeper->part : NULL;
}

bool lull_keeper_publish(const struct lull_keeper *keeper, GError **error)
{
    return call_simply(keeper, LULL_KEEPER_PUBLISH, "", "", error);
}

void lull_keeper_clear(const struct lull_keeper *keeper)
{
    if (keeper->socket >= 0) {
        call_simply(keeper, LULL_KEEPER_CLEAR, "", "", NULL);
    }
}

void lull_keeper_remember(const struct lull_keeper *keeper)
{
    if (keeper->socket >= 0) {
        call_simply(keeper, LULL_KEEPER_REMEMBER, keeper->path, "", NULL);
    }
}
