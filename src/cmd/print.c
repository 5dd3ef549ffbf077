/* SPDX-License-Identifier: MIT */
/* lull print: events as text or JSON, one line each, merged by time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cmd/calls_args.h"
#include "cmd/count_fields.h"
#include "cmd/event_args.h"
#include "cmd/follow.h"
#include "cmd/join_args.h"
#include "cmd/live_list.h"
#include "cmd/say.h"
#include "kernel/event_places.h"
#include "kernel/running_filter.h"
#include "source/session/event_filter.h"
#include "view/event/babeltrace.h"
#include "view/event/json.h"
#include "view/event/text.h"

/* What a line is made with; one of the printers is used. */
enum form { FORM_TEXT, FORM_BABELTRACE, FORM_JSON };

struct printer {
    struct lull_session *session;
    struct lull_follow *follow;
    enum form form;
    bool has_origin;
    struct lull_event_text text;
    struct lull_event_babeltrace babeltrace;
    struct lull_event_json json;
    struct lull_event_places *places; /* NULL: not wanted */
    struct lull_linebuf *line; /* of the printer that is used; written when it is long enough */
    int write_error;           /* errno, when stdout takes no more */
    uint64_t damaged;          /* events */
    GError *first_damage;
};

/* Lines are written when there is this much of them. */
#define OUTPUT_BYTES (1 << 16)

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
    if (lull_args_flag(args, "clock-cycles")) {
        return LULL_TIME_CYCLES;
    }
    if (lull_args_flag(args, "clock-seconds")) {
        return LULL_TIME_SECONDS;
    }
    if (lull_args_flag(args, "clock-date")) {
        return LULL_TIME_DATE;
    }
    for (uint32_t i = 0; name && i < G_N_ELEMENTS(styles); i++) {
        if (strcmp(styles[i].name, name) == 0) {
            return styles[i].style;
        }
    }
    return LULL_TIME_CLOCK;
}

static enum form wanted_form(const struct lull_args *args)
{
    const char *format = lull_args_text(args, "format");
    if (lull_args_flag(args, "json")) {
        return FORM_JSON;
    }
    return format && strcmp(format, "babeltrace") == 0 ? FORM_BABELTRACE : FORM_TEXT;
}

/* Options that do not go together, and words in lists. */
static bool check_form(const struct lull_args *args, struct lull_event_babeltrace *text,
                       GError **error)
{
    static const char *const clocks[] = {"clock-cycles", "clock-date", "clock-seconds", NULL};
    const enum form form = wanted_form(args);
    const char *wrong = NULL;
    if (form == FORM_JSON && lull_args_text(args, "format")) {
        wrong = "--json and --format do not go together";
    } else if (form != FORM_BABELTRACE &&
               (lull_args_text(args, "fields") || lull_args_text(args, "names") ||
                lull_args_flag(args, "no-delta"))) {
        wrong = "--fields, --names and --no-delta belong to --format=babeltrace";
    } else if (lull_args_flag(args, "places") &&
               (form == FORM_BABELTRACE || lull_args_live(args))) {
        wrong = "--places goes with traces that are complete, and not with --format=babeltrace: "
                "what lies where in memory may be recorded after the events";
    } else if (form == FORM_BABELTRACE && lull_args_text(args, "time")) {
        wrong = "with --format=babeltrace times are chosen with --clock-cycles, --clock-date and "
                "--clock-seconds, not with --time";
    }
    for (uint32_t i = 0; !wrong && clocks[i]; i++) {
        if (lull_args_text(args, "time") && lull_args_flag(args, clocks[i])) {
            wrong = "--time and --clock-cycles, --clock-date or --clock-seconds do not go together";
        }
    }
    if (wrong) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, wrong);
        return false;
    }
    return lull_babeltrace_parse_fields(lull_args_text(args, "fields"), &text->shown_fields,
                                        error) &&
           lull_babeltrace_parse_names(lull_args_text(args, "names"), &text->shown_names, error);
}

/* The sum of --clock-offset and --clock-offset-ns. */
static bool clock_offset(const struct lull_args *args, int64_t *offset_ns, GError **error)
{
    static const char *const names[] = {"clock-offset", "clock-offset-ns"};
    static const int64_t units[] = {LULL_NS_PER_S, 1};
    *offset_ns = 0;
    for (uint32_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *text = lull_args_text(args, names[i]);
        gint64 number;
        if (!text) {
            continue;
        }
        if (!g_ascii_string_to_signed(text, 10, INT64_MIN, INT64_MAX, &number, NULL) ||
            __builtin_mul_overflow(number, units[i], &number) ||
            __builtin_add_overflow(*offset_ns, number, offset_ns)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--%s takes a whole number of %s, not “%s”", names[i],
                        i == 0 ? "seconds" : "nanoseconds", text);
            return false;
        }
    }
    return true;
}

