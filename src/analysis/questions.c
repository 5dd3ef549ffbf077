/* The table of questions and the judgement by it. LTTng, ftrace and perf (names with "subsystem:" in front) call the same
 * thing by different names, each need lists them all. */
#include "analysis/questions.h"

#include <string.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NEEDS(...) ((const struct lull_need[]){__VA_ARGS__ __VA_OPT__(, ){NULL}})
#define NEED(...) {.names = NAMES(__VA_ARGS__)}
#define BETTER(without_, ...) {.names = NAMES(__VA_ARGS__), .without = without_}

#define SWITCH "sched_switch", "sched:sched_switch"
#define WAKING                                                                                     \
    "sched_waking", "sched_wakeup", "sched_ttwu", "sched:sched_waking", "sched:sched_wakeup"
#define NET_SEND "net_dev_queue", "net:net_dev_queue"
#define NET_RECEIVE                                                                                \
    "net_if_receive_skb", "netif_receive_skb", "net:netif_receive_skb", "net_if_rx", "netif_rx"
/* The headers of packets are recorded by LTTng alone. */
#define NET_SEND_HEADERS "net_dev_queue"
#define NET_RECEIVE_HEADERS "net_if_receive_skb", "netif_receive_skb"
#define BLOCK_ISSUE "block_rq_issue", "block:block_rq_issue"
#define BLOCK_COMPLETE "block_rq_complete", "block:block_rq_complete"
#define IRQ_ENTRY "irq_handler_entry", "irq:irq_handler_entry"
#define IRQ_EXIT "irq_handler_exit", "irq:irq_handler_exit"
#define SOFTIRQ_ENTRY "irq_softirq_entry", "softirq_entry", "irq:softirq_entry"
#define SOFTIRQ_EXIT "irq_softirq_exit", "softirq_exit", "irq:softirq_exit"
#define SOFTIRQ_RAISE "irq_softirq_raise", "softirq_raise", "irq:softirq_raise"
#define HRTIMER_EXPIRE                                                                             \
    "timer_hrtimer_expire_entry", "hrtimer_expire_entry", "timer:hrtimer_expire_entry"
#define VECTORS                                                                                    \
    "x86_irq_vectors_*", "irq_vectors:*", "local_timer_entry", "reschedule_entry", "ipi_*"
#define SYSCALL_ENTRY                                                                              \
    "syscall_entry_*", "sys_enter", "raw_syscalls:sys_enter", "syscalls:sys_enter_*", "sys_*"
#define SYSCALL_EXIT                                                                               \
    "syscall_exit_*", "exit_syscall", "sys_exit", "raw_syscalls:sys_exit", "syscalls:sys_exit_*"
#define FORK "sched_process_fork", "sched:sched_process_fork"
#define STATEDUMP_TASKS "lttng_statedump_process_state"

