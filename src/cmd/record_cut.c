/* SPDX-License-Identifier: MIT */
/* Reads the recording for it, as the user to whom it belongs: programs and that user may have put anything into its
 * directory, which root's rights must not read. */
#include "cmd/record_cut.h"

#include <inttypes.h>

#include "analysis/cut_stacks.h"
#include "cmd/say.h"
#include "source/session/symbols.h"

/* So much of a recording is looked through for it. */
#define LOOKED_BYTES (UINT64_C(32) << 20)
/* Fewer of 100 chains end early by chance. */
#define LEAST_CUT_PERCENT 10

/* The names of the first of them. */
static char *list_names(const GPtrArray *names)
{
    enum { MOST = 3 };
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < names->len && i < MOST; i++) {
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (const char *)names->pdata[i]);
    }
    if (names->len > MOST) {
        g_string_append_printf(text, " and %u more", names->len - MOST);
    }
    return g_string_free(text, FALSE);
}

static void report(void *user)
{
    const struct lull_recorder *recorder = user;
    const struct lull_recording *recording = lull_recorder_result(recorder);
    const char *const paths[] = {lull_recorder_path(recorder)};
    struct lull_session *session = lull_session_new();
    if (!lull_session_add_all(session, paths, 1, NULL)) {
        lull_session_free(session);
        return;
    }
    const double share = (double)LOOKED_BYTES / (double)MAX(recording->result.bytes, LOOKED_BYTES);
    struct lull_cut_stacks *cut = lull_cut_stacks_find(
        session, recording->result.bytes > LOOKED_BYTES
                     ? recording->start_ns +
                           (int64_t)(share * (double)(recording->end_ns - recording->start_ns))
                     : INT64_MAX);
    if (cut->n_cut > 0 && cut->n_cut * 100 >= cut->n * LEAST_CUT_PERCENT) {
        g_autofree char *programs = list_names(cut->programs);
        g_autofree char *files = list_names(cut->files);
        lull_say("lull: %.0f %% of the %" PRIu64
                 " call chains of programs%s lack their outer calls "
                 "(of %s; they end in %s): code without frame pointers; --call-graph=dwarf records "
                 "what does without\n",
                 100.0 * (double)cut->n_cut / (double)cut->n, cut->n,
                 share < 1 ? " that were looked at" : "", programs, files);
    }
    lull_cut_stacks_free(cut);
    lull_session_free(session);
}

void lull_record_report_cut(const struct lull_recorder *recorder,
                            const struct lull_record_question *question)
{
    if (question->has_call_chains && question->stack_bytes == 0) {
        lull_recorder_do_as_invoker(recorder, report, (void *)recorder);
    }
}
