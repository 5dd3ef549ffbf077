/* SPDX-License-Identifier: MIT */
/* Which programs there are in bpf/wait.bpf.c, which of them the rules need, and which this kernel has the events for. */
#include "live/bpf_programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/marks.h"

/* Those that measure waits of tasks, and find out whose they are. */
#define WAITS ((1u << LULL_TRACK_SYSCALL) - 1)
/* What all of them need, and no more. */
#define ANY_WAIT (1u << LULL_TRACK_OFFCPU)
#define SOFTIRQS (1u << LULL_TRACK_SOFTIRQ | 1u << LULL_TRACK_RAISE)

/* The programs, in the order in which they are attached: the ends of interrupts before their starts, so
 * that no CPU is thought to be in an interrupt for good. */
static const struct program {
    const char *name, *event;
    uint32_t measures;     /* bits of those that need it */
    bool is_optional;      /* kernels without that event, or of other architectures, do without */
    enum lull_bpf_use use; /* what waits need it for, and nothing else does */
} programs[] = {
    {"irq_exit", "irq_handler_exit", WAITS | 1u << LULL_TRACK_IRQ, false, LULL_BPF_NAMES_WAKERS},
    {"softirq_exit", "softirq_exit", WAITS | SOFTIRQS, false, LULL_BPF_NAMES_WAKERS},
    {"timer_exit", "hrtimer_expire_exit", WAITS | 1u << LULL_TRACK_TIMER, false,
     LULL_BPF_NAMES_WAKERS},
    {"work_exit", "irq_work_exit", WAITS, true, LULL_BPF_NAMES_WAKERS},
    {"function_exit", "call_function_single_exit", WAITS, true, LULL_BPF_NAMES_WAKERS},
    {"irq_entry", "irq_handler_entry", WAITS | 1u << LULL_TRACK_IRQ, false, LULL_BPF_NAMES_WAKERS},
    {"softirq_entry", "softirq_entry", WAITS | SOFTIRQS, false, LULL_BPF_NAMES_WAKERS},
    {"softirq_raised", "softirq_raise", WAITS | 1u << LULL_TRACK_RAISE, false,
     LULL_BPF_NAMES_WAKERS},
    {"timer_entry", "hrtimer_expire_entry", WAITS | 1u << LULL_TRACK_TIMER, false,
     LULL_BPF_NAMES_WAKERS},
    {"work_entry", "irq_work_entry", WAITS, true, LULL_BPF_NAMES_WAKERS},
    {"function_entry", "call_function_single_entry", WAITS, true, LULL_BPF_NAMES_WAKERS},
    {"disk_merged", "block_rq_merge", 1u << LULL_TRACK_QUEUE, false, LULL_BPF_EVER},
    {"disk_queued", "block_rq_insert", 1u << LULL_TRACK_QUEUE, false, LULL_BPF_EVER},
    {"disk_issued", "block_rq_issue", 1u << LULL_TRACK_BLOCK | 1u << LULL_TRACK_QUEUE, false,
     LULL_BPF_EVER},
    {"disk_done", "block_rq_complete", WAITS | 1u << LULL_TRACK_BLOCK, false, LULL_BPF_EVER},
    {"data_ready", "sk_data_ready", WAITS, true, LULL_BPF_NAMES_WAKERS},
    {"tcp_received", "tcp_probe", WAITS, true, LULL_BPF_NAMES_WAKERS},
    {"started", "sched_wakeup_new", WAITS, false, LULL_BPF_EVER},
    {"waking", "sched_waking", WAITS, false, LULL_BPF_SEES_WAKING},
    {"switched", "sched_switch", WAITS, false, LULL_BPF_EVER},
    {"renumbered", "sched_process_exec", WAITS, false, LULL_BPF_EVER},
    {"socket_changed", "inet_sock_set_state", 1u << LULL_TRACK_CONNECT | 1u << LULL_TRACK_TTFB,
     false, LULL_BPF_EVER},
    {"socket_sent", "sock_send_length",
     1u << LULL_TRACK_TTFB | 1u << LULL_TRACK_SERVE | 1u << LULL_TRACK_ASK, false, LULL_BPF_EVER},
    {"socket_received", "sock_recv_length", 1u << LULL_TRACK_SERVE | 1u << LULL_TRACK_ASK, false,
     LULL_BPF_EVER},
    {"packet_queued", "net_dev_queue", 1u << LULL_TRACK_NETTX, false, LULL_BPF_EVER},
    {"packet_sent", "net_dev_start_xmit", 1u << LULL_TRACK_NETTX, false, LULL_BPF_EVER},
    {"packet_received", "netif_receive_skb", 1u << LULL_TRACK_NETRX, false, LULL_BPF_EVER},
    {"packet_read", "skb_copy_datagram_iovec", 1u << LULL_TRACK_NETRX, false, LULL_BPF_EVER},
    {"work_queued", "workqueue_queue_work", 1u << LULL_TRACK_WORK, false, LULL_BPF_EVER},
    {"work_started", "workqueue_execute_start", 1u << LULL_TRACK_WORK, false, LULL_BPF_EVER},
    {"lock_wanted", "contention_begin", 1u << LULL_TRACK_LOCK, false, LULL_BPF_EVER},
    {"lock_taken", "contention_end", 1u << LULL_TRACK_LOCK, false, LULL_BPF_EVER},
    {"reclaim_started", "mm_vmscan_direct_reclaim_begin", 1u << LULL_TRACK_RECLAIM, false,
     LULL_BPF_EVER},
    {"reclaim_ended", "mm_vmscan_direct_reclaim_end", 1u << LULL_TRACK_RECLAIM, false,
     LULL_BPF_EVER},
    {"group_reclaim_started", "mm_vmscan_memcg_reclaim_begin", 1u << LULL_TRACK_RECLAIM, true,
     LULL_BPF_EVER},
    {"group_reclaim_ended", "mm_vmscan_memcg_reclaim_end", 1u << LULL_TRACK_RECLAIM, true,
     LULL_BPF_EVER},
    {"exec_started", "sched_prepare_exec", 1u << LULL_TRACK_EXEC, false, LULL_BPF_EVER},
    {"exec_ended", "sched_process_exec", 1u << LULL_TRACK_EXEC, false, LULL_BPF_EVER},
    {"call_ended", "sys_exit", 1u << LULL_TRACK_SYSCALL, false, LULL_BPF_EVER},
    {"call_started", "sys_enter", 1u << LULL_TRACK_SYSCALL, false, LULL_BPF_EVER},
};