static void shift_clocks(struct lull_session *session, int64_t offset_ns)
{
    for (uint32_t i = 0; offset_ns != 0 && i < lull_session_host_count(session); i++) {
        struct lull_clock_transform transform = *lull_session_clock(session, i);
        if (__builtin_add_overflow(transform.offset_ns, offset_ns, &transform.offset_ns)) {
            transform.offset_ns = offset_ns < 0 ? INT64_MIN : INT64_MAX;
        }
        lull_session_set_clock(session, i, &transform);
    }
}

static void printer_init(struct printer *printer, const struct lull_args *args,
                         struct lull_session *session, struct lull_follow *follow)
{
    int64_t start_ns, end_ns;
    const bool has_range = lull_session_range(session, &start_ns, &end_ns);
    const bool is_gmt = lull_args_flag(args, "clock-gmt");
    const enum lull_time_style style = time_style(args);
    const bool is_elapsed = style == LULL_TIME_ELAPSED;
    const struct lull_event_clock clock = {
        .style = style, .origin_ns = is_elapsed && has_range ? lull_session_origin(session) : 0};
    *printer = (struct printer){
        .session = session,
        .follow = follow,
        .form = wanted_form(args),
        .has_origin = has_range || !follow->is_live,
        .json = {.session = session,
                 .has_iso_times = g_strcmp0(lull_args_text(args, "json-times"), "iso") == 0,
                 .local_time = lull_args_flag(args, "local") && !is_gmt},
        .text = {.session = session,
                 .clock = clock,
                 .fields = {.dialect = lull_dialect_plain},
                 .with_host = lull_session_host_count(session) > 1},
        .babeltrace = {.session = session,
                       .clock = clock,
                       .no_delta = lull_args_flag(args, "no-delta")},
    };
    printer->text.clock.is_local = lull_args_flag(args, "local") && !is_gmt;
    printer->babeltrace.clock.is_local = !is_gmt;
    check_form(args, &printer->babeltrace, NULL); /* was checked: fills in what is shown */
    printer->line = printer->form == FORM_JSON         ? &printer->json.line
                    : printer->form == FORM_BABELTRACE ? &printer->babeltrace.line
                                                       : &printer->text.line;
}

/* The event is printed with where it happened. */
static void find_place(struct printer *printer, const struct lull_running_filter *filter,
                       const struct lull_event *event)
{
    uint64_t address;
    int32_t pid;
    printer->text.place = printer->json.place =
        lull_running_filter_spot(filter, event, &address, &pid)
            ? lull_event_places_find(printer->places, event->host, pid, address, event->time_ns)
            : NULL;
}

static void printer_clear(struct printer *printer)
{
    lull_event_text_clear(&printer->text);
    lull_event_babeltrace_clear(&printer->babeltrace);
    lull_event_json_clear(&printer->json);
    g_clear_error(&printer->first_damage);
}

static void note_damage(struct printer *printer, GError *damage)
{
    printer->damaged++;
    if (printer->first_damage) {
        g_clear_error(&damage);
    } else {
        printer->first_damage = damage;
    }
}

/* False if stdout takes no more. */
static bool write_lines(struct printer *printer)
{
    struct lull_linebuf *line = printer->line;
    if (line->length > 0 && fwrite_unlocked(line->data, 1, line->length, stdout) != line->length) {
        printer->write_error = errno;
    }
    line->length = 0;
    return printer->write_error == 0;
}

/* The same, and nothing of it waits in a buffer. */
static bool flush_lines(void *data)
{
    struct printer *printer = data;
    if (write_lines(printer) && fflush(stdout) != 0) {
        printer->write_error = errno;
    }
    return printer->write_error == 0;
}

/* What is not known of a live session before its events come. */
static void learn_from(struct printer *printer, const struct lull_event *event)
{
    printer->text.with_host |= event->host > 0;
    if (!printer->has_origin) {
        printer->text.clock.origin_ns = event->time_ns;
        printer->has_origin = true;
    }
}

