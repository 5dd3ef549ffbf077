/* SPDX-License-Identifier: MIT */
/* The verb of virtual machines: lull vms. */
#include <stddef.h>

#include "cmd/analysis_verb.h"

static const struct lull_option options[] = {
    LULL_OPTION_LOG, LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN, {.name = NULL},
};

static const struct lull_example examples[] = {
    {"lull vms host", "What virtual CPUs did, as their host saw it, and who kept them waiting."},
    {"lull vms host web db", "The same with two guests: whose task kept whose waiting."},
    {"lull vms --tid 402 host guest", "What happened to one task of a guest."},
    {"lull vms --log --begin +2s --end +2.1s host guest", "Every interval of a tenth of a second."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_vms = {
    .name = "vms",
    .summary = "show what virtual CPUs did, and who kept tasks of guests from running",
    .usage = "TRACE…",
    .description =
        "A guest cannot see that its virtual CPU does not run: a task seems to be on the CPU while "
        "the host gives that CPU to somebody else. Its host can see it. Needed is a recording of the "
        "host with kvm_entry and kvm_exit ('lull record --for vm'); recordings of guests, made "
        "at the same time, say for whom virtual CPUs ran. 'lull sync' says how the clocks of guest "
        "and host are joined; no agent and no packets are needed for it.\n"
        "\n"
        "Each thread that enters a guest is a virtual CPU. From its first entry to its last exit it "
        "is in one of seven states: in the guest (GUEST); on a CPU in KVM, or in the program that runs the "
        "virtual machine (QEMU); without a CPU although it could run, because it was preempted "
        "(PREEMPT) or has just been woken (WOKEN); asleep because the guest has nothing to do (HALTED), or "
        "elsewhere (BLOCKED). What it did before, after, and while events were lost is not counted.\n"
        "\n"
        "AS SEEN is the time for which a task of the guest had a virtual CPU as far as the guest knows; the "
        "seven columns beside it say what that was. GUEST is the time in which it really ran.\n"
        "\n"
        "BY is the task of the host that had the CPU while a virtual CPU waited for it. If that is a "
        "virtual CPU itself, BY VM names its virtual machine and ITS TASK the task in there.\n"
        "\n"
        "Injected interrupts are counted when the guest is entered with them. HALTS are those that "
        "lasted until the interrupt was injected: what an idle guest had waited for. Some versions of "
        "LTTng record 0 as the reason of every exit; a note then says so.\n"
        "\n"
        "--tid, --pid and --comm choose tasks of guests, --cpu virtual CPUs, --host the host of "
        "the virtual machines.",
    .options = options,
    .common = lull_analysis_common,
    .examples = examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_vms, LULL_SECTION_TOP},
};
