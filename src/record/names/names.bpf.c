/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reads what system calls were given by pointer, which tracers record as a number: paths, addresses of peers, pairs of
 * descriptors, and the arguments of programs. At the end of the call, when what the pointer points to is in memory;
 * a call that is none of these costs a look into a table. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/names/records.h"

#define TS_COMPAT 0x0002 /* arch/x86/include/asm/thread_info.h */
#define EFAULT 14
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3
#define HEAD offsetof(struct lull_names_record, text)

enum { TYPE_MASK = 0170000, TYPE_REGULAR = 0100000, TYPE_SOCKET = 0140000 }; /* of i_mode */
enum { FAMILY_UNIX = 1, FAMILY_INET = 2, FAMILY_INET6 = 10 };
/* As many processes can be followed. */
enum { MOST_FOLLOWED = 65536, RING_BYTES = 4 << 20 };

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_info {
    uint32_t status; /* of x86 */
};
struct super_block {
    uint32_t s_dev;
};
struct inode {
    uint16_t i_mode;
    struct super_block *i_sb;
    unsigned long i_ino;
};
struct file {
    struct inode *f_inode;
    void *private_data;
};
struct in6_addr {
    uint8_t bytes[16];
};
struct sock_common {
    uint32_t skc_daddr;
    uint16_t skc_dport, skc_num, skc_family;
    struct in6_addr skc_v6_daddr;
};
struct sock {
    struct sock_common __sk_common;
};
struct socket {
    struct sock *sk;
};
struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};
struct files_struct {
    struct fdtable *fdt;
};
struct mm_struct {
    unsigned long arg_start, arg_end;
    struct file *exe_file;
};
struct linux_binprm {
    const char *filename, *interp;
};
struct task_struct {
    struct thread_info thread_info;
    int pid, tgid;
    unsigned long nvcsw; /* how often it has waited */
    struct mm_struct *mm;
    struct files_struct *files;
};
/* Of x86-64. */
struct pt_regs {
    unsigned long di, si, dx, r10, r8, r9, orig_ax;
};
struct pt_regs___of_arm64 {
    uint64_t regs[31];
    uint64_t orig_x0;
    int32_t syscallno;
};
#pragma clang attribute pop

const volatile struct lull_names_config config SEC(".rodata.config");
struct lull_names_counts counts SEC(".data.counts");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} names SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MOST_FOLLOWED);
    __type(key, uint32_t);
    __type(value, uint8_t);
} followed SEC(".maps");

/* Of each CPU: where a record is put together. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct lull_names_record);
} scratch SEC(".maps");

/* Of each CPU: who made the last call there that is read only if its task has waited, and how often that had. */
struct last_call {
    uint64_t n_waits;
    uint32_t tid;
};
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct last_call);
} last_calls SEC(".maps");

/* What a task gave its last select(), which overwrites it. Those of tasks that have not called it for long make room. */
struct asked {
    uint8_t sets[3 * LULL_NAMES_SET];
};
enum { MOST_ASKED = 4096 };
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, MOST_ASKED);
    __type(key, uint32_t);
    __type(value, struct asked);
} asked SEC(".maps");

/* What programs call what they watch with epoll: those that change what they watch it for with each answer say so each time. */
struct watched {
    uint32_t pid, epoll, fd;
};
enum { MOST_WATCHED = 65536 };
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, MOST_WATCHED);
    __type(key, struct watched);
    __type(value, uint64_t);
} watched SEC(".maps");

/* A size as the verifier can follow it: the compiler must not compare one register and use another. */
static __always_inline uint64_t at_most(uint64_t size, uint64_t most)
{
    asm volatile("" : "+r"(size));
    if (size > most) {
        size = most;
    }
    asm volatile("" : "+r"(size));
    return size;
}

struct call {
    uint64_t arguments[6];
};

/* Of the call that ends; registers of the task are read without help of the kernel, as this is done for each
 * call. */