static bool print_event(struct printer *printer, const struct lull_event *event)
{
    GError *damage = NULL;
    bool is_whole;
    if (G_UNLIKELY(printer->follow->is_live)) {
        learn_from(printer, event);
    }
    switch (printer->form) {
    case FORM_JSON:
        is_whole = lull_event_json_format(&printer->json, event, &damage);
        break;
    case FORM_BABELTRACE:
        is_whole = lull_event_babeltrace_format(&printer->babeltrace, event, &damage);
        break;
    default:
        is_whole = lull_event_text_format(&printer->text, event, &damage);
    }
    if (G_UNLIKELY(!is_whole)) {
        note_damage(printer, damage);
    }
    return printer->line->length < OUTPUT_BYTES || write_lines(printer);
}

/* Says that nothing was found; false if something that was asked for never existed. */
static bool explain_end(const struct lull_args *args, const struct printer *printer,
                        const struct lull_running_filter *filter, bool is_any, GError **error)
{
    const bool is_over = !printer->follow->is_live && !printer->follow->is_stopped;
    /* babeltrace2 says nothing then. */
    return !is_over || (is_any && lull_running_filter_saw_all(filter)) ||
           lull_args_explain_nothing(args, printer->session,
                                     !is_any && printer->form != FORM_BABELTRACE, error);
}

static bool print_events(struct printer *printer, struct lull_running_filter *filter,
                         const struct lull_args *args, GError **error)
{
    bool is_written = true;
    const int64_t limit = lull_args_number(args, "limit");
    int64_t printed = 0;
    const struct lull_event *event;
    struct lull_progress progress;
    lull_progress_start(&progress, args, printer->session, "printing", true);
    progress.is_wanted &= !printer->follow->is_live; /* who knows how much is to come? */
    while (is_written && (limit <= 0 || printed < limit) &&
           (event = lull_session_read(printer->session)) && !lull_follow_tick(printer->follow)) {
        lull_progress_tick(&progress);
        if (lull_running_filter_passes(filter, event)) {
            if (printer->places) {
                find_place(printer, filter, event);
            }
            is_written = print_event(printer, event);
            printed++;
        }
    }
    is_written = flush_lines(printer);
    lull_progress_end(&progress);
    if (!is_written) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write to standard output: %s",
                    g_strerror(printer->write_error));
    }
    const bool is_cut = limit > 0 && printed >= limit;
    return is_written && (is_cut || explain_end(args, printer, filter, printed > 0, error));
}

/* What --places needs to know before the first line; NULL without it. What is mapped where is of interest whatever
 * --filter leaves. */
static struct lull_event_places *read_places(const struct lull_args *args,
                                             struct lull_session *session)
{
    if (!lull_args_flag(args, "places")) {
        return NULL;
    }
    struct lull_event_filter *wanted = lull_session_take_filter(session);
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "reading", false);
    struct lull_event_places *places =
        lull_event_places_new(session, lull_args_progress, &progress);
    lull_progress_end(&progress);
    lull_session_set_filter(session, wanted);
    if (!lull_event_places_any(places)) {
        lull_say(
            "lull: --places: no event says at which address it happened; LTTng records that of programs after "
            "'lttng add-context -u -t ip -t vpid'\n");
    }
    return places;
}

static int print_session(const struct lull_args *args, struct lull_session *session,
                         struct lull_follow *follow, char *const *names, GError **error)
{
    struct lull_event_places *places = read_places(args, session);
    struct lull_running_filter *filter = lull_args_select_events(args, session, names, error);
    if (!filter) {
        lull_event_places_free(places);
        return 1;
    }
    setvbuf(stdout, NULL, _IOFBF, OUTPUT_BYTES);
    struct printer printer;
    printer_init(&printer, args, session, follow);
    printer.places = places;
    printer.json.shows_places = places != NULL;
    lull_follow_flush(follow, flush_lines, &printer);
    bool done = print_events(&printer, filter, args, error);
    lull_follow_flush(follow, NULL, NULL);
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
    lull_event_places_free(places);
    return status;
}

