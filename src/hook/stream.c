/* SPDX-License-Identifier: MIT */
/* Starts and ends the streams of threads, and their packets. */
#include "hook/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Multiples of all sizes of pages. Most threads are short. To make a packet takes up to 12 us a page where memory is slow: the
 * program waits as long, and whoever ends it then sees that wait as the last that it did. */
#define FIRST_PACKET_BYTES (64u << 10)
#define PACKET_BYTES (128u << 10)
#define PIECE_BYTES (64u << 10) /* both consist of these */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static struct {
    const char *folder;
    pthread_key_t at_exit;
} shared;

__thread struct hook_stream *hook_own HOOK_INITIAL;
__thread bool hook_is_ending HOOK_INITIAL;
static __thread unsigned n_rounds HOOK_INITIAL;
/* The stream that the thread had: what comes after its end goes on in its file. 0: none. */
static __thread struct {
    uint64_t named_ns;
    off_t offset;
    uint64_t discarded;
} ended HOOK_INITIAL;

/* ---- packets ---- */

/* Room on the disk for the packet, so that writing to its pages cannot fail. It takes the longest, so it
 * comes first, beyond the end of the file; then the head, and the padding. That is written, although a hole
 * would read the same: the kernel then makes many pages at once, in large pieces, which costs a third of
 * making each when it is touched. Pieces are not larger, as memory in such pieces may be hard to find. */
static bool make_room(int fd, const struct hook_stream *stream, uint32_t room, uint64_t t)
{
    static uint8_t zeros[PIECE_BYTES];
    const off_t offset = stream->offset;
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, room) != 0 && errno != EOPNOTSUPP) {
        return false;
    }
    struct hook_head head = {.magic = HOOK_MAGIC,
                             .start_ns = t,
                             .end_ns = t,
                             .content_bits = sizeof head * UINT64_C(8),
                             .packet_bits = room * UINT64_C(8),
                             .discarded = stream->discarded};
    const struct iovec first[] = {{&head, sizeof head}, {zeros, sizeof zeros - sizeof head}};
    bool is_done = pwritev(fd, first, 2, offset) == (ssize_t)sizeof zeros;
    for (size_t at = sizeof zeros; at < room && is_done; at += sizeof zeros) {
        is_done = pwrite(fd, zeros, sizeof zeros, offset + (off_t)at) == (ssize_t)sizeof zeros;
    }
    return is_done;
}

static void leave_packet(struct hook_stream *stream)
{
    uint8_t *packet = stream->packet;
    stream->packet = NULL;
    stream->limit = 0;
    if (packet) {
        munmap(packet, stream->room);
    }
}

/* Of a thread at its end, for which a packet has an event or two, and starts where the one before ended, within a
 * page: it is put together elsewhere, and written at its end. */
static bool start_late_packet(struct hook_stream *stream, uint64_t begun_ns)
{
    uint8_t *packet =
        mmap(NULL, FIRST_PACKET_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stream->packet || packet == MAP_FAILED) { /* it is full */
        return false;
    }
    const struct hook_head head = {.magic = HOOK_MAGIC,
                                   .start_ns = begun_ns,
                                   .end_ns = begun_ns,
                                   .discarded = stream->discarded};
    memcpy(packet, &head, sizeof head);
    stream->packet = packet;
    stream->size = sizeof head;
    stream->room = stream->limit = FIRST_PACKET_BYTES;
    return true;
}

/* The file is open only here: its descriptor would be one of the program's. Where the folder is gone,
 * the recording is over, and nothing is lost. */
static bool start_packet(struct hook_stream *stream, uint64_t begun_ns)
{
    const int flags = stream->offset == 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR;
    const int fd = open(stream->path, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        if (errno == ENOENT) {
            leave_packet(stream);
        }
        return false;
    }
    const uint32_t room = stream->offset == 0 ? FIRST_PACKET_BYTES : PACKET_BYTES;
    void *packet = MAP_FAILED;
    if (make_room(fd, stream, room, begun_ns)) {
        packet = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, stream->offset);
    }
    if (packet == MAP_FAILED && ftruncate(fd, stream->offset) != 0) {
        /* The reader finds an empty packet there, or one of zeros. */
    }
    close(fd);
    if (packet == MAP_FAILED) {
        return false;
    }
    madvise(packet, room, MADV_POPULATE_WRITE); /* cheaper now than page by page */
    leave_packet(stream);
    stream->packet = packet;
    stream->size = sizeof(struct hook_head);
    stream->room = stream->limit = room;
    stream->offset += room;
    return true;
}

