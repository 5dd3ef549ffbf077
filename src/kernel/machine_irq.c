/* SPDX-License-Identifier: MIT */
/* Interrupt contexts: which handlers are active on a CPU, nested, and what they represent when
 * something is woken in them. A wake-up in an interrupt is charged to what the interrupt is about,
 * never to the task that happened to be there. */
#include "kernel/calls.h"
#include "kernel/current_task.h"
#include "kernel/machine.h"
#include "kernel/wait_reason.h"

#include <string.h>

#include "base/sums.h"

enum {
    SOFTIRQ_TIMER = 1,
    SOFTIRQ_NET_TX = 2,
    SOFTIRQ_NET_RX = 3,
    SOFTIRQ_BLOCK = 4,
    SOFTIRQ_IRQ_POLL = 5,
    SOFTIRQ_HRTIMER = 8,
};

/* Of what a handler returns: IRQ_WAKE_THREAD of linux/irqreturn.h. */
enum { RET_WAKE_THREAD = 2 };

static const char *const softirq_names[LULL_SOFTIRQS] = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};

/* Start and end events of the contexts that have no number of their own. */
static const struct {
    enum lull_event_id entry, exit;
    enum frame_kind kind;
    const char *label, *name;
} pairs[] = {
    {LULL_EVENT_hrtimer_entry, LULL_EVENT_hrtimer_exit, FRAME_HRTIMER, "hrtimer", "hrtimer"},
    {LULL_EVENT_local_timer_entry, LULL_EVENT_local_timer_exit, FRAME_LOCAL_TIMER,
     "local timer interrupt", "local timer"},
    {LULL_EVENT_reschedule_entry, LULL_EVENT_reschedule_exit, FRAME_IPI, "reschedule IPI",
     "reschedule"},
    {LULL_EVENT_call_function_entry, LULL_EVENT_call_function_exit, FRAME_IPI, "call function IPI",
     "call function"},
    {LULL_EVENT_call_function_single_entry, LULL_EVENT_call_function_single_exit, FRAME_IPI,
     "call function single IPI", "call function single"},
    {LULL_EVENT_irq_work_entry, LULL_EVENT_irq_work_exit, FRAME_IPI, "irq work IPI", "irq work"},
    {LULL_EVENT_ipi_entry, LULL_EVENT_ipi_exit, FRAME_IPI, "IPI", "IPI"},
    {LULL_EVENT_do_irq_entry, LULL_EVENT_do_irq_exit, FRAME_WHOLE_IRQ, "interrupt", "interrupt"},
    {LULL_EVENT_receive_entry, LULL_EVENT_receive_exit, FRAME_RECEIVE, "packet reception",
     "packet reception"},
};

/* Labels after those of softirqs and pairs: of interrupts whose start was not recorded. */
enum { LABEL_HARD = LULL_SOFTIRQS + G_N_ELEMENTS(pairs), LABEL_SOFT, N_LABELS };

/* What a hard interrupt is about, by the prefix of its handler's name, when no event in it says
 * more. */
static const struct {
    const char *prefix;
    enum lull_cause cause;
} irq_causes[] = {
    {"timer", LULL_CAUSE_TIMER},      {"rtc", LULL_CAUSE_TIMER},
    {"hpet", LULL_CAUSE_TIMER},       {"arch_timer", LULL_CAUSE_TIMER},
    {"i8042", LULL_CAUSE_USER_INPUT}, {"nvme", LULL_CAUSE_DISK},
    {"ahci", LULL_CAUSE_DISK},        {"ata_", LULL_CAUSE_DISK},
    {"megasas", LULL_CAUSE_DISK},     {"mpt", LULL_CAUSE_DISK},
    {"blkif", LULL_CAUSE_DISK},       {"mmc", LULL_CAUSE_DISK},
    {"eth", LULL_CAUSE_NETWORK},      {"enp", LULL_CAUSE_NETWORK},
    {"ens", LULL_CAUSE_NETWORK},      {"eno", LULL_CAUSE_NETWORK},
    {"wlan", LULL_CAUSE_NETWORK},     {"iwlwifi", LULL_CAUSE_NETWORK},
    {"mlx", LULL_CAUSE_NETWORK},
};

