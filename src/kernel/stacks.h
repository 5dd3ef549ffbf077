/* SPDX-License-Identifier: MIT */
/* Call chains: where tasks were when something happened. Addresses become places in the files that
 * were mapped there, so that the same place is the same in all processes; equal chains are kept
 * once. */
#ifndef LULL_KERNEL_STACKS_H
#define LULL_KERNEL_STACKS_H

#include <glib.h>
#include <lull/event.h>
#include <lull/path.h>

#include "symbol/lines.h"

/* No number of a chain. The same number as LULL_NONE. */
#define LULL_NO_CHAIN UINT32_MAX

struct lull_recording_file;
struct lull_session;
struct lull_stacks;
struct lull_symbol_wishes;

struct lull_stacks *lull_stacks_new(void);
void lull_stacks_free(struct lull_stacks *stacks);

/* The host is this machine, and has not been restarted: frames get the names of their functions. */
void lull_stacks_set_here(struct lull_stacks *stacks, uint32_t host);
/* The traces, which may hold lists of the kernel's symbols; borrowed. */
void lull_stacks_set_session(struct lull_stacks *stacks, const struct lull_session *session);
/* How functions of all hosts are to be named; borrowed. */
void lull_stacks_set_wishes(struct lull_stacks *stacks, const struct lull_symbol_wishes *wishes);
bool lull_stacks_wants_raw_names(const struct lull_stacks *stacks);
/* A recording of the host, which may hold the names of functions of the kernel, of programs and
 * libraries; a reference is taken. If a host has several, none counts: each is of its own state of the kernel. */
void lull_stacks_set_recording(struct lull_stacks *stacks, uint32_t host,
                               struct lull_recording_file *recording);
/* A trace of the host: path → build-id of the file that was mapped, as struct lull_source has it.
 * Borrowed. */
void lull_stacks_set_build_ids(struct lull_stacks *stacks, uint32_t host, GHashTable *build_ids);
/* From the host's own clock to times; as programs on it knew time. */
void lull_stacks_set_clock(struct lull_stacks *stacks, uint32_t host, int64_t offset_ns);
/* A process, -1: the kernel, mapped `length` bytes of a file from byte `offset` on to `address` at
 * `t`; what was mapped there before is gone. `inode` of the file; 0: not known. */
void lull_stacks_map(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                     uint64_t length, uint64_t offset, struct lull_text path, uint64_t inode,
                     int64_t t);
/* Memory that holds no code takes the place of what was mapped there. */
void lull_stacks_map_data(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                          uint64_t length);
/* The same of a program or library as its dynamic linker knows it: the file lies at `address` as its
 * segments say; at addresses that it names itself, unless it `is_pic`. */
void lull_stacks_map_image(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                           uint64_t length, bool is_pic, struct lull_text path, uint64_t inode,
                           int64_t t);
/* The build-id of the image there. */
void lull_stacks_identify(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                          struct lull_text id);
/* The image there is gone. */
void lull_stacks_unmap(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address);
/* A new process has what its parent has mapped, until it executes another program. */
void lull_stacks_fork(struct lull_stacks *stacks, uint32_t host, int32_t parent, int32_t child);
void lull_stacks_exec(struct lull_stacks *stacks, uint32_t host, int32_t pid);

/* The number of a chain of the process: numbers of 64 bits, addresses from the innermost call
 * outwards, between which PERF_CONTEXT_* (linux/perf_event.h) may say whose they are, at time t; INT64_MIN: none is of
 * code that a program made while it ran. LULL_NO_CHAIN: it has no addresses. */
uint32_t lull_stacks_chain(struct lull_stacks *stacks, uint32_t host, int32_t pid,
                           struct lull_text addresses, int64_t t);
/* What a thread was doing in its program: its registers and the top of its stack, as lull_unwind_start()
 * takes them. */
struct lull_stack_dump {
    const char *architecture; /* or NULL */
    struct lull_text registers, stack;
};
/* The same with the part of the program from its stack; `addresses` have that of the kernel. What is known of
 * the files that are mapped decides how far that leads. */
uint32_t lull_stacks_unwind(struct lull_stacks *stacks, uint32_t host, int32_t pid,
                            struct lull_text addresses, const struct lull_stack_dump *dump,
                            int64_t t);
/* What became of stacks that were unwound. */
struct lull_stack_ends {
    uint64_t n, n_whole; /* n_whole: up to the outermost call */
    uint64_t n_short;    /* the rest lies beyond what was recorded of the stack */
    uint64_t
        n_unknown; /* nothing says how a function calls: its file is not there, or does not tell */
    const char *file; /* where most of those end, borrowed; NULL: there are none */
};
struct lull_stack_ends lull_stacks_ends(const struct lull_stacks *stacks);
/* Frames of a chain, *n of them, innermost first, with those of calls in line if they are wished; borrowed until the next chain is taken in. Files
 * are read for their names now. */
const struct lull_frame *lull_stacks_frames(struct lull_stacks *stacks, uint32_t chain,
                                            uint32_t *n);
/* Where the source of the function of one of these frames starts. Files are read for it now. */
struct lull_source_line lull_stacks_start(struct lull_stacks *stacks, uint32_t chain,
                                          uint32_t frame);
/* The line of the frame itself; of a function around calls in line: where it calls. */
struct lull_source_line lull_stacks_line(struct lull_stacks *stacks, uint32_t chain,
                                         uint32_t frame);
/* The build-id of a file in which a frame of the chain lies; NULL: not known. */
const char *lull_stacks_build_id(const struct lull_stacks *stacks, uint32_t chain,
                                 const char *object);
/* Whether it is known what lies at an address of a process; of the kernel all is. */
bool lull_stacks_knows(const struct lull_stacks *stacks, uint32_t host, int32_t pid,
                       uint64_t address);

#endif
