/* SPDX-License-Identifier: MIT */
/* lull info for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/containers.h"
#include "analysis/event_counts.h"
#include "base/time.h"
#include "view/info/info.h"
#include "view/out.h"
#include "view/table.h"
#include "view/words.h"
#include "source/session/streams.h"

enum { VALUE_AT = 12 }; /* where the values of fields start */

static void print_field(struct lull_out *out, const char *label, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void print_field(struct lull_out *out, const char *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *line = g_strdup_printf("  %-10s%s", label, text);
    g_autofree char *folded =
        out->fold ? lull_fold_text(line, out->fold, VALUE_AT) : g_strdup(line);
    lull_out_bytes(out, folded, strlen(folded));
    lull_out_text(out, "\n");
}

static void print_heading(struct lull_out *out, const struct lull_view_style *style,
                          const char *heading)
{
    lull_out_printf(out, "%s%s%s\n", style->color ? "\033[1m" : "", heading,
                    style->color ? "\033[0m" : "");
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void format_bytes(uint64_t bytes, char out[static 32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    uint32_t unit = 0;
    while (value >= 1023.95 && unit + 1 < G_N_ELEMENTS(units)) {
        value /= 1024;
        unit++;
    }
    g_snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void print_recorder(struct lull_out *out, const struct lull_trace *trace, bool ascii)
{
    g_autoptr(GString) text = g_string_new(NULL);
    lull_clean_append(text, trace->tracer[0] ? trace->tracer : "unknown tracer", ascii);
    if (trace->domain[0]) {
        g_string_append(text, ", ");
        lull_clean_append(text, trace->domain, ascii);
    }
    if (trace->name[0]) {
        g_string_append(text, ", session ");
        lull_clean_append(text, trace->name, ascii);
    }
    g_string_append(text, ", ");
    lull_clean_append(text, trace->format, ascii);
    print_field(out, "recorded", "%s", text->str);
    if (trace->kernel[0]) {
        g_autofree char *kernel = lull_clean_text(trace->kernel, ascii);
        print_field(out, "kernel", "%s", kernel);
    }
}

static void print_clock(struct lull_out *out, const struct lull_trace *trace,
                        const struct lull_view_style *style)
{
    if (!trace->clock_name[0] && trace->clock_frequency_hz == 0) {
        return;
    }
    g_autofree char *name =
        lull_clean_text(trace->clock_name[0] ? trace->clock_name : "unnamed", !style->unicode);
    char zero[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(trace->clock_offset_ns, style->local_time, zero);
    print_field(out, "clock", "%s, %" PRIu64 " Hz, zero at %s", name, trace->clock_frequency_hz,
                zero);
}

static void print_times(struct lull_out *out, const struct lull_trace *trace, bool is_local)
{
    int64_t duration_ns;
    char start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE], duration[LULL_TIME_TEXT_SIZE];
    if (trace->start_ns > trace->end_ns) {
        print_field(out, "begin", "never: no packet");
        return;
    }
    lull_time_format_iso(trace->start_ns, is_local, start);
    lull_time_format_iso(trace->end_ns, is_local, end);
    print_field(out, "begin", "%s", start);
    print_field(out, "end", "%s", end);
    if (!__builtin_sub_overflow(trace->end_ns, trace->start_ns, &duration_ns)) {
        lull_duration_format(duration_ns, duration);
        print_field(out, "duration", "%s", duration);
    }
}

#define MOST_INTERVALS 12

/* Packets may start long before there is an event in them. */
static void print_first(struct lull_out *out, const struct lull_info *info, uint32_t host,
                        bool is_local)
{
    const int64_t first_ns = info->first_ns[host];
    int64_t packet_ns = INT64_MAX, after_ns;
    uint32_t n;
    if (first_ns == INT64_MAX) {
        return;
    }
    const uint32_t *traces = lull_session_host_traces(info->session, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_trace *trace = lull_session_trace(info->session, traces[i]);
        packet_ns = MIN(packet_ns, trace->start_ns);
    }
    g_autoptr(GString) text = g_string_new(NULL);
    char time[LULL_TIME_TEXT_SIZE], after[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(first_ns, is_local, time);
    g_string_append_printf(text, "the first at %s", time);
    if (!__builtin_sub_overflow(first_ns, packet_ns, &after_ns) && after_ns > 0) {
        lull_duration_format(after_ns, after);
        g_string_append_printf(text, ", %s after the start of its packet", after);
    }
    if (host == info->zero_host) {
        g_string_append(text, "; +0s is then");
    }
    if (host == info->zero_host && first_ns != info->zero_ns) {
        lull_time_format_iso(info->zero_ns, is_local, time);
        g_string_append_printf(text, ", %s on the joined clock", time);
    }
    print_field(out, "events", "%s", text->str);
}

static void print_gap(struct lull_out *out, const struct lull_gap *gap, bool is_local)
{
    char start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE], duration[LULL_TIME_TEXT_SIZE];
    lull_duration_format(gap->end_ns - gap->start_ns, duration);
    lull_time_format_clock(gap->start_ns, is_local, start);
    lull_time_format_clock(gap->end_ns, is_local, end);
    lull_out_printf(out, "            for %s, from %s to %s\n", duration, start, end);
}

static void print_gaps(struct lull_out *out, const struct lull_info *info, uint32_t host,
                       bool is_local)
{
    size_t n;
    const struct lull_gap *gaps = lull_info_gaps(info, host, &n);
    if (n == 0) {
        return;
    }
    print_field(out, "stopped", "%zu time%s; nothing was recorded", n, plural(n));
    for (size_t i = 0; i < MIN(n, MOST_INTERVALS); i++) {
        print_gap(out, &gaps[i], is_local);
    }
    if (n > MOST_INTERVALS) {
        lull_out_printf(out, "            and %zu more times (--json lists all)\n",
                        n - MOST_INTERVALS);
    }
}

/* The virtual machines that were recorded at the same time. */
static void print_guests(struct lull_out *out, const struct lull_session *session, uint32_t index,
                         bool ascii)
{
    struct lull_info_guest guest;
    for (uint32_t i = 0; lull_info_guest(session, index, i, &guest); i++) {
        g_autofree char *name = lull_clean_text(guest.name, ascii);
        print_field(out, "guest", "%s, which is trace %s; its CPUs are the threads %s", name,
                    guest.trace_id, guest.vcpu_tids);
    }
}

static void print_trace(struct lull_out *out, const struct lull_info *info, uint32_t index,
                        const struct lull_view_style *style)
{
    const struct lull_trace *trace = lull_session_trace(info->session, index);
    const bool ascii = !style->unicode;
    g_autofree char *path = lull_clean_text(trace->path, ascii);
    char size[32];
    format_bytes(trace->size_bytes, size);
    if (trace->directory_count > 1) {
        print_field(out, "trace", "%s and %" PRIu32 " more director%s", path,
                    trace->directory_count - 1, trace->directory_count > 2 ? "ies" : "y");
    } else {
        print_field(out, "trace", "%s", path);
    }
    print_recorder(out, trace, ascii);
    if (trace->process[0]) {
        g_autofree char *process = lull_clean_text(trace->process, ascii);
        print_field(out, "process", "%s, pid %" PRId64, process, trace->process_id);
    }
    print_clock(out, trace, style);
    print_times(out, trace, style->local_time);
    const char *host = lull_session_environment(info->session, index, "host_trace_id");
    if (host) {
        print_field(out, "guest of", "trace %s, whose clock its times are on", host);
    }
    print_guests(out, info->session, index, ascii);
    print_field(out, "size", "%s in %" PRIu32 " stream%s, %" PRIu64 " packet%s", size,
                trace->stream_count, plural(trace->stream_count), trace->packet_count,
                plural(trace->packet_count));
}

static void append_lost(GString *text, uint64_t events, uint64_t packets)
{
    if (events || !packets) {
        g_string_append_printf(text, "%" PRIu64 " event%s", events, plural(events));
    }
    if (packets) {
        g_string_append_printf(text, "%s%" PRIu64 " packet%s", events ? " and " : "", packets,
                               plural(packets));
    }
}

static void print_interval(struct lull_out *out, const struct lull_loss *loss, bool is_local)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE];
    lull_time_format_clock(loss->start_ns, is_local, start);
    lull_time_format_clock(loss->end_ns, is_local, end);
    append_lost(text, loss->events, loss->packets);
    lull_out_printf(out, "            %s between %s and %s in stream %" PRIu32 "\n", text->str,
                    start, end, loss->stream);
}

static void print_losses(struct lull_out *out, const struct lull_info *info, uint32_t host,
                         bool is_local)
{
    const uint32_t count = lull_session_loss_count(info->session);
    uint64_t events = 0, packets = 0;
    uint32_t intervals = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_loss *loss = lull_session_loss(info->session, i);
        if (loss->host == host) {
            events += loss->events;
            packets += loss->packets;
            intervals++;
        }
    }
    if (!events && !packets) {
        print_field(out, "lost", "nothing");
        return;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    append_lost(text, events, packets);
    print_field(out, "lost", "%s: what is said about these times may be wrong", text->str);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count && shown < MOST_INTERVALS; i++) {
        const struct lull_loss *loss = lull_session_loss(info->session, i);
        if (loss->host == host) {
            print_interval(out, loss, is_local);
            shown++;
        }
    }
    if (intervals > shown) {
        lull_out_printf(out, "            and %" PRIu32 " more times (--json lists all)\n",
                        intervals - shown);
    }
}

/* Containers by name; services of systemd, which each machine has by the dozen, by number. */
static void print_containers(struct lull_out *out, const struct lull_info *info, uint32_t host,
                             bool ascii)
{
    enum { MOST = 20 };
    uint32_t containers = 0, services = 0;
    for (guint i = 0; i < info->containers->len; i++) {
        const struct lull_container_note *note = info->containers->pdata[i];
        const bool is_service = strcmp(note->runtime, "systemd") == 0;
        if (note->host != host || note->tasks == 0 || strcmp(note->runtime, "host") == 0) {
            continue;
        }
        services += is_service;
        if (!is_service && containers++ < MOST) {
            g_autofree char *name = lull_clean_text(note->name, ascii);
            print_field(out, "container", "%s (%s), %" PRIu32 " task%s", name, note->runtime,
                        note->tasks, plural(note->tasks));
        }
    }
    if (containers > MOST) {
        print_field(out, "", "and %" PRIu32 " more containers (--json lists all)",
                    containers - MOST);
    }
    if (services) {
        print_field(out, "services", "%" PRIu32 " of systemd (cputop --by container names them)",
                    services);
    }
}

static void print_host(struct lull_out *out, const struct lull_info *info, uint32_t host,
                       const struct lull_view_style *style)
{
    g_autofree char *name =
        lull_clean_text(lull_session_host(info->session, host)->name, !style->unicode);
    g_autofree char *heading = g_strdup_printf("Host %s", name);
    print_heading(out, style, heading);
    g_autofree char *recordings = lull_info_recordings_text(info, host, !style->unicode);
    lull_out_text(out, recordings);
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(info->session, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) {
            lull_out_text(out, "\n");
        }
        print_trace(out, info, traces[i], style);
    }
    print_first(out, info, host, style->local_time);
    print_gaps(out, info, host, style->local_time);
    print_containers(out, info, host, !style->unicode);
    if (info->hides_idle && info->hides_idle[host]) {
        print_field(out, "idle", "%s", "not seen: " LULL_HIDDEN_IDLE_CURE);
    }
    print_losses(out, info, host, style->local_time);
}