void irq_init_labels(struct lull_model *model)
{
    G_STATIC_ASSERT((size_t)N_LABELS <= G_N_ELEMENTS(model->fixed_labels));
    model->fixed_labels[LABEL_HARD].label = model_label(model, "hard interrupt");
    model->fixed_labels[LABEL_SOFT].label = model_label(model, "softirq");
    for (uint32_t i = 0; i < LULL_SOFTIRQS; i++) {
        char text[32];
        g_snprintf(text, sizeof text, "softirq %s", softirq_names[i]);
        model->fixed_labels[i].label = model_label(model, text);
        model->fixed_labels[i].name = model_label(model, softirq_names[i]);
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        model->fixed_labels[LULL_SOFTIRQS + i].label = model_label(model, pairs[i].label);
        model->fixed_labels[LULL_SOFTIRQS + i].name = model_label(model, pairs[i].name);
    }
}

void irq_reset(struct cpu *cpu)
{
    cpu->n_frames = 0;
    cpu->thread_irq = -1;
}

bool irq_is_active(const struct cpu *cpu)
{
    /* The reception of a packet is part of the context around it, be it a softirq or a task. */
    return cpu->n_frames > 1 || (cpu->n_frames == 1 && cpu->frames[0].kind != FRAME_RECEIVE);
}

static const struct raiser no_raiser = {LULL_NONE, LULL_NONE};

static struct frame *push(struct cpu *cpu, int64_t t, enum frame_kind kind, uint32_t number,
                          struct irq_label label)
{
    if (cpu->n_frames == LULL_MAX_FRAMES) { /* deeper than any kernel nests: ends were lost */
        cpu->n_frames = 0;
    }
    cpu->thread_irq = -1; /* the kernel wakes it at once, or not at all */
    struct frame *frame = &cpu->frames[cpu->n_frames++];
    *frame = (struct frame){
        .start_ns = t,
        .raise_ns = INT64_MIN,
        .raiser = no_raiser,
        .number = number,
        .label = label.label,
        .name = label.name,
        .first_packet = LULL_NONE,
        .packet = LULL_NONE,
        .request = LULL_NONE,
        .cause = label.cause,
        .kind = kind,
    };
    return frame;
}

static struct lull_handler_fact handler_fact(const struct lull_model *model,
                                             const struct machine *machine, int32_t c, int64_t t,
                                             const struct frame *frame)
{
    static const uint8_t kinds[] = {
        [FRAME_IRQ] = LULL_HANDLER_IRQ,         [FRAME_SOFTIRQ] = LULL_HANDLER_SOFTIRQ,
        [FRAME_HRTIMER] = LULL_HANDLER_HRTIMER, [FRAME_LOCAL_TIMER] = LULL_HANDLER_VECTOR,
        [FRAME_IPI] = LULL_HANDLER_VECTOR,      [FRAME_WHOLE_IRQ] = LULL_HANDLER_VECTOR,
    };
    return (struct lull_handler_fact){
        .start_ns = frame->start_ns,
        .end_ns = t,
        .nested_ns = frame->nested_ns,
        .raise_ns = frame->raise_ns,
        .host = machine->host,
        .cpu = c,
        .task = model_on_cpu(model, model_cpu_at(machine, c)),
        .number = frame->kind == FRAME_IRQ || frame->kind == FRAME_SOFTIRQ ? frame->number : 0,
        .label = frame->label,
        .name = frame->name,
        .kind = kinds[frame->kind],
    };
}

