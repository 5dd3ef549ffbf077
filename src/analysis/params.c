/* SPDX-License-Identifier: MIT */
/* Which of the facts are requested, and the cells that all analyses make alike. */
#include <string.h>

#include "analysis/analysis.h"

bool lull_params_choose_task(const struct lull_question_params *params,
                             const struct lull_model *model, uint32_t task, int64_t time_ns)
{
    if (task == LULL_NONE) {
        return !lull_params_name_tasks(params);
    }
    const struct lull_task *known = lull_model_task(model, task);
    if ((params->host >= 0 && known->host != (uint32_t)params->host) ||
        !lull_numbers_have(params->tids, known->tid) ||
        !lull_numbers_have(params->pids, known->pid)) {
        return false;
    }
    return (!params->comms ||
            lull_comm_matches(params->comms, lull_model_comm(model, task, time_ns))) &&
           (!params->containers ||
            lull_container_matches(params->containers, lull_model_container(model, task)));
}

int64_t lull_params_part_since(const struct lull_question_params *params,
                               const struct lull_model *model, uint32_t task, int64_t since_ns,
                               int64_t until_ns)
{
    return params->comms && task != LULL_NONE && until_ns > since_ns
               ? MAX(since_ns, lull_model_comm_since(model, task, until_ns - 1))
               : since_ns;
}

void lull_note_count(struct lull_sink *sink, uint64_t count, const char *one, const char *many)
{
    if (count) {
        g_autofree char *text =
            g_strdup_printf("%" G_GUINT64_FORMAT " %s", count, count == 1 ? one : many);
        sink->note(sink, text);
    }
}

uint64_t lull_params_listed(const struct lull_question_params *params, uint64_t n, const char *what,
                            struct lull_sink *sink)
{
    if (params->list_limit == 0 || n <= params->list_limit) {
        return n;
    }
    g_autofree char *note = g_strdup_printf("limit %u: %" G_GUINT64_FORMAT " more %s are not shown",
                                            params->list_limit, n - params->list_limit, what);
    sink->note(sink, note);
    return params->list_limit;
}

struct lull_cell lull_cell_task(const struct lull_model *model, uint32_t task, int64_t time_ns,
                                bool with_pid)
{
    if (task == LULL_NONE) {
        return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    }
    const struct lull_task *known = lull_model_task(model, task);
    struct lull_cell cell = lull_cell_integer(LULL_CELL_PROCESS, 0);
    const char *comm = lull_model_comm(model, task, time_ns);
    cell.text = strcmp(comm, "?") == 0 ? NULL : comm;
    cell.tid = known->tid;
    cell.pid = with_pid ? known->pid : -1;
    return cell;
}

struct lull_cell lull_cell_host_of(const struct lull_analysis *analysis, uint32_t host)
{
    const struct lull_session *session = analysis->session;
    return lull_cell_text(LULL_CELL_HOST, session && host < lull_session_host_count(session)
                                              ? lull_session_host(session, host)->name
                                              : NULL);
}
