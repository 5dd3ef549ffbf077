/* SPDX-License-Identifier: MIT */
/* lull sync: how the clocks of the machines relate, from the packets they exchanged. */
#include <inttypes.h>
#include <stdio.h>

#include "clock/sync.h"
#include "cmd/join_args.h"
#include "cmd/program_out.h"
#include "source/session/clocks.h"
#include "view/out.h"
#include "view/table.h"

static void fill_pairs(struct lull_table *table, const struct lull_session *session,
                       const struct lull_sync *sync)
{
    uint32_t count;
    const struct lull_sync_pair *pairs = lull_sync_pairs(sync, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_sync_pair *pair = &pairs[i];
        bool is_known =
            pair->quality == LULL_SYNC_ACCURATE || pair->quality == LULL_SYNC_APPROXIMATE;
        lull_table_add_row(table);
        lull_table_set_text(table, 0, lull_session_host(session, pair->a)->name);
        lull_table_set_text(table, 1, lull_session_host(session, pair->b)->name);
        lull_table_set_number(table, 2, pair->matched);
        lull_table_set_number(table, 3, pair->matched_ab);
        lull_table_set_number(table, 4, pair->matched_ba);
        lull_table_set_text(table, 5, lull_sync_quality_name(pair->quality));
        if (pair->guest != LULL_NONE) {
            lull_table_set_text(table, 9, lull_session_host(session, pair->guest)->name);
            lull_table_set_number(table, 10, pair->contained);
            lull_table_set_number(table, 11, pair->not_contained);
        }
        if (!is_known) {
            continue;
        }
        lull_table_set_number(table, 6, pair->offset_ns);
        lull_table_set_real(table, 7, pair->drift_ppm);
        lull_table_set_number(table, 8, pair->bound_ns);
    }
}

static void fill_hosts(struct lull_table *table, const struct lull_session *session,
                       const struct lull_sync *sync)
{
    const struct lull_host_clock *hosts = lull_sync_hosts(sync);
    for (uint32_t i = 0; i < lull_session_host_count(session); i++) {
        const struct lull_host_clock *host = &hosts[i];
        lull_table_add_row(table);
        lull_table_set_text(table, 0, lull_session_host(session, i)->name);
        lull_table_set_text(table, 1,
                            host->is_reference ? "reference"
                            : host->is_joined  ? "joined"
                                               : "not joined");
        if (!host->is_joined && !host->is_reference) {
            continue;
        }
        lull_table_set_number(table, 2, host->offset_ns);
        lull_table_set_real(table, 3, host->drift_ppm);
        if (host->bound_ns >= 0) {
            lull_table_set_number(table, 4, host->bound_ns);
        }
    }
}

