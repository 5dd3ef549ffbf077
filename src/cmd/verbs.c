/* SPDX-License-Identifier: MIT */
/* All verbs, and the options that are spelled the same in all of them. A new verb: its file, its
 * line here, and its name in src/cmd/meson.build. */
#include "cmd/verb.h"

#include <stddef.h>

extern const struct lull_verb lull_verb_calllog;
extern const struct lull_verb lull_verb_calls;
extern const struct lull_verb lull_verb_collect;
extern const struct lull_verb lull_verb_counters;
extern const struct lull_verb lull_verb_cputop;
extern const struct lull_verb lull_verb_critpath;
extern const struct lull_verb lull_verb_daemon;
extern const struct lull_verb lull_verb_export;
extern const struct lull_verb lull_verb_flame;
extern const struct lull_verb lull_verb_freq;
extern const struct lull_verb lull_verb_futex;
extern const struct lull_verb lull_verb_help;
extern const struct lull_verb lull_verb_index;
extern const struct lull_verb lull_verb_info;
extern const struct lull_verb lull_verb_iolatencyfreq;
extern const struct lull_verb lull_verb_iolatencystats;
extern const struct lull_verb lull_verb_iolatencytop;
extern const struct lull_verb lull_verb_iolog;
extern const struct lull_verb lull_verb_iousagetop;
extern const struct lull_verb lull_verb_irqfreq;
extern const struct lull_verb lull_verb_irqlog;
extern const struct lull_verb lull_verb_irqstats;
extern const struct lull_verb lull_verb_mark;
extern const struct lull_verb lull_verb_memtop;
extern const struct lull_verb lull_verb_heap;
extern const struct lull_verb lull_verb_hprof;
extern const struct lull_verb lull_verb_nettop;
extern const struct lull_verb lull_verb_periodfreq;
extern const struct lull_verb lull_verb_periodlog;
extern const struct lull_verb lull_verb_periodstats;
extern const struct lull_verb lull_verb_periodtop;
extern const struct lull_verb lull_verb_print;
extern const struct lull_verb lull_verb_record;
extern const struct lull_verb lull_verb_snapshot;
extern const struct lull_verb lull_verb_requests;
extern const struct lull_verb lull_verb_schedfreq;
extern const struct lull_verb lull_verb_schedlog;
extern const struct lull_verb lull_verb_schedstats;
extern const struct lull_verb lull_verb_schedtop;
extern const struct lull_verb lull_verb_serve;
extern const struct lull_verb lull_verb_states;
extern const struct lull_verb lull_verb_stats;
extern const struct lull_verb lull_verb_symbols;
extern const struct lull_verb lull_verb_sync;
extern const struct lull_verb lull_verb_syscallstats;
extern const struct lull_verb lull_verb_top;
extern const struct lull_verb lull_verb_track;
extern const struct lull_verb lull_verb_trigger;
extern const struct lull_verb lull_verb_view;
extern const struct lull_verb lull_verb_vms;
extern const struct lull_verb lull_verb_waits;
extern const struct lull_verb lull_verb_why;

/* clang-format off */
const struct lull_verb *const lull_verbs[] = {
    &lull_verb_record,
    &lull_verb_snapshot,
    &lull_verb_top,
    &lull_verb_track,
    &lull_verb_daemon,
    &lull_verb_trigger,
    &lull_verb_mark,
    &lull_verb_collect,
    &lull_verb_critpath,
    &lull_verb_requests,
    &lull_verb_why,
    &lull_verb_waits,
    &lull_verb_view,
    &lull_verb_stats,
    &lull_verb_info,
    &lull_verb_print,
    &lull_verb_sync,
    &lull_verb_export,
    &lull_verb_index,
    &lull_verb_serve,
    &lull_verb_cputop,
    &lull_verb_schedtop,
    &lull_verb_schedlog,
    &lull_verb_schedstats,
    &lull_verb_schedfreq,
    &lull_verb_counters,
    &lull_verb_iousagetop,
    &lull_verb_iolatencytop,
    &lull_verb_iolatencystats,
    &lull_verb_iolatencyfreq,
    &lull_verb_iolog,
    &lull_verb_syscallstats,
    &lull_verb_futex,
    &lull_verb_calls,
    &lull_verb_calllog,
    &lull_verb_flame,
    &lull_verb_symbols,
    &lull_verb_heap,
    &lull_verb_hprof,
    &lull_verb_irqstats,
    &lull_verb_irqlog,
    &lull_verb_irqfreq,
    &lull_verb_memtop,
    &lull_verb_nettop,
    &lull_verb_vms,
    &lull_verb_freq,
    &lull_verb_periodlog,
    &lull_verb_periodtop,
    &lull_verb_periodstats,
    &lull_verb_periodfreq,
    &lull_verb_states,
    &lull_verb_help,
    NULL,
};
/* clang-format on */

