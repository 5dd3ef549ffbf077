/* SPDX-License-Identifier: MIT */
/* The verbs of interrupts, memory, networks and frequencies: lull irq*, memtop, nettop, freq. */
#include <stddef.h>

#include "cmd/analysis_verb.h"

/* ---- irq ---- */

static const struct lull_option irq_options[] = {
    LULL_OPTION_STATS,
    LULL_OPTION_FREQ,
    LULL_OPTION_LOG,
    LULL_OPTION_LIMIT_ROWS,
    {.name = "irq",
     .kind = LULL_OPTION_NUMBERS,
     .argument = "LIST",
     .help = "only these hardware interrupts (N,N,…), and soft ones only with --softirq"},
    {.name = "softirq",
     .kind = LULL_OPTION_NUMBERS,
     .argument = "LIST",
     .help = "only these soft interrupts (N,N,…), and hardware ones only with --irq"},
    LULL_OPTIONS_DURATION,
    LULL_OPTIONS_FREQ,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_WHEN,
    {.name = NULL},
};

#define IRQ_DESCRIPTION                                                                            \
    "Handlers of hardware interrupts, soft interrupts and, where they were recorded, timers and "  \
    "other vectors. A handler counts where it ends. The raise latency of a soft interrupt is the " \
    "time from when it was first raised to when its handler began. --tid and --comm choose the "   \
    "tasks that were interrupted."

#define IRQ_VERB(verb_name, section_, summary_, first, examples_)                                  \
    const struct lull_verb lull_verb_##verb_name = {                                               \
        .name = #verb_name,                                                                        \
        .summary = summary_,                                                                       \
        .usage = "TRACE…",                                                                         \
        .description = first "\n\n" IRQ_DESCRIPTION,                                               \
        .options = irq_options,                                                                    \
        .common = lull_analysis_common,                                                            \
        .examples = examples_,                                                                     \
        .run = lull_analysis_verb_run,                                                             \
        .analysis = &(const struct lull_verb_analysis){&lull_analysis_irq, section_},              \
    }

static const struct lull_example irqstats_examples[] = {
    {"lull irqstats my-trace", "All interrupts."},
    {"lull irqstats --softirq 1,3 my-trace", "The timer's and the network's soft interrupts."},
    {NULL, NULL},
};
IRQ_VERB(irqstats, LULL_SECTION_STATS, "show statistics of interrupts: how many, how long",
         "Shows for each interrupt how often its handler ran and how long it took, and for soft "
         "interrupts how long they waited.",
         irqstats_examples);

static const struct lull_example irqfreq_examples[] = {
    {"lull irqfreq --irq 28 my-trace", "How long the handlers of one interrupt took."},
    {"lull irqfreq --freq-uniform my-trace", "All interrupts, with the same bins."},
    {NULL, NULL},
};
IRQ_VERB(irqfreq, LULL_SECTION_FREQ, "show histograms of how long handlers of interrupts took",
         "Shows for each interrupt how often its handler took how long.", irqfreq_examples);

static const struct lull_example irqlog_examples[] = {
    {"lull irqlog --min 100us my-trace", "Handlers that took a tenth of a millisecond and more."},
    {"lull irqlog --cpu 0 --stats my-trace", "Those of one CPU, and statistics."},
    {NULL, NULL},
};
IRQ_VERB(irqlog, LULL_SECTION_LOG, "list all handlers of interrupts",
         "Lists each run of an interrupt's handler, in the order in which they ended.",
         irqlog_examples);

/* ---- memtop ---- */

static const struct lull_option memtop_options[] = {
    LULL_OPTION_LIMIT_ROWS,
    {.name = "by-order",
     .kind = LULL_OPTION_FLAG,
     .help = "a row for each order: how many allocations of 1, 2, 4, … pages"},
    {.name = "top",
     .kind = LULL_OPTION_FLAG,
     .help = "nothing: it is always printed (lttng-analyses has the option)"},
    LULL_OPTION_BY,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_WHEN,
    {.name = NULL},
};

static const struct lull_example memtop_examples[] = {
    {"lull memtop my-trace", "Who allocated and freed most pages."},
    {"lull memtop --by-order my-trace", "In blocks of what size."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_memtop = {
    .name = "memtop",
    .summary = "show which tasks allocated and freed memory",
    .usage = "TRACE…",
    .description =
        "Pages that the kernel allocated and freed while a task was on the CPU, by task and in "
        "all. An allocation of order N is of 2^N pages. Pages that are freed later by another task "
        "count for that one.",
    .options = memtop_options,
    .common = lull_analysis_common,
    .examples = memtop_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_memtop, LULL_SECTION_TOP},
};

/* ---- nettop ---- */

static const struct lull_option nettop_options[] = {
    LULL_OPTION_LIMIT_ROWS, LULL_OPTION_BY, LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN, {.name = NULL}};

static const struct lull_example nettop_examples[] = {
    {"lull nettop my-trace", "Interfaces, tasks and connections that moved most."},
    {"lull nettop --by container my-trace", "Which containers moved most."},
    {"lull nettop --limit 0 client httpd db", "All connections of three machines."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_nettop = {
    .name = "nettop",
    .summary = "show which network interfaces, tasks and connections moved most",
    .usage = "TRACE…",
    .description =
        "Packets and bytes by network interface, by task, and by connection with the task that "
        "sends on it. Connections need the headers of packets, which LTTng records with "
        "net_dev_queue and netif_receive_skb; without them only TCP's are seen, in bytes, by the "
        "events sock_send_length, tcp_probe and inet_sock_set_state.",
    .options = nettop_options,
    .common = lull_analysis_common,
    .examples = nettop_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_nettop, LULL_SECTION_TOP},
};

/* ---- freq ---- */

static const struct lull_option freq_options[] = {
    LULL_OPTION_LOG, LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN, {.name = NULL}};

static const struct lull_example freq_examples[] = {
    {"lull freq my-trace", "At which frequencies CPUs and tasks ran."},
    {"lull freq --log --cpu 0 my-trace", "Every change of one CPU."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_freq = {
    .name = "freq",
    .summary = "show at which frequencies CPUs and tasks ran, and idle states",
    .usage = "TRACE…",
    .description =
        "Frequencies and idle states of each CPU over the time range, and for each task how long "
        "it "
        "ran at which frequency and how many cycles it had, so that durations can be compared in "
        "cycles. A frequency is known from its first change on (power_cpu_frequency); what ran "
        "before counts as unknown.",
    .options = freq_options,
    .common = lull_analysis_common,
    .examples = freq_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_freq, LULL_SECTION_TOP},
};
