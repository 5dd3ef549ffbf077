/* SPDX-License-Identifier: MIT */
/* What every task, CPU and interrupt of some traces did at every moment, and how much of each state
 * there was in each bin of time at every zoom: made once (build.h), then mapped and asked. All that
 * comes from the file is checked before use, a block when it is read. */
#ifndef LULL_STORE_H
#define LULL_STORE_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

enum lull_store_kind {
    LULL_STORE_TASK, /* evidence, by state: on a CPU or waiting for one: its number; WAIT_TASK:
                              row of the waker; other waits: text, the interrupt or disk */
    LULL_STORE_CPU,  /* what the CPU did; evidence: row of the task, or LULL_NONE */
    LULL_STORE_CPU_THREAD, /* who was on it: USER or IDLE; evidence: row of the task */
    LULL_STORE_IRQ,        /* handlers of one interrupt on one CPU; evidence: row of the task */
    LULL_STORE_SOFTIRQ,
    LULL_STORE_FREQUENCY, /* USER where it is known; evidence: kHz */
    /* Meters, which have an amount (lull_store_amounts()) and no shares. What counts, at its time: */
    LULL_STORE_DISK_READ, /* by requests that are complete; in bytes */
    LULL_STORE_DISK_WRITTEN,
    LULL_STORE_DISK_REQUESTS, /* complete, with data, of which the issue was seen */
    LULL_STORE_NET_RECEIVED,  /* by a network interface, in bytes */
    LULL_STORE_NET_SENT,
    /* What lasts: */
    LULL_STORE_DISK_FLIGHT, /* how many of these requests the device has */
    LULL_STORE_CYCLES,      /* of a CPU with a task on it, as far as its frequency is known */
    /* No meter: */
    LULL_STORE_VCPU, /* a virtual CPU: USER in the guest, evidence: row of the guest's task; SYSCALL in
                        the hypervisor, label: which part; WAIT_CPU, evidence: row of the task that has
                        the CPU; IDLE halted; WAIT_UNKNOWN asleep otherwise */
    LULL_STORE_DECLARED, /* what users declare: `cpu` is the group's number in their file; a state is in its
                            slot, label: what it is called, evidence: row of the task that it is about;
                            UNKNOWN; NONE in no state, or over */
    LULL_STORE_CALL, /* what a task called, at one depth of its stack, `cpu`, 0 for the outermost, below
                        LULL_STORE_CALL_DEPTHS; a call is in
                        the slot of its function, label: what that is called, evidence: row of the task; NONE
                        between calls */
    LULL_STORE_KINDS
};

/* Rows of calls that a task has at most. */
enum { LULL_STORE_CALL_DEPTHS = 128 };

enum lull_store_state {
    LULL_STORE_UNKNOWN,
    LULL_STORE_USER,
    LULL_STORE_SYSCALL, /* label: its name */
    LULL_STORE_INTERRUPT,
    LULL_STORE_SOFTIRQ_RUN,
    LULL_STORE_WAIT_CPU,
    LULL_STORE_WAIT_TASK, /* waits: label: the system call they happened in */
    LULL_STORE_WAIT_DISK,
    LULL_STORE_WAIT_NETWORK,
    LULL_STORE_WAIT_TIMER,
    LULL_STORE_WAIT_INPUT,
    LULL_STORE_WAIT_IRQ,
    LULL_STORE_WAIT_UNKNOWN,
    LULL_STORE_IDLE,
    LULL_STORE_LOST, /* events were lost */
    LULL_STORE_NONE, /* not born yet, dead, no handler */
    LULL_STORE_STATES
};

/* The slot of a declared state, in the place of LULL_STORE_USER and what follows; the last one is for all
 * others. */
enum { LULL_STORE_SLOTS = LULL_STORE_IDLE - LULL_STORE_USER + 1 };
enum lull_store_state lull_store_slot(uint32_t state);

/* The first slot of each layer of functions, which share its slots by chance. */
enum lull_call_slot {
    LULL_CALL_SLOT_NATIVE = 0,
    LULL_CALL_SLOT_PYTHON = 5,
    LULL_CALL_SLOT_SYSCALL = 9,
    LULL_CALL_SLOT_KERNEL = 10,
    LULL_CALL_SLOT_UNCERTAIN = 12, /* events were lost while the call lasted, of whatever layer */
};