static __always_inline uint32_t number_of(const struct pt_regs *regs)
{
    const struct pt_regs___of_arm64 *arm = (const void *)regs;
    if (bpf_core_field_exists(regs->orig_ax)) {
        return (uint32_t)regs->orig_ax;
    }
    return bpf_core_field_exists(arm->syscallno) ? (uint32_t)arm->syscallno : 0xffffffffu;
}

static __always_inline bool is_compat(void)
{
    const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
    return bpf_core_field_exists(task->thread_info.status) &&
           (BPF_CORE_READ(task, thread_info.status) & TS_COMPAT);
}

static __always_inline void read_arguments(const struct pt_regs *regs, struct call *call)
{
    const struct pt_regs___of_arm64 *arm = (const void *)regs;
    if (bpf_core_field_exists(regs->orig_ax)) {
        call->arguments[0] = regs->di;
        call->arguments[1] = regs->si;
        call->arguments[2] = regs->dx;
        call->arguments[3] = regs->r10;
        call->arguments[4] = regs->r8;
        call->arguments[5] = regs->r9;
    } else {
        call->arguments[0] = arm->orig_x0;
        call->arguments[1] = arm->regs[1];
        call->arguments[2] = arm->regs[2];
        call->arguments[3] = arm->regs[3];
        call->arguments[4] = arm->regs[4];
        call->arguments[5] = arm->regs[5];
    }
}

static __always_inline bool is_wanted(uint32_t pid)
{
    return pid != config.self && (!config.is_filtered || bpf_map_lookup_elem(&followed, &pid));
}

/* Where the record of this CPU is made, with what all have; NULL: never. */
static __always_inline struct lull_names_record *start_record(uint32_t kind)
{
    const uint32_t zero = 0;
    const uint64_t id = bpf_get_current_pid_tgid();
    struct lull_names_record *record = bpf_map_lookup_elem(&scratch, &zero);
    if (record) {
        record->time_ns = bpf_ktime_get_ns();
        record->tid = (uint32_t)id;
        record->pid = id >> 32;
        record->kind = kind;
        record->a = record->b = record->length = record->is_cut = record->device = 0;
        record->inode = 0;
        __builtin_memset(record->address, 0, sizeof record->address);
    }
    return record;
}

static __always_inline void send(const struct lull_names_record *record)
{
    const uint64_t length = at_most(record->length, LULL_NAMES_TEXT);
    if (bpf_ringbuf_output(&names, (void *)record, HEAD + length, BPF_RB_NO_WAKEUP)) {
        __sync_fetch_and_add(&counts.lost, 1);
    }
}

static __always_inline void unread(void)
{
    __sync_fetch_and_add(&counts.unread, 1);
}

/* Who reads a page of a regular file that is in memory knows no more of it than this. */
static __always_inline void add_inode(struct lull_names_record *record, const struct file *file)
{
    const struct inode *inode = BPF_CORE_READ(file, f_inode);
    if ((BPF_CORE_READ(inode, i_mode) & TYPE_MASK) == TYPE_REGULAR) {
        record->inode = BPF_CORE_READ(inode, i_ino);
        record->device = BPF_CORE_READ(inode, i_sb, s_dev);
    }
}

static __always_inline const struct file *file_of(uint64_t fd)
{
    const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
    const struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file *const *files = BPF_CORE_READ(table, fd);
    const struct file *file = NULL;
    if (fd < BPF_CORE_READ(table, max_fds)) {
        bpf_probe_read_kernel(&file, sizeof file, files + fd);
    }
    return file;
}

/* fd: what was opened by it, or -1. */
static __always_inline void send_path(uint64_t pointer, long fd)
{
    struct lull_names_record *record = pointer ? start_record(LULL_NAMES_PATH) : NULL;
    if (!record) { /* or none was given: futimens() is utimensat(fd, NULL, …) */
        return;
    }
    if (fd >= 0) {
        add_inode(record, file_of((uint64_t)fd));
    }
    const long n = bpf_probe_read_user_str(record->text, sizeof record->text, (void *)pointer);
    if (n <= 0) {
        unread();
        return;
    }
    record->length = (uint32_t)n;
    send(record);
}

