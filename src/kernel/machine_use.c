/* SPDX-License-Identifier: MIT */
/* What tasks use besides CPUs and disks: pages of memory and network devices; and the idle states
 * and frequencies of CPUs. */
#include "kernel/current_task.h"
#include "kernel/machine.h"

#include <stdio.h>
#include <string.h>

static void use_pages(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      bool is_free, bool has_order, int64_t order)
{
    enum { MAX_ORDER = 63 };
    const struct cpu *cpu = model_cpu_at(machine, c);
    struct lull_page_fact fact = {
        .time_ns = t,
        .host = machine->host,
        .cpu = c,
        .task = model_on_cpu(model, cpu),
        .order = has_order ? (uint8_t)CLAMP(order, 0, MAX_ORDER) : 0,
        .has_order = has_order,
        .is_free = is_free,
        .in_interrupt = irq_is_active(cpu),
    };
    REPORT(model, page, &fact);
}

/* Reported also when no page was found. */
static bool is_failed(const struct lull_ev_page_alloc *ev)
{
    return (LULL_HAS(ev, page_alloc, page) && ev->page == 0) ||
           (LULL_HAS(ev, page_alloc, pfn) && ev->pfn == -1);
}

/* Devices come in runs: most names are the one before. */
static uint32_t device_label(struct lull_model *model, struct cpu *cpu, struct lull_text name)
{
    const char *last = cpu->device == LULL_NONE ? "" : model->labels.items[cpu->device];
    if (name.length == 0) {
        return LULL_NONE;
    }
    if (strncmp(last, name.data, name.length) != 0 || last[name.length] != '\0') {
        cpu->device = model_label_of(model, name);
    }
    return cpu->device;
}

static void use_device(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       bool is_send, int64_t length, struct lull_text device)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    struct lull_netif_fact fact = {
        .time_ns = t,
        .host = machine->host,
        .cpu = c,
        .task = model_on_cpu(model, cpu),
        .device = device_label(model, cpu, device),
        .length = (uint32_t)CLAMP(length, 0, UINT32_MAX),
        .is_send = is_send,
        .in_interrupt = irq_is_active(cpu),
    };
    REPORT(model, netif, &fact);
}

static void use_taken(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      const struct lull_ev_netif_sent *ev)
{
    if (!LULL_HAS(ev, netif_sent, skb) || !ev->skb) {
        return;
    }
    struct cpu *cpu = model_cpu_at(machine, c);
    const struct lull_taken_fact fact = {
        .time_ns = t,
        .host = machine->host,
        .cpu = c,
        .device = device_label(model, cpu, ev->device),
        .device_hash = io_device_hash(ev->device),
        .skb = (uint64_t)ev->skb,
        .context_start_ns = cpu->n_frames ? cpu->frames[cpu->n_frames - 1].start_ns : INT64_MIN};
    REPORT(model, taken, &fact);
}

static void use_paging(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       enum lull_paging_step step, uint32_t path, uint64_t inode)
{
    const struct cpu *cpu = model_cpu_at(machine, c);
    const uint32_t task = model_on_cpu(model, cpu);
    if (task != LULL_NONE && cpu->n_frames == 0) {
        const struct lull_paging_fact fact = {t, machine->host, task, step, path, inode};
        REPORT(model, paging, &fact);
    }
}

/* Of enum lock_contention; NONE: a spin lock, which nobody sleeps for. */
static enum lull_kernel_lock kind_of_lock(int64_t flags)
{
    enum { SPIN = 1, READ = 2, WRITE = 4, RT = 8, PERCPU = 16, MUTEX = 32 };
    static const struct {
        uint8_t flags, lock;
    } kinds[] = {
        {SPIN, LULL_KERNEL_LOCK_NONE},
        {MUTEX, LULL_KERNEL_MUTEX},
        {RT, LULL_KERNEL_RT_MUTEX},
        {PERCPU | WRITE, LULL_KERNEL_PERCPU_RWSEM_WRITE},
        {PERCPU, LULL_KERNEL_PERCPU_RWSEM_READ},
        {WRITE, LULL_KERNEL_RWSEM_WRITE},
        {READ, LULL_KERNEL_RWSEM_READ},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if ((flags & kinds[i].flags) == kinds[i].flags) {
            return kinds[i].lock;
        }
    }
    return LULL_KERNEL_SEMAPHORE;
}

static void use_contention(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                           enum lull_kernel_lock lock, uint64_t address)
{
    const struct cpu *cpu = model_cpu_at(machine, c);
    const uint32_t task = model_on_cpu(model, cpu);
    if (task != LULL_NONE && cpu->n_frames == 0) {
        const struct lull_contention_fact fact = {t, machine->host, task, lock, address};
        REPORT(model, contention, &fact);
    }
}

