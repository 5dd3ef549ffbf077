/* SPDX-License-Identifier: MIT */
/* take_snapshots TRACER BYTES DIR COMMAND…: records the scheduling of the machine as a flight
 * recorder with a buffer of BYTES; after each shell command it takes a snapshot into DIR/1, DIR/2,
 * … Prints the bytes and lost events of each, one line a snapshot. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/kept.h"
#include "record/tracer.h"

static const struct lull_tracer_kind *find(const char *name)
{
    for (uint32_t i = 0; lull_tracers[i]; i++) {
        if (strcmp(lull_tracers[i]->name, name) == 0) {
            return lull_tracers[i];
        }
    }
    return NULL;
}

static bool take(struct lull_tracer *tracer, struct kept *kept, const char *dir,
                 const char *command, int number, GError **error)
{
    struct lull_tracer_result result;
    g_autofree char *name = g_strdup_printf("%d", number);
    if (system(command) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "“%s” failed", command);
        return false;
    }
    kept_make(kept, dir, name);
    if (!tracer->kind->check(tracer, error) || !tracer->kind->freeze(tracer, error) ||
        !tracer->kind->snapshot(tracer, &result, error)) {
        return false;
    }
    kept_publish(kept);
    printf("%" PRIu64 " %" PRIu64 "\n", result.bytes, result.lost_events);
    return true;
}

static bool run(struct lull_tracer *tracer, struct kept *kept, const char *dir, char **commands,
                GError **error)
{
    struct lull_tracer_result result;
    if (!tracer->kind->start(tracer, error)) {
        return false;
    }
    for (int i = 0; commands[i]; i++) {
        if (!take(tracer, kept, dir, commands[i], i + 1, error)) {
            return false;
        }
    }
    return tracer->kind->stop(tracer, &result, error);
}

int main(int argc, char **argv)
{
    const struct lull_tracer_kind *kind = argc > 4 ? find(argv[1]) : NULL;
    g_autoptr(GError) error = NULL;
    if (!kind) {
        fprintf(stderr, "usage: take_snapshots TRACER BYTES DIR COMMAND…\n");
        return 2;
    }
    struct kept kept;
    kept_start(&kept);
    const struct lull_tracer_request request = {.keeper = &kept.keeper,
                                                .invoker = &kept.invoker,
                                                .purpose = LULL_PURPOSE_SCHED,
                                                .buffer_bytes = g_ascii_strtoull(argv[2], NULL, 10),
                                                .is_snapshot = true};
    struct lull_tracer *tracer = kind->set_up(&request, &error);
    const bool done = tracer && run(tracer, &kept, argv[3], argv + 4, &error);
    kind->free(tracer);
    kept_end(&kept);
    if (!done) {
        fprintf(stderr, "take_snapshots: %s\n", error->message);
    }
    return done ? 0 : 1;
}