static const struct lull_column pair_columns[] = {
    {.title = "HOST A", .key = "a", .type = LULL_COLUMN_TEXT},
    {.title = "HOST B", .key = "b", .type = LULL_COLUMN_TEXT},
    {.title = "MATCHED", .key = "matched", .type = LULL_COLUMN_COUNT},
    {.title = "A→B", .key = "matched_ab", .type = LULL_COLUMN_COUNT, .flags = LULL_COLUMN_DETAIL},
    {.title = "B→A", .key = "matched_ba", .type = LULL_COLUMN_COUNT, .flags = LULL_COLUMN_DETAIL},
    {.title = "QUALITY", .key = "quality", .type = LULL_COLUMN_TEXT},
    {.title = "OFFSET B-A", .key = "offset_ns", .type = LULL_COLUMN_DURATION},
    {.title = "DRIFT", .key = "drift_ppm", .type = LULL_COLUMN_REAL, .unit = "ppm", .digits = 3},
    {.title = "ERROR AT MOST", .key = "bound_ns", .type = LULL_COLUMN_DURATION},
    {.title = "GUEST", .key = "guest", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "INSIDE",
     .key = "contained",
     .type = LULL_COLUMN_COUNT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "OUTSIDE",
     .key = "not_contained",
     .type = LULL_COLUMN_COUNT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {0},
};

static void fill_unmatched(struct lull_table *table, const struct lull_session *session,
                           const struct lull_sync *sync)
{
    static const char *const why[] = {"few", "outside", "unsure", "several"};
    uint32_t count;
    const struct lull_sync_unmatched *list = lull_sync_unmatched(sync, &count);
    for (uint32_t i = 0; i < count; i++) {
        lull_table_add_row(table);
        lull_table_set_text(table, 0, lull_session_host(session, list[i].host)->name);
        lull_table_set_number(table, 1, list[i].pid);
        lull_table_set_text(table, 2, why[list[i].why]);
        if (list[i].nearest != LULL_NONE) {
            lull_table_set_text(table, 3, lull_session_host(session, list[i].nearest)->name);
            lull_table_set_number(table, 4, list[i].contained);
            lull_table_set_number(table, 5, list[i].not_contained);
        }
    }
}

/* In JSON alone; text has a sentence for each. */
static const struct lull_column unmatched_columns[] = {
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    {.title = "PROCESS", .key = "pid", .type = LULL_COLUMN_COUNT},
    {.title = "WHY", .key = "why", .type = LULL_COLUMN_TEXT},
    {.title = "NEAREST", .key = "nearest", .type = LULL_COLUMN_TEXT},
    {.title = "INSIDE", .key = "contained", .type = LULL_COLUMN_COUNT},
    {.title = "OUTSIDE", .key = "not_contained", .type = LULL_COLUMN_COUNT},
    {0},
};

static const struct lull_column host_columns[] = {
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    {.title = "CLOCK", .key = "clock", .type = LULL_COLUMN_TEXT},
    {.title = "ADDED", .key = "offset_ns", .type = LULL_COLUMN_DURATION},
    {.title = "DRIFT", .key = "drift_ppm", .type = LULL_COLUMN_REAL, .unit = "ppm", .digits = 3},
    {.title = "ERROR AT MOST", .key = "bound_ns", .type = LULL_COLUMN_DURATION},
    {0},
};

static bool has_guests(const struct lull_session *session)
{
    uint32_t count;
    const struct lull_sync_pair *pairs = lull_sync_pairs(lull_session_sync(session), &count);
    for (uint32_t i = 0; i < count; i++) {
        if (pairs[i].guest != LULL_NONE) {
            return true;
        }
    }
    return false;
}

static void print_guests(const struct lull_session *session, struct lull_out *out)
{
    uint32_t count;
    const struct lull_sync_pair *pairs = lull_sync_pairs(lull_session_sync(session), &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_sync_pair *pair = &pairs[i];
        if (pair->guest == LULL_NONE) {
            continue;
        }
        const uint32_t host = pair->guest == pair->a ? pair->b : pair->a;
        lull_out_printf(
            out,
            "\n%s is a virtual machine on %s: %" PRIu64 " of its %" PRIu64
            " events in the time that both recorded lie where a virtual CPU of it ran, and "
            "that joins their clocks.\n",
            lull_session_host(session, pair->guest)->name, lull_session_host(session, host)->name,
            pair->contained, pair->contained + pair->not_contained);
    }
}

static void print_unmatched(const struct lull_session *session, struct lull_out *out)
{
    uint32_t count;
    const struct lull_sync_unmatched *list =
        lull_sync_unmatched(lull_session_sync(session), &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_sync_unmatched *one = &list[i];
        const char *nearest =
            one->nearest == LULL_NONE ? "" : lull_session_host(session, one->nearest)->name;
        const uint64_t all = one->contained + one->not_contained;
        lull_out_printf(out,
                        "\nNo host could be identified as the virtual machine of process %" PRId32
                        " on %s: ",
                        one->pid, lull_session_host(session, one->host)->name);
        switch (one->why) {
        case LULL_UNMATCHED_FEW:
            lull_out_text(out, "none recorded enough while it ran. Record both at the same time, "
                               "for a second or longer.\n");
            break;
        case LULL_UNMATCHED_OUTSIDE:
            lull_out_printf(out,
                            "%s comes nearest, but only %" PRIu64 " of its %" PRIu64
                            " events lie where it ran.\n",
                            nearest, one->contained, all);
            break;
        case LULL_UNMATCHED_UNSURE:
            lull_out_printf(out,
                            "%s fits with %" PRIu64 " of its %" PRIu64
                            " events, but with %.2f %% at another offset of its clock.\n",
                            nearest, one->contained, all, 100 * one->other);
            break;
        case LULL_UNMATCHED_SEVERAL:
            lull_out_printf(
                out,
                "%s fits, but so does another host, or it fits another process, or runs this host.\n",
                nearest);
            break;
        }
    }
}

static bool print_text(const struct lull_session *session, const struct lull_table *pairs,
                       const struct lull_table *hosts, const struct lull_view_style *style,
                       GError **error)
{
    struct lull_out out;
    uint32_t n_unmatched;
    lull_out_start(&out, stdout);
    lull_out_fold(&out, style->width);
    if (lull_table_row_count(hosts) < 2) {
        lull_out_text(&out, "One host: there are no clocks to join.\n");
    } else if (lull_table_row_count(pairs) == 0) {
        lull_out_text(&out, "The hosts exchanged no packets that both ends recorded: their clocks "
                            "stay as they are.\n");
    } else {
        lull_out_printf(&out, "%s, and what they say of their clocks:\n\n",
                        has_guests(session)
                            ? "Packets that two hosts exchanged and times at which guests ran"
                            : "Packets that two hosts exchanged");
    }
    if (!lull_table_print(pairs, stdout, style, error)) {
        return false;
    }
    print_guests(session, &out);
    print_unmatched(session, &out);
    lull_sync_unmatched(lull_session_sync(session), &n_unmatched);
    lull_out_printf(&out, "%sWhat is added to each host's own time:\n\n",
                    lull_table_row_count(pairs) || n_unmatched ? "\n" : "");
    return lull_table_print(hosts, stdout, style, error);
}

static bool print_json(const struct lull_args *args, const struct lull_session *session,
                       const struct lull_table *pairs, const struct lull_table *hosts,
                       GError **error)
{
    struct lull_table *unmatched = lull_table_new(unmatched_columns);
    fill_unmatched(unmatched, session, lull_session_sync(session));
    struct lull_program_out out;
    lull_program_out_start(&out, args);
    fputs("{\"version\":1,\"pairs\":", out.file);
    bool done = lull_table_print_json(pairs, out.file, error);
    fputs(",\"hosts\":", out.file);
    done = done && lull_table_print_json(hosts, out.file, error);
    fputs(",\"unmatched\":", out.file);
    done = done && lull_table_print_json(unmatched, out.file, error);
    fputs("}\n", out.file);
    lull_table_free(unmatched);
    return lull_program_out_end(&out, done, error);
}

static int run(const struct lull_args *args, GError **error)
{
    if (!lull_program_out_check(args, NULL, error)) {
        return 2;
    }
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return 1;
    }
    struct lull_view_style style;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    lull_args_join(args, session);
    const struct lull_sync *sync = lull_session_sync(session);
    struct lull_table *pairs = lull_table_new(pair_columns);
    struct lull_table *hosts = lull_table_new(host_columns);
    fill_pairs(pairs, session, sync);
    fill_hosts(hosts, session, sync);
    bool done = lull_program_out_is_wanted(args) ? print_json(args, session, pairs, hosts, error)
                                                 : print_text(session, pairs, hosts, &style, error);
    int status = done ? lull_args_report_problems(session) : 1;
    lull_table_free(pairs);
    lull_table_free(hosts);
    lull_session_free(session);
    return status;
}