/* "vda" for "253:0"; file systems that are on no disk of their own have other names: "btrfs-1", "0:45-fuse". */
static uint32_t disk_label(struct lull_model *model, const struct machine *machine,
                           struct lull_text disk)
{
    enum { MINOR_BITS = 20, MAJORS = 4096, SIZE = 32 };
    char name[SIZE + 1];
    size_t length = 0;
    while (length < MIN(disk.length, SIZE) && disk.data[length]) {
        name[length] = disk.data[length];
        length++;
    }
    name[length] = '\0';
    unsigned major, minor;
    int end = 0;
    if (sscanf(name, "%4u:%7u%n", &major, &minor, &end) == 2 && name[end] == '\0' &&
        major < MAJORS && minor < 1u << MINOR_BITS) {
        const uint32_t label = lull_map_find(&machine->devices, major << MINOR_BITS | minor);
        if (label != LULL_MAP_NONE) {
            return label;
        }
    }
    return length ? model_label(model, name) : LULL_NONE;
}

/* Of signal(7), in numbers that all architectures but a few share. */
static bool dumps_core(int64_t signal)
{
    static const uint8_t signals[] = {3, 4, 5, 6, 7, 8, 11, 24, 25, 31};
    return signal > 0 && signal < 32 && memchr(signals, (int)signal, sizeof signals);
}

void use_received(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  int64_t length, struct lull_text device)
{
    if (model->wanted.netif) {
        use_device(model, machine, c, t, false, length, device);
    }
}

static void use_power(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      enum lull_power_kind kind, int64_t value)
{
    if (!lull_is_cpu(c)) {
        return;
    }
    struct cpu *cpu = model_cpu(model, machine, c);
    *(kind == LULL_POWER_IDLE ? &cpu->idle_state : &cpu->frequency_khz) = value;
    struct lull_power_fact fact = {t, machine->host, c, kind, value};
    REPORT(model, power, &fact);
}

enum { MOST_VCPUS = 4095 }; /* KVM_MAX_VCPUS; what is more is no number */

static void use_vcpu(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                     enum lull_vcpu_step step, bool has_number, int64_t number)
{
    const uint32_t task = model_on_cpu(model, model_cpu_at(machine, c));
    if (task != LULL_NONE) {
        const struct lull_vcpu_fact fact = {
            .time_ns = t,
            .host = machine->host,
            .task = task,
            .cpu = c,
            .step = step,
            .number = has_number && number >= 0 && number <= MOST_VCPUS ? number : -1};
        REPORT(model, vcpu, &fact);
    }
}

enum { KVM_RUN = 0xAE80 };

/* Hosts of virtual machines have words of 64 bits, in one byte order or the other: a command has 32, so none is this one in
 * both. */
static bool runs_guest(const struct machine *machine, const struct lull_ev_ioctl_raw_entry *ev)
{
    uint64_t args[2];
    if (ev->args.length < sizeof args) {
        return false;
    }
    memcpy(args, ev->args.data, sizeof args);
    if (args[1] != GUINT64_TO_LE(KVM_RUN) && args[1] != GUINT64_TO_BE(KVM_RUN)) {
        return false;
    }
    const char *name = call_name_of_number(call_numbers_of(machine->arch, false), ev->number);
    return name && strcmp(name, "ioctl") == 0;
}

static void use_vcpu_exit(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                          const struct lull_ev_kvm_exit *ev)
{
    const uint32_t task = model_on_cpu(model, model_cpu_at(machine, c));
    const bool has_number = LULL_HAS(ev, kvm_exit, vcpu) && ev->vcpu >= 0 && ev->vcpu <= MOST_VCPUS;
    uint8_t isa = LULL_ISA_UNKNOWN;
    if (LULL_HAS(ev, kvm_exit, esr)) {
        isa = LULL_ISA_ARM;
    } else if (LULL_HAS(ev, kvm_exit, isa) &&
               (ev->isa == LULL_ISA_VMX || ev->isa == LULL_ISA_SVM)) {
        isa = (uint8_t)ev->isa;
    }
    if (task != LULL_NONE) {
        const struct lull_vcpu_fact fact = {
            .time_ns = t,
            .host = machine->host,
            .task = task,
            .cpu = c,
            .step = LULL_VCPU_LEAVE,
            .number = has_number ? ev->vcpu : -1,
            .reason = LULL_HAS(ev, kvm_exit, reason) ? (uint32_t)ev->reason : 0,
            .isa = isa,
            .has_details = isa == LULL_ISA_ARM || (LULL_HAS(ev, kvm_exit, reason) && ev->reason) ||
                           (LULL_HAS(ev, kvm_exit, info) && ev->info)};
        REPORT(model, vcpu, &fact);
    }
}