struct lull_store;

struct lull_store_row {
    enum lull_store_kind kind;
    uint32_t host;
    const char *name;
    int32_t cpu, tid, pid, ppid;   /* -1: none, not known */
    int64_t active_ns, passive_ns; /* outside it is in one state, UNKNOWN or NONE as a rule */
    uint64_t n_intervals;
};

struct lull_store_interval {
    int64_t start_ns, end_ns;
    enum lull_store_state state;
    uint32_t label; /* text, or LULL_NONE */
    uint32_t evidence;
};

struct lull_store_host {
    const char *name;
    int64_t first_ns, last_ns; /* of its events */
};

struct lull_store_loss {
    int64_t start_ns, end_ns;
    uint64_t events, packets;
    uint32_t host;
    int32_t cpu; /* -1: all */
};

/* Opens a store. `key` (32 bytes) is what it must have been made of, NULL: anything. NULL and an
 * error if it cannot be read, is damaged, or was made of something else. */
struct lull_store *lull_store_open(const char *path, const uint8_t *key, GError **error);
void lull_store_free(struct lull_store *store);

/* What of a store may stay mapped in memory; of one that is read once, or while the whole is being made, which
 * needs memory too. */
#define LULL_STORE_MAPPED_MOST (UINT64_C(128) << 20)
#define LULL_STORE_PART_MAPPED_MOST (UINT64_C(32) << 20)
/* Lets go of what is mapped of the store if it is larger than that and the process has more of files
 * in memory. Any thread may call it: nothing changes but the time that the next answers take. */
void lull_store_trim(const struct lull_store *store, uint64_t most);

void lull_store_range(const struct lull_store *store, int64_t *start_ns, int64_t *end_ns);
uint32_t lull_store_row_count(const struct lull_store *store);
struct lull_store_row lull_store_row(const struct lull_store *store, uint32_t row);
uint64_t lull_store_interval_count(const struct lull_store *store);
uint64_t lull_store_size(const struct lull_store *store);
/* NULL for LULL_NONE and for numbers that are no text's. */
const char *lull_store_text(const struct lull_store *store, uint32_t text);
uint32_t lull_store_host_count(const struct lull_store *store);
struct lull_store_host lull_store_host(const struct lull_store *store, uint32_t host);
uint32_t lull_store_loss_count(const struct lull_store *store);
struct lull_store_loss lull_store_loss(const struct lull_store *store, uint32_t loss);

/* Walks over the intervals of a row. */
struct lull_store_cursor {
    const struct lull_store *store;
    uint32_t row;
    uint64_t block; /* the one that is decoded, in the index */
    uint32_t at, count;
    struct lull_store_interval intervals[64];
};

/* The next interval is the one at `time_ns`, or the first or last one if that lies outside. False
 * and an error if it is damaged; a row without intervals has no next one. */
bool lull_store_seek(const struct lull_store *store, uint32_t row, int64_t time_ns,
                     struct lull_store_cursor *cursor, GError **error);
/* NULL at the end, or with an error. Valid until the next call. */
const struct lull_store_interval *lull_store_next(struct lull_store_cursor *cursor, GError **error);

/* How long the row was in each state, to the ns. */
bool lull_store_totals(const struct lull_store *store, uint32_t row, int64_t start_ns,
                       int64_t end_ns, int64_t totals[LULL_STORE_STATES], GError **error);

/* How much there was of a meter from the start of the row to each of these times, which ascend: bytes
 * and requests that came before it; requests times ns; cycles of kHz times ns, that is, a millionth
 * of a cycle each. FREQUENCY has such cycles too, with or without a task on the CPU. */
bool lull_store_amounts(const struct lull_store *store, uint32_t row, const int64_t *times_ns,
                        uint32_t count, unsigned __int128 *amounts, GError **error);

/* The share of each state, in 1/255, in `count` columns of 2^shift ns, the first of which starts at
 * first * 2^shift: 16 bytes a column. A state that occurs is never 0. */
bool lull_store_columns(const struct lull_store *store, uint32_t row, int64_t first, unsigned shift,
                        uint32_t count, uint8_t *shares, GError **error);

#endif
