/* SPDX-License-Identifier: MIT */
/* Prints each call chain of a trace's samples, and with --waits of its waits: a line with time (ns), tid and
 * number of frames, then a line for each frame, innermost first: file, offset, function, offset in it. For
 * comparisons with what others say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/model.h"
#include "kernel/vocabulary.h"

static void print_chain(struct lull_model *model, int64_t t, uint32_t task, uint32_t chain)
{
    uint32_t n;
    const struct lull_frame *frames = lull_model_frames(model, chain, &n);
    printf("%" PRId64 " %d %u\n", t, lull_model_task(model, task)->tid, n);
    for (uint32_t i = 0; i < n; i++) {
        printf("%s\t%" PRIx64 "\t%s\t%" PRIx64 "\n", frames[i].object ? frames[i].object : "-",
               frames[i].offset, frames[i].symbol ? frames[i].symbol : "-",
               frames[i].symbol_offset);
    }
}

static void on_sample(void *user, const struct lull_sample_fact *fact)
{
    print_chain(user, fact->time_ns, fact->task, fact->chain);
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    if (fact->chain != LULL_NONE) {
        print_chain(user, fact->start_ns, fact->task, fact->chain);
    }
}

int main(int argc, char **argv)
{
    const bool is_waits = argc > 2 && strcmp(argv[1], "--waits") == 0;
    const struct lull_facts facts = {.sample = is_waits ? NULL : on_sample,
                                     .state = is_waits ? on_state : NULL};
    struct lull_session *session = lull_session_new();
    GError *error = NULL;
    if (argc < 2 || !lull_session_add(session, argv[argc - 1], &error)) {
        fprintf(stderr, "%s\n", error ? error->message : "dump_chains [--waits] TRACE");
        return 1;
    }
    struct lull_model *model = lull_model_new(session, LULL_GROUP_SAMPLES | LULL_GROUP_SCHED |
                                                           LULL_GROUP_STACKS | LULL_GROUP_STATE);
    lull_model_subscribe(model, &facts, model);
    lull_model_run(model, NULL, NULL);
    const struct lull_stack_ends ends = lull_model_stack_ends(model);
    fprintf(stderr,
            "unwound %" PRIu64 " whole %" PRIu64 " short %" PRIu64 " unknown %" PRIu64 " %s\n",
            ends.n, ends.n_whole, ends.n_short, ends.n_unknown, ends.file ? ends.file : "-");
    lull_model_free(model);
    lull_session_free(session);
    return 0;
}
