/* lull print: events as text or JSON, one line each, merged by time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cmd/follow.h"
#include "cmd/join_args.h"
#include "cmd/live_list.h"
#include "kernel/running_filter.h"
#include "view/event_json.h"
#include "view/event_text.h"

/* What a line is made with; one of the two printers is used. */
struct printer {
    struct lull_session *session;
    struct lull_follow *follow;
    bool has_origin;
    struct lull_event_text text;
    struct lull_event_json json;
    bool is_json;
    uint64_t damaged; /* events */
    GError *first_damage;
};

static enum lull_time_style time_style(const struct lull_args *args)
{
    static const struct {
        const char *name;
        enum lull_time_style style;
    } styles[] = {
        {"iso", LULL_TIME_ISO},
        {"seconds", LULL_TIME_SECONDS},
        {"ns", LULL_TIME_NS},
        {"elapsed", LULL_TIME_ELAPSED},
    };
    const char *name = lull_args_text(args, "time");
    for (uint32_t i = 0; name && i < G_N_ELEMENTS(styles); i++) {
        if (strcmp(styles[i].name, name) == 0) {
            return styles[i].style;
        }
    }
    return LULL_TIME_CLOCK;
}

static void printer_init(struct printer *printer, const struct lull_args *args,
                         struct lull_session *session, struct lull_follow *follow)
{
    int64_t begin_ns = 0, end_ns;
    bool has_origin = lull_session_range(session, &begin_ns, &end_ns);
    *printer = (struct printer){
        .session = session,
        .follow = follow,
        .has_origin = has_origin,
        .is_json = lull_args_flag(args, "json"),
        .json = {.session = session},
        .text =
            {
                .session = session,
                .time_style = time_style(args),
                .origin_ns = begin_ns,
                .is_local = lull_args_flag(args, "local"),
                .with_host = lull_session_host_count(session) > 1,
            },
    };
}

static void printer_clear(struct printer *printer)
{
    lull_event_text_clear(&printer->text);
    lull_event_json_clear(&printer->json);
    g_clear_error(&printer->first_damage);
}

/* False if stdout takes no more. */
static bool print_event(struct printer *printer, const struct lull_event *event)
{
    GError *damage = NULL;
    const struct lull_line *line;
    printer->text.with_host |= event->host > 0; /* one that has come later */
    if (!printer->has_origin) {                 /* a live session begins with its first event */
        printer->text.origin_ns = event->time_ns;
        printer->has_origin = true;
    }
    bool is_whole;
    if (printer->is_json) {
        is_whole = lull_event_json_format(&printer->json, event, &damage);
        line = &printer->json.line;
    } else {
        is_whole = lull_event_text_format(&printer->text, event, &damage);
        line = &printer->text.line;
    }
    if (!is_whole) {
        printer->damaged++;
        if (printer->first_damage) {
            g_clear_error(&damage);
        } else {
            printer->first_damage = damage;
        }
    }
    return fwrite_unlocked(line->data, 1, line->length, stdout) == line->length;
}

static bool print_events(struct printer *printer, struct lull_running_filter *filter,
                         const struct lull_args *args, GError **error)
{
    bool is_written = true;
    const int64_t limit = lull_args_number(args, "limit");
    int64_t printed = 0, seen = 0;
    struct lull_event event;
    struct lull_progress progress;
    lull_progress_begin(&progress, args, printer->session, "printing", true);
    progress.is_wanted &= !printer->follow->is_live; /* who knows how much is to come? */
    while (is_written && (limit < 0 || printed < limit) &&
           lull_session_next(printer->session, &event) == 1) {
        lull_progress_tick(&progress);
        if (G_UNLIKELY(printer->follow->is_live) && seen++ % 1024 == 0 &&
            lull_follow_is_stopped(printer->follow)) {
            break;
        }
        if (lull_running_filter_passes(filter, &event)) {
            is_written = print_event(printer, &event);
            printed++;
        }
    }
    is_written = is_written && fflush(stdout) == 0;
    const int reason = errno;
    lull_progress_end(&progress);
    if (!is_written) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write to standard output: %s",
                    g_strerror(reason));
    }
    return is_written;
}

/* The names of --events, or all: split at commas. */
static char **wanted_names(const struct lull_args *args, GError **error)
{
    const char *list = lull_args_text(args, "events");
    char **names = g_strsplit(list ? list : "*", ",", -1);
    for (uint32_t i = 0; names[i]; i++) {
        const char *star = strchr(g_strstrip(names[i]), '*');
        if (!names[i][0] || (star && star[1])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--events takes names with commas between, each may end with '*', not "
                        "“%s”",
                        list);
            g_strfreev(names);
            return NULL;
        }
    }
    return names;
}

struct search {
    char *const *names;
    bool *is_found;
};

static void search_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct search *search = user;
    for (uint32_t i = 0; search->names[i]; i++) {
        search->is_found[i] |=
            lull_running_filter_name_matches(search->names[i], lull_event_class_name(event_class));
    }
}

/* An event that no trace declares is a slip of the pen: better said than an empty answer. */
static bool check_names(const struct lull_session *session, char *const *names, GError **error)
{
    g_autofree bool *is_found = g_new0(bool, g_strv_length((char **)names));
    struct search search = {.names = names, .is_found = is_found};
    lull_session_each_class(session, search_class, &search);
    for (uint32_t i = 0; names[i]; i++) {
        if (!is_found[i] && strcmp(names[i], "*") != 0) {
            g_set_error(
                error, LULL_ERROR, LULL_ERROR_QUESTION,
                "no trace declares an event “%s”; 'lull info --events' lists those there are",
                names[i]);
            return false;
        }
    }
    return true;
}

