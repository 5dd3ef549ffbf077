/* SPDX-License-Identifier: MIT */
/* lull requests: the exchanges on TCP connections, from packets alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/requests.h>

#include "answers/tasks.h"
#include "answers/waits.h"
#include "cmd/join_args.h"
#include "cmd/program_out.h"
#include "cmd/slowest_args.h"
#include "cmd/whom_args.h"
#include "view/table.h"

static const struct lull_column columns[] = {
    {.title = "ID", .key = "id", .type = LULL_COLUMN_NUMBER},
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    {.title = "TID", .key = "tid", .type = LULL_COLUMN_NUMBER, .flags = LULL_COLUMN_DETAIL},
    {.title = "COMM", .key = "comm", .type = LULL_COLUMN_TEXT},
    {.title = "PEER", .key = "peer", .type = LULL_COLUMN_TEXT},
    {.title = "PORT", .key = "port", .type = LULL_COLUMN_NUMBER},
    {.title = "BEGIN", .key = "begin_ns", .type = LULL_COLUMN_TIME},
    {.title = "TOOK", .key = "duration_ns", .type = LULL_COLUMN_DURATION},
    {.title = "BLOCKED",
     .key = "blocked_ns",
     .type = LULL_COLUMN_DURATION,
     .flags = LULL_COLUMN_DETAIL},
    {.title = "SENT", .key = "bytes_sent", .type = LULL_COLUMN_BYTES, .flags = LULL_COLUMN_DETAIL},
    {.title = "RECEIVED",
     .key = "bytes_received",
     .type = LULL_COLUMN_BYTES,
     .flags = LULL_COLUMN_DETAIL},
    {0},
};

static struct lull_table *make_table(const struct lull_session *session, const GPtrArray *rows)
{
    struct lull_table *table = lull_table_new(columns);
    for (guint i = 0; i < rows->len; i++) {
        const struct lull_request *request = rows->pdata[i];
        lull_table_add_row(table);
        lull_table_set_number(table, 0, request->id);
        lull_table_set_text(table, 1, lull_session_host(session, request->host)->name);
        lull_table_set_number(table, 2, request->tid);
        lull_table_set_text(table, 3, request->comm);
        lull_table_set_text(table, 4, request->peer);
        lull_table_set_number(table, 5, request->port);
        lull_table_set_number(table, 6, request->start_ns);
        lull_table_set_number(table, 7, request->end_ns - request->start_ns);
        lull_table_set_number(table, 8, request->blocked_ns);
        lull_table_set_number(table, 9, request->bytes_sent);
        lull_table_set_number(table, 10, request->bytes_received);
    }
    return table;
}

static const struct lull_column unanswered_columns[] = {
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    {.title = "TID", .key = "tid", .type = LULL_COLUMN_NUMBER},
    {.title = "COMM", .key = "comm", .type = LULL_COLUMN_TEXT},
    {.title = "PEER", .key = "peer", .type = LULL_COLUMN_TEXT},
    {.title = "PORT", .key = "port", .type = LULL_COLUMN_NUMBER},
    {.title = "BEGIN", .key = "begin_ns", .type = LULL_COLUMN_TIME},
    {.title = "SO FAR", .key = "duration_ns", .type = LULL_COLUMN_DURATION},
    {.title = "SENT", .key = "bytes_sent", .type = LULL_COLUMN_BYTES, .flags = LULL_COLUMN_DETAIL},
    {0},
};

static struct lull_table *make_unanswered(const struct lull_session *session, const GPtrArray *rows,
                                          int64_t limit)
{
    struct lull_table *table = lull_table_new(unanswered_columns);
    for (guint i = 0; i < rows->len && (limit <= 0 || i < limit); i++) {
        const struct lull_request *request = rows->pdata[i];
        lull_table_add_row(table);
        lull_table_set_text(table, 0, lull_session_host(session, request->host)->name);
        lull_table_set_number(table, 1, request->tid);
        lull_table_set_text(table, 2, request->comm);
        lull_table_set_text(table, 3, request->peer);
        lull_table_set_number(table, 4, request->port);
        lull_table_set_number(table, 5, request->start_ns);
        lull_table_set_number(table, 6, request->end_ns - request->start_ns);
        lull_table_set_number(table, 7, (int64_t)request->bytes_sent);
    }
    return table;
}

static bool print_for_programs(const struct lull_args *args, const struct lull_table *table,
                               const struct lull_table *unanswered, GError **error)
{
    struct lull_program_out out;
    lull_program_out_start(&out, args);
    fputs("{\"version\":1,\"requests\":", out.file);
    bool done = lull_table_print_json(table, out.file, error);
    if (done && lull_args_flag(args, "json")) { /* else one table */
        fputs(",\"unanswered\":", out.file);
        done = lull_table_print_json(unanswered, out.file, error);
    }
    fputs("}\n", out.file);
    return lull_program_out_end(&out, done, error);
}

static bool print_tables(const struct lull_args *args, const struct lull_table *table,
                         const struct lull_table *unanswered, uint32_t total, GError **error)
{
    if (lull_program_out_is_wanted(args)) {
        return print_for_programs(args, table, unanswered, error);
    }
    const bool is_answered = lull_table_row_count(unanswered) == 0;
    struct lull_view_style style;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    style.local_time = lull_args_flag(args, "local");
    if (lull_table_row_count(table) == 0 && total) {
        printf(total == 1 ? "The only request does not match.\n"
                          : "None of the %u requests matches.\n",
               total);
    } else if (lull_table_row_count(table) == 0) {
        printf(is_answered ? "No request was found.\n" : "No request was answered.\n");
    }
    bool done = lull_table_print(table, stdout, &style, error);
    if (done && !is_answered) {
        printf("\nStill without an answer when the trace ends ('lull critpath --tid' says why)\n");
        done = lull_table_print(unanswered, stdout, &style, error);
    }
    return done;
}