static const char *const common[] = {LULL_PROGRAM_OUT_COMMON, NULL};

static const struct lull_example examples[] = {
    {"lull sync client httpd db", "The clocks of three machines that talked to each other."},
    {"lull sync --json traces", "The same for a program, of all traces below a directory."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_sync = {
    .name = "sync",
    .summary = "show how the clocks of several machines are joined",
    .usage = "TRACE…",
    .description =
        "A packet is never received before it is sent. So every packet that two traced hosts "
        "exchanged limits how their clocks can relate; all packets together bound offset and "
        "drift from both sides. For each pair of hosts, the output shows the packets found at "
        "both ends, the offset (B minus A, at the middle of their exchange), the drift of B "
        "against A in parts per million, and the largest possible error; then for each host "
        "what all other verbs add to its own time.\n"
        "\n"
        "The quality is accurate (offset and drift are bounded on both sides), approximate "
        "(drift is bounded on one side), incomplete (packets in one direction only: the clocks "
        "cannot be joined), or fail (the packets contradict clocks that run evenly, as when a "
        "clock was set while tracing). Hosts that exchanged no packets keep their own clocks.\n"
        "\n"
        "A virtual machine and its host need no packets: a guest records events only while one of "
        "its virtual CPUs runs. Where the host recorded that (kvm_entry and kvm_exit), Lull looks "
        "for the one offset at which all of a guest's events lie there. It joins the clocks only "
        "if no other offset comes near; each entry and exit then counts as matched.",
    .output =
        "With --json:\n"
        "\n"
        " {\"version\":1,\n"
        "  \"pairs\":[{\"a\",\"b\",\"matched\",\"matched_ab\",\"matched_ba\",\"quality\",\n"
        "            \"offset_ns\",\"drift_ppm\",\"bound_ns\",\n"
        "            \"guest\",\"contained\",\"not_contained\"}],\n"
        "  \"hosts\":[{\"host\",\"clock\",\"offset_ns\",\"drift_ppm\",\"bound_ns\"}],\n"
        "  \"unmatched\":[{\"host\",\"pid\",\"why\",\"nearest\",\"contained\",\"not_contained\"}]}\n"
        "\n"
        "unmatched: processes that run virtual machines of which no recording is known, though "
        "there are hosts that could be it: none has enough events at times at which it ran "
        "(few); the nearest has too many at others (outside), or fits with another offset of "
        "its clock as well (unsure); or more than one host fits, or it fits more than one "
        "process (several). What is not known is null.",
    .common = common,
    .examples = examples,
    .run = run,
};
