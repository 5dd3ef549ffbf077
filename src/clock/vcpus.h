/* SPDX-License-Identifier: MIT */
/* What joining a guest's clock with its host's needs of a session, in the hosts' own times: when
 * threads were in a guest, which interrupts they injected, and when something happened on each CPU of
 * what may be a guest. */
#ifndef LULL_CLOCK_VCPUS_H
#define LULL_CLOCK_VCPUS_H

#include <lull/session.h>

#include "base/vec.h"

/* Of windows of a virtual CPU, and of events of a host, so many are kept: the first ones. */
#define LULL_VCPUS_MOST (1u << 22)

/* Times further from 1970 (in 2079) are left out, and offsets above LULL_VCPUS_MOST_OFFSET (73 years) are
 * not looked for: the difference of two times, less an offset, is within 64 bits. */
#define LULL_VCPUS_MOST_NS ((INT64_C(1) << 62) - (INT64_C(1) << 60))
#define LULL_VCPUS_MOST_OFFSET ((INT64_C(1) << 61) - (INT64_C(1) << 52))

static inline bool lull_vcpus_can_use(int64_t time_ns)
{
    return time_ns > -LULL_VCPUS_MOST_NS && time_ns < LULL_VCPUS_MOST_NS;
}

/* A virtual CPU ran its guest from one time to the other. */
struct lull_window {
    int64_t start_ns, end_ns;
};

struct lull_injection {
    int64_t time_ns; /* the guest was entered with it */
    int64_t vector;
};

struct lull_vcpu {
    uint32_t host;
    int32_t tid, pid;
    int64_t number; /* as KVM counts them in its VM; by tid, if events do not say */
    LULL_VEC(struct lull_window) windows;
    LULL_VEC(struct lull_window) lost; /* in which it may have run: events were lost */
    LULL_VEC(struct lull_injection) injections;
    size_t losses;        /* of the host, until it was looked at last */
    int64_t entered_ns;   /* INT64_MIN: it is not in the guest */
    int64_t lost_ns;      /* since then it may be; INT64_MIN: that is known */
    int64_t vector;       /* injected, and not entered since; -1: none */
    int64_t entry_number; /* what entries and exits say; -1: nothing */
    int64_t exit_number;
};

/* Something happened. */
struct lull_moment {
    int64_t time_ns;
    int32_t cpu;
};

/* What may be a guest, as it saw itself. */
struct lull_guest_times {
    LULL_VEC(struct lull_moment) moments;
    LULL_VEC(struct lull_moment) ticks; /* of local timers */
    int64_t tick_vector;                /* -1: there are no ticks */
    int32_t n_cpus;                     /* the largest seen, and one */
};

struct lull_vcpus {
    LULL_VEC(struct lull_vcpu) list; /* by host, process, number */
    struct lull_guest_times *hosts;  /* by host */
    uint32_t n_hosts;
};

/* Whether a host of the session recorded when its guests ran. */
bool lull_vcpus_are_recorded(const struct lull_session *session);
/* Reads the whole session once. Free with lull_vcpus_free(). */
struct lull_vcpus *lull_vcpus_read(struct lull_session *session, void (*progress)(void *user),
                                   void *user);
void lull_vcpus_free(struct lull_vcpus *vcpus);

#endif