static bool read_selection(const struct lull_args *args, struct lull_session *session,
                           struct lull_selection *selection, GError **error)
{
    *selection = lull_args_whom(args);
    selection->port = lull_args_number(args, "port");
    return lull_args_host(args, session, &selection->host, error) &&
           lull_args_range(args, session, &selection->start_ns, &selection->end_ns, error);
}

static int run_session(const struct lull_args *args, struct lull_session *session,
                       const struct lull_slowest *slowest, GError **error)
{
    struct lull_selection selection = LULL_SELECT_ALL;
    const bool is_sorted = lull_args_text(args, "slowest") != NULL;
    const int64_t limit = lull_args_number(args, "limit");
    if (!read_selection(args, session, &selection, error)) {
        return 1;
    }
    struct lull_waits *waits = lull_waits_new(session, LULL_WANT_REQUESTS, error);
    lull_args_read(args, session, waits);
    if (lull_waits_need_calls(waits)) {
        lull_args_read(args, session, waits);
    }
    if (!lull_check_left_tasks(session, waits->model, &selection, error)) {
        lull_waits_free(waits);
        return 1;
    }
    g_autoptr(GPtrArray) rows =
        lull_waits_select_requests(waits, &selection, is_sorted ? G_MAXINT64 : -1);
    const uint32_t n = lull_slowest_of(slowest, rows->len);
    g_ptr_array_set_size(rows, (gint)(limit > 0 ? MIN(n, limit) : n));
    struct lull_table *table = make_table(session, rows);
    g_autoptr(GPtrArray) open = lull_waits_select_unanswered(waits, &selection);
    struct lull_table *unanswered = make_unanswered(session, open, limit);
    if (lull_waits_request_count(waits) == 0 && open->len == 0) {
        lull_args_warn_requests(args, session);
    }
    bool done = print_tables(args, table, unanswered, lull_waits_request_count(waits), error);
    int status = lull_args_report_problems(session) | !done;
    lull_table_free(table);
    lull_table_free(unanswered);
    lull_waits_free(waits);
    return status;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_slowest slowest;
    if (!lull_program_out_check(args, NULL, error) || !lull_args_slowest(args, &slowest, error)) {
        return 2;
    }
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return 1;
    }
    lull_args_join(args, session);
    int status = run_session(args, session, &slowest, error);
    lull_session_free(session);
    return status;
}

static const struct lull_option options[] = {
    LULL_OPTION_SLOWEST("only the N that took longest, the slowest first"),
    {.name = "port",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "only to this port of the server"},
    {.name = NULL},
};

static const char *const common[] = {"intersection",
                                     "begin",
                                     "end",
                                     "timerange",
                                     "local",
                                     "host",
                                     "pid",
                                     "tid",
                                     "comm",
                                     "container",
                                     "filter",
                                     "limit",
                                     "no-sync",
                                     LULL_PROGRAM_OUT_COMMON,
                                     NULL};

static const struct lull_example examples[] = {
    {"lull requests client httpd db", "All requests seen on three machines."},
    {"lull requests --slowest 5 --port 80 client httpd db", "The five slowest to a web server."},
    {"lull critpath --request 17 client httpd db", "What the request with id 17 waited for."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_requests = {
    .name = "requests",
    .summary = "list the requests seen on TCP connections",
    .usage = "TRACE…",
    .description =
        "A request is found from packets alone, or from what sockets report: on a TCP connection "
        "the client sends payload, waits, and has received the last payload of the answer before it sends again. It "
        "starts when the first payload is sent and ends when the client, woken by the last "
        "payload, runs again (or when that payload arrives, if the client was running). The "
        "list has the requests whose client is on a traced host.\n"
        "\n"
        "BLOCKED is the time for which the client's task was blocked meanwhile. Bytes are "
        "payload; what was sent again counts once. LTTng records packets with their headers. ftrace "
        "and perf do not; there, requests need the kernel's events sock_send_length and tcp_probe "
        "(Linux 6.3), and inet_sock_set_state; 'lull record' records them. The same traces give the same ids each time, "
        "whatever the other options; 'lull critpath --request' takes them. With --filter, the "
        "requests are those that the remaining events show.\n"
        "\n"
        "Below, there are the requests of which no answer came, while who sent them still waited in "
        "a call that one could end when the trace ended. They have no id.",
    .output =
        "With --json:\n"
        "\n"
        " {\"version\":1,\"requests\":[{\"id\",\"host\",\"tid\",\"comm\",\"peer\",\"port\",\n"
        "  \"begin_ns\",\"duration_ns\",\"blocked_ns\",\"bytes_sent\",\"bytes_received\"}],\n"
        "  \"unanswered\":[{\"host\",\"tid\",\"comm\",\"peer\",\"port\",\"begin_ns\",\"duration_ns\",\n"
        "  \"bytes_sent\"}]}\n"
        "\n"
        "tid is -1 if no task was seen sending.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