const struct lull_verb_group lull_verb_groups[] = {
    {"Record", &lull_verb_record},
    {"While it happens", &lull_verb_top},
    {"What programs waited for", &lull_verb_critpath},
    {"What a trace holds", &lull_verb_stats},
    {"CPUs and scheduling", &lull_verb_cputop},
    {"Files and disks", &lull_verb_iousagetop},
    {"System calls and locks", &lull_verb_syscallstats},
    {"Functions that programs call", &lull_verb_calls},
    {"Interrupts, memory, network, power", &lull_verb_irqstats},
    {"Periods and states that you define", &lull_verb_periodlog},
    {"Help", &lull_verb_help},
    {NULL, NULL},
};

const char *lull_verb_heading(const struct lull_verb *verb)
{
    for (const struct lull_verb_group *group = lull_verb_groups; group->title; group++) {
        if (group->first == verb) {
            return group->title;
        }
    }
    return NULL;
}

extern const struct lull_topic lull_topic_filter;
extern const struct lull_topic lull_topic_periods;
extern const struct lull_topic lull_topic_states;

const struct lull_topic *const lull_topics[] = {&lull_topic_filter, &lull_topic_periods,
                                                &lull_topic_states, NULL};

const char lull_program_description[] =
    "Lull answers one question: what was my program waiting for? It reads what the kernel "
    "recorded on one or many machines (traces of LTTng, ftrace and perf), joins their clocks and "
    "follows every wake-up backwards.\n\nTo start: 'sudo lull record COMMAND' records what happens "
    "while COMMAND runs; 'lull critpath' then shows what it waited for.\n\nTRACE is what a tracer "
    "wrote, or a directory that holds such traces at any depth:\n"
    "\n"
    " LTTng        the directory of a session: CTF 1.8 or 2, kernel and user\n"
    "              space, rotation chunks, snapshots, what lttng-crash saved\n"
    " ftrace       a trace.dat of trace-cmd, if lull --version lists ftrace\n"
    " perf         a perf.data, also as a pipe wrote it\n"
    " /dev/stdin   such a file, or an archive, through a pipe:\n"
    "              perf record -o - … | lull …\n"
    " lull record  the directory that it made\n"
    " archives     a directory packed as .tar, .tar.gz, .tar.bz2, .tar.xz,\n"
    "              .tar.zst or .zip, or a file as perf.data.zst or trace.dat.xz,\n"
    "              if lull --version lists packed traces\n"
    " live         net://HOST[:PORT]/host/TARGET/SESSION, a session of an LTTng\n"
    "              relay, for 'lull print'; 'lull info net://HOST' lists them\n"
    "\n"
    "Several may be given, of one machine or of many. Rotation chunks and snapshots of a session "
    "are read as one trace. The contents of an archive may be 250 times its size (or 1 GiB, if "
    "that is more; at most 64 GiB): Lull keeps up to 64 MiB in memory, and more in a file in "
    "$TMPDIR that is removed when Lull ends.\n"
    "\n"
    "Options that take a LIST, such as --tid, --pid, --comm and --cpu, take one or more with "
    "commas between, and may be given several times: --comm nginx --comm 'php*' means --comm "
    "'nginx,php*'. Different options narrow "
    "it down: --pid 40 --comm 'php*' selects what fits both.\n"
    "\n"
    "Results for a terminal go through a pager, as with git: $LULL_PAGER, else $PAGER, else less; "
    "--no-pager, before or after the verb, or LULL_PAGER=cat, prints them at once.";