static int print_followed(const struct lull_args *args, struct lull_follow *follow,
                          char *const *names, int64_t offset_ns, GError **error)
{
    struct lull_session *session = lull_follow_open(follow, args, error);
    if (!session) {
        return 1;
    }
    /* What can be known to be wrong before the work of joining the clocks is said before it. */
    int32_t host;
    int status = 1;
    if (follow->is_stopped) {
        status = lull_args_report_damage(session);
    } else if (lull_args_flag(args, "count-fields")) {
        status = lull_count_fields(args, session, error);
    } else if (lull_args_host(args, session, &host, error) &&
               (follow->is_live || lull_args_check_event_names(session, names, error))) {
        if (wanted_form(args) == FORM_BABELTRACE) { /* which knows nothing of joined clocks */
            lull_session_set_order(session, LULL_ORDER_BABELTRACE);
        } else if (lull_session_host_count(session) > 1 && !follow->is_live) {
            lull_args_join(args, session);
        }
        shift_clocks(session, offset_ns);
        status = print_session(args, session, follow, names, error);
    }
    lull_session_free(session);
    return status;
}

static int run(const struct lull_args *args, GError **error)
{
    g_auto(GStrv) names = lull_args_event_names(args, error);
    struct lull_event_babeltrace shown;
    int64_t offset_ns;
    if (!names || !check_form(args, &shown, error) || !clock_offset(args, &offset_ns, error)) {
        return 2;
    }
    if (lull_live_list_is_requested(args, false)) {
        return lull_live_list_print(args, error);
    }
    struct lull_follow follow;
    lull_follow_start(&follow, args);
    int status = print_followed(args, &follow, names, offset_ns, error);
    lull_follow_end(&follow);
    return status;
}

static const char *const time_choices[] = {"clock", "iso", "seconds", "ns", "elapsed", NULL};

static const char *const formats[] = {"text", "babeltrace", NULL};

static const struct lull_option options[] = {
    {.name = "events",
     .kind = LULL_OPTION_LIST,
     .argument = "LIST",
     .help = "only events of these names, separated by commas; a '*' at the end of a name "
             "matches any ending, and syscall_entry_NAME is that call of every tracer"},
    {.name = "time",
     .kind = LULL_OPTION_CHOICE,
     .argument = "STYLE",
     .help = "how times are written (not in JSON)",
     .choices = time_choices},
    {.name = "format",
     .kind = LULL_OPTION_CHOICE,
     .argument = "FORM",
     .help = "the form of a line: Lull's own, or that of babeltrace2",
     .choices = formats},
    {.name = "clock-cycles",
     .kind = LULL_OPTION_FLAG,
     .help = "times as cycles of the trace's clock"},
    {.name = "clock-date", .kind = LULL_OPTION_FLAG, .help = "times with their date"},
    {.name = "clock-gmt",
     .kind = LULL_OPTION_FLAG,
     .help = "times in UTC, not in the local time zone"},
    {.name = "clock-seconds",
     .kind = LULL_OPTION_FLAG,
     .help = "times as seconds since 1970 with nine decimals"},
    {.name = "clock-offset",
     .kind = LULL_OPTION_TEXT,
     .argument = "SEC",
     .help = "add this number of seconds to all times"},
    {.name = "clock-offset-ns",
     .kind = LULL_OPTION_TEXT,
     .argument = "NS",
     .help = "add this number of nanoseconds to all times"},
    {.name = "no-delta",
     .kind = LULL_OPTION_FLAG,
     .help = "with --format=babeltrace: without the time since the event before"},
    {.name = "fields",
     .letter = 'f',
     .kind = LULL_OPTION_TEXT,
     .argument = "LIST",
     .help = "with --format=babeltrace: what to show before the name of an event, separated by "
             "commas: trace, trace:hostname, trace:domain, trace:procname, trace:vpid, "
             "loglevel, emf, callsite, all or none (default: "
             "trace:hostname,trace:procname,trace:vpid)"},
    {.name = "names",
     .kind = LULL_OPTION_TEXT,
     .argument = "LIST",
     .help = "with --format=babeltrace: which names to show, separated by commas: payload, "
             "context, scope, header, all or none (default: payload,context)"},
    {.name = "places",
     .kind = LULL_OPTION_FLAG,
     .help =
         "show in which function, line and file each event happened that has an address (the context "
         "ip of LTTng, samples of perf)"},
    LULL_OPTION_SYMBOLS_DIRECTORY,
    {.name = "from-start",
     .kind = LULL_OPTION_FLAG,
     .help = "for a live session, also what the relay has kept from before"},
    {.name = "count-fields",
     .kind = LULL_OPTION_FLAG,
     .help = "decode every field of every event, and print only their number and a checksum of "
             "their values"},
    {.name = NULL},
};

