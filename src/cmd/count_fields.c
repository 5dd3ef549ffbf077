/* SPDX-License-Identifier: MIT */
/* lull print --count-fields: decodes every field of every event and prints how many there were, and
 * a checksum of their values. For comparing readers, their speed, and copies of a trace. */
#include "cmd/count_fields.h"

#include <inttypes.h>
#include <stdio.h>

#include "cmd/join_args.h"

/* What --count-fields cannot be combined with: everything is decoded. */
static bool check_options(const struct lull_args *args, GError **error)
{
    static const char *const texts[] = {"events", "tid", "pid", "comm", "container", "filter"};
    const char *wrong = lull_args_number(args, "limit") >= 0 ? "limit" : NULL;
    for (uint32_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (lull_args_text(args, texts[i])) {
            wrong = texts[i];
        }
    }
    if (wrong) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--count-fields decodes every event: give it without --%s", wrong);
    }
    return !wrong;
}

int lull_count_fields(const struct lull_args *args, struct lull_session *session, GError **error)
{
    if (!check_options(args, error)) {
        return 2;
    }
    const bool has_range = lull_args_text(args, "begin") || lull_args_text(args, "end") ||
                           lull_args_text(args, "timerange");
    /* Only a range of time depends on how the clocks are joined. */
    if (has_range && lull_session_host_count(session) > 1) {
        lull_args_join(args, session);
    }
    if (!lull_args_apply(args, session, error)) {
        return 1;
    }
    struct lull_decoded decoded;
    lull_session_decode_all(session, &decoded);
    if (lull_args_flag(args, "json")) {
        printf("{\"events\": %" PRIu64 ", \"fields\": %" PRIu64 ", \"checksum\": %" PRIu64 "}\n",
               decoded.events, decoded.fields, decoded.checksum);
    } else {
        printf("%" PRIu64 " events, %" PRIu64 " fields, checksum %016" PRIx64 "\n", decoded.events,
               decoded.fields, decoded.checksum);
    }
    return lull_args_report_problems(session);
}
