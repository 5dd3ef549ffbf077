/* SPDX-License-Identifier: MIT */
/* From the command line to a session: opens the traces, and turns --host, --cpu, --begin, --end and
 * --timerange into what the reader is limited to. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cmd/calls_args.h"
#include "cmd/progress.h"
#include "cmd/say.h"
#include "cmd/verb.h"
#include "filter/filter.h"
#include "period/period.h"
#include "source/live/url.h"
#include "source/session/streams.h"
#include "source/session/symbols.h"
#include "source/session/unpacking.h"
#include "symbol/debuginfod.h"

/* What --filter says, or NULL. */
static bool parse_filter(const struct lull_args *args, struct lull_filter **filter, GError **error)
{
    const char *text = lull_args_text(args, "filter");
    *filter = text ? lull_filter_parse(text, lull_args_flag(args, "local"), error) : NULL;
    return *filter || !text;
}

const char *lull_args_live(const struct lull_args *args)
{
    uint32_t count;
    const char *const *paths = lull_args_rest(args, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (lull_live_url_is(paths[i])) {
            return paths[i];
        }
    }
    return NULL;
}

static bool check_path_maps(const char *const *maps, GError **error)
{
    for (; maps && *maps; maps++) {
        const char *equals = strchr(*maps, '=');
        if (**maps != '/' || !equals || equals[1] == '\0') {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--path-map: “%s” is not OLD=NEW with an absolute path as OLD, such as "
                        "/build/app=/home/me/app",
                        *maps);
            return false;
        }
    }
    return true;
}

/* Options of verbs that name functions. A file of --symbols is not for the session, and only some verbs take one. */
static bool set_symbols(const struct lull_args *args, struct lull_session *session, GError **error)
{
    const char *path = lull_args_takes(args, "symbols") ? lull_args_text(args, "symbols") : NULL;
    struct lull_symbol_wishes wishes = {
        .directory = path && g_file_test(path, G_FILE_TEST_IS_DIR) ? path : NULL,
        .path_maps = lull_args_takes(args, "path-map") ? lull_args_texts(args, "path-map") : NULL,
        .wants_raw = lull_args_takes(args, "raw-names") && lull_args_flag(args, "raw-names"),
        .wants_servers = lull_args_takes(args, "debuginfod") && lull_args_flag(args, "debuginfod"),
        .wants_inlined = lull_args_takes(args, "inlines") && lull_args_flag(args, "inlines"),
    };
    lull_session_set_symbols(session, &wishes);
    if (!check_path_maps(wishes.path_maps, error) ||
        (wishes.wants_servers && !lull_debuginfod_check(error))) {
        return false;
    }
    if (path && !wishes.directory && !lull_args_takes_symbols_file(args)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "--symbols: %s is not a directory; name one with copies of programs and "
                    "libraries",
                    path);
        return false;
    }
    return true;
}

struct lull_session *lull_args_new_session(const struct lull_args *args, GError **error)
{
    uint32_t count;
    lull_args_rest(args, &count);
    if (count == 0) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_USAGE,
            "no trace given, and no recording of yours was found: name a trace, or record "
            "one (sudo lull record COMMAND)");
        return NULL;
    }
    struct lull_filter *filter;
    if (!parse_filter(args, &filter, error)) {
        return NULL;
    }
    const int64_t threads = lull_args_number(args, "threads");
    struct lull_session *session = lull_session_new();
    lull_session_set_threads(session, (uint32_t)CLAMP(threads, 0, 1024));
    if (filter) {
        lull_filter_attach(filter, session);
    }
    if (!set_symbols(args, session, error)) {
        lull_session_free(session);
        return NULL;
    }
    return session;
}

static void on_unpacking(void *user, const char *path, uint64_t done, uint64_t size)
{
    lull_progress_bytes(user, done, size);
}

static void print_warnings(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (uint32_t i = 0; lines[i] && *lines[i]; i++) {
        lull_say("lull: %s\n", lines[i]);
    }
}

/* What --filter names must be there; it is parsed once more, as the session owns the first. */
static bool check_filter(const struct lull_args *args, const struct lull_session *session,
                         GError **error)
{
    struct lull_filter *filter;
    if (lull_args_live(args) || !parse_filter(args, &filter, error) || !filter) {
        return lull_args_live(args) || !lull_args_text(args, "filter");
    }
    g_autoptr(GString) warnings = g_string_new(NULL);
    const bool done = lull_filter_check(filter, session, warnings, error);
    print_warnings(done ? warnings->str : "");
    lull_filter_free(filter);
    return done;
}

