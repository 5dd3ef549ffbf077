/* SPDX-License-Identifier: MIT */
/* Records a command with one tracer through its contract (src/record/tracer.h), for the tests:
 *
 *   drive [OPTION]... DIR -- COMMAND...
 *     --for PURPOSE  --buffer BYTES  --filtered  --call-chains  --stop-early (while the command
 * still runs)
 *     --snapshot (one to DIR/early while the command runs, one to DIR when it has ended)
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

#include "record/kept.h"
#include "record/tracer.h"

#define SKIPPED 77

struct options {
    struct lull_tracer_request request;
    const char *dir;
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
        if (strcmp(*at, "--filtered") == 0) {
            request->is_filtered = true;
        } else if (strcmp(*at, "--stop-early") == 0) {
            options->stops_early = true;
        } else if (strcmp(*at, "--call-chains") == 0) {
            request->has_call_chains = true;
        } else if (strcmp(*at, "--stacks") == 0) {
            request->has_call_chains = true;
            request->stack_bytes = 8192;
        } else if (strcmp(*at, "--snapshot") == 0) {
            request->is_snapshot = true;
        } else if (strcmp(*at, "--buffer") == 0) {
            request->buffer_bytes = g_ascii_strtoull(*++at, NULL, 10);
        } else if (strcmp(*at, "--for") == 0) {
            g_assert_true(lull_purpose_of(*++at, &request->purpose));
        } else {
            options->dir = *at;
        }
    }
    g_assert_nonnull(*at);
    options->command = at + 1;
    request->epoch_offset_ns = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
}

/* The command waits for a byte from `gate` before it begins. */
static pid_t start(char **command, int *gate)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 1) {
            execvp(command[0], command);
        }
        _exit(127);
    }
    close(ends[0]);
    *gate = ends[1];
    return pid;
}

static void must(bool is_good, GError *error)
{
    if (!is_good) {
        g_error("%s", error->message);
    }
}

/* Lets the command run, or some time pass. */
static void record(const struct options *options, struct kept *kept, struct lull_tracer *tracer,
                   pid_t pid, struct lull_tracer_result *result)
{
    GError *error = NULL;
    int status;
    if (options->stops_early || options->request.is_snapshot) {
        g_usleep(200000);
    }
    if (options->request.is_snapshot) {
        kept_make(kept, options->dir, "early");
        must(tracer->kind->freeze(tracer, &error), error);
        must(tracer->kind->snapshot(tracer, result, &error), error);
        kept_publish(kept);
    }
    if (!options->stops_early) {
        waitpid(pid, &status, 0);
    }
    must(tracer->kind->check(tracer, &error), error);
    if (options->request.is_snapshot) {
        struct lull_tracer_result none;
        kept_make(kept, options->dir, "recording");
        must(tracer->kind->freeze(tracer, &error), error);
        must(tracer->kind->snapshot(tracer, result, &error), error);
        must(tracer->kind->stop(tracer, &none, &error), error);
    } else {
        must(tracer->kind->stop(tracer, result, &error), error);
    }
    if (options->stops_early) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
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
    struct kept kept;
    kept_start(&kept);
    options.request.keeper = &kept.keeper;
    options.request.invoker = &kept.invoker;
    if (!options.request.is_snapshot) {
        kept_make(&kept, options.dir, "recording");
    }
    int gate;
    pid_t pid = start(options.command, &gate);
    struct lull_tracer *tracer = kind->set_up(&options.request, &error);
    must(tracer, error);
    if (options.request.is_filtered) {
        must(kind->follow(tracer, pid, &error), error);
    }
    must(kind->start(tracer, &error), error);
    g_assert_cmpint(write(gate, "", 1), ==, 1);
    struct lull_tracer_result result;
    record(&options, &kept, tracer, pid, &result);
    kind->free(tracer);
    kept_publish(&kept);
    kept_take_out(&kept, kind->files);
    kept_end(&kept);
    printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (int)pid, result.events, result.lost_events,
           result.bytes);
    return 0;
}