/* Most calls that are given a path, and open nothing, do not wait: their paths would take the room of others. The task may have since
 * the last of them on this CPU; to be asked once in a call. */
static __always_inline bool may_have_waited(void)
{
    const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
    const uint32_t zero = 0, tid = (uint32_t)bpf_get_current_pid_tgid();
    const uint64_t n_waits = BPF_CORE_READ(task, nvcsw);
    struct last_call *last = bpf_map_lookup_elem(&last_calls, &zero);
    if (!last || (last->tid == tid && last->n_waits == n_waits)) {
        return false;
    }
    last->tid = tid;
    last->n_waits = n_waits;
    return true;
}

static __always_inline const struct sock *socket_of(uint64_t fd)
{
    const struct file *file = file_of(fd);
    if ((BPF_CORE_READ(file, f_inode, i_mode) & TYPE_MASK) != TYPE_SOCKET) {
        return NULL;
    }
    const struct socket *socket = BPF_CORE_READ(file, private_data);
    return BPF_CORE_READ(socket, sk);
}

/* bound: what was bound to the address, perhaps to a port that the kernel chose; or -1. */
static __always_inline void send_address(uint64_t pointer, uint64_t size, long bound)
{
    uint8_t head[28] = {0}; /* struct sockaddr_in6 */
    uint16_t family = 0;
    struct lull_names_record *record =
        pointer && size >= 2 ? start_record(LULL_NAMES_SOCKET) : NULL;
    if (!record) {
        return;
    }
    if (bpf_probe_read_user(&family, sizeof family, (void *)pointer)) {
        unread();
        return;
    }
    record->a = family;
    if (family == FAMILY_UNIX && size > 2) {
        /* sun_path: a text, which need not end within the address, or an abstract name. */
        const uint64_t room = at_most(size - 2, 108);
        const long n = bpf_probe_read_user_str(record->text, room + 1, (void *)(pointer + 2));
        record->length = n > 0 ? (uint32_t)n : 0;
    } else if (family == FAMILY_INET && size >= 8) {
        if (bpf_probe_read_user(head, 8, (void *)pointer)) {
            unread();
            return;
        }
        __builtin_memcpy(record->address, head + 4, 4);
    } else if (family == FAMILY_INET6 && size >= 24) {
        if (bpf_probe_read_user(head, 24, (void *)pointer)) {
            unread();
            return;
        }
        __builtin_memcpy(record->address, head + 8, 16);
    } else {
        return;
    }
    record->b = (uint32_t)head[2] << 8 | head[3];
    if (record->b == 0 && bound >= 0) {
        record->b = BPF_CORE_READ(socket_of((uint64_t)bound), __sk_common.skc_num);
    }
    send(record);
}

/* With whom a socket is connected, as the kernel knows it: who accepts a connection need not ask. */
static __always_inline void send_peer(uint64_t fd)
{
    const struct sock *sock = socket_of(fd);
    const uint16_t family = BPF_CORE_READ(sock, __sk_common.skc_family);
    struct lull_names_record *record =
        family == FAMILY_INET || family == FAMILY_INET6 ? start_record(LULL_NAMES_SOCKET) : NULL;
    if (!record) {
        return;
    }
    record->a = family;
    record->b = __builtin_bswap16(BPF_CORE_READ(sock, __sk_common.skc_dport));
    if (family == FAMILY_INET) {
        bpf_core_read(record->address, 4, &sock->__sk_common.skc_daddr);
    } else if (bpf_core_field_exists(
                   sock->__sk_common.skc_v6_daddr)) { /* not without CONFIG_IPV6 */
        bpf_core_read(record->address, 16, &sock->__sk_common.skc_v6_daddr);
    }
    send(record);
}

