/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sockets: which packet is the cause of the wake-ups that follow, and what the rules connect, ttfb, serve
 * and ask measure. */
#ifndef LULL_LIVE_SOCKETS_BPF_H
#define LULL_LIVE_SOCKETS_BPF_H

#include "interrupts.bpf.h"
#include "served.bpf.h"
#include "spans.bpf.h"

/* The addresses of a socket. False: it has none. */
static __always_inline bool describe_socket(const struct sock *sock, struct lull_track_hop *hop)
{
    const struct sock_common *common = &sock->__sk_common;
    const unsigned short family = common->skc_family;
    if (family != AF_INET && family != AF_INET6) {
        return false;
    }
    hop->a = __builtin_bswap16(common->skc_dport);
    hop->b = common->skc_num;
    hop->c = family == AF_INET6;
    if (family == AF_INET6) {
        bpf_core_read(hop->address, 16, &common->skc_v6_daddr);
    } else {
        *(uint32_t *)hop->address = common->skc_daddr;
    }
    return true;
}

static __always_inline void received(const struct sock *sock)
{
    struct lull_track_hop *frame = frame_now();
    if (frame && describe_socket(sock, frame)) {
        frame->kind = LULL_TRACK_HOP_PACKET;
    }
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(data_ready, const struct sock *sock)
{
    received(sock);
    return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_received, const struct sock *sock)
{
    received(sock);
    return 0;
}

/* ---- requests and answers ---- */

enum { FIRST_TALK = LULL_TRACK_CONNECT, TALKS = LULL_TRACK_ASK + 1 - FIRST_TALK };

/* What is going on at a socket, by measure. The kernel frees it with the socket. */
struct talk {
    struct span span[TALKS];
};

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct talk);
} talks SEC(".maps");

/* The port that rules about a measure name is that of the server. */
static __always_inline uint32_t port_of(const struct sock *sock, uint32_t measure)
{
    const struct sock_common *common = &sock->__sk_common;
    return measure == LULL_TRACK_CONNECT || measure == LULL_TRACK_ASK
               ? __builtin_bswap16(common->skc_dport)
               : common->skc_num;
}

static __always_inline bool is_talk_asked_for(const struct sock *sock, uint32_t measure)
{
    const unsigned short family = sock->__sk_common.skc_family;
    return config.measures & 1u << measure && (family == AF_INET || family == AF_INET6) &&
           is_asked_for(measure, port_of(sock, measure));
}

/* What has started already goes on. */
static __always_inline void start_talk(struct sock *sock, uint32_t measure)
{
    if (!is_talk_asked_for(sock, measure)) {
        return;
    }
    struct talk *talk = bpf_sk_storage_get(&talks, sock, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (!talk) {
        count_untracked();
        return;
    }
    struct span *span = &talk->span[measure - FIRST_TALK];
    if (!span->since) {
        own_span(span);
        span->since = bpf_ktime_get_ns();
        if (config.has_served && measure == LULL_TRACK_SERVE) {
            serves();
        }
    }
}

static __always_inline void end_talk(struct sock *sock, uint32_t measure, bool has_failed)
{
    struct happened done = {.measure = measure};
    if (!is_talk_asked_for(sock, measure)) {
        return;
    }
    struct talk *talk = bpf_sk_storage_get(&talks, sock, 0, 0);
    if (!talk || !talk->span[measure - FIRST_TALK].since) {
        return;
    }
    struct span span = talk->span[measure - FIRST_TALK];
    talk->span[measure - FIRST_TALK].since = 0;
    if (measure == LULL_TRACK_TTFB) { /* it started in an interrupt */
        own_span(&span);
    }
    describe_socket(sock, &done.hop);
    done.hop.kind = LULL_TRACK_HOP_CONNECTION;
    if (measure == LULL_TRACK_CONNECT || measure == LULL_TRACK_ASK) {
        done.hop.c |= LULL_TRACK_CONNECTION_OUT;
    }
    if (measure == LULL_TRACK_SERVE && (uint32_t)span.id != (uint32_t)bpf_get_current_pid_tgid()) {
        done.hop.c |= LULL_TRACK_CONNECTION_HANDED;
    }
    if (has_failed) {
        done.hop.c |= LULL_TRACK_CONNECTION_FAILED;
    }
    done.number = port_of(sock, measure);
    judge_span(NULL, &span, &done);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(socket_changed, struct sock *sock, int from, int to)
{
    if (from == TCP_SYN_SENT) {
        end_talk(sock, LULL_TRACK_CONNECT, to != TCP_ESTABLISHED);
    } else if (to == TCP_SYN_SENT) {
        start_talk(sock, LULL_TRACK_CONNECT);
    } else if (from == TCP_SYN_RECV && to == TCP_ESTABLISHED) {
        start_talk(sock, LULL_TRACK_TTFB);
    }
    return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(socket_sent, struct sock *sock, int sent)
{
    if (sent > 0) {
        end_talk(sock, LULL_TRACK_TTFB, false);
        end_talk(sock, LULL_TRACK_SERVE, false);
        start_talk(sock, LULL_TRACK_ASK);
    }
    return 0;
}

/* One socket of datagrams serves many at once: which answer is whose cannot be seen. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(socket_received, struct sock *sock, int got, int flags)
{
    if (got > 0 && !(flags & MSG_PEEK)) {
        end_talk(sock, LULL_TRACK_ASK, false);
        if (sock->sk_type == SOCK_STREAM) {
            start_talk(sock, LULL_TRACK_SERVE);
        }
    }
    return 0;
}

#endif
