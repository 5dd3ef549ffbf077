/* lull print: events as text or JSON, one line each, merged by time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cmd/count_fields.h"
#include "cmd/event_args.h"
#include "cmd/join_args.h"
#include "kernel/running_filter.h"
#include "view/event_json.h"
#include "view/event_text.h"

/* What a line is made with; one of the two printers is used. */
struct printer {
    struct lull_session *session;
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
                         struct lull_session *session)
{
    int64_t begin_ns = 0, end_ns;
    if (!lull_session_range(session, &begin_ns, &end_ns)) {
        begin_ns = 0;
    }
    *printer = (struct printer){
        .session = session,
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
    int64_t printed = 0;
    struct lull_event event;
    struct lull_progress progress;
    lull_progress_begin(&progress, args, printer->session, "printing", true);
    while (is_written && (limit < 0 || printed < limit) &&
           lull_session_next(printer->session, &event) == 1) {
        lull_progress_tick(&progress);
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

#define OUTPUT_BUFFER (1 << 17)

static int print_session(const struct lull_args *args, struct lull_session *session,
                         char *const *names, GError **error)
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
    printer_init(&printer, args, session);
    bool done = print_events(&printer, filter, args, error);
    int status = lull_args_report_problems(session);
    if (!done) {
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

static int run(const struct lull_args *args, GError **error)
{
    g_auto(GStrv) names = lull_args_event_names(args, error);
    if (!names) {
        return 2;
    }
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return 1;
    }
    /* What can be known to be wrong before the work of joining the clocks is said before it. */
    int32_t host;
    int status = 1;
    if (lull_args_flag(args, "count-fields")) {
        status = lull_count_fields(args, session, error);
    } else if (lull_args_host(args, session, &host, error) &&
               lull_args_check_event_names(session, names, error)) {
        if (lull_session_host_count(session) > 1) {
            lull_sync_free(lull_args_join(args, session));
        }
        status = print_session(args, session, names, error);
    }
    lull_session_free(session);
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
    {.name = "count-fields",
     .kind = LULL_OPTION_FLAG,
     .help = "decode every field of every event, and print only how many there are and a checksum "
             "of their values"},
    {.name = NULL},
};

static const char *const common[] = {"begin",   "end",     "timerange", "local",  "host",
                                     "cpu",     "tid",     "comm",      "filter", "limit",
                                     "no-sync", "threads", "json",      NULL};

static const struct lull_example examples[] = {
    {"lull print my-trace | less", "All events."},
    {"lull print --events 'sched_*,irq_handler_entry' --begin +1s --limit 20 my-trace",
     "The first twenty events of some kinds after the first second."},
    {"lull print --comm postgres --host db --time iso client httpd db",
     "What happened on the CPUs of one machine while a task named postgres ran there."},
    {"lull print --filter 'name == \"sched_switch\" && next_comm =~ \"postgres*\"' my-trace",
     "When a task began to run whose name begins with postgres."},
    {"lull print --json --events sched_switch my-trace | jq .fields.next_comm",
     "Who ran, for a program to read."},
    {"lull print --count-fields my-trace", "How many events and fields the trace holds."},
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
        "--tid and --comm keep the events that happened while that task ran on the CPU: the "
        "contexts of the event tell which task it was, and if the trace was recorded without "
        "them, the last sched_switch on that CPU does. --filter keeps what an expression says; "
        "'lull help filter' describes its language.",
    .output =
        "With --json one object a line:\n"
        "\n"
        " {\"time_ns\": 1795223506314708922, \"host\": \"client\", \"cpu\": 0,\n"
        "  \"name\": \"irq_softirq_raise\",\n"
        "  \"context\": {\"pid\": 527, \"tid\": 527, \"procname\": \"python3\"},\n"
        "  \"fields\": {\"vec\": 9}}\n"
        "\n"
        "Integers are numbers of up to 64 bits, an enumeration is {\"value\", \"label\"} with "
        "a null label if its value has none and \"labels\" if it has several, flags are "
        "{\"value\", \"flags\"}, a blob is its bytes in hexadecimal, a structure is an object, an "
        "array a list, a "
        "variant an object with the one option that was chosen. \"cpu\" is null if the stream "
        "belongs to none. An event that is damaged inside ends with \"damaged\": true.\n"
        "\n"
        "With --count-fields and --json one object:\n"
        "\n"
        " {\"events\", \"fields\", \"checksum\"}\n"
        "\n"
        "A field is a value without parts of a context or payload; each element of an array of "
        "numbers is one. The checksum is the sum of all values modulo 2^64: integers, the bits "
        "of reals as doubles, of texts the length and the bytes as little-endian words of 64 "
        "bits.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
