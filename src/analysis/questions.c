/* SPDX-License-Identifier: MIT */
/* The table of questions and the judgement by it. */
#include "analysis/questions.h"
#include "source/session/streams.h"

#include <string.h>

#define NEEDS(...) ((const struct lull_need[]){__VA_ARGS__ __VA_OPT__(, ){NULL}})
#define EVENTS(...)                                                                                \
    .events = (const enum lull_event_id[]){__VA_ARGS__},                                           \
    .n_events = sizeof((const enum lull_event_id[]){__VA_ARGS__}) / sizeof(enum lull_event_id)
#define NAMES(...)                                                                                 \
    .names = (const char *const[])                                                                 \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

#define SWITCH EVENTS(LULL_EVENT_sched_switch)
#define WAKING EVENTS(LULL_EVENT_sched_waking, LULL_EVENT_sched_wakeup)
#define IRQ_ENTRY EVENTS(LULL_EVENT_irq_handler_entry)
#define SOFTIRQ_ENTRY EVENTS(LULL_EVENT_softirq_entry)
#define VECTORS                                                                                    \
    EVENTS(LULL_EVENT_local_timer_entry, LULL_EVENT_reschedule_entry,                              \
           LULL_EVENT_call_function_entry, LULL_EVENT_call_function_single_entry,                  \
           LULL_EVENT_irq_work_entry)
#define BLOCK_ISSUE EVENTS(LULL_EVENT_block_rq_issue)
#define BLOCK_COMPLETE EVENTS(LULL_EVENT_block_rq_complete)
/* The same events of other tracers lack the headers of the packets, so classes that have them are
 * declared by a second name too. */
#define WITH_HEADERS " with the headers of packets"
static const char *const may_have_headers[] = {"net_dev_queue", "net_if_receive_skb",
                                               "netif_receive_skb"};

/* Without headers, sockets know their connections. */
#define SENT_ON_CONNECTION                                                                         \
    NAMES("net_dev_queue" WITH_HEADERS, "sock_send_length", "sock:sock_send_length")
#define RECEIVED_ON_CONNECTION                                                                     \
    NAMES("net_if_receive_skb" WITH_HEADERS, "netif_receive_skb" WITH_HEADERS, "tcp_probe",        \
          "tcp:tcp_probe")
/* TCP's numbers are enough to tell one packet from another. */
#define SENT_WITH_NUMBERS                                                                          \
    NAMES("net_dev_queue" WITH_HEADERS, "inet_sock_local_out", "sock_send_length",                 \
          "sock:sock_send_length")
#define RECEIVED_WITH_NUMBERS                                                                      \
    NAMES("net_if_receive_skb" WITH_HEADERS, "netif_receive_skb" WITH_HEADERS,                     \
          "inet_sock_local_in", "tcp_probe", "tcp:tcp_probe")