#define OUTPUT_BUFFER (1 << 17)

static int print_session(const struct lull_args *args, struct lull_session *session,
                         struct lull_follow *follow, char *const *names, GError **error)
{
    int64_t begin_ns, end_ns;
    if (!lull_args_apply(args, session, error) ||
        !lull_args_range(args, session, &begin_ns, &end_ns, error)) {
        return 1;
    }
    const struct lull_running_query query = {
        .names = (const char *const *)names,
        .tid = lull_args_number(args, "tid"),
        .comm = lull_args_text(args, "comm"),
        .begin_ns = begin_ns,
        .end_ns = end_ns,
    };
    struct lull_running_filter *filter = lull_running_filter_new(session, &query);
    setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
    struct printer printer;
    printer_init(&printer, args, session, follow);
    bool done = print_events(&printer, filter, args, error);
    int status = lull_args_report_problems(session);
    if (!done || lull_session_failed(session, error)) {
        status = 1;
    } else if (printer.damaged) {
        g_propagate_prefixed_error(
            error, g_steal_pointer(&printer.first_damage),
            "%" G_GUINT64_FORMAT " events are damaged, the first: ", printer.damaged);
        status = 1;
    }
    printer_clear(&printer);
    lull_running_filter_free(filter);
    return status;
}

static int print_followed(const struct lull_args *args, struct lull_follow *follow,
                          char *const *names, GError **error)
{
    struct lull_session *session = lull_follow_open(follow, args, error);
    if (!session) {
        return 1;
    }
    /* What can be known to be wrong before the work of joining the clocks is said before it. */
    int32_t host;
    int status = 1;
    if (follow->is_stopped) {
        status = 0;
    } else if (lull_args_host(args, session, &host, error) &&
               (follow->is_live || check_names(session, names, error))) {
        /* Joining reads everything twice. */
        if (!follow->is_live && lull_session_host_count(session) > 1) {
            lull_sync_free(lull_args_join(args, session));
        }
        status = print_session(args, session, follow, names, error);
    }
    lull_session_free(session);
    return status;
}

static int run(const struct lull_args *args, GError **error)
{
    g_auto(GStrv) names = wanted_names(args, error);
    if (!names) {
        return 2;
    }
    if (lull_live_list_is_asked(args, false)) {
        return lull_live_list_print(args, error);
    }
    struct lull_follow follow;
    lull_follow_begin(&follow, args);
    int status = print_followed(args, &follow, names, error);
    lull_follow_end(&follow);
    return status;
}

static const char *const time_choices[] = {"clock", "iso", "seconds", "ns", "elapsed", NULL};

static const struct lull_option options[] = {
    {.name = "events",
     .kind = LULL_OPTION_TEXT,
     .argument = "LIST",
     .help = "only events of these names, with commas between; a '*' at the end of a name stands "
             "for any ending"},
    {.name = "time",
     .kind = LULL_OPTION_CHOICE,
     .argument = "STYLE",
     .help = "how times are written (not in JSON)",
     .choices = time_choices},
    {.name = NULL},
};

static const char *const common[] = {"begin", "end",  "timerange", "local",   "host", "cpu",
                                     "tid",   "comm", "limit",     "no-sync", "json", NULL};

static const struct lull_example examples[] = {
    {"lull print my-trace | less", "All events."},
    {"lull print --events 'sched_*,irq_handler_entry' --begin +1s --limit 20 my-trace",
     "The first twenty events of some kinds after the first second."},
    {"lull print --comm postgres --host db --time iso client httpd db",
     "What happened on the CPUs of one machine while a task named postgres ran there."},
    {"lull print net://localhost/host/db/my-session",
     "Follows a session that was created with 'lttng create my-session --live'."},
    {"lull print --json --events sched_switch my-trace | jq .fields.next_comm",
     "Who ran, for a program to read."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_print = {
    .name = "print",
    .summary = "print events, one line each, merged by time",
    .usage = "TRACE…",
    .description =
        "Prints the events of all traces in the order of their times, one line each: the time, "
        "the host if there are several, the CPU, the name, the contexts in parentheses, then "
        "the fields. Control characters in texts are shown as escapes. Clocks of several "
        "machines are joined by the packets they exchanged, unless --no-sync.\n"
        "\n"
        "A TRACE may be a live session of an LTTng relay: net://HOST[:PORT]/host/TARGET/SESSION. "
        "Its events are printed as they come, from now until the session ends or Ctrl-C; clocks "
        "are not joined then. net://HOST alone lists the sessions.\n"
        "\n"
        "--tid and --comm keep the events that happened while that task ran on the CPU: the "
        "contexts of the event tell which task it was, and if the trace was recorded without "
        "them, the last sched_switch on that CPU does.",
    .output =
        "With --json one object a line:\n"
        "\n"
        " {\"time_ns\": 1795223506314708922, \"host\": \"client\", \"cpu\": 0,\n"
        "  \"name\": \"irq_softirq_raise\",\n"
        "  \"context\": {\"pid\": 527, \"tid\": 527, \"procname\": \"python3\"},\n"
        "  \"fields\": {\"vec\": 9}}\n"
        "\n"
        "Integers are numbers of up to 64 bits, an enumeration is {\"value\", \"label\"} with "
        "a null label if its value has none, a structure is an object, an array a list, a "
        "variant an object with the one option that was chosen. \"cpu\" is null if the stream "
        "belongs to none. An event that is damaged inside ends with \"damaged\": true.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