static const char *const json_times[] = {"ns", "iso", NULL};
static const char *const color_choices[] = {"auto", "always", "never", NULL};

const struct lull_option lull_common_options[] = {
    {.name = "begin",
     .letter = 'b',
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "nothing before time T: nanoseconds or seconds since 1970, an ISO date-time, "
             "HH:MM:SS[.n] of the trace's first day, or +1.5s, +200ms, … after the first event"},
    {.name = "end",
     .letter = 'e',
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "nothing at or after time T"},
    {.name = "timerange",
     .kind = LULL_OPTION_TEXT,
     .argument = "T,T",
     .help = "start and end in one option, as in +1s,+2s"},
    {.name = "intersection",
     .kind = LULL_OPTION_FLAG,
     .help = "of each trace only the time in which all its streams have packets"},
    {.name = "local",
     .kind = LULL_OPTION_FLAG,
     .help = "times are read and shown in the local time zone, not in UTC"},
    {.name = "host", .kind = LULL_OPTION_TEXT, .argument = "NAME", .help = "only this machine"},
    {.name = "cpu",
     .kind = LULL_OPTION_NUMBERS,
     .argument = "LIST",
     .help = "only these CPUs (N,N,…)"},
    {.name = "tid",
     .kind = LULL_OPTION_NUMBERS,
     .argument = "LIST",
     .help = "only tasks with one of these thread ids (N,N,…)"},
    {.name = "pid",
     .kind = LULL_OPTION_NUMBERS,
     .argument = "LIST",
     .help = "only tasks of these processes (N,N,…)"},
    {.name = "comm",
     .kind = LULL_OPTION_LIST,
     .argument = "LIST",
     .help =
         "only tasks with one of these names (NAME,NAME,…; the kernel keeps the first 15 bytes of "
         "a name), or names that match a pattern, as in 'postgres*'"},
    {.name = "container",
     .kind = LULL_OPTION_LIST,
     .argument = "LIST",
     .help = "only tasks in one of these containers: names, patterns for a name or the path of a "
             "control group, or six digits or more of an id"},
    {.name = "filter",
     .kind = LULL_OPTION_TEXT,
     .argument = "EXPR",
     .help = "only events for which EXPR is true, as in 'name == \"sched_switch\" && next_comm =~ "
             "\"postgres*\"'; 'lull help filter' describes the language"},
    {.name = "limit",
     .letter = 'n',
     .kind = LULL_OPTION_LIMIT,
     .argument = "N",
     .help = "at most N rows of each table or list; 0 or unlimited: all"},
    {.name = "no-sync",
     .kind = LULL_OPTION_FLAG,
     .help = "keep the clocks of the machines as they are: do not join them by the packets they "
             "exchanged"},
    {.name = "threads",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "read streams that need no merge with N threads; results do not depend on it "
             "(default: one for each CPU)"},
    {.name = "json",
     .letter = 'j',
     .kind = LULL_OPTION_FLAG,
     .help = "print JSON for programs; share/lull/schema/lull-VERB.schema.json describes it"},
    {.name = "json-times",
     .kind = LULL_OPTION_CHOICE,
     .argument = "FORM",
     .help =
         "how times of day are written for other programs: as nanoseconds since 1970, or as texts, "
         "for readers that round such numbers, as jq and JavaScript do",
     .choices = json_times},
    {.name = "csv",
     .kind = LULL_OPTION_FLAG,
     .help =
         "print the tables with commas between fields, as spreadsheets read them: a line of headings, "
         "which are the keys of JSON, then a line for each row"},
    {.name = "tsv", .kind = LULL_OPTION_FLAG, .help = "the same with tabs"},
    {.name = "color",
     .kind = LULL_OPTION_CHOICE,
     .argument = "WHEN",
     .help = "use colours",
     .choices = color_choices},
    {.name = "no-pager",
     .kind = LULL_OPTION_FLAG,
     .help = "print to the terminal at once, not through $LULL_PAGER, $PAGER or less"},
    {.name = "no-progress",
     .kind = LULL_OPTION_FLAG,
     .help = "show no progress bar, even on a terminal"},
    {.name = "help", .letter = 'h', .kind = LULL_OPTION_FLAG, .help = "show this help"},
    {.name = NULL},
};
