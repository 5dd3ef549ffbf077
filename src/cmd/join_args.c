/* SPDX-License-Identifier: MIT */
/* The join of clocks, and the reading for waits, that verbs share. */
#include "cmd/join_args.h"

#include <stdio.h>

#include "analysis/questions.h"
#include "cmd/options.h"
#include "cmd/say.h"

void lull_args_progress(void *progress)
{
    lull_progress_update(progress);
}

void lull_args_join(const struct lull_args *args, struct lull_session *session)
{
    if (lull_args_flag(args, "no-sync")) {
        return;
    }
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "joining clocks", false);
    lull_session_join(session, lull_args_progress, &progress);
    lull_progress_end(&progress);
}

void lull_args_read(const struct lull_args *args, struct lull_session *session,
                    struct lull_waits *waits)
{
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "reading", false);
    lull_waits_read(waits, lull_args_progress, &progress);
    lull_progress_end(&progress);
}

void lull_args_warn_requests(const struct lull_args *args, const struct lull_session *session)
{
    if (!lull_question_can_answer(session, lull_question_find("requests"))) {
        lull_say(
            "lull %s: these traces cannot show requests: neither the headers of packets nor "
            "what sockets sent and received (sock_send_length, tcp_probe) were recorded; 'lull "
            "record' records them\n",
            lull_args_verb(args)->name);
    }
}