/* "sched_waking or sched_wakeup": at most two names, none of perf's. */
static void append_names(GString *text, const struct lull_need *need)
{
    const char *name;
    uint32_t shown = 0;
    for (uint32_t i = 0; shown < 2 && (name = lull_need_name(need, i)); i++) {
        if (!strchr(name, ':')) {
            g_string_append_printf(text, "%s%s", shown ? " or " : "", name);
            shown++;
        }
    }
}

/* What one host can say to one question, with the reasons below it. */
static char *answer_text(const struct lull_declared *declared, const struct lull_question *question)
{
    GString *text = g_string_new(NULL);
    enum lull_answer answer = lull_question_judge(declared, question);
    g_string_append_printf(text, "  %-8s%s\n", lull_answer_name(answer), question->text);
    if (answer == LULL_ANSWER_NO) {
        g_string_append(text, "            lacks ");
        bool is_first = true;
        for (const struct lull_need *need = question->needs; lull_need_name(need, 0); need++) {
            if (!lull_need_is_met(declared, need)) {
                g_string_append(text, is_first ? "" : "; ");
                append_names(text, need);
                is_first = false;
            }
        }
        g_string_append_c(text, '\n');
        return g_string_free(text, FALSE);
    }
    for (const struct lull_need *need = question->improves; lull_need_name(need, 0); need++) {
        if (!lull_need_is_met(declared, need)) {
            g_string_append(text, "            without ");
            append_names(text, need);
            g_string_append_printf(text, ": %s\n", need->without);
        }
    }
    return g_string_free(text, FALSE);
}