static __always_inline void send_pair(uint64_t pointer)
{
    int32_t fds[2];
    struct lull_names_record *record = start_record(LULL_NAMES_PAIR);
    if (!record) {
        return;
    }
    if (bpf_probe_read_user(fds, sizeof fds, (void *)pointer)) {
        unread();
        return;
    }
    record->a = (uint32_t)fds[0];
    record->b = (uint32_t)fds[1];
    send(record);
}

/* struct pollfd as it is: the recorder looks for what became ready. */
static __always_inline void send_poll(uint64_t pointer, uint64_t count, long n_ready)
{
    struct lull_names_record *record =
        count > 0 && count <= LULL_NAMES_POLLED_MOST && may_have_waited()
            ? start_record(LULL_NAMES_POLL)
            : NULL;
    if (!record) {
        return;
    }
    const uint64_t size = at_most(count, LULL_NAMES_POLLED_MOST) * LULL_NAMES_POLLFD;
    if (bpf_probe_read_user(record->text, size, (void *)pointer)) {
        unread();
        return;
    }
    record->a = (uint32_t)n_ready;
    record->length = (uint32_t)size;
    send(record);
}

/* The sets that the call's arguments point to now. */
static __always_inline bool read_sets(const uint64_t *arguments, void *sets)
{
    const uint64_t size = at_most((arguments[0] + 63) / 64 * 8, LULL_NAMES_SET);
    __builtin_memset(sets, 0, 3 * LULL_NAMES_SET);
    for (uint32_t set = 0; set < 3; set++) {
        const uint64_t pointer = arguments[1 + set];
        if (pointer && bpf_probe_read_user(sets + set * LULL_NAMES_SET, size, (void *)pointer)) {
            return false;
        }
    }
    return true;
}

/* What became ready; if nothing did, what the call was given when it started. */
static __always_inline void send_select(const struct call *call, long n_ready)
{
    const uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    const struct asked *given = n_ready == 0 ? bpf_map_lookup_elem(&asked, &tid) : NULL;
    struct lull_names_record *record =
        (n_ready > 0 || given) && may_have_waited() ? start_record(LULL_NAMES_SELECT) : NULL;
    if (!record) {
        return;
    }
    record->length = 3 * LULL_NAMES_SET;
    if (given) {
        __builtin_memcpy(record->text, given->sets, sizeof given->sets);
    } else if (!read_sets(call->arguments, record->text)) {
        unread();
        return;
    }
    send(record);
}

/* Files of requests (struct iocb), which are mostly few: an array has pointers to them, of each element, of so many bytes, there. */
static __always_inline void send_requests(uint64_t pointer, long n, uint32_t bytes, uint32_t at)
{
    enum { DESCRIPTOR_AT = 20, MOST = 32 };
    struct lull_names_record *record =
        n <= MOST && may_have_waited() ? start_record(LULL_NAMES_READY) : NULL;
    if (!record) {
        return;
    }
    int32_t *fds = (void *)record->text;
    for (uint32_t i = 0; i < MOST && i < n; i++) {
        uint64_t request;
        if (bpf_probe_read_user(&request, sizeof request, (void *)(pointer + i * bytes + at)) ||
            bpf_probe_read_user(&fds[i], sizeof *fds, (void *)(request + DESCRIPTOR_AT))) {
            break; /* the program may have no use for the request any more */
        }
        record->length += sizeof *fds;
    }
    if (record->length) {
        send(record);
    }
}

/* What the program has put into one of an array of struct epoll_event. On x86 nothing lies between its two members. */
static __always_inline bool read_data(uint64_t pointer, uint32_t index, void *data)
{
    const struct pt_regs *regs = NULL;
    const uint64_t at = bpf_core_field_exists(regs->orig_ax) ? 4 : 8;
    const bool is_read =
        bpf_probe_read_user(data, sizeof(uint64_t), (void *)(pointer + index * (at + 8) + at)) == 0;
    if (!is_read) {
        unread();
    }
    return is_read;
}