void hook_pause(struct hook_pause *before)
{
    sigset_t all;
    sigfillset(&all);
    before->why = errno;
    pthread_sigmask(SIG_SETMASK, &all, &before->signals);
}

void hook_resume(const struct hook_pause *before)
{
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    errno = before->why;
}

/* Now, if time_ns is 0. */
static void put_own(struct hook_stream *stream, enum hook_event_id id, uint64_t time_ns)
{
    const uint8_t *end = stream->is_over ? NULL : hook_start_event(stream, id, 0);
    if (end) {
        if (time_ns != 0) {
            hook_event_of(stream)->time_ns = time_ns;
        }
        hook_end_event(stream, end);
    }
}

void hook_start_own(struct hook_stream *stream)
{
    put_own(stream, HOOK_OWN_START, 0);
}

void hook_end_own(struct hook_stream *stream)
{
    put_own(stream, HOOK_OWN_END, 0);
}

/* Since when the program waits for the packet: not before its last event, which a handler of a signal may
 * have written since. */
static uint64_t waits_since(struct hook_stream *stream, uint64_t now_ns)
{
    const uint64_t last_ns = stream->packet ? hook_head_of(stream)->end_ns : 0;
    const uint64_t since_ns = stream->begun_ns ? stream->begun_ns : now_ns;
    stream->begun_ns = 0;
    return since_ns > last_ns ? since_ns : last_ns;
}

bool hook_start_packet(struct hook_stream *stream)
{
    struct hook_pause before;
    uint64_t then[HOOK_MOST_COUNTERS], now[HOOK_MOST_COUNTERS];
    const uint64_t now_ns = hook_now_ns();
    hook_pause(&before);
    const uint64_t since_ns = waits_since(stream, now_ns);
    hook_read_counters(then);
    const bool is_done =
        stream->is_late ? start_late_packet(stream, since_ns) : start_packet(stream, since_ns);
    hook_read_counters(now);
    for (unsigned i = 0; i < hook_n_counters; i++) {
        stream->own[i] += now[i] - then[i];
    }
    if (is_done) {
        put_own(stream, HOOK_OWN_START, since_ns);
    }
    hook_resume(&before);
    if (is_done) {
        hook_end_own(stream);
    }
    return is_done;
}

/* ---- streams ---- */

/* To what it holds, and then its last packet says so: a file that is cut within a packet's padding is
 * whole. That takes some time, which the last two events tell. */
static void cut_file(struct hook_stream *stream)
{
    const bool is_told = stream->size + 2 * HOOK_START_BYTES <= stream->limit;
    if (is_told) {
        hook_start_own(stream);
    }
    const uint32_t size = stream->size + (is_told ? (uint32_t)HOOK_START_BYTES : 0);
    const bool is_cut = truncate(stream->path, stream->offset - stream->room + size) == 0;
    if (is_told) {
        hook_end_own(stream);
    }
    if (is_cut) {
        hook_head_of(stream)->packet_bits = size * UINT64_C(8);
        stream->offset += size - (off_t)stream->room;
    }
}

/* Into the file, which ends before it if there is no room for all of it. Its last event, which tells how long
 * that took, is written there. */