bool lull_args_check_periods(const struct lull_args *args, const struct lull_session *session,
                             const struct lull_periods *periods, GError **error)
{
    g_autoptr(GString) warnings = g_string_new(NULL);
    if (!periods || lull_args_is_dropin(args)) {
        return true; /* what the peer takes is taken */
    }
    const bool done = lull_periods_check(periods, session, warnings, error);
    print_warnings(done ? warnings->str : "");
    return done;
}

bool lull_args_add_traces(const struct lull_args *args, struct lull_session *session,
                          GError **error)
{
    uint32_t count;
    const char *const *paths = lull_args_rest(args, &count);
    struct lull_progress progress;
    lull_progress_start(&progress, args, NULL, "unpacking", false);
    lull_session_watch_unpacking(session, on_unpacking, &progress);
    bool added = lull_session_add_all(session, paths, count, error);
    lull_session_watch_unpacking(session, NULL, NULL);
    lull_progress_end(&progress);
    return added && check_filter(args, session, error) &&
           (!lull_args_flag(args, "intersection") || lull_session_intersect(session, error));
}

struct lull_session *lull_args_open_traces(const struct lull_args *args, GError **error)
{
    const char *live = lull_args_live(args);
    if (live) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s: a live session can be read only once, as it arrives, and this verb needs "
                    "more; 'lull print' follows it",
                    live);
        return NULL;
    }
    struct lull_session *session = lull_args_new_session(args, error);
    if (session && !lull_args_add_traces(args, session, error)) {
        g_clear_pointer(&session, lull_session_free);
    }
    return session;
}

bool lull_args_host(const struct lull_args *args, const struct lull_session *session, int32_t *host,
                    GError **error)
{
    const char *name = lull_args_text(args, "host");
    *host = -1;
    if (!name) {
        return true;
    }
    g_autoptr(GString) known = g_string_new(NULL);
    for (uint32_t i = 0; i < lull_session_host_count(session); i++) {
        const char *host_name = lull_session_host(session, i)->name;
        if (strcmp(host_name, name) == 0) {
            *host = (int32_t)i;
            return true;
        }
        g_string_append_printf(known, "%s%s", i ? ", " : "", host_name);
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "there is no host “%s” in these traces, only: %s", name, known->str);
    return false;
}

/* One time of the command line; an empty text leaves *time_ns as it is. */
static bool parse_time(const struct lull_args *args, const char *option, const char *text,
                       int64_t base_ns, int64_t *time_ns, GError **error)
{
    char digits[LULL_TIME_TEXT_SIZE];
    if (!text || !text[0]) {
        return true;
    }
    if (lull_args_is_dropin(args) && strlen(text) < 14 && text[strspn(text, "0123456789")] == 0) {
        g_snprintf(digits, sizeof digits, "%0*d%s", (int)(20 - strlen(text)), 0, text);
        text = digits; /* many digits are nanoseconds */
    }
    if (!lull_time_parse(text, base_ns, lull_args_flag(args, "local"), time_ns, error)) {
        g_prefix_error(error, "--%s: ", option);
        return false;
    }
    /* Times further away select the same events, and is not to be computed with. */
    *time_ns = CLAMP(*time_ns, LULL_TIME_MIN, LULL_TIME_MAX + 1);
    return true;
}

/* "A,B" or, as in lttng-analyses, "[A, B]". */
static bool parse_timerange(const struct lull_args *args, const char *given, int64_t base_ns,
                            int64_t *start_ns, int64_t *end_ns, GError **error)
{
    g_autofree char *inner = g_strdup(given);
    g_strstrip(inner);
    const size_t length = strlen(inner);
    const bool has_brackets = length > 1 && inner[0] == '[' && inner[length - 1] == ']';
    if (has_brackets) {
        inner[length - 1] = '\0';
    }
    const char *text = inner + has_brackets;
    const char *comma = strchr(text, ',');
    if (!comma) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--timerange takes two times with a comma between, not “%s”", given);
        return false;
    }
    if (lull_args_text(args, "begin") || lull_args_text(args, "end")) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--timerange sets start and end: give it without --begin and --end");
        return false;
    }
    g_autofree char *first = g_strndup(text, (gsize)(comma - text));
    g_autofree char *second = g_strdup(comma + 1);
    return parse_time(args, "timerange", g_strstrip(first), base_ns, start_ns, error) &&
           parse_time(args, "timerange", g_strstrip(second), base_ns, end_ns, error);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