const struct lull_question lull_questions[] = {
    {
        .id = "critical-path",
        .text = "what a task waited for, and on whom (critical path)",
        .needs = NEEDS({SWITCH}, {WAKING}),
        .improves =
            NEEDS({EVENTS(LULL_EVENT_sched_process_fork), .without = "new tasks have no parent"},
                  {IRQ_ENTRY,
                   .without = "time in interrupt handlers is charged to the task they interrupt"},
                  {SOFTIRQ_ENTRY,
                   .without = "work done by soft interrupts is charged to the task they interrupt"},
                  {VECTORS, .without = "timer and inter-processor interrupts are not seen"}),
    },
    {
        .id = "timers",
        .text = "which waits were for a timer",
        .needs = NEEDS({SWITCH}, {WAKING}, {EVENTS(LULL_EVENT_hrtimer_entry)}),
        .improves =
            NEEDS({SOFTIRQ_ENTRY,
                   .without = "timeouts of low resolution look like other soft interrupts"}),
    },
    {
        .id = "disk-waits",
        .text = "which waits were for a disk",
        .needs = NEEDS({SWITCH}, {WAKING}, {BLOCK_ISSUE}, {BLOCK_COMPLETE}),
        .improves = NEEDS(
            {EVENTS(LULL_EVENT_statedump_block_device), .without = "disks are numbers, not names"},
            {EVENTS(LULL_EVENT_block_rq_insert),
             .without = "time in the queue of the disk is not seen"}),
    },
    {
        .id = "network-waits",
        .text = "which waits were for the network, and who sent",
        .needs = NEEDS({SWITCH}, {WAKING}, {EVENTS(LULL_EVENT_packet_sent, LULL_EVENT_socket_sent)},
                       {EVENTS(LULL_EVENT_packet_received, LULL_EVENT_socket_received)}),
        .improves = NEEDS(
            {SOFTIRQ_ENTRY, .without = "wake-ups by packets are hard to distinguish from others"},
            {RECEIVED_WITH_NUMBERS, .without = "senders on other machines are not found: the "
                                               "headers of packets are not recorded"}),
    },
    {
        .id = "requests",
        .text = "requests between programs over TCP",
        .needs = NEEDS({SENT_ON_CONNECTION}, {RECEIVED_ON_CONNECTION}),
        .improves = NEEDS({SWITCH, .without = "connections have no tasks"},
                          {WAKING, .without = "how long the client was blocked is not known"}),
    },
    {
        .id = "clock-sync",
        .text = "joining this machine's clock with those of others",
        .needs = NEEDS({SENT_WITH_NUMBERS}, {RECEIVED_WITH_NUMBERS}),
        .improves = NEEDS(),
    },
    {
        .id = "cpu",
        .text = "CPU use by task, scheduling delays and priorities",
        .needs = NEEDS({SWITCH}),
        .improves =
            NEEDS({WAKING, .without = "delays between wake-up and run are not seen"},
                  {EVENTS(LULL_EVENT_sched_migrate_task),
                   .without = "migrations between CPUs are seen late"},
                  {NAMES("sched_pi_setprio", "sched:sched_pi_setprio"),
                   .without = "changes of priority are seen late", .is_of_priorities = true}),
    },
    {
        .id = "frequency",
        .text = "CPU frequency from its first change on, if it changed, and time in cycles",
        .needs = NEEDS({NAMES("power_cpu_frequency", "cpu_frequency", "power:cpu_frequency")}),
        .improves = NEEDS({NAMES("power_cpu_idle", "cpu_idle", "power:cpu_idle"),
                           .without = "idle states are not seen"}),
    },
    {
        .id = "interrupts",
        .text = "interrupts: how many, how long, by handler",
        .needs = NEEDS({IRQ_ENTRY}, {EVENTS(LULL_EVENT_irq_handler_exit)}),
        .improves =
            NEEDS({SOFTIRQ_ENTRY, .without = "soft interrupts are not seen"},
                  {EVENTS(LULL_EVENT_softirq_exit),
                   .without = "the ends of soft interrupts are not seen"},
                  {NAMES("irq_softirq_raise", "softirq_raise", "irq:softirq_raise"),
                   .without = "the delay before a soft interrupt runs is not seen"},
                  {VECTORS, .without = "timer and inter-processor interrupts are not seen"}),
    },
    {
        .id = "syscalls",
        .text = "system calls: how many, how long, with what result",
        .needs = NEEDS({EVENTS(LULL_EVENT_syscall_entry)}, {EVENTS(LULL_EVENT_syscall_exit)}),
        .improves = NEEDS({SWITCH, .without = "calls have no task without a context"}),
    },
    {
        .id = "io",
        .text = "input and output by task, file and disk",
        .needs = NEEDS({NAMES("syscall_entry_read", "sys_enter", "raw_syscalls:sys_enter",
                              "syscalls:sys_enter_read", "sys_read")},
                       {NAMES("syscall_entry_write", "sys_enter", "raw_syscalls:sys_enter",
                              "syscalls:sys_enter_write", "sys_write")}),
        .improves = NEEDS({NAMES("lttng_statedump_file_descriptor"),
                           .without = "files that were open before have no names"},
                          {BLOCK_ISSUE, .without = "what the disks did is not seen"},
                          {BLOCK_COMPLETE, .without = "when the disks were done is not seen"}),
    },
    {
        .id = "network",
        .text = "network traffic by interface and connection",
        .needs = NEEDS({EVENTS(LULL_EVENT_netif_sent, LULL_EVENT_packet_sent)},
                       {EVENTS(LULL_EVENT_netif_received)}),
        .improves = NEEDS(
            {SENT_ON_CONNECTION, .without = "what was sent on connections is not seen"},
            {RECEIVED_ON_CONNECTION, .without = "what was received on connections is not seen"}),
    },
    {
        .id = "memory",
        .text = "memory: pages allocated and freed by task",
        .needs = NEEDS({NAMES("kmem_mm_page_alloc", "mm_page_alloc", "kmem:mm_page_alloc")},
                       {NAMES("kmem_mm_page_free", "mm_page_free", "kmem:mm_page_free")}),
        .improves = NEEDS({NAMES("x86_exceptions_page_fault_user", "page_fault_user",
                                 "exceptions:page_fault_user"),
                           .without = "page faults are not seen"}),
    },
    {
        .id = "task-names",
        .text = "names and processes of tasks that were there at the start",
        .needs = NEEDS({EVENTS(LULL_EVENT_statedump_process)}),
        .improves =
            NEEDS({EVENTS(LULL_EVENT_task_rename),
                   .without = "tasks that rename themselves keep the old name for a while"}),
    },
    {
        .id = "virtual-machines",
        .text = "when guests ran, as a host of virtual machines",
        .needs = NEEDS({NAMES("kvm_x86_entry", "kvm_entry", "kvm:kvm_entry")},
                       {NAMES("kvm_x86_exit", "kvm_exit", "kvm:kvm_exit")}),
        .improves = NEEDS(),
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
    bool with_headers[G_N_ELEMENTS(may_have_headers)];
};

static void note_headers(void *user, const struct lull_field_info *field)
{
    *(bool *)user |= g_str_has_prefix(field->path, "network_header.");
}

static void look_for_headers(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct lull_declared *declared = user;
    const char *name = lull_event_class_name(event_class);
    for (size_t i = 0; i < G_N_ELEMENTS(may_have_headers); i++) {
        if (strcmp(name, may_have_headers[i]) == 0) {
            lull_event_class_each_field(event_class, note_headers, &declared->with_headers[i]);
        }
    }
}

struct lull_declared *lull_declared_new(const struct lull_session *session, uint32_t host)
{
    struct lull_declared *declared = g_new0(struct lull_declared, 1);
    declared->session = session;
    declared->host = host;
    lull_session_each_host_class(session, host, look_for_headers, declared);
    return declared;
}

void lull_declared_free(struct lull_declared *declared)
{
    g_free(declared);
}

static bool declares_name(const struct lull_declared *declared, const char *name)
{
    return lull_session_declares(declared->session, declared->host, (const char *[]){name, NULL});
}

static bool declares_headers(const struct lull_declared *declared, const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(may_have_headers); i++) {
        const char *rest = declared->with_headers[i] ? strstr(name, WITH_HEADERS) : NULL;
        if (rest && strncmp(name, may_have_headers[i], (size_t)(rest - name)) == 0 &&
            declares_name(declared, may_have_headers[i])) {
            return true;
        }
    }
    return false;
}