/* A handler ended; the one it interrupted has that much less of its time to itself. */
static void report_handler(struct lull_model *model, const struct machine *machine, int32_t c,
                           int64_t t, const struct frame *frame, struct frame *around)
{
    if (frame->kind == FRAME_RECEIVE) { /* no handler by itself */
        if (around) {
            lull_add(&around->nested_ns, frame->nested_ns);
        }
        return;
    }
    if (around) {
        lull_add(&around->nested_ns, t - frame->start_ns);
    }
    const struct lull_handler_fact fact = handler_fact(model, machine, c, t, frame);
    REPORT(model, handler, &fact);
}

static void report_start(const struct lull_model *model, const struct machine *machine, int32_t c,
                         const struct frame *frame)
{
    if (model->wanted.handler_start && frame->kind != FRAME_RECEIVE) {
        const struct lull_handler_fact fact =
            handler_fact(model, machine, c, frame->start_ns, frame);
        REPORT(model, handler_start, &fact);
    }
}

/* Ends the innermost context of that kind and number; contexts inside it have lost their ends. An
 * end without a start is ignored. */
static void pop(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                enum frame_kind kind, uint32_t number)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    uint32_t depth = cpu->n_frames;
    while (depth > 0 &&
           (cpu->frames[depth - 1].kind != kind || cpu->frames[depth - 1].number != number)) {
        depth--;
    }
    if (depth == 0) {
        return;
    }
    cpu->n_frames = depth - 1;
    if (model->wanted.handler) {
        report_handler(model, machine, c, t, &cpu->frames[depth - 1],
                       depth > 1 ? &cpu->frames[depth - 2] : NULL);
    }
    if (depth > 1) {
        return;
    }
    struct lull_interrupt_fact fact = {
        cpu->frames[0].start_ns, t, machine->host, c, model_on_cpu(model, cpu),
        cpu->frames[0].label};
    REPORT(model, interrupt, &fact);
    if (G_UNLIKELY(model->counters)) {
        counters_interrupted(model, machine, c, t);
    }
}

/* An interrupt that is not recorded may raise softirqs in place of the task that it interrupted: then only
 * those of the network are taken for the task's. */
static struct raiser find_raiser(const struct lull_model *model, const struct cpu *cpu,
                                 const struct lull_ev_softirq_raise *event)
{
    const enum irq_context context =
        irq_context_of(LULL_HAS(event, softirq_raise, flags), event->flags);
    const bool is_network = event->vec == SOFTIRQ_NET_TX || event->vec == SOFTIRQ_NET_RX;
    struct raiser raiser = no_raiser;
    uint32_t depth = cpu->n_frames;
    while (depth > 0 && cpu->frames[depth - 1].kind == FRAME_RECEIVE) {
        depth--;
    }
    if (depth > 0) {
        raiser.label = cpu->frames[depth - 1].label;
    } else if (context == IRQ_HARD || context == IRQ_SOFT) {
        raiser.label = model->fixed_labels[context == IRQ_HARD ? LABEL_HARD : LABEL_SOFT].label;
    } else if (cpu->task != LULL_NONE && !model->tasks.items[cpu->task].is_idle &&
               (context == IRQ_NONE || is_network)) {
        raiser.task = cpu->task;
    }
    return raiser;
}

void irq_raised(const struct lull_model *model, struct cpu *cpu, int64_t t,
                const struct lull_ev_softirq_raise *event)
{
    const int64_t vec = event->vec;
    if (vec < 0 || vec >= LULL_SOFTIRQS) {
        return;
    }
    /* Raised again before it runs is raised once; raised while it runs, it will run again. */
    const struct raiser raiser = find_raiser(model, cpu, event);
    if (cpu->raised_ns[vec] == INT64_MIN) {
        cpu->raised_ns[vec] = t;
        cpu->raisers[vec] = raiser;
    } else if (raiser.task != cpu->raisers[vec].task || raiser.label != cpu->raisers[vec].label) {
        cpu->raisers[vec] = no_raiser; /* which of them it was, nothing says */
    }
}