/* Hosts that give the same answers are named together. */
static void print_questions(struct lull_out *out, const struct lull_info *info,
                            const struct lull_view_style *style)
{
    const uint32_t n_hosts = lull_session_host_count(info->session);
    g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(g_free);
    for (uint32_t host = 0; host < n_hosts; host++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (const struct lull_question *q = lull_questions; q->id; q++) {
            g_autofree char *answer = answer_text(info->declared[host], q);
            g_string_append(text, answer);
        }
        g_ptr_array_add(answers, g_strdup(text->str));
    }
    g_autofree bool *is_done = g_new0(bool, n_hosts);
    for (uint32_t host = 0; host < n_hosts; host++) {
        if (is_done[host] || !lull_info_shows(info, host)) {
            continue;
        }
        g_autoptr(GString) heading = g_string_new("Questions that can be answered for ");
        for (uint32_t other = host; other < n_hosts; other++) {
            if (lull_info_shows(info, other) &&
                strcmp(answers->pdata[host], answers->pdata[other]) == 0) {
                g_string_append(heading, other == host ? "" : ", ");
                lull_clean_append(heading, lull_session_host(info->session, other)->name,
                                  !style->unicode);
                is_done[other] = true;
            }
        }
        lull_out_text(out, "\n");
        print_heading(out, style, heading->str);
        lull_out_text(out, answers->pdata[host]);
    }
}