static void write_late_packet(struct hook_stream *stream)
{
    hook_start_own(stream);
    const uint32_t size = stream->size + (uint32_t)HOOK_START_BYTES;
    if (size > stream->limit) {
        return;
    }
    const size_t skipped = (size_t)stream->offset % PIECE_BYTES;
    const int flags = stream->offset == 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR;
    const int fd = open(stream->path, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    uint8_t *place = MAP_FAILED;
    hook_head_of(stream)->packet_bits = size * UINT64_C(8);
    if (fd >= 0 && pwrite(fd, stream->packet, size, stream->offset) == (ssize_t)size) {
        place = mmap(NULL, skipped + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     stream->offset - (off_t)skipped);
    }
    if (fd >= 0 && place == MAP_FAILED && ftruncate(fd, stream->offset) != 0) {
        /* The reader finds a packet that is shorter than it says. */
    }
    close(fd);
    if (place != MAP_FAILED) {
        leave_packet(stream);
        stream->packet = place + skipped;
        stream->limit = size;
        stream->offset += size;
        hook_end_own(stream);
        munmap(place, skipped + size);
        stream->packet = NULL;
    }
}

void hook_end(void *user)
{
    struct hook_stream *stream = user;
    struct hook_pause before;
    hook_pause(&before); /* a handler would write behind the end of the file */
    if (stream->packet && stream->is_late) {
        write_late_packet(stream);
    } else if (stream->packet) {
        cut_file(stream);
    }
    ended.named_ns = stream->named_ns;
    ended.offset = stream->offset;
    ended.discarded = stream->discarded;
    leave_packet(stream);
    hook_kind.clear(stream);
    hook_own = NULL;
    munmap(stream, hook_kind.size);
    hook_resume(&before);
}

static bool name_stream(struct hook_stream *stream)
{
    stream->pid = getpid();
    stream->tid = gettid();
    const int length =
        snprintf(stream->path, sizeof stream->path, "%s/%c-%d-%d-%llx", shared.folder,
                 hook_kind.letter, stream->pid, stream->tid, (unsigned long long)stream->named_ns);
    return length < (int)sizeof stream->path;
}

struct hook_stream *hook_start(void)
{
    const uint64_t begun_ns = hook_now_ns();
    struct hook_stream *stream =
        mmap(NULL, hook_kind.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stream == MAP_FAILED) {
        return NULL;
    }
    stream->begun_ns = begun_ns;
    stream->is_late = hook_is_ending;
    stream->named_ns = hook_is_ending && ended.named_ns != 0 ? ended.named_ns : begun_ns;
    stream->offset = hook_is_ending ? ended.offset : 0;
    stream->discarded = hook_is_ending ? ended.discarded : 0;
    stream->is_over = !name_stream(stream);
    if (!hook_is_ending) {
        pthread_setspecific(shared.at_exit, stream);
    }
    return hook_own = stream;
}

/* The child has its own files. What its parent had called until now, it returns from. */
static void forked(void)
{
    struct hook_stream *stream = hook_own;
    ended.named_ns = 0;
    ended.offset = 0;
    ended.discarded = 0;
    if (!stream) {
        return;
    }
    leave_packet(stream);
    hook_kind.restart(stream);
    stream->offset = 0;
    stream->discarded = 0;
    stream->named_ns = hook_now_ns();
    memset(stream->own, 0, sizeof stream->own);
    stream->is_over = !name_stream(stream);
}

/* Destructors of other keys come before and after, in several rounds. A stream that starts in the first of them sees
 * one less. A handler of a signal that knew that the thread is ending would end the stream itself, so none comes. */
static void thread_ends(void *user)
{
    struct hook_pause before;
    if (hook_kind.lasts && ++n_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
        pthread_setspecific(shared.at_exit, user);
        return;
    }
    hook_pause(&before);
    hook_is_ending = hook_kind.lasts;
    hook_end(user);
    hook_resume(&before);
}

const char *hook_folder(void)
{
    return shared.folder;
}

bool hook_init(void)
{
    shared.folder = getenv("LULL_CALLS");
    shared.folder = shared.folder ? strdup(shared.folder) : NULL;
    hook_init_counters();
    return shared.folder && pthread_key_create(&shared.at_exit, thread_ends) == 0 &&
           pthread_atfork(NULL, NULL, forked) == 0;
}

/* Of the main thread; others end with their own destructor. */
__attribute__((destructor)) static void unload(void)
{
    if (hook_own) {
        hook_end(hook_own);
    }
}