enum { N_PROGRAMS = G_N_ELEMENTS(programs) };

G_STATIC_ASSERT(G_N_ELEMENTS(programs) <= (size_t)LULL_BPF_PROGRAMS);

/* ---- what the machine has ---- */

bool lull_bpf_refuse(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "live tracking: %s", text);
    return false;
}

bool lull_bpf_refuse_errno(GError **error, const char *what, int why)
{
    if (why == EPERM || why == EACCES) {
        return lull_bpf_refuse(
            error,
            "%s: %s: run lull as root, or give it CAP_BPF and CAP_PERFMON (an unprivileged "
            "container, a user namespace or kernel lockdown may forbid it even so)",
            what, g_strerror(why));
    }
    return lull_bpf_refuse(error, "%s: %s%s", what, g_strerror(why),
                           why == ENOSYS ? " (built without CONFIG_BPF_SYSCALL, or a filter of "
                                           "system calls forbids it, as some containers have)"
                                         : "");
}

/* Whether the kernel takes a program of the sort that is needed: one that returns 0. */
static bool may_load(GError **error)
{
    static const struct bpf_insn nothing[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    const int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "lull_try", "GPL", nothing,
                                 G_N_ELEMENTS(nothing), NULL);
    if (fd < 0) {
        return lull_bpf_refuse_errno(error, "cannot load eBPF programs", -fd);
    }
    close(fd);
    return true;
}

int lull_bpf_arguments(const struct btf *kernel, const char *event)
{
    g_autofree char *name = g_strconcat("btf_trace_", event, NULL);
    const int id = btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF);
    const struct btf_type *type = id > 0 ? btf__type_by_id(kernel, (uint32_t)id) : NULL;
    type = type ? btf__type_by_id(kernel, type->type) : NULL;
    type = type && btf_is_ptr(type) ? btf__type_by_id(kernel, type->type) : NULL;
    return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;
}

struct btf *lull_bpf_types(GError **error)
{
    struct stat status;
    if (stat("/sys/kernel/btf/vmlinux", &status) != 0) {
        lull_bpf_refuse(error,
                        "the kernel does not describe its types (no /sys/kernel/btf/vmlinux): it "
                        "needs Linux 5.15 or later, built with CONFIG_DEBUG_INFO_BTF");
        return NULL;
    }
    struct btf *kernel = btf__load_vmlinux_btf();
    if (!kernel) {
        lull_bpf_refuse_errno(error, "cannot read /sys/kernel/btf/vmlinux", errno);
    }
    return kernel;
}