/* The cause that a handler's name shows ("virtio2-req.0"), or IRQ. */
static enum lull_cause cause_of_irq(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(irq_causes); i++) {
        if (g_str_has_prefix(name, irq_causes[i].prefix)) {
            return irq_causes[i].cause;
        }
    }
    if (g_str_has_prefix(name, "virtio")) {
        return strstr(name, "-req.")                                 ? LULL_CAUSE_DISK
               : strstr(name, "-input.") || strstr(name, "-output.") ? LULL_CAUSE_NETWORK
                                                                     : LULL_CAUSE_IRQ;
    }
    return LULL_CAUSE_IRQ;
}

static struct irq_label make_irq_label(struct lull_model *model, uint32_t irq,
                                       struct lull_text name)
{
    char text[96];
    g_snprintf(text, sizeof text, "irq %u%s%.*s", irq, name.length ? " " : "", (int)name.length,
               name.length ? name.data : "");
    struct irq_label made = {model_label(model, text), LULL_NONE, LULL_CAUSE_IRQ};
    if (name.length) {
        made.name = model_label_of(model, name);
        made.cause = cause_of_irq(model->labels.items[made.name]);
    }
    return made;
}

static const struct irq_label *find_irq_label(const struct machine *machine, uint32_t irq)
{
    const uint32_t known = lull_map_find(&machine->irqs, irq);
    return known == LULL_MAP_NONE ? NULL : &machine->irq_labels.items[known];
}

/* Handlers keep their names: these are looked at again, and made into labels, only when they
 * differ. */
static struct irq_label irq_label(struct lull_model *model, struct machine *machine, uint32_t irq,
                                  struct lull_text name)
{
    uint32_t known = lull_map_find(&machine->irqs, irq);
    name.length = MIN(name.length, 64);
    if (known == LULL_MAP_NONE) {
        known = (uint32_t)machine->irq_labels.count;
        lull_vec_push(&machine->irq_labels, make_irq_label(model, irq, name));
        lull_map_insert(&machine->irqs, irq, known);
    }
    struct irq_label *label = &machine->irq_labels.items[known];
    const char *now = label->name != LULL_NONE ? model->labels.items[label->name] : "";
    if (name.length && (strlen(now) != name.length || memcmp(now, name.data, name.length) != 0)) {
        *label = make_irq_label(model, irq, name);
    }
    return *label;
}

/* Threads to which interrupts leave what they do not do themselves; the number in the name, and what follows it. */
static const struct {
    const char *start;
    char after;
    enum irq_thread kind;
} threads[] = {
    {"irq/", '-', IRQ_HANDLERS_THREAD},     {"ksoftirqd/", '\0', IRQ_SOFTIRQS_THREAD},
    {"ktimers/", '\0', IRQ_TIMERS_THREAD}, /* in kernels with PREEMPT_RT */
    {"ktimersd/", '\0', IRQ_TIMERS_THREAD}, {"ktimersoftd/", '\0', IRQ_TIMERS_THREAD},
};

enum irq_thread irq_thread_of(const struct lull_model *model, const struct cpu *cpu, int32_t c,
                              const struct task *task, enum irq_context context)
{
    const char *comm = task->name == LULL_NONE ? "" : model->names.items[task->name].comm;
    size_t i = 0;
    if (G_LIKELY(*comm != 'i' && *comm != 'k') || comm[1] == 'w') {
        return IRQ_NO_THREAD; /* most of what is woken, and workers of the kernel */
    }
    while (i < G_N_ELEMENTS(threads) && !g_str_has_prefix(comm, threads[i].start)) {
        i++;
    }
    if (i == G_N_ELEMENTS(threads) || !g_ascii_isdigit(comm[strlen(threads[i].start)])) {
        return IRQ_NO_THREAD;
    }
    char *rest = NULL;
    const uint64_t number = g_ascii_strtoull(comm + strlen(threads[i].start), &rest, 10);
    /* A frame may be left around a handler that has returned, as of a softirq; that is no other's while the thread of timers
     * is woken, as with PREEMPT_RT a softirq is part of its task. A thread of softirqs that is at work, and waits for a lock,
     * a task wakes. */
    const bool is_its = threads[i].kind == IRQ_HANDLERS_THREAD
                            ? cpu->thread_irq >= 0 && number == (uint64_t)cpu->thread_irq &&
                                  (context == IRQ_HARD || context == IRQ_NOT_TOLD)
                            : (cpu->n_frames == 0 || threads[i].kind == IRQ_TIMERS_THREAD) &&
                                  number == (uint64_t)c && task->letter != 'D';
    return is_its && *rest == threads[i].after ? threads[i].kind : IRQ_NO_THREAD;
}