/* In an interrupt it is not the doing of the task that is on the CPU. */
static void use_raise(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      const struct lull_ev_kvm_raise *ev)
{
    const struct cpu *cpu = model_cpu_at(machine, c);
    const uint32_t task = irq_is_active(cpu) ? LULL_NONE : model_on_cpu(model, cpu);
    if (task != LULL_NONE && LULL_HAS(ev, kvm_raise, apic) && LULL_HAS(ev, kvm_raise, vector)) {
        const struct lull_vcpu_fact fact = {.time_ns = t,
                                            .host = machine->host,
                                            .task = task,
                                            .cpu = c,
                                            .step = LULL_VCPU_RAISE,
                                            .number = ev->vector,
                                            .apic = ev->apic};
        REPORT(model, vcpu, &fact);
    }
}

void use_call(struct lull_model *model, const struct machine *machine, const struct call *call,
              int32_t c)
{
    enum { EVENTFD_BYTES = 8 };
    enum { KVM_IRQ_LINE = 0x4008AE61, KVM_SIGNAL_MSI = 0x4020AEA5 };
    static const uint32_t KVM_IRQ_LINE_STATUS = 0xC008AE67;
    const struct call_args *args = &call->args;
    const bool is_kvm = (args->have & CALL_ARG_COMMAND) &&
                        (args->command == KVM_IRQ_LINE || args->command == KVM_SIGNAL_MSI ||
                         args->command == KVM_IRQ_LINE_STATUS);
    const bool is_write = call->name.kind->io == LULL_IO_WRITE && (args->have & CALL_ARG_BYTES) &&
                          args->bytes == EVENTFD_BYTES && (args->have & CALL_ARG_FD);
    if (is_kvm || is_write) {
        const struct lull_vcpu_fact fact = {.time_ns = call->start_ns,
                                            .host = machine->host,
                                            .task = call->task,
                                            .cpu = c,
                                            .step = LULL_VCPU_CALL,
                                            .number = is_kvm ? -1 : args->fd,
                                            .apic = -1};
        REPORT(model, vcpu, &fact);
    }
}

