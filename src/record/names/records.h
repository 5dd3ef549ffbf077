/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the eBPF programs and the recorder share. */
#ifndef LULL_RECORD_NAMES_RECORDS_H
#define LULL_RECORD_NAMES_RECORDS_H

#ifdef __bpf__
#include <stdint.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

/* Numbers of system calls are smaller. */
#define LULL_NAMES_CALLS 512
/* Of a path or a command line, with the NUL at its end; the rest is left out. */
#define LULL_NAMES_TEXT 4096

/* poll() is looked at if it was given no more descriptors; that is the size of one. */
#define LULL_NAMES_POLLED_MOST 64
#define LULL_NAMES_POLLFD 8
/* Bytes of FD_SETSIZE descriptors. */
#define LULL_NAMES_SET 128

/* Which argument of a call is to be read when it ends. Those of paths come first, then the address to connect with. */
enum lull_names_action {
    LULL_NAMES_NOTHING,
    LULL_NAMES_OPEN_FIRST,  /* open(path, …) */
    LULL_NAMES_OPEN_SECOND, /* openat(dirfd, path, …) */
    LULL_NAMES_PATH_FIRST,  /* unlink(path), which opens nothing */
    LULL_NAMES_PATH_SECOND, /* unlinkat(dirfd, path, …) */
    LULL_NAMES_PROGRAM, /* execve(path, …), if it failed: else neither memory nor registers are those of the call */
    LULL_NAMES_ADDRESS,     /* connect(fd, address, length) */
    LULL_NAMES_BOUND,       /* bind(fd, address, length) */
    LULL_NAMES_ADDRESS_TO,  /* sendto(fd, bytes, size, flags, address, length) */
    LULL_NAMES_PEER,        /* accept(…): none, but whom it has accepted */
    LULL_NAMES_POLLED,      /* poll(fds, count, …) */
    LULL_NAMES_SELECTED,    /* select(count, read, write, exceptional, …) */
    LULL_NAMES_EVENTS,      /* io_getevents(context, least, most, events, …) */
    LULL_NAMES_REQUESTS,    /* io_submit(context, count, requests) */
    LULL_NAMES_WATCHES,     /* epoll_ctl(epoll, operation, fd, event) */
    LULL_NAMES_WATCHED,     /* epoll_wait(epoll, events, …) */
    LULL_NAMES_PAIR_FIRST,  /* pipe(fds) */
    LULL_NAMES_PAIR_FOURTH, /* socketpair(family, type, protocol, fds) */
    LULL_NAMES_ACTIONS
};

enum lull_names_kind {
    LULL_NAMES_PATH,   /* text: that a call was given */
    LULL_NAMES_FILE,   /* text: path of a program's file, which is in memory now */
    LULL_NAMES_SOCKET, /* text: of a unix socket */
    LULL_NAMES_PAIR,   /* a and b are the descriptors */
    LULL_NAMES_POLL,   /* text: struct pollfd; a of them are ready */
    LULL_NAMES_READY,  /* text: descriptors, as int32_t each, that are ready */
    LULL_NAMES_DATA, /* text: what a program calls what an epoll descriptor watches, as uint64_t each */
    LULL_NAMES_SELECT,  /* text: three sets of what is ready, a bit of an unsigned long each */
    LULL_NAMES_COMMAND, /* text: arguments, each with a NUL at its end */
    LULL_NAMES_KINDS
};

struct lull_names_record {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint32_t tid, pid;
    uint32_t kind;
    uint32_t a, b;   /* SOCKET: family, port */
    uint32_t length; /* of the text; COMMAND: is_cut is whether there was more */
    uint32_t is_cut;
    uint32_t
        device; /* PATH of what was opened, FILE: where the regular file is, as the kernel numbers devices */
    uint64_t inode;             /* its number there; 0: it is none, or not known */
    uint8_t address[16];        /* SOCKET: in network order, IPv4 in the first four */
    char text[LULL_NAMES_TEXT]; /* POLL, SELECT: bytes */
};

/* A packet with its headers. Numbers are in the machine's order, addresses in that of the network. */
struct lull_names_packet {
    uint64_t time_ns;                    /* CLOCK_MONOTONIC */
    uint64_t skb;                        /* address of the kernel's buffer */
    uint8_t source[16], destination[16]; /* IPv4: the first four */
    uint16_t ports[2];                   /* source, destination */
    uint32_t seq, ack;                   /* TCP */
    uint16_t flags, window;              /* TCP */
    uint16_t id;                         /* IPv4 */
    uint8_t version, protocol;           /* 4, 6; TCP, UDP */
    uint32_t payload;                    /* bytes behind the headers */
    uint32_t is_sent;
};

struct lull_names_config {
    uint8_t action[LULL_NAMES_CALLS];
    uint32_t is_filtered; /* only processes in the map `followed`, and what they start */
    uint32_t self;        /* the recorder, which is left out */
};

struct lull_names_counts {
    uint64_t lost;   /* records for which there was no room */
    uint64_t unread; /* texts that were not in memory, or at no address */
};

#endif
