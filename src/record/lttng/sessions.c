/* SPDX-License-Identifier: MIT */
/* Recording sessions that belong to recorders. A session is machine-wide and outlives who made it,
 * so its name identifies its owner: a process id alone would do so only until another process gets
 * it, so the name also holds the time when the process started, and the pid namespace in which both
 * are true. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/lttng/lttng.h"

#define PREFIX "lull-"

struct owner {
    int pid;
    uint64_t start; /* in ticks of the clock since the machine's start */
    uint64_t namespace;
};

/* Fields of /proc/PID/stat after the name, which may hold anything (proc(5)). */
enum { FIELD_STATE = 0, FIELD_START = 19 };

/* 0: it cannot be known. */
static uint64_t own_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* False if it cannot be read; *start of a process that has ended and was not waited for is 0. */
static bool read_start(int pid, uint64_t *start)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *text = NULL;
    const char *end = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL)) {
        end = strrchr(text, ')');
    }
    g_auto(GStrv) fields = end && end[1] ? g_strsplit(end + 2, " ", FIELD_START + 2) : NULL;
    if (!fields || g_strv_length(fields) <= FIELD_START) {
        return false;
    }
    const bool has_ended = fields[FIELD_STATE][0] == 'Z' || fields[FIELD_STATE][0] == 'X';
    *start = has_ended ? 0 : g_ascii_strtoull(fields[FIELD_START], NULL, 10);
    return true;
}

char *lull_lttng_session_name(void)
{
    uint64_t start = 0;
    read_start(getpid(), &start);
    return g_strdup_printf(PREFIX "%d-%" PRIu64 "-%" PRIu64, (int)getpid(), start, own_namespace());
}

static bool parse(const char *session, struct owner *owner)
{
    int length = 0;
    return sscanf(session, PREFIX "%d-%" SCNu64 "-%" SCNu64 "%n", &owner->pid, &owner->start,
                  &owner->namespace, &length) == 3 &&
           owner->pid > 0 && session[length] == '\0';
}

bool lull_lttng_is_left(const char *session)
{
    struct owner owner;
    uint64_t start;
    if (!parse(session, &owner) || owner.namespace == 0 || owner.namespace != own_namespace()) {
        return false;
    }
    if (read_start(owner.pid, &start)) {
        return start != owner.start;
    }
    /* Others' processes may be hidden in /proc. */
    return kill(owner.pid, 0) != 0 && errno == ESRCH;
}

uint32_t lull_lttng_clean_up(void)
{
    struct lttng_session *sessions = NULL;
    const int n = lull_lttng_is_alive() ? lttng_ctl.lttng_list_sessions(&sessions) : 0;
    uint32_t removed = 0;
    for (int i = 0; i < n; i++) {
        removed += lull_lttng_is_left(sessions[i].name) &&
                   lttng_ctl.lttng_destroy_session(sessions[i].name) == 0;
    }
    free(sessions);
    return removed;
}

void lull_lttng_remove(const char *session)
{
    struct owner owner;
    if (parse(session, &owner) && lull_lttng_is_alive()) {
        lttng_ctl.lttng_destroy_session(session);
    }
}