static bool has_events(struct lull_session *session, int64_t start_ns, int64_t end_ns)
{
    uint64_t n = 0;
    lull_session_limit(session, start_ns, end_ns);
    lull_session_count_shared(session, add_count, &n);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    return n > 0;
}

/* A range that misses the traces altogether is a slip in the times: better said than an empty
 * answer. */
static bool check_range(const struct lull_args *args, struct lull_session *session,
                        int64_t start_ns, int64_t end_ns, GError **error)
{
    if (start_ns >= end_ns) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "the end of the time range is not after its start");
        return false;
    }
    int64_t first, last;
    /* What a live session will bring is not known. */
    /* Events may lie outside of what packets say of their times. */
    if (lull_args_live(args) || !lull_session_range(session, &first, &last) ||
        (start_ns <= last && end_ns > first) || has_events(session, start_ns, end_ns)) {
        return true;
    }
    char from[LULL_TIME_TEXT_SIZE], to[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(first, lull_args_flag(args, "local"), from);
    lull_time_format_iso(last, lull_args_flag(args, "local"), to);
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "nothing was recorded in that time range: the traces go from %s to %s", from, to);
    return false;
}

bool lull_args_range(const struct lull_args *args, struct lull_session *session, int64_t *start_ns,
                     int64_t *end_ns, GError **error)
{
    const char *start = lull_args_text(args, "begin");
    const char *end = lull_args_text(args, "end");
    const char *range = lull_args_text(args, "timerange");
    *start_ns = INT64_MIN;
    *end_ns = INT64_MAX;
    if (!start && !end && !range) {
        return true;
    }
    const int64_t base_ns = lull_session_origin(session);
    if (range && !parse_timerange(args, range, base_ns, start_ns, end_ns, error)) {
        return false;
    }
    return parse_time(args, "begin", start, base_ns, start_ns, error) &&
           parse_time(args, "end", end, base_ns, end_ns, error) &&
           check_range(args, session, *start_ns, *end_ns, error);
}

bool lull_args_moment(const struct lull_args *args, const char *option,
                      struct lull_session *session, int64_t *time_ns, GError **error)
{
    const char *text = lull_args_text(args, option);
    if (text && !*text) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--%s needs a time", option);
        return false;
    }
    return !text || parse_time(args, option, text, lull_session_origin(session), time_ns, error);
}

bool lull_args_apply(const struct lull_args *args, struct lull_session *session, GError **error)
{
    int32_t host;
    int64_t start_ns, end_ns;
    if (!lull_args_host(args, session, &host, error) ||
        !lull_args_range(args, session, &start_ns, &end_ns, error)) {
        return false;
    }
    lull_session_select_cpus(session, host, lull_args_numbers(args, "cpu"));
    lull_session_limit(session, start_ns, end_ns);
    return true;
}

#define MOST_PROBLEMS 20

static void report_losses(const struct lull_session *session)
{
    uint64_t events = 0, packets = 0;
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        events += loss->events;
        packets += loss->packets;
    }
    if (events || packets) {
        lull_say("lull: the traces have gaps: %" PRIu64 " event%s and %" PRIu64
                 " packet%s were lost ('lull info' says when)\n",
                 events, events == 1 ? "" : "s", packets, packets == 1 ? "" : "s");
    }
}

/* Once, whatever was asked. */
static void report_names(const struct lull_session *session)
{
    const struct lull_symbol_wishes *wishes = lull_session_symbols(session);
    if (wishes->nameless_kernel && *wishes->nameless_kernel) {
        lull_say("lull: functions of the kernel have no names: %s; %s\n",
                 (*wishes->nameless_kernel)->why, (*wishes->nameless_kernel)->help);
    }
}

int lull_args_report_damage(struct lull_session *session)
{
    report_names(session);
    const uint32_t count = lull_session_problem_count(session);
    if (count) {
        fflush(stdout); /* what was printed so far belongs before the complaints about it */
    }
    uint32_t n_remarks = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_remark = lull_session_problem_is_remark(session, i);
        n_remarks += is_remark;
        if (i < MOST_PROBLEMS) {
            lull_say("lull: %s: %s\n", is_remark ? "note" : "damaged",
                     lull_session_problem(session, i));
        }
    }
    if (count > MOST_PROBLEMS) {
        lull_say("lull: … and %" PRIu32 " more place%s\n", count - MOST_PROBLEMS,
                 count - MOST_PROBLEMS == 1 ? "" : "s");
    }
    return count > n_remarks;
}

int lull_args_report_problems(struct lull_session *session)
{
    int status = lull_args_report_damage(session);
    report_losses(session);
    return status;
}