struct start_search {
    const struct lull_declared *declared;
    const char *pattern;
    bool found;
};

static void look_at_start(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct start_search *search = user;
    const char *name = lull_event_class_name(event_class);
    search->found =
        search->found || (strncmp(name, search->pattern, strlen(search->pattern) - 1) == 0 &&
                          declares_name(search->declared, name));
}

static bool declares_start(const struct lull_declared *declared, const char *pattern)
{
    struct start_search search = {.declared = declared, .pattern = pattern};
    lull_session_each_host_class(declared->session, declared->host, look_at_start, &search);
    return search.found;
}

const char *lull_need_name(const struct lull_need *need, uint32_t index)
{
    for (uint32_t i = 0; i < need->n_events; i++) {
        const char *const *names = lull_vocabulary_names(need->events[i]);
        for (; *names; names++) {
            if (index-- == 0) {
                return *names;
            }
        }
    }
    for (const char *const *name = need->names; name && *name; name++) {
        if (index-- == 0) {
            return *name;
        }
    }
    return NULL;
}

bool lull_need_is_met(const struct lull_declared *declared, const struct lull_need *need)
{
    const char *name;
    for (uint32_t i = 0; (name = lull_need_name(need, i)); i++) {
        if (g_str_has_suffix(name, "*")            ? declares_start(declared, name)
            : g_str_has_suffix(name, WITH_HEADERS) ? declares_headers(declared, name)
                                                   : declares_name(declared, name)) {
            return true;
        }
    }
    return false;
}

static bool all_met(const struct lull_declared *declared, const struct lull_need *needs)
{
    for (; lull_need_name(needs, 0); needs++) {
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

const struct lull_question *lull_question_find(const char *id)
{
    for (const struct lull_question *q = lull_questions; id && q->id; q++) {
        if (strcmp(q->id, id) == 0) {
            return q;
        }
    }
    return NULL;
}

bool lull_question_can_answer(const struct lull_session *session,
                              const struct lull_question *question)
{
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        struct lull_declared *declared = lull_declared_new(session, host);
        const enum lull_answer answer = lull_question_judge(declared, question);
        lull_declared_free(declared);
        if (answer != LULL_ANSWER_NO) {
            return true;
        }
    }
    return false;
}
