/* SPDX-License-Identifier: MIT */
/* Asks the model, which counts the switches to idle tasks and from them. */
#include "analysis/hidden_idle.h"

#include "kernel/model.h"
#include "kernel/vocabulary.h"

static bool has_perf(const struct lull_session *session)
{
    bool is_found = false;
    for (uint32_t i = 0; i < lull_session_trace_count(session); i++) {
        is_found |= g_str_has_prefix(lull_session_trace(session, i)->format, "perf.data");
    }
    return is_found;
}

bool *lull_hidden_idle(struct lull_session *session)
{
    if (!has_perf(session)) {
        return NULL;
    }
    struct lull_model *model = lull_model_new(session, LULL_GROUP_SCHED);
    lull_model_run(model, NULL, NULL);
    const uint32_t n_hosts = lull_session_host_count(session);
    bool *hides = g_new0(bool, MAX(n_hosts, 1));
    for (uint32_t i = 0; i < n_hosts; i++) {
        hides[i] = lull_model_hides_idle(model, i);
    }
    lull_model_free(model);
    return hides;
}
