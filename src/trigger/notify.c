/* SPDX-License-Identifier: MIT */
/* The one line of sd_notify(3) that is needed, without its library. */
#include "trigger/notify.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void lull_notify_ready(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = g_getenv("NOTIFY_SOCKET");
    const size_t length = path ? strlen(path) : 0;
    if (length == 0 || length >= sizeof address.sun_path || (*path != '/' && *path != '@')) {
        return;
    }
    memcpy(address.sun_path, path, length);
    if (*path == '@') {
        address.sun_path[0] = '\0';
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)!sendto(fd, "READY=1", strlen("READY=1"), MSG_NOSIGNAL,
                      (const struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
        close(fd);
    }
}