void use_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               enum lull_event_id id, const void *event)
{
    enum { BUSY = 0x10 }; /* NETDEV_TX_BUSY: the device did not take the packet, it comes again */
    switch (id) {
    case LULL_EVENT_page_alloc: {
        const struct lull_ev_page_alloc *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, page_alloc);
        if (!is_failed(ev)) {
            use_pages(model, machine, c, t, false, LULL_HAS(ev, page_alloc, order), ev->order);
        }
        break;
    }
    case LULL_EVENT_page_free: {
        const struct lull_ev_page_free *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, page_free);
        use_pages(model, machine, c, t, true, LULL_HAS(ev, page_free, order), ev->order);
        break;
    }
    case LULL_EVENT_filemap_fault: {
        const struct lull_ev_filemap_fault *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, filemap_fault);
        use_paging(model, machine, c, t, LULL_PAGING_FILE,
                   names_of_inode(model, machine->host, ev->dev, (uint64_t)ev->inode),
                   (uint64_t)ev->inode);
        break;
    }
    case LULL_EVENT_dirty_pages: {
        const struct lull_ev_dirty_pages *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, dirty_pages);
        if (!LULL_HAS(ev, dirty_pages, pause) || ev->pause > 0) {
            use_paging(model, machine, c, t, LULL_PAGING_DIRTY,
                       disk_label(model, machine, ev->disk), 0);
        }
        break;
    }
    case LULL_EVENT_lock_wanted: {
        const struct lull_ev_lock_wanted *ev = event;
        const enum lull_kernel_lock lock = kind_of_lock(ev->flags);
        SCHED_CURRENT(model, machine, c, t, ev, lock_wanted);
        if (lock != LULL_KERNEL_LOCK_NONE && LULL_HAS(ev, lock_wanted, flags)) {
            use_contention(model, machine, c, t, lock, (uint64_t)ev->lock);
        }
        break;
    }
    case LULL_EVENT_lock_taken: {
        const struct lull_ev_lock_taken *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, lock_taken);
        use_contention(model, machine, c, t, LULL_KERNEL_LOCK_NONE, (uint64_t)ev->lock);
        break;
    }
    case LULL_EVENT_reclaim_begin: {
        const struct lull_ev_reclaim_begin *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, reclaim_begin);
        use_paging(model, machine, c, t, LULL_PAGING_RECLAIM_START, LULL_NONE, 0);
        break;
    }
    case LULL_EVENT_reclaim_end: {
        const struct lull_ev_reclaim_end *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, reclaim_end);
        use_paging(model, machine, c, t, LULL_PAGING_RECLAIM_END, LULL_NONE, 0);
        kills_reclaimed(model, model_cpu_at(machine, c), LULL_KILL_LIMIT_MACHINE);
        break;
    }
    case LULL_EVENT_compaction_begin: {
        const struct lull_ev_compaction_begin *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, compaction_begin);
        use_paging(model, machine, c, t, LULL_PAGING_COMPACTION_START, LULL_NONE, 0);
        break;
    }
    case LULL_EVENT_compaction_end: {
        const struct lull_ev_compaction_end *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, compaction_end);
        use_paging(model, machine, c, t, LULL_PAGING_COMPACTION_END, LULL_NONE, 0);
        break;
    }
    case LULL_EVENT_group_reclaim_end: {
        const struct lull_ev_group_reclaim_end *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, group_reclaim_end);
        use_paging(model, machine, c, t, LULL_PAGING_GROUP_RECLAIM_END, LULL_NONE, 0);
        kills_reclaimed(model, model_cpu_at(machine, c), LULL_KILL_LIMIT_GROUP);
        break;
    }
    case LULL_EVENT_signal_generate:
        kills_signal(model, machine, c, t, event);
        break;
    case LULL_EVENT_oom_victim:
        kills_victim(model, machine, c, t, event);
        break;
    case LULL_EVENT_signal_deliver: {
        const struct lull_ev_signal_deliver *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, signal_deliver);
        if (LULL_HAS(ev, signal_deliver, handler) && ev->handler == 0 && dumps_core(ev->sig)) {
            use_paging(model, machine, c, t, LULL_PAGING_DUMP, LULL_NONE, 0);
        }
        break;
    }
    case LULL_EVENT_netif_sent: {
        const struct lull_ev_netif_sent *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, netif_sent);
        if (!LULL_HAS(ev, netif_sent, rc) || ev->rc != BUSY) {
            use_device(model, machine, c, t, true, ev->len, ev->device);
            use_taken(model, machine, c, t, ev);
        }
        break;
    }
    case LULL_EVENT_netif_received: {
        const struct lull_ev_netif_received *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, netif_received);
        use_device(model, machine, c, t, false, ev->len, ev->device);
        break;
    }
    case LULL_EVENT_kvm_entry: {
        const struct lull_ev_kvm_entry *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, kvm_entry);
        use_vcpu(model, machine, c, t, LULL_VCPU_ENTER, LULL_HAS(ev, kvm_entry, vcpu), ev->vcpu);
        break;
    }
    case LULL_EVENT_kvm_exit: {
        const struct lull_ev_kvm_exit *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, kvm_exit);
        use_vcpu_exit(model, machine, c, t, ev);
        break;
    }
    case LULL_EVENT_ioctl_raw_entry: {
        const struct lull_ev_ioctl_raw_entry *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, ioctl_raw_entry);
        if (runs_guest(machine, ev)) {
            use_vcpu(model, machine, c, t, LULL_VCPU_RUN, false, 0);
        }
        break;
    }
    case LULL_EVENT_ioctl_raw_exit: { /* of any call: one at a time */
        const struct lull_ev_ioctl_raw_exit *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, ioctl_raw_exit);
        use_vcpu(model, machine, c, t, LULL_VCPU_RETURN, false, 0);
        break;
    }
    case LULL_EVENT_ioctl_entry: {
        const struct lull_ev_ioctl_entry *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, ioctl_entry);
        if (ev->command == KVM_RUN) {
            use_vcpu(model, machine, c, t, LULL_VCPU_RUN, false, 0);
        }
        break;
    }
    case LULL_EVENT_ioctl_exit: {
        const struct lull_ev_ioctl_exit *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, ioctl_exit);
        use_vcpu(model, machine, c, t, LULL_VCPU_RETURN, false, 0);
        break;
    }
    case LULL_EVENT_kvm_inject: {
        const struct lull_ev_kvm_inject *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, kvm_inject);
        use_vcpu(model, machine, c, t, LULL_VCPU_INJECT, LULL_HAS(ev, kvm_inject, vector),
                 ev->vector);
        break;
    }
    case LULL_EVENT_kvm_raise: {
        const struct lull_ev_kvm_raise *ev = event;
        SCHED_CURRENT(model, machine, c, t, ev, kvm_raise);
        use_raise(model, machine, c, t, ev);
        break;
    }
    case LULL_EVENT_cpu_idle: {
        const struct lull_ev_cpu_idle *ev = event;
        /* PWR_EVENT_EXIT is -1 in 32 bits, which some tracers record without a sign. */
        use_power(model, machine, LULL_HAS(ev, cpu_idle, cpu) ? (int32_t)ev->cpu : c, t,
                  LULL_POWER_IDLE, (int32_t)ev->state);
        break;
    }
    case LULL_EVENT_cpu_frequency: {
        const struct lull_ev_cpu_frequency *ev = event;
        use_power(model, machine, LULL_HAS(ev, cpu_frequency, cpu) ? (int32_t)ev->cpu : c, t,
                  LULL_POWER_FREQUENCY, CLAMP(ev->state, 0, UINT32_MAX));
        break;
    }
    default:
        break;
    }
}
