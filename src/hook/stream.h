/* SPDX-License-Identifier: MIT */
/* What is loaded into programs that `lull record` starts writes through this: each thread has a CTF stream
 * of its own, which is whole after each event, so that also a program that is killed leaves all of them.
 * Nothing here may fail the program. */
#ifndef LULL_HOOK_STREAM_H
#define LULL_HOOK_STREAM_H

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define HOOK_INITIAL __attribute__((tls_model("initial-exec")))
#define HOOK_MOST_COUNTERS 5u
#define HOOK_MAGIC 0xc1fc1fc1u /* of a packet */
/* Of an event, before what it says. */
#define HOOK_START_BYTES (sizeof(struct hook_event) + HOOK_MOST_COUNTERS * sizeof(uint64_t))

/* As src/record/hooks.c declares them in the metadata. */
enum hook_event_id {
    HOOK_CALL,
    HOOK_RETURN,
    HOOK_CODE,
    HOOK_C_CALL,
    HOOK_C_RETURN,
    HOOK_ENTRY,
    HOOK_EXIT,
    HOOK_IMAGE,
    HOOK_IMAGE_ID,
    HOOK_IMAGE_GONE,
    HOOK_HEAP_ALLOC,
    HOOK_HEAP_REALLOC,
    HOOK_HEAP_FREE,
    HOOK_OWN_START, /* the program waits for the recording itself, */
    HOOK_OWN_END    /* and goes on */
};

struct hook_head {
    uint32_t magic;
    uint64_t start_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t discarded;
} __attribute__((packed));

struct hook_event {
    uint8_t id;
    uint64_t time_ns;
    int32_t pid, tid;
} __attribute__((packed));

struct hook_stream {
    uint8_t *packet; /* NULL: none yet, or the recording is over */
    uint32_t size;   /* bytes of it that are written, */
    uint32_t room;   /* and that it has */
    uint32_t limit;  /* up to where events may be written; 0: there is no packet, or it is over */
    bool is_over;    /* no event is written any more */
    bool is_late;    /* begun again after its end, at the end of its thread: see hook_end() */
    int32_t pid, tid;
    off_t offset;                     /* of the next packet */
    uint64_t named_ns;                /* in the name of its file */
    uint64_t begun_ns;                /* when the stream was started for an event; 0: it has one */
    uint64_t discarded;               /* events that were lost until now; each packet has the sum */
    uint64_t own[HOOK_MOST_COUNTERS]; /* what was counted while packets were made */
    char path[PATH_MAX];
};

struct hook_pause {
    sigset_t signals;
    int why;
};

/* What a library has beside the stream of each thread, which comes first in it. */
struct hook_kind {
    char letter;                                 /* of the names of its streams */
    bool lasts;                                  /* records until a thread is gone */
    size_t size;                                 /* zeros at first */
    void (*restart)(struct hook_stream *stream); /* in the child of a fork */
    void (*clear)(struct hook_stream *stream);   /* at the end of the thread */
};

extern const struct hook_kind hook_kind; /* each library has one */
extern __thread struct hook_stream *hook_own HOOK_INITIAL;
/* The thread is at its end: whoever starts a stream now ends it, too, since nothing tells when the thread is gone. */
extern __thread bool hook_is_ending HOOK_INITIAL;

/* Once, before all else. False: this program is not recorded. */
bool hook_init(void);
/* Of a thread that has none; NULL: there is no memory. May be called by the handler of a signal. */
struct hook_stream *hook_start(void);
/* The thread's is complete. */
void hook_end(void *stream);
/* The folder of the streams. */
const char *hook_folder(void);
/* While something takes long: no signal comes, which also would interrupt it, and afterwards errno is
 * the program's again. */
void hook_pause(struct hook_pause *before);
void hook_resume(const struct hook_pause *before);
/* Counters that each event has behind its start; 0, unless they were requested. */
extern unsigned hook_n_counters;
void hook_init_counters(void);
/* Of this thread, as they are now; UINT64_MAX: not known. */
void hook_read_counters(uint64_t values[static HOOK_MOST_COUNTERS]);
/* Returns where they end. */
uint8_t *hook_put_counters(const struct hook_stream *stream, uint8_t *at);
/* False: there is no room for events, here or any more. */
bool hook_start_packet(struct hook_stream *stream);
/* That the program waits for the recording itself, from here to there. */
void hook_start_own(struct hook_stream *stream);
void hook_end_own(struct hook_stream *stream);

static inline uint8_t *hook_put(uint8_t *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static inline uint64_t hook_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline struct hook_head *hook_head_of(const struct hook_stream *stream)
{
    return (struct hook_head *)(void *)stream->packet;
}

/* So many events are lost. */
static inline void hook_discard(struct hook_stream *stream, uint64_t n)
{
    stream->discarded += n;
    if (stream->packet) {
        hook_head_of(stream)->discarded = stream->discarded;
    }
}

/* Where an event is written that has room for `size` bytes behind its start; NULL: nowhere. */
static inline uint8_t *hook_start_event(struct hook_stream *stream, enum hook_event_id id,
                                        size_t size)
{
    if (__builtin_expect(stream->size + HOOK_START_BYTES + size > stream->limit, false)) {
        stream->is_over = stream->is_over || !hook_start_packet(stream);
        if (stream->is_over) {
            stream->limit = 0;
            hook_discard(stream, 1);
            return NULL;
        }
    }
    const struct hook_event event = {(uint8_t)id, hook_now_ns(), stream->pid, stream->tid};
    uint8_t *at = hook_put(stream->packet + stream->size, &event, sizeof event);
    return __builtin_expect(hook_n_counters > 0, false) ? hook_put_counters(stream, at) : at;
}

/* The event that was started, and not ended. */
static inline struct hook_event *hook_event_of(const struct hook_stream *stream)
{
    return (struct hook_event *)(void *)(stream->packet + stream->size);
}

/* It was at another time, but not before the last one. */
static inline void hook_set_time(const struct hook_stream *stream, uint64_t time_ns)
{
    const uint64_t last_ns = hook_head_of(stream)->end_ns;
    hook_event_of(stream)->time_ns = time_ns > last_ns ? time_ns : last_ns;
}

/* From here on it is in the file, whatever becomes of the program. */
static inline void hook_end_event(struct hook_stream *stream, const uint8_t *end)
{
    struct hook_head *head = hook_head_of(stream);
    const uint32_t size = (uint32_t)(end - stream->packet);
    head->end_ns = hook_event_of(stream)->time_ns;
    stream->size = size;
    atomic_signal_fence(memory_order_release);
    head->content_bits = size * UINT64_C(8);
}

#endif