/* It is woken once for that: whatever wakes it next is something else, as who gives back a lock that it waits for. */
static void classify_handlers_thread(const struct lull_model *model, const struct machine *machine,
                                     struct cpu *cpu, struct lull_wakeup *wakeup)
{
    const struct irq_label *label = find_irq_label(machine, (uint32_t)cpu->thread_irq);
    cpu->thread_irq = -1;
    wakeup->cause = label ? label->cause : LULL_CAUSE_IRQ;
    wakeup->label = label ? label->label : model->fixed_labels[LABEL_HARD].label;
}

/* Of those vectors, bits; LULL_SOFTIRQS: none is raised. */
static uint32_t first_raised(const struct cpu *cpu, uint32_t vectors)
{
    uint32_t first = LULL_SOFTIRQS;
    for (uint32_t i = 0; i < LULL_SOFTIRQS; i++) {
        if (vectors & 1u << i && cpu->raised_ns[i] != INT64_MIN &&
            (first == LULL_SOFTIRQS || cpu->raised_ns[i] < cpu->raised_ns[first])) {
            first = i;
        }
    }
    return first;
}

/* What was raised first is what it is woken for. Kernels that have a thread for timers leave those to that. */
static void classify_softirqs_thread(const struct lull_model *model, const struct cpu *cpu,
                                     enum irq_thread thread, struct lull_wakeup *wakeup)
{
    const uint32_t timers = 1u << SOFTIRQ_TIMER | 1u << SOFTIRQ_HRTIMER;
    uint32_t first = first_raised(cpu, thread == IRQ_TIMERS_THREAD ? timers : ~timers);
    if (first == LULL_SOFTIRQS && thread == IRQ_SOFTIRQS_THREAD) {
        first = first_raised(cpu, timers);
    }
    wakeup->cause = LULL_CAUSE_IRQ;
    wakeup->label = model->fixed_labels[first < LULL_SOFTIRQS ? first : LABEL_SOFT].label;
    if (first < LULL_SOFTIRQS) {
        wakeup->raiser = cpu->raisers[first].task;
        wakeup->raiser_label = cpu->raisers[first].label;
        wakeup->raise_ns = cpu->raised_ns[first];
    }
}

static void report_timer(struct lull_model *model, const struct machine *machine, int64_t t,
                         enum lull_event_id id, const void *event)
{
    const struct lull_ev_hrtimer_entry *ev = event;
    if (model->wanted.timer && id == LULL_EVENT_hrtimer_entry &&
        LULL_HAS(ev, hrtimer_entry, timer) && LULL_HAS(ev, hrtimer_entry, function)) {
        const struct lull_timer_fact fact = {t, machine->host, (uint64_t)ev->timer,
                                             (uint64_t)ev->function};
        REPORT(model, timer, &fact);
    }
}

/* Whom an event found on the CPU: says that an idle CPU was still idle, where that is all that is
 * recorded of it. */
static void interrupted(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                        bool is_reported, int64_t tid)
{
    struct cpu *cpu = model->cpu;
    if (is_reported && cpu->task != LULL_NONE && model->tasks.items[cpu->task].public.tid == tid) {
        sched_seen(model, cpu, t);
    } else if (is_reported) {
        const struct current current = {
            .tid = current_number(true, tid), .pid = -1, .is_sure = true};
        sched_current(model, machine, c, t, &current);
    }
}

