/* SPDX-License-Identifier: MIT */
/* For LD_PRELOAD: the time of day is as many seconds ahead as the first line of the file SET_CLOCK says, from the moment
 * on that it says so; as if somebody had set the clock. CLOCK_MONOTONIC is as it was. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead_s(void)
{
    char text[32] = "";
    const char *path = getenv("SET_CLOCK");
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)!read(fd, text, sizeof text - 1);
        close(fd);
    }
    return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    const int done = (int)syscall(SYS_clock_gettime, id, now);
    if (done == 0 && id == CLOCK_REALTIME) {
        now->tv_sec += ahead_s();
    }
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
