/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The members of the kernel's structs that the programs read. Where they lie is found when the programs are
 * loaded, from the running kernel's BTF. */
#ifndef LULL_LIVE_KERNEL_TYPES_H
#define LULL_LIVE_KERNEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To libbpf's headers: members are called as the kernel calls them. */
#define __VMLINUX_H__

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kuid {
    uint32_t val;
};

struct cred {
    struct kuid uid;
};

struct thread_info {
    uint32_t status; /* of x86 */
};

struct kernfs_node {
    uint64_t id;
};

struct cgroup {
    struct kernfs_node *kn;
};

struct cgroup_subsys_state {
    struct cgroup *cgroup;
};

struct css_set {
    struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
    struct cgroup *dfl_cgrp;
};

struct task_struct {
    struct thread_info thread_info;
    unsigned int __state;
    unsigned int flags;
    int on_rq, on_cpu;
    int exit_state;
    int pid, tgid;
    uint64_t start_time;
    struct task_struct *group_leader;
    const struct cred *cred;
    struct css_set *cgroups;
    char comm[16];
};

/* What is to be done in an interrupt. */
struct irqaction {
    struct task_struct *thread; /* or NULL */
    struct irqaction *secondary;
    unsigned long thread_flags;
};

/* What a program over all tasks is given. */
struct bpf_iter__task {
    union {
        struct bpf_iter_meta *meta;
        uint64_t : 64;
    };
    union {
        struct task_struct *task; /* NULL: that was all */
        uint64_t : 64;
    };
};

struct kernel_clone_args {
    uint32_t user_worker : 1;
};

/* Of x86-64. */
struct pt_regs {
    unsigned long di, ip, orig_ax;
};

struct user_pt_regs { /* of arm64 */
    uint64_t pc;
};

struct pt_regs___of_arm64 {
    uint64_t orig_x0;
    int32_t syscallno;
};

struct gendisk {
    int major, first_minor;
};

struct request_queue {
    struct gendisk *disk;
};

struct request {
    struct request_queue *q;
    unsigned int cmd_flags, __data_len;
    uint64_t __sector;
};

struct timerqueue_node {
    int64_t expires;
};

struct hrtimer {
    struct timerqueue_node node;
    void *function;
};

struct work_struct {
    void *func;
};

struct net_device {
    int ifindex;
    char name[16];
};

struct sk_buff {
    struct net_device *dev;
    int skb_iif; /* of a packet that was received: the device's number */
};

struct in6_addr {
    union {
        uint8_t u6_addr8[16];
        uint32_t u6_addr32[4];
    } in6_u;
};

struct ns_common {
    unsigned int inum;
};

struct net {
    struct ns_common ns;
};

struct possible_net {
    struct net *net;
};

struct sock_common {
    uint32_t skc_daddr, skc_rcv_saddr;
    uint16_t skc_dport, skc_num;
    unsigned short skc_family;
    struct possible_net skc_net;
    struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
    struct sock_common __sk_common;
    uint16_t sk_type;
};

struct unix_sock {
    struct sock *peer;
};

#pragma clang attribute pop

/* Each kernel has its own numbers. */
enum cgroup_subsys_id {
    cpu_cgrp_id = 1,
    memory_cgrp_id = 2,
};

enum {
    TASK_DEAD = 0x80,
    TASK_WAKING = 0x200,
    TASK_NOLOAD = 0x400,
    PF_IO_WORKER = 0x10, /* of io_uring: a thread of the process, which runs in the kernel alone */
    PF_USER_WORKER =
        0x4000, /* and others, as vhost's; of kernels that have struct kernel_clone_args.user_worker */
    PF_KTHREAD = 0x00200000,
    TS_COMPAT = 0x2,
    TASK_NORMAL = 0x3, /* it sleeps, and wake_up_process() wakes it */
    TIMER_SOFTIRQ = 1,
    SCHED_SOFTIRQ = 7,
    HRTIMER_SOFTIRQ = 8,
    TIMER_SOFTIRQS = 1 << TIMER_SOFTIRQ | 1 << HRTIMER_SOFTIRQ,
    NR_SOFTIRQS = 10,
    MOST_VECTORS = 16,   /* the next power of two */
    IRQ_WAKE_THREAD = 2, /* what a handler returns */
    IRQTF_RUNTHREAD = 1, /* of irqaction.thread_flags */
    REQ_OP_MASK = 0xff,
    REQ_OP_WRITE = 1,
    REQ_OP_DRV_IN = 34, /* of programs that speak to the disk themselves */
    REQ_OP_DRV_OUT = 35,
    AF_UNIX = 1,
    AF_INET = 2,
    AF_INET6 = 10,
    SOCK_STREAM = 1,
    SOCK_SEQPACKET = 5,
    MSG_PEEK = 2,
    TCP_ESTABLISHED = 1,
    TCP_SYN_SENT = 2,
    TCP_SYN_RECV = 3,
};

#endif
