/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Remembers which tasks have lately sent to or received from whom, so that a connection that is closed, and a task
 * that has ended, can still be asked about. Only tracepoints are used (tp_btf). */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "live/records.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* What was used longest ago makes room. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, LULL_TALKS);
    __type(key, struct lull_talk_key);
    __type(value, struct lull_talk);
} talks SEC(".maps");

static __always_inline void copy_address(uint8_t to[16], uint32_t v4, const struct in6_addr *v6,
                                         bool is_v6)
{
    if (is_v6) {
        bpf_core_read(to, 16, v6);
        return;
    }
    __builtin_memset(to, 0, 16);
    to[10] = to[11] = 0xff;
    __builtin_memcpy(to + 12, &v4, 4);
}

/* The other end of a connection within the machine; 0: it is none, or of datagrams, which many send to one. */
static __always_inline uint64_t unix_peer_of(struct sock *sock)
{
    const struct unix_sock *connection;
    if (sock->__sk_common.skc_family != AF_UNIX ||
        (sock->sk_type != SOCK_STREAM && sock->sk_type != SOCK_SEQPACKET)) {
        return 0;
    }
    connection = bpf_skc_to_unix_sock(sock);
    return connection ? (uint64_t)connection->peer : 0;
}

/* A socket that has no address is told apart by where it lies in the kernel's memory. */
static __always_inline void put_socket(uint8_t to[16], uint64_t socket)
{
    __builtin_memset(to, 0, 16);
    to[0] = LULL_TALK_WITHIN;
    __builtin_memcpy(to + 8, &socket, sizeof socket);
}

static __always_inline bool describe_unix(struct sock *sock, struct lull_talk *talk)
{
    const uint64_t peer = unix_peer_of(sock);
    put_socket(talk->local, (uint64_t)sock);
    put_socket(talk->remote, peer);
    talk->namespace = sock->__sk_common.skc_net.net->ns.inum;
    return peer != 0;
}

/* False: it is not connected, or no socket of that kind. */
static __always_inline bool describe(struct sock *sock, struct lull_talk *talk)
{
    const struct sock_common *common = &sock->__sk_common;
    const bool is_v6 = common->skc_family == AF_INET6;
    if (common->skc_family == AF_UNIX) {
        return describe_unix(sock, talk);
    }
    if ((common->skc_family != AF_INET && !is_v6) || !common->skc_dport) {
        return false;
    }
    copy_address(talk->remote, common->skc_daddr, &common->skc_v6_daddr, is_v6);
    copy_address(talk->local, common->skc_rcv_saddr, &common->skc_v6_rcv_saddr, is_v6);
    talk->remote_port = __builtin_bswap16(common->skc_dport);
    talk->local_port = common->skc_num;
    talk->namespace = common->skc_net.net->ns.inum;
    return true;
}

/* A socket of datagrams may have another peer by now. */
static __always_inline bool is_same(const struct sock *sock, const struct lull_talk *talk)
{
    const struct sock_common *common = &sock->__sk_common;
    if (common->skc_family == AF_UNIX) {
        return true; /* of streams: it never has another */
    }
    const uint32_t last = common->skc_family == AF_INET6 ? common->skc_v6_daddr.in6_u.u6_addr32[3]
                                                         : common->skc_daddr;
    return talk->remote_port == __builtin_bswap16(common->skc_dport) &&
           *(const uint32_t *)(talk->remote + 12) == last;
}

static __always_inline void talked(struct sock *sock)
{
    const uint64_t id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
    const struct lull_talk_key key = {.socket = bpf_get_socket_cookie(sock), .tid = (uint32_t)id};
    struct lull_talk *known = bpf_map_lookup_elem(&talks, &key);
    if (known && known->tgid == id >> 32 && is_same(sock, known)) {
        known->last_ns = now;
        return;
    }
    struct lull_talk talk = {.tgid = id >> 32, .first_ns = now, .last_ns = now};
    if (describe(sock, &talk)) {
        bpf_map_update_elem(&talks, &key, &talk, BPF_ANY);
    }
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sent, struct sock *sock, int length)
{
    if (length > 0) {
        talked(sock);
    }
    return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(received, struct sock *sock, int length, int flags)
{
    if (length > 0 && !(flags & MSG_PEEK)) {
        talked(sock);
    }
    return 0;
}