/* If that is not known. */
static __always_inline void send_watched(const struct call *call)
{
    const struct watched key = {bpf_get_current_pid_tgid() >> 32, (uint32_t)call->arguments[0],
                                (uint32_t)call->arguments[2]};
    uint64_t data;
    if (call->arguments[1] == EPOLL_CTL_DEL) {
        return;
    }
    const uint64_t *known = bpf_map_lookup_elem(&watched, &key);
    struct lull_names_record *record =
        read_data(call->arguments[3], 0, &data) &&
                !(known && *known == data && call->arguments[1] == EPOLL_CTL_MOD)
            ? start_record(LULL_NAMES_DATA)
            : NULL;
    if (record) {
        bpf_map_update_elem(&watched, &key, &data, BPF_ANY);
        __builtin_memcpy(record->text, &data, sizeof data);
        record->length = sizeof data;
        send(record);
    }
}

/* Of what became ready, if that is so little that it can be named. */
static __always_inline void send_ready(uint64_t pointer, long n)
{
    enum { MOST = 3 };
    struct lull_names_record *record =
        n > 0 && n <= MOST && may_have_waited() ? start_record(LULL_NAMES_DATA) : NULL;
    if (!record) {
        return;
    }
    for (uint32_t i = 0; i < MOST && i < n; i++) {
        if (!read_data(pointer, i, record->text + i * sizeof(uint64_t))) {
            return;
        }
        record->length += sizeof(uint64_t);
    }
    send(record);
}

#include "packets.bpf.h"

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ended, const struct pt_regs *regs, long ret)
{
    const uint32_t number = number_of(regs);
    struct call call;
    if (number >= LULL_NAMES_CALLS) {
        return 0;
    }
    const uint8_t action = config.action[number];
    /* Who tries to open something, or to connect with somebody, has waited for that, whatever comes of it. */
    const bool is_tried = action <= LULL_NAMES_ADDRESS && ret != -EFAULT;
    const bool is_in_vain = ret < 0 || (ret == 0 && action == LULL_NAMES_WATCHED);
    const bool is_started = action == LULL_NAMES_PROGRAM && ret >= 0; /* see program_started() */
    if (action == LULL_NAMES_NOTHING || is_started || (is_in_vain && !is_tried) || is_compat() ||
        !is_wanted(bpf_get_current_pid_tgid() >> 32)) {
        return 0;
    }
    const bool is_path = action < LULL_NAMES_ADDRESS;
    const bool opens = action == LULL_NAMES_OPEN_FIRST || action == LULL_NAMES_OPEN_SECOND;
    if (is_path && !(opens && ret >= 0) && !may_have_waited()) {
        return 0;
    }
    read_arguments(regs, &call);
    switch (action) {
    case LULL_NAMES_OPEN_FIRST:
    case LULL_NAMES_PATH_FIRST:
    case LULL_NAMES_PROGRAM:
        send_path(call.arguments[0], opens ? ret : -1);
        break;
    case LULL_NAMES_OPEN_SECOND:
    case LULL_NAMES_PATH_SECOND:
        send_path(call.arguments[1], opens ? ret : -1);
        break;
    case LULL_NAMES_ADDRESS:
        send_address(call.arguments[1], call.arguments[2], -1);
        break;
    case LULL_NAMES_BOUND:
        send_address(call.arguments[1], call.arguments[2], (int32_t)call.arguments[0]);
        break;
    case LULL_NAMES_ADDRESS_TO:
        send_address(call.arguments[4], call.arguments[5], -1);
        break;
    case LULL_NAMES_PEER:
        send_peer((uint64_t)ret);
        break;
    case LULL_NAMES_POLLED:
        send_poll(call.arguments[0], call.arguments[1], ret);
        break;
    case LULL_NAMES_EVENTS:
        send_requests(call.arguments[3], ret, 32, 8); /* struct io_event */
        break;
    case LULL_NAMES_REQUESTS:
        send_requests(call.arguments[2], ret, sizeof(uint64_t), 0);
        break;
    case LULL_NAMES_WATCHES:
        send_watched(&call);
        break;
    case LULL_NAMES_WATCHED:
        send_ready(call.arguments[1], ret);
        break;
    case LULL_NAMES_SELECTED:
        send_select(&call, ret);
        break;
    case LULL_NAMES_PAIR_FIRST:
        send_pair(call.arguments[0]);
        break;
    case LULL_NAMES_PAIR_FOURTH:
        send_pair(call.arguments[3]);
        break;
    }
    return 0;
}

