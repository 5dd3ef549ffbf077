/* SPDX-License-Identifier: MIT */
/* What records compiled code writes its events with: each after the file in which it happened, whole,
 * and in the order of time also where signals come between. */
#ifndef LULL_HOOK_NATIVE_H
#define LULL_HOOK_NATIVE_H

#include "hook/stream.h"

#define PUBLIC __attribute__((visibility("default")))
#define NATIVE_MOST_REPORTED 32u

/* An event of so many values. */
struct native_record {
    enum hook_event_id id;
    uint32_t n;
    uintptr_t place; /* of code, whose file is reported before; 0: none */
    uint64_t values[4];
};

struct native_range {
    uintptr_t start, end;
};

struct native_thread {
    struct hook_stream stream;
    unsigned generation; /* of what it has reported */
    /* Files of functions that it called, the last one first; of many, some are reported again. */
    struct native_range reported[NATIVE_MOST_REPORTED];
    uint32_t n_reported;
    /* For what is said of a file: not on the stack, of which a thread may have less than that takes. */
    char path[PATH_MAX], name[PATH_MAX], line[PATH_MAX + 64];
};

/* The number of libraries that were closed: what lay where may have changed. */
extern atomic_uint native_generation;
extern atomic_int native_state; /* 0: not known, 1: recording, -1: not */
/* While an event is written. What signals bring then waits, from `first` to `next`. */
extern __thread bool native_is_inside HOOK_INITIAL;
extern __thread unsigned native_first HOOK_INITIAL;
extern __thread atomic_uint native_next HOOK_INITIAL;
/* What is allocated is the recorder's own. */
extern __thread bool native_is_own HOOK_INITIAL;

/* Whether this program is recorded; once. */
bool native_init(void);
void native_defer(const struct native_record *record);
/* When the first that waits came. */
uint64_t native_deferred_ns(void);
void native_write_deferred(struct native_thread *thread);
/* Of a thread at its end: the stream, and what signals brought while it ended. */
void native_end(struct hook_stream *stream);
/* Reports in which file the place lies, unless this thread has done so. */
void native_report(struct native_thread *thread, uintptr_t place);

static inline bool native_is_recording(void)
{
    const int now = atomic_load_explicit(&native_state, memory_order_acquire);
    return __builtin_expect(now == 0, false) ? native_init() : now > 0;
}

static inline bool native_has_deferred(void)
{
    return __builtin_expect(
        native_first != atomic_load_explicit(&native_next, memory_order_relaxed), false);
}

static inline bool native_is_reported(struct native_thread *thread, uintptr_t place)
{
    const unsigned now = atomic_load_explicit(&native_generation, memory_order_relaxed);
    if (thread->generation != now) {
        thread->generation = now;
        thread->n_reported = 0;
    }
    return thread->n_reported > 0 &&
           place - thread->reported[0].start < thread->reported[0].end - thread->reported[0].start;
}

/* At a time; or, 0, now, but before what waits. */
__attribute__((always_inline)) static inline void
native_write(struct native_thread *thread, const struct native_record *record, uint64_t time_ns)
{
    const size_t size = record->n * sizeof record->values[0];
    if (record->place && !native_is_reported(thread, record->place)) {
        native_report(thread, record->place);
    }
    uint8_t *at = hook_start_event(&thread->stream, record->id, size);
    if (at) {
        if (__builtin_expect(time_ns != 0, false)) {
            hook_set_time(&thread->stream, time_ns);
        } else if (native_has_deferred()) {
            hook_set_time(&thread->stream, native_deferred_ns());
        }
        hook_end_event(&thread->stream, hook_put(at, record->values, size));
    }
}

__attribute__((always_inline)) static inline void native_put(const struct native_record *record)
{
    if (native_is_inside) {
        native_defer(record);
        return;
    }
    native_is_inside = true;
    atomic_signal_fence(memory_order_seq_cst);
    struct hook_stream *stream = !native_is_recording() ? NULL : hook_own ? hook_own : hook_start();
    if (stream) {
        struct native_thread *thread = (struct native_thread *)(void *)stream;
        if (native_has_deferred()) {
            native_write_deferred(thread); /* what came when the last one was already written */
        }
        native_write(thread, record, 0);
        atomic_signal_fence(memory_order_seq_cst);
        if (native_has_deferred()) {
            native_write_deferred(thread);
        }
        if (__builtin_expect(hook_is_ending, false)) {
            native_end(stream);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    native_is_inside = false;
}

#endif