const struct lull_question lull_questions[] = {
    {
        .id = "critical-path",
        .text = "what a task waited for, and on whom (critical path)",
        .needs = NEEDS(NEED(SWITCH), NEED(WAKING)),
        .improves =
            NEEDS(BETTER("new tasks have no parent", FORK),
                  BETTER("time in interrupt handlers is charged to the task they interrupt",
                         IRQ_ENTRY),
                  BETTER("work done by soft interrupts is charged to the task they interrupt",
                         SOFTIRQ_ENTRY),
                  BETTER("timer and inter-processor interrupts are not seen", VECTORS)),
    },
    {
        .id = "timers",
        .text = "which waits were for a timer",
        .needs = NEEDS(NEED(SWITCH), NEED(WAKING), NEED(HRTIMER_EXPIRE)),
        .improves = NEEDS(BETTER("timeouts of low resolution are not told from other soft interrupts",
                                 SOFTIRQ_ENTRY)),
    },
    {
        .id = "disk-waits",
        .text = "which waits were for a disk",
        .needs = NEEDS(NEED(SWITCH), NEED(WAKING), NEED(BLOCK_ISSUE), NEED(BLOCK_COMPLETE)),
        .improves = NEEDS(
            BETTER("disks are numbers, not names", "lttng_statedump_block_device"),
            BETTER("time in the queue of the disk is not seen", "block_rq_insert",
                   "block:block_rq_insert")),
    },
    {
        .id = "network-waits",
        .text = "which waits were for the network, and who sent",
        .needs = NEEDS(NEED(SWITCH), NEED(WAKING), NEED(NET_SEND), NEED(NET_RECEIVE)),
        .improves = NEEDS(BETTER("wake-ups by packets are hard to tell from others", SOFTIRQ_ENTRY),
                          BETTER("senders on other machines are not found: the headers of packets "
                                 "are not recorded",
                                 NET_RECEIVE_HEADERS)),
    },
    {
        .id = "requests",
        .text = "requests between programs over TCP",
        .needs = NEEDS(NEED(NET_SEND_HEADERS), NEED(NET_RECEIVE_HEADERS)),
        .improves = NEEDS(BETTER("connections have no tasks", SWITCH),
                          BETTER("how long the client was blocked is not known", WAKING)),
    },
    {
        .id = "clock-sync",
        .text = "joining this machine's clock with those of others",
        .needs = NEEDS(NEED(NET_SEND_HEADERS), NEED(NET_RECEIVE_HEADERS)),
        .improves = NEEDS(),
    },
    {
        .id = "cpu",
        .text = "CPU use by task, scheduling delays and priorities",
        .needs = NEEDS(NEED(SWITCH)),
        .improves = NEEDS(BETTER("delays between wake-up and run are not seen", WAKING),
                          BETTER("migrations between CPUs are seen late", "sched_migrate_task",
                                 "sched:sched_migrate_task"),
                          BETTER("changes of priority are seen late", "sched_pi_setprio",
                                 "sched:sched_pi_setprio")),
    },
    {
        .id = "frequency",
        .text = "CPU frequency, and time in cycles",
        .needs = NEEDS(NEED("power_cpu_frequency", "cpu_frequency", "power:cpu_frequency")),
        .improves = NEEDS(
            BETTER("idle states are not seen", "power_cpu_idle", "cpu_idle", "power:cpu_idle")),
    },
    {
        .id = "interrupts",
        .text = "interrupts: how many, how long, by handler",
        .needs = NEEDS(NEED(IRQ_ENTRY), NEED(IRQ_EXIT)),
        .improves = NEEDS(BETTER("soft interrupts are not seen", SOFTIRQ_ENTRY),
                          BETTER("the ends of soft interrupts are not seen", SOFTIRQ_EXIT),
                          BETTER("the delay before a soft interrupt runs is not seen",
                                 SOFTIRQ_RAISE),
                          BETTER("timer and inter-processor interrupts are not seen", VECTORS)),
    },
    {
        .id = "syscalls",
        .text = "system calls: how many, how long, with what result",
        .needs = NEEDS(NEED(SYSCALL_ENTRY), NEED(SYSCALL_EXIT)),
        .improves = NEEDS(BETTER("calls have no task without a context", SWITCH)),
    },
    {
        .id = "io",
        .text = "input and output by task, file and disk",
        .needs = NEEDS(NEED("syscall_entry_read", "sys_enter", "raw_syscalls:sys_enter",
                            "syscalls:sys_enter_read", "sys_read"),
                       NEED("syscall_entry_write", "sys_enter", "raw_syscalls:sys_enter",
                            "syscalls:sys_enter_write", "sys_write")),
        .improves = NEEDS(BETTER("files that were open before have no names",
                                 "lttng_statedump_file_descriptor"),
                          BETTER("what the disks did is not seen", BLOCK_ISSUE),
                          BETTER("when the disks were done is not seen", BLOCK_COMPLETE)),
    },
    {
        .id = "memory",
        .text = "memory: pages allocated and freed by task",
        .needs = NEEDS(NEED("kmem_mm_page_alloc", "mm_page_alloc", "kmem:mm_page_alloc"),
                       NEED("kmem_mm_page_free", "mm_page_free", "kmem:mm_page_free")),
        .improves = NEEDS(BETTER("page faults are not seen", "x86_exceptions_page_fault_user",
                                 "page_fault_user", "exceptions:page_fault_user")),
    },
    {
        .id = "task-names",
        .text = "names and processes of tasks that were there at the start",
        .needs = NEEDS(NEED(STATEDUMP_TASKS)),
        .improves = NEEDS(BETTER("tasks that rename themselves keep the old name for a while",
                                 "task_rename", "task:task_rename")),
    },
    {
        .id = "virtual-machines",
        .text = "when guests ran, as a host of virtual machines",
        .needs = NEEDS(NEED("kvm_x86_entry", "kvm_entry", "kvm:kvm_entry"),
                       NEED("kvm_x86_exit", "kvm_exit", "kvm:kvm_exit")),
        .improves = NEEDS(BETTER("guests cannot be matched with their own traces",
                                 "kvm_x86_hypercall", "kvm_hypercall", "kvm:kvm_hypercall")),
    },
    {.id = NULL},
};

const char *lull_answer_name(enum lull_answer answer)
{
    static const char *const names[] = {
        [LULL_ANSWER_YES] = "yes",
        [LULL_ANSWER_PARTLY] = "partly",
        [LULL_ANSWER_NO] = "no",
    };
    return names[answer];
}

struct lull_declared {
    const struct lull_session *session;
    uint32_t host;
    GHashTable *names; /* a set */
};

static void collect(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct lull_declared *declared = user;
    if (lull_session_trace(declared->session, trace)->host == declared->host) {
        g_hash_table_add(declared->names, (void *)lull_event_class_name(event_class));
    }
}

struct lull_declared *lull_declared_new(const struct lull_session *session, uint32_t host)
{
    struct lull_declared *declared = g_new0(struct lull_declared, 1);
    declared->session = session;
    declared->host = host;
    declared->names = g_hash_table_new(g_str_hash, g_str_equal);
    lull_session_each_class(session, collect, declared);
    return declared;
}

void lull_declared_free(struct lull_declared *declared)
{
    if (declared) {
        g_hash_table_unref(declared->names);
        g_free(declared);
    }
}

static bool declares_beginning(const struct lull_declared *declared, const char *pattern)
{
    const size_t length = strlen(pattern) - 1;
    GHashTableIter iter;
    void *name;
    g_hash_table_iter_init(&iter, declared->names);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        if (strncmp(name, pattern, length) == 0) {
            return true;
        }
    }
    return false;
}

bool lull_need_is_met(const struct lull_declared *declared, const struct lull_need *need)
{
    for (uint32_t i = 0; need->names[i]; i++) {
        const char *name = need->names[i];
        if (g_str_has_suffix(name, "*") ? declares_beginning(declared, name)
                                        : g_hash_table_contains(declared->names, name)) {
            return true;
        }
    }
    return false;
}

static bool all_met(const struct lull_declared *declared, const struct lull_need *needs)
{
    for (; needs->names; needs++) {
        if (!lull_need_is_met(declared, needs)) {
            return false;
        }
    }
    return true;
}

enum lull_answer lull_question_judge(const struct lull_declared *declared,
                                     const struct lull_question *question)
{
    if (!all_met(declared, question->needs)) {
        return LULL_ANSWER_NO;
    }
    return all_met(declared, question->improves) ? LULL_ANSWER_YES : LULL_ANSWER_PARTLY;
}