bool irq_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               enum lull_event_id id, const void *event)
{
    struct cpu *cpu = model->cpu;
    if (id == LULL_EVENT_irq_handler_entry) {
        const struct lull_ev_irq_handler_entry *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, irq_handler_entry);
        if (cpu->n_frames > 0) { /* what is done in a softirq from here on may be for it */
            cpu->frames[cpu->n_frames - 1].raiser = no_raiser;
        }
        report_start(
            model, machine, c,
            push(cpu, t, FRAME_IRQ, ev->irq, irq_label(model, machine, ev->irq, ev->name)));
        return true;
    }
    if (id == LULL_EVENT_irq_handler_exit) {
        const struct lull_ev_irq_handler_exit *ev = event;
        interrupted(model, machine, c, t, LULL_HAS(ev, irq_handler_exit, context_tid),
                    ev->context_tid);
        pop(model, machine, c, t, FRAME_IRQ, ev->irq);
        if (LULL_HAS(ev, irq_handler_exit, ret) && ev->ret & RET_WAKE_THREAD) {
            cpu->thread_irq = (uint32_t)ev->irq;
        }
        return true;
    }
    if (id == LULL_EVENT_softirq_entry) {
        const struct lull_ev_softirq_entry *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, softirq_entry);
        if (ev->vec >= 0 && ev->vec < LULL_SOFTIRQS) {
            struct frame *frame =
                push(cpu, t, FRAME_SOFTIRQ, ev->vec, model->fixed_labels[ev->vec]);
            frame->raise_ns = cpu->raised_ns[ev->vec];
            frame->raiser = frame->raise_ns == INT64_MIN ? no_raiser : cpu->raisers[ev->vec];
            cpu->raised_ns[ev->vec] = INT64_MIN;
            report_start(model, machine, c, frame);
        }
        return true;
    }
    if (id == LULL_EVENT_softirq_exit) {
        const struct lull_ev_softirq_exit *ev = event;
        interrupted(model, machine, c, t, LULL_HAS(ev, softirq_exit, context_tid), ev->context_tid);
        pop(model, machine, c, t, FRAME_SOFTIRQ, ev->vec);
        return true;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        if (id != pairs[i].entry && id != pairs[i].exit) {
            continue;
        }
        const struct lull_ev_local_timer_entry *ev = event; /* all pairs start with its fields */
        interrupted(model, machine, c, t, LULL_HAS(ev, local_timer_entry, context_tid),
                    ev->context_tid);
        if (id == pairs[i].entry) {
            report_start(model, machine, c,
                         push(cpu, t, pairs[i].kind, pairs[i].entry,
                              model->fixed_labels[LULL_SOFTIRQS + i]));
            report_timer(model, machine, t, id, event);
        } else {
            pop(model, machine, c, t, pairs[i].kind, pairs[i].entry);
        }
        return true;
    }
    return false;
}

enum lull_cause irq_frame_cause(const struct frame *frame)
{
    switch ((enum frame_kind)frame->kind) {
    case FRAME_HRTIMER:
    case FRAME_LOCAL_TIMER:
        return LULL_CAUSE_TIMER;
    case FRAME_RECEIVE:
        return LULL_CAUSE_NETWORK;
    case FRAME_IPI:
        return LULL_CAUSE_IPI;
    case FRAME_WHOLE_IRQ:
        return LULL_CAUSE_IRQ;
    case FRAME_IRQ:
        return frame->cause;
    case FRAME_SOFTIRQ:
        switch (frame->number) {
        case SOFTIRQ_TIMER:
        case SOFTIRQ_HRTIMER:
            return LULL_CAUSE_TIMER;
        case SOFTIRQ_NET_TX:
        case SOFTIRQ_NET_RX:
            return LULL_CAUSE_NETWORK;
        case SOFTIRQ_BLOCK:
        case SOFTIRQ_IRQ_POLL:
            return LULL_CAUSE_DISK;
        }
        return LULL_CAUSE_IRQ;
    }
    return LULL_CAUSE_UNKNOWN;
}

