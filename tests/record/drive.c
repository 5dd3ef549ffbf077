/* Records a command with one tracer through its contract (src/record/tracer.h), for the tests:
 *
 *   drive [OPTION]... DIR -- COMMAND...
 *     --for PURPOSE  --buffer BYTES  --filtered  --stop-early (while the command still runs)
 *
 * Prints "PID EVENTS LOST BYTES"; exit 77 with what is missing if the machine does not let it. */
#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/tracer.h"

#define SKIPPED 77

struct options {
    struct lull_tracer_request request;
    char **command;
    bool stops_early;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void parse(struct options *options, char **at)
{
    struct lull_tracer_request *request = &options->request;
    for (; *at && strcmp(*at, "--") != 0; at++) {
        if (strcmp(*at, "--filtered") == 0)
            request->is_filtered = true;
        else if (strcmp(*at, "--stop-early") == 0)
            options->stops_early = true;
        else if (strcmp(*at, "--buffer") == 0)
            request->buffer_bytes = g_ascii_strtoull(*++at, NULL, 10);
        else if (strcmp(*at, "--for") == 0)
            g_assert_true(lull_purpose_of(*++at, &request->purpose));
        else
            request->dir = *at;
    }
    g_assert_nonnull(*at);
    options->command = at + 1;
    request->epoch_offset_ns = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
}

/* The command waits for a byte from `gate` before it begins. */
static pid_t begin(char **command, int *gate)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 1)
            execvp(command[0], command);
        _exit(127);
    }
    close(ends[0]);
    *gate = ends[1];
    return pid;
}

static void must(bool is_good, GError *error)
{
    if (!is_good)
        g_error("%s", error->message);
}

int main(int argc, char **argv)
{
    struct options options = {.stops_early = false};
    parse(&options, argv + 1);
    const struct lull_tracer_kind *kind = &lull_tracer_perf;
    char *missing = kind->missing(&options.request);
    if (missing) {
        puts(missing);
        g_free(missing);
        return SKIPPED;
    }
    GError *error = NULL;
    int gate;
    pid_t pid = begin(options.command, &gate);
    struct lull_tracer *tracer = kind->set_up(&options.request, &error);
    must(tracer, error);
    if (options.request.is_filtered)
        must(kind->follow(tracer, pid, &error), error);
    must(kind->start(tracer, &error), error);
    g_assert_cmpint(write(gate, "", 1), ==, 1);
    int status = 0;
    if (options.stops_early)
        g_usleep(200000);
    else
        waitpid(pid, &status, 0);
    must(kind->check(tracer, &error), error);
    struct lull_tracer_result result;
    must(kind->stop(tracer, &result, &error), error);
    kind->free(tracer);
    if (options.stops_early) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (int)pid, result.events, result.lost_events,
           result.bytes);
    return 0;
}