static const char *const common[] = {"intersection", "begin",      "end",   "timerange", "local",
                                     "host",         "cpu",        "tid",   "pid",       "comm",
                                     "container",    "filter",     "limit", "no-sync",   "threads",
                                     "json",         "json-times", NULL};

static const struct lull_example examples[] = {
    {"lull print my-trace | less", "All events."},
    {"lull print --events 'sched_*,irq_handler_entry' --begin +1s --limit 20 my-trace",
     "The first twenty events of some kinds after the first second."},
    {"lull print --comm postgres --host db --time iso client httpd db",
     "What happened on the CPUs of one machine while a task named postgres ran there."},
    {"lull print --filter 'name == \"sched_switch\" && next_comm =~ \"postgres*\"' my-trace",
     "When a task whose name starts with postgres got a CPU."},
    {"lull print --format=babeltrace --clock-date --names=all my-trace",
     "What babeltrace2 prints with these options."},
    {"lull print net://localhost/host/db/my-session",
     "Follows a session that was created with 'lttng create my-session --live'."},
    {"lull print --json --events sched_switch my-trace | jq .fields.next_comm",
     "Who ran, for a program to read."},
    {"lull print --places --filter 'name =~ \"my_app:*\"' my-trace",
     "The events of a program, each with the line of its source."},
    {"lull print --count-fields my-trace", "How many events and fields the trace holds."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_print = {
    .name = "print",
    .summary = "print events, one line each, merged by time",
    .usage = "TRACE…",
    .description =
        "Prints the events of all traces in order of time, one line each: the time, the host if "
        "there are several, the CPU, the process if the trace is of one process only (LTTng's "
        "per-PID buffers), the name, the contexts in parentheses, then the fields. Control "
        "characters in texts are shown as escapes. The clocks of several machines are joined by "
        "the packets they exchanged, unless --no-sync is given.\n"
        "\n"
        "--intersection takes from each trace the time in which all its streams have packets: "
        "with a ring of files or buffers, streams start at different times.\n"
        "\n"
        "A TRACE may be a live session of an LTTng relay: net://HOST[:PORT]/host/TARGET/SESSION "
        "(also net4:// and net6://; the default port is 5344). Its events are printed as they "
        "arrive, in order of time, from the moment Lull attaches (with --from-start, from the "
        "oldest that the relay has) until the session ends, or Ctrl-C. Times such as +1s then "
        "count from that moment, and the clocks of several machines are not joined. If the "
        "relay closes before the session has ended, that is an error. net://HOST alone lists "
        "the sessions.\n"
        "\n"
        "--tid and --comm keep the events that happened while such a task ran on the CPU: the "
        "contexts of the event name the task or, if the trace has no such contexts, the last "
        "sched_switch on that CPU does. --filter keeps the events for which an expression is "
        "true; 'lull help filter' describes its language.\n"
        "\n"
        "--places shows where in its program an event happened, if it says at which address "
        "(for LTTng: 'lttng add-context -u -t ip -t vpid', and events lttng_ust_statedump*, lttng_ust_dl* and "
        "lttng_ust_lib*): the function, the line if there is debug information, the file and the offset in it. An event "
        "of which nothing is known to lie there has none. "
        "'lull symbols --help' says where names come from. The traces are read twice for it.\n"
        "\n"
        "--format=babeltrace prints what babeltrace2 2.0.4 prints, byte for byte, for scripts "
        "that read it: times in the local time zone (but --begin and --end are in UTC unless "
        "--local is given), clocks as the traces have them (not joined), events of equal time "
        "in its order. --fields, --names, --no-delta and the options whose names start with "
        "--clock- have the same meaning as there. Known differences: an empty string is printed "
        "as empty (babeltrace2 2.0.4 prints what the field held before), all times before 1970 "
        "are in seconds (babeltrace2 shows most of them as a time of day), and colours and "
        "warnings are Lull's own. Names of hosts, events and fields are not escaped in this "
        "form.",
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
        "belongs to none. \"process\" (\"name\", \"pid\") is there if the trace is of one process "
        "alone. An event that is damaged inside ends with \"damaged\": true.\n"
        "\n"
        "With --places there is \"place\" too, null where it is not known:\n"
        "\n"
        " {\"file\", \"offset\", \"function\", \"source\", \"line\"}\n"
        "\n"
        "The offset is a text (\"0x14d4\"), as symbols of the file count it; function, source and line are null "
        "where names are missing.\n"
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