/* The innermost context decides; a block request that completed in it, or a packet that was
 * received in it, says more than its kind. The reception of a packet is a part of the context
 * around it. */
static void classify_interrupt(const struct lull_model *model, const struct cpu *cpu,
                               struct lull_wakeup *wakeup)
{
    const struct frame *frame = &cpu->frames[cpu->n_frames - 1];
    const struct frame *around = frame;
    wakeup->label = frame->label;
    wakeup->cause = irq_frame_cause(frame);
    while (around->kind == FRAME_RECEIVE && around > cpu->frames) {
        around--;
    }
    wakeup->raiser = around->raiser.task;
    wakeup->raiser_label = around->raiser.label;
    wakeup->raise_ns = around->raise_ns;
    if (wakeup->cause == LULL_CAUSE_TIMER) {
        return;
    }
    if (frame->request != LULL_NONE) {
        wakeup->cause = LULL_CAUSE_DISK;
        wakeup->request = frame->request;
    } else if (frame->packet != LULL_NONE) {
        wakeup->cause = LULL_CAUSE_NETWORK;
    }
    if (wakeup->cause == LULL_CAUSE_NETWORK) {
        wakeup->first_packet = frame->first_packet, wakeup->packet = frame->packet;
    }
}

/* Where softirqs are not recorded, a packet that arrived since the last switch is what they were
 * about: that of the idle loop, and of a task for the one wake-up that follows. */
static bool classify_unseen_softirq(const struct lull_model *model, const struct machine *machine,
                                    struct cpu *cpu, struct lull_wakeup *wakeup)
{
    if (machine->has_softirqs || cpu->last_packet == LULL_NONE) {
        return false;
    }
    wakeup->cause = LULL_CAUSE_NETWORK;
    wakeup->first_packet = wakeup->packet = cpu->last_packet;
    if (cpu->task == LULL_NONE || !model->tasks.items[cpu->task].is_idle) {
        cpu->last_packet = LULL_NONE;
    }
    return true;
}

enum irq_context irq_context_of(bool is_reported, int64_t flags)
{
    enum { FLAG_HARDIRQ = 8, FLAG_SOFTIRQ = 16, FLAG_NMI = 64 }; /* linux/trace_events.h */
    return !is_reported                        ? IRQ_NOT_TOLD
           : flags & (FLAG_HARDIRQ | FLAG_NMI) ? IRQ_HARD
           : flags & FLAG_SOFTIRQ              ? IRQ_SOFT
                                               : IRQ_NONE;
}

/* Nothing but time makes a timerfd ready, nor ends poll() of nothing. */
static bool waits_for_time(const struct lull_model *model, const struct call *call)
{
    return (call->args.have & CALL_ARG_FD && lull_wait_file_is(model, call->file, "a timerfd")) ||
           (call->args.have & CALL_ARG_WATCHED && call->args.watched == 0);
}

/* Whether the task is in a call whose end is a timer's, or a signal's. */
static bool is_sleep(const struct lull_model *model, const struct task *task)
{
    static const char sleep[] = "nanosleep";
    if (task->call != LULL_NONE && waits_for_time(model, &model->calls.items[task->call])) {
        return true;
    }
    const char *name = task->syscall != LULL_NONE ? model->labels.items[task->syscall] : "";
    const size_t length = call_name_length(name);
    return length >= strlen(sleep) && g_str_has_prefix(name + length - strlen(sleep), sleep);
}

