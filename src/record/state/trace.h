/* SPDX-License-Identifier: MIT */
/* The trace that a state of the machine is written as: CTF 1.8, with LTTng's statedump events. */
#ifndef LULL_RECORD_STATE_TRACE_H
#define LULL_RECORD_STATE_TRACE_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

/* Fields are those of the table in state_trace.c, in its order. */
enum lull_state_event {
    LULL_STATE_START,
    LULL_STATE_CONTAINER, /* id, name */
    LULL_STATE_PROCESS,   /* tid, pid, ppid, name, status, cpu, file table, priority */
    LULL_STATE_CGROUP,    /* tid, path */
    LULL_STATE_PID_NS,    /* tid, tid in its namespace, depth and number of that */
    LULL_STATE_FILE,      /* file table, descriptor, flags, path */
    LULL_STATE_PEER, /* file table, descriptor of a socket, family, port, its own port, two halves of the address, whether it is UDP, path of a unix socket */
    LULL_STATE_EPOLL, /* file table, an epoll descriptor, another that it watches, what the program calls that */
    LULL_STATE_POLL, /* tid that sleeps in poll() or the like, a descriptor that it asks for */
    LULL_STATE_CALL, /* tid that sleeps in a system call, its number, its six arguments */
    LULL_STATE_MAPPED_FILE, /* device, inode, path of a file that is in memory of some process */
    LULL_STATE_DISK,        /* device, name */
    LULL_STATE_NETWORK,     /* name, IPv4 address in network order */
    LULL_STATE_INTERRUPT,   /* number, chip, handler */
    LULL_STATE_CPU,         /* architecture, number, package, core */
    LULL_STATE_END,
    /* What tasks did meanwhile. */
    LULL_STATE_CALL_PATH, /* tid, device and inode of the file that it opened (0: none), path that its system call was given */
    LULL_STATE_CALL_ADDRESS, /* tid, family, port, two halves of the address, path of a unix socket */
    LULL_STATE_CALL_POLL, /* tid, a descriptor that became ready in its poll() or select(), or that it waited for in vain */
    LULL_STATE_CALL_EPOLL, /* tid, what its program calls the descriptor of its epoll_ctl(), or one that became ready in its epoll_wait() */
    LULL_STATE_CALL_PAIR,  /* tid, two descriptors that its system call made */
    LULL_STATE_PACKET, /* buffer, whether it is sent, version of IP, protocol, two halves of each address, two
                                ports, sequence and acknowledgement numbers, flags, window, id of IP, payload */
    LULL_STATE_COMMAND, /* pid, its arguments, quoted where a shell needs it */
    LULL_STATE_EVENTS
};

union lull_state_value {
    int64_t number;
    const char *text;
};

/* Half of an address in network order, as the events have it. */
static inline int64_t lull_state_half(const uint8_t address[static 8])
{
    uint64_t half = 0;
    for (unsigned i = 0; i < 8; i++) {
        half = half << 8 | address[i];
    }
    return (int64_t)half;
}

struct lull_state_trace;

/* The files of a trace, new and open. Closed by who takes them. */
struct lull_state_files {
    const char *dir; /* for messages */
    int metadata, events;
};

/* Starts a trace. NULL and an error if it cannot be written. */
struct lull_state_trace *lull_state_trace_new(const struct lull_state_files *files,
                                              int64_t epoch_offset_ns, GError **error);
/* Starts another stream of it, which has its own order of time; closed on its own. Takes the file. */
struct lull_state_trace *lull_state_trace_beside(const struct lull_state_trace *trace,
                                                 const char *name, int file);
/* Adds an event that is so now. What goes wrong is reported when the trace is closed. */
void lull_state_trace_put(struct lull_state_trace *trace, enum lull_state_event event,
                          const union lull_state_value *values);
/* The same of another time, on the trace's own clock, which is not before the last. */
void lull_state_trace_put_at(struct lull_state_trace *trace, int64_t time_ns,
                             enum lull_state_event event, const union lull_state_value *values);
/* All events from now on are of that time, on the trace's own clock. */
void lull_state_trace_stop_clock(struct lull_state_trace *trace, int64_t time_ns);
/* Writes what was put so far; false if something could not be written. */
bool lull_state_trace_flush(struct lull_state_trace *trace);
/* The same, and forgets what could not be written: the trace ends before it. */
void lull_state_trace_cut(struct lull_state_trace *trace);
/* Completes and frees the trace. False and an error if something could not be written. */
bool lull_state_trace_close(struct lull_state_trace *trace, GError **error);

/* What the metadata of each trace of a recording says of the machine, and of CLOCK_MONOTONIC. */
void lull_state_trace_add_environment(GString *text, const char *domain);
void lull_state_trace_add_clock(GString *text, int64_t epoch_offset_ns);

#endif
