/* SPDX-License-Identifier: MIT */
/* Called before there are threads. */
#include "trigger/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/capability.h"
#include "base/file.h"

void lull_process_ignore_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        signal(signals[i], SIG_IGN);
    }
}

void lull_process_keep_only(int *descriptors[], size_t n)
{
    int first = STDERR_FILENO + 1;
    for (size_t i = 0; i < n; i++) {
        *descriptors[i] = *descriptors[i] >= 0 ? fcntl(*descriptors[i], F_DUPFD_CLOEXEC, 64) : -1;
    }
    for (size_t i = 0; i < n; i++) {
        *descriptors[i] = *descriptors[i] >= 0 ? dup3(*descriptors[i], first++, O_CLOEXEC) : -1;
    }
    syscall(SYS_close_range, (unsigned)first, ~0u, 0u);
}

bool lull_process_keep_rights(const uint8_t *capabilities, size_t n)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct words[2];
    uint32_t mask[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        mask[capabilities[i] / 32] |= UINT32_C(1) << capabilities[i] % 32;
    }
    if (syscall(SYS_capget, &header, words) != 0) {
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        words[i].permitted &= mask[i];
        words[i].effective = words[i].permitted;
        words[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, words) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

int lull_process_text(const char *text, size_t size, GError **error)
{
    const int fd = memfd_create("lulld.conf", MFD_CLOEXEC);
    const int why = fd < 0 ? errno : lull_file_write(fd, text, size);
    if (why == 0) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "the configuration cannot be passed on: %s",
                g_strerror(why));
    return -1;
}