/* A measure, and what else has to be measured for it. */
static uint32_t measures_for(enum lull_track_measure measure)
{
    /* Slots of tasks that have ended are freed by the programs of waits. */
    return 1u << measure | (measure == LULL_TRACK_SYSCALL ? ANY_WAIT : 0);
}

bool lull_bpf_lacks(const char *lacks[LULL_TRACK_MEASURES], GError **error)
{
    libbpf_set_print(NULL);
    struct btf *kernel = may_load(error) ? lull_bpf_types(error) : NULL;
    if (!kernel) {
        return false;
    }
    memset(lacks, 0, sizeof *lacks * LULL_TRACK_MEASURES);
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        const bool is_missing =
            !programs[i].is_optional && lull_bpf_arguments(kernel, programs[i].event) < 0;
        for (uint32_t m = 0; is_missing && m < LULL_TRACK_MEASURES; m++) {
            if (programs[i].measures & measures_for(m) && !lacks[m]) {
                lacks[m] = programs[i].event;
            }
        }
    }
    if (!lull_marks_are_possible()) {
        lacks[LULL_TRACK_MARK] = "uprobe";
    }
    btf__free(kernel);
    return true;
}

uint32_t lull_bpf_measures(const struct lull_tracker_question *question)
{
    const bool has_sums = question->has_sums || question->has_metrics;
    const bool has_waits = question->command || question->has_served;
    uint32_t measures = has_sums ? ANY_WAIT | 1u << LULL_TRACK_BLOCK : has_waits ? ANY_WAIT : 0;
    for (uint32_t i = 0; i < question->n_rules; i++) {
        measures |= measures_for(question->rules[i]->kind->measure);
    }
    return measures;
}

/* ---- what is used of it ---- */

bool lull_bpf_programs_choose(struct lull_bpf_programs *chosen, const struct bpf_object *object,
                              const struct btf *kernel, uint32_t measures, GError **error)
{
    chosen->entered = bpf_object__find_program_by_name(object, "entered");
    if (lull_bpf_arguments(kernel, "itimer_state") < 0) {
        bpf_program__set_autoload(chosen->entered, false);
        chosen->entered = NULL;
    }
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        chosen->program[i] = bpf_object__find_program_by_name(object, programs[i].name);
        const bool is_needed = (programs[i].measures & measures) != 0;
        const bool exists = lull_bpf_arguments(kernel, programs[i].event) >= 0;
        if (is_needed && exists) {
            continue;
        }
        if (is_needed && !programs[i].is_optional) {
            return lull_bpf_refuse(error, "the kernel has no tracepoint %s", programs[i].event);
        }
        bpf_program__set_autoload(chosen->program[i], false);
        chosen->program[i] = NULL;
    }
    return true;
}

struct lull_bpf_cost *lull_bpf_programs_cost(const struct lull_bpf_programs *chosen)
{
    int fds[N_PROGRAMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        if (chosen->program[i]) {
            fds[n++] = bpf_program__fd(chosen->program[i]);
        }
    }
    struct lull_bpf_cost *cost = lull_bpf_cost_new(fds, n);
    if (chosen->entered) {
        lull_bpf_cost_calibrate(cost, chosen->entered);
    }
    return cost;
}

bool lull_bpf_programs_attach(struct lull_bpf_programs *chosen, GError **error)
{
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        if (!chosen->program[i]) {
            continue;
        }
        chosen->link[i] = bpf_program__attach(chosen->program[i]);
        if (!chosen->link[i]) {
            g_autofree char *what = g_strdup_printf("cannot attach to %s", programs[i].event);
            return lull_bpf_refuse_errno(error, what, errno);
        }
    }
    return true;
}

void lull_bpf_programs_give_up(struct lull_bpf_programs *chosen, enum lull_bpf_use use,
                               uint32_t measures)
{
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        if (programs[i].use == use && !(programs[i].measures & measures & ~WAITS)) {
            bpf_link__destroy(chosen->link[i]);
            chosen->link[i] = NULL;
        }
    }
}

void lull_bpf_programs_run(const struct bpf_object *object, const char *name)
{
    const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
    struct bpf_link *link = bpf_program__attach_iter(program, NULL);
    const int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    char nothing[64]; /* it writes nothing, and all of it is done when it has ended */
    while (fd >= 0 && read(fd, nothing, sizeof nothing) > 0) {
    }
    if (fd >= 0) {
        close(fd);
    }
    bpf_link__destroy(link);
}

void lull_bpf_programs_detach(struct lull_bpf_programs *chosen)
{
    for (uint32_t i = N_PROGRAMS; i-- > 0;) {
        bpf_link__destroy(chosen->link[i]);
    }
}