void irq_guess(const struct lull_model *model, const struct task *task, struct lull_wakeup *wakeup)
{
    if (is_sleep(model, task)) {
        wakeup->cause = LULL_CAUSE_TIMER; /* or a signal's, whose sender mostly is seen */
    } else if (task->state == LULL_STATE_BLOCKED && task->is_uninterruptible &&
               task->request != LULL_NONE &&
               model->requests.items[task->request].complete_ns == INT64_MIN) {
        wakeup->cause = LULL_CAUSE_DISK;
        wakeup->request = task->request;
    }
}

/* An interrupt that is not recorded, as where only some tasks are: nor is the request that it completes. */
static void classify_unseen(const struct lull_model *model, const struct task *task,
                            enum irq_context context, struct lull_wakeup *wakeup)
{
    wakeup->cause = LULL_CAUSE_IRQ;
    wakeup->label = model->fixed_labels[context == IRQ_HARD ? LABEL_HARD : LABEL_SOFT].label;
    irq_guess(model, task, wakeup);
}

/* Whether the CPU may be in an interrupt of which the start was lost: not in a system call that started since. */
static bool may_be_interrupted(const struct lull_model *model, const struct cpu *cpu)
{
    if (G_LIKELY(cpu->unsure_ns == INT64_MIN)) {
        return false;
    }
    const uint32_t call = cpu->task == LULL_NONE ? LULL_NONE : model->tasks.items[cpu->task].call;
    return call == LULL_NONE || model->calls.items[call].start_ns < cpu->unsure_ns;
}

/* Of a kernel thread that serves loop devices; before Linux 5.14 each device had its own. */
static bool may_serve(const struct lull_model *model, uint32_t task)
{
    const char *comm = task == LULL_NONE ? "" : lull_model_comm(model, task, INT64_MAX);
    return g_str_has_prefix(comm, "kworker/") || g_str_has_prefix(comm, "loop");
}

void irq_name_server(const struct lull_model *model, const struct cpu *cpu, int64_t t,
                     struct lull_wakeup *wakeup)
{
    if (wakeup->request == LULL_NONE ||
        !lull_block_is_of_file(&model->requests.items[wakeup->request])) {
        return;
    }
    if (may_serve(model, cpu->task)) {
        wakeup->raiser = cpu->task;
        wakeup->raise_ns = t;
    } else if (may_serve(model, cpu->softirqs_for)) {
        wakeup->raiser = cpu->softirqs_for;
        wakeup->raise_ns = cpu->softirqs_for_ns;
    }
}

void irq_classify(const struct lull_model *model, const struct machine *machine, struct cpu *cpu,
                  const struct task *task, enum irq_thread thread, enum irq_context context,
                  struct lull_wakeup *wakeup)
{
    if (thread == IRQ_HANDLERS_THREAD) {
        classify_handlers_thread(model, machine, cpu, wakeup);
    } else if (thread) {
        classify_softirqs_thread(model, cpu, thread, wakeup);
    } else if (cpu->n_frames > 0) {
        classify_interrupt(model, cpu, wakeup);
    } else if (context != IRQ_NONE && classify_unseen_softirq(model, machine, cpu, wakeup)) {
        return;
    } else if (context == IRQ_HARD || context == IRQ_SOFT) {
        classify_unseen(model, task, context, wakeup);
    } else if (cpu->task == LULL_NONE || may_be_interrupted(model, cpu)) {
        wakeup->cause = LULL_CAUSE_UNKNOWN;
    } else if (!model->tasks.items[cpu->task].is_idle) {
        struct lull_call_note call;
        wakeup->cause = LULL_CAUSE_TASK;
        wakeup->task = cpu->task;
        wakeup->call = model->tasks.items[cpu->task].syscall;
        if (calls_note(model, &model->tasks.items[cpu->task], &call)) {
            wakeup->file = call.file;
        }
    } else if (cpu->last_request != LULL_NONE) {
        /* The idle loop runs what other CPUs queued for it, without any interrupt. */
        wakeup->cause = LULL_CAUSE_DISK;
        wakeup->request = cpu->last_request;
    }
}