static bool print_events(struct lull_out *out, const struct lull_info *info,
                         const struct lull_view_style *style, GError **error)
{
    static const struct lull_column columns[] = {
        {.title = "COUNT", .key = "count", .type = LULL_COLUMN_COUNT},
        {.title = "SHARE", .key = "share", .type = LULL_COLUMN_SHARE},
        {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
        {.title = "EVENT", .key = "name", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
        {.title = NULL},
    };
    uint64_t total = 0;
    struct lull_table *table = lull_table_new(columns);
    for (uint32_t i = 0; i < info->events->len; i++) {
        total += g_array_index(info->events, struct lull_event_count, i).count;
    }
    for (uint32_t i = 0; i < info->events->len; i++) {
        const struct lull_event_count *row =
            &g_array_index(info->events, struct lull_event_count, i);
        lull_table_add_row(table);
        lull_table_set_number(table, 0, (int64_t)row->count);
        lull_table_set_real(table, 1, (double)row->count / (double)total);
        lull_table_set_text(table, 2, lull_session_host(info->session, row->host)->name);
        lull_table_set_text(table, 3, row->name);
    }
    g_autofree char *heading = g_strdup_printf("Events: %" PRIu64, total);
    lull_out_text(out, "\n");
    print_heading(out, style, heading);
    bool done = lull_table_print(table, stdout, style, error);
    lull_table_free(table);
    return done;
}

bool lull_info_print_text(const struct lull_info *info, const struct lull_view_style *style,
                          GError **error)
{
    struct lull_out out;
    bool is_first = true;
    lull_out_start(&out, stdout);
    lull_out_fold(&out, style->width);
    for (uint32_t host = 0; host < lull_session_host_count(info->session); host++) {
        if (!lull_info_shows(info, host)) {
            continue;
        }
        if (!is_first) {
            lull_out_text(&out, "\n");
        }
        print_host(&out, info, host, style);
        is_first = false;
    }
    print_questions(&out, info, style);
    return (!info->events || print_events(&out, info, style, error)) &&
           lull_out_end(&out, "what the traces hold", error);
}
