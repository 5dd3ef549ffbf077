/* SPDX-License-Identifier: MIT */
#include "base/sock_diag.h"

#include <errno.h>
#include <glib.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel puts at most so much into an answer. */
#define ROOM ((size_t)1 << 16)

struct opening {
    int space, fd, error;
    void (*prepare)(void);
};

static void open_here(struct opening *opening)
{
    opening->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    opening->error = errno;
}

/* In a thread of its own, which never has to come back. */
static gpointer open_there(gpointer user)
{
    struct opening *opening = user;
    if (opening->prepare) {
        opening->prepare();
    }
    if (setns(opening->space, CLONE_NEWNET) == 0) {
        open_here(opening);
    } else {
        opening->error = errno;
    }
    return NULL;
}

int lull_sock_diag_open(int space, void (*prepare)(void))
{
    struct opening opening = {space, -1, EAGAIN, prepare};
    GThread *thread =
        space >= 0 ? g_thread_try_new("lull-netns", open_there, &opening, NULL) : NULL;
    if (thread) {
        g_thread_join(thread);
    } else if (space < 0) {
        open_here(&opening);
    }
    errno = opening.error;
    return opening.fd;
}

/* Sets *is_over at the end of the list, or if no more is wanted. */
static bool take_answer(int fd, lull_sock_diag_take *each, void *user, struct nlmsghdr *room,
                        bool *is_over)
{
    const ssize_t n = recv(fd, room, ROOM, 0);
    size_t left = n > 0 ? (size_t)n : 0;
    if (n < 0) {
        return errno == EINTR;
    }
    for (const struct nlmsghdr *head = room; NLMSG_OK(head, left) && !*is_over;
         head = NLMSG_NEXT(head, left)) {
        if (head->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *why = NLMSG_DATA(head);
            errno = NLMSG_PAYLOAD(head, 0) >= (int)sizeof *why ? -why->error : EIO;
            return false;
        }
        *is_over = head->nlmsg_type == NLMSG_DONE || !each(user, head);
    }
    return true;
}

bool lull_sock_diag_list(int fd, const void *request, size_t size, lull_sock_diag_take *each,
                         void *user)
{
    struct {
        struct nlmsghdr head;
        uint8_t request[64];
    } message = {.head = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    g_autofree struct nlmsghdr *room = g_malloc(ROOM);
    bool is_over = false;
    g_return_val_if_fail(size <= sizeof message.request, false);
    memcpy(message.request, request, size);
    bool done = sendto(fd, &message, message.head.nlmsg_len, 0, (const struct sockaddr *)&kernel,
                       sizeof kernel) >= 0;
    while (done && !is_over) {
        done = take_answer(fd, each, user, room, &is_over);
    }
    return done;
}

struct in6_addr lull_sock_diag_address(uint8_t family, const uint32_t words[4])
{
    struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    const bool is_4 = family == AF_INET;
    memcpy(address.s6_addr + (is_4 ? 12 : 0), words, is_4 ? 4 : 16);
    return address;
}