/* Of the tracepoint of one call: linux/trace_events.h, struct trace_event_raw_sys_enter. */
struct call_entered {
    uint64_t common;
    long number;
    uint64_t arguments[6];
};

/* After a time that is not zero, for which it does not wait: struct timespec, struct timeval. */
static __always_inline bool can_time_out(uint64_t pointer)
{
    int64_t time[2] = {0};
    return pointer && bpf_probe_read_user(time, sizeof time, (void *)pointer) == 0 &&
           (time[0] | time[1]);
}

static __always_inline void keep_asked(const struct call_entered *entered)
{
    const uint32_t zero = 0;
    const uint64_t id = bpf_get_current_pid_tgid();
    const uint32_t tid = (uint32_t)id;
    struct lull_names_record *record = bpf_map_lookup_elem(&scratch, &zero);
    if (!record || is_compat() || !is_wanted(id >> 32)) {
        return;
    }
    if (can_time_out(entered->arguments[4]) && read_sets(entered->arguments, record->text)) {
        bpf_map_update_elem(&asked, &tid, record->text, BPF_ANY);
    } else {
        bpf_map_delete_elem(&asked, &tid);
    }
}

SEC("tracepoint/syscalls/sys_enter_select")
int select_started(const struct call_entered *entered)
{
    keep_asked(entered);
    return 0;
}

SEC("tracepoint/syscalls/sys_enter_pselect6")
int select_started_6(const struct call_entered *entered)
{
    keep_asked(entered);
    return 0;
}

static __always_inline void send_kernel_path(uint32_t kind, const char *path,
                                             const struct file *file)
{
    struct lull_names_record *record = start_record(kind);
    if (!record) {
        return;
    }
    if (file) {
        add_inode(record, file);
    }
    const long n = bpf_probe_read_kernel_str(record->text, sizeof record->text, path);
    record->length = n > 0 ? (uint32_t)n : 0;
    send(record);
}

/* The new program's memory is this task's already. A script's is that of who interprets it. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(program_started, const struct task_struct *task, int old_pid,
             const struct linux_binprm *program)
{
    if (!is_wanted((uint32_t)task->tgid)) {
        return 0;
    }
    send_kernel_path(LULL_NAMES_PATH, program->filename, NULL);
    send_kernel_path(LULL_NAMES_FILE, program->interp, BPF_CORE_READ(task, mm, exe_file));
    struct lull_names_record *record = start_record(LULL_NAMES_COMMAND);
    if (!record) {
        return 0;
    }
    const struct mm_struct *mm = task->mm;
    const uint64_t start = BPF_CORE_READ(mm, arg_start), end = BPF_CORE_READ(mm, arg_end);
    const uint64_t length = at_most(end - start, LULL_NAMES_TEXT);
    record->is_cut = end - start > LULL_NAMES_TEXT;
    if (end <= start || bpf_probe_read_user(record->text, length, (void *)start)) {
        unread();
        return 0;
    }
    record->length = (uint32_t)length;
    send(record);
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_started, const struct task_struct *parent, const struct task_struct *child)
{
    const uint32_t from = (uint32_t)parent->tgid, to = (uint32_t)child->tgid;
    const uint8_t one = 1;
    if (config.is_filtered && from != to && bpf_map_lookup_elem(&followed, &from)) {
        bpf_map_update_elem(&followed, &to, &one, BPF_ANY);
    }
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_ended, const struct task_struct *task)
{
    const uint32_t pid = (uint32_t)task->tgid;
    if (config.is_filtered && task->pid == task->tgid) {
        bpf_map_delete_elem(&followed, &pid);
    }
    return 0;
}
