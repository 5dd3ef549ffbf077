/* SPDX-License-Identifier: MIT */
/* A descriptor goes with a message as SCM_RIGHTS. */
#include "trigger/message.h"

#include <string.h>
#include <sys/socket.h>

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool lull_message_send(int socket, const void *message, size_t size, int fd)
{
    union control control = {.head = {.cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS,
                                      .cmsg_len = CMSG_LEN(sizeof fd)}};
    struct iovec part = {(void *)message, size};
    const struct msghdr head = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = fd >= 0 ? &control : NULL,
                                .msg_controllen = fd >= 0 ? sizeof control : 0};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    return sendmsg(socket, &head, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* What comes with it besides is closed by the kernel. */
ssize_t lull_message_receive(int socket, void *message, size_t size, int *fd)
{
    union control control;
    struct iovec part = {message, size};
    struct msghdr head = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = &control,
                          .msg_controllen = CMSG_LEN(sizeof *fd)}; /* one */
    const ssize_t n = recvmsg(socket, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *passed = n > 0 ? CMSG_FIRSTHDR(&head) : NULL;
    *fd = -1;
    if (passed && passed->cmsg_level == SOL_SOCKET && passed->cmsg_type == SCM_RIGHTS &&
        passed->cmsg_len == CMSG_LEN(sizeof *fd)) {
        memcpy(fd, CMSG_DATA(passed), sizeof *fd);
    }
    return n;
}
