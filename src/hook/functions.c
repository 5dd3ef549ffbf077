/* SPDX-License-Identifier: MIT */
/* Preloaded into programs that `lull record --functions` starts: the functions that GCC and Clang call
 * with -finstrument-functions, and which file each function lies in, before its first call. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/stream.h"

#define PUBLIC __attribute__((visibility("default")))
#define MOST_ID_BYTES 64
#define MOST_REPORTED 32u
#define MOST_DEFERRED 64u

/* A program or library in memory. */
struct image {
    uintptr_t start, end;
    bool is_pic;
    uint32_t id_bytes;
    const uint8_t *id;
    const char *path;
};

struct range {
    uintptr_t start, end;
};

struct thread {
    struct hook_stream stream;
    unsigned generation; /* of what it has reported */
    /* Files of functions that it called, the last one first; of many, some are reported again. */
    struct range reported[MOST_REPORTED];
    uint32_t n_reported;
};

/* A call or return of a signal's handler that came while another one was written. */
struct deferred {
    uint64_t time_ns;
    uintptr_t address;
    enum hook_event_id id;
};

/* The number of libraries that were closed: what lay where may have changed. */
static atomic_uint generation;
/* While an event is written. What signals bring then waits, from `first` to `next`. */
static __thread bool is_inside HOOK_INITIAL;
static __thread unsigned first HOOK_INITIAL, next HOOK_INITIAL;
static __thread struct deferred deferred[MOST_DEFERRED] HOOK_INITIAL;
static atomic_int state; /* 0: not known, 1: recording, -1: not */

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static void restart(struct hook_stream *stream)
{
    ((struct thread *)(void *)stream)->n_reported = 0;
}

static void clear(struct hook_stream *stream)
{
}

const struct hook_kind hook_kind = {
    .letter = 'f', .size = sizeof(struct thread), .restart = restart, .clear = clear};

/* ---- images ---- */

/* The build-id of an image, in its memory. */
static void find_id(struct image *image, uintptr_t at, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        const size_t name = (note->n_namesz + 3u) & ~(size_t)3,
                     id = (note->n_descsz + 3u) & ~(size_t)3;
        const size_t whole = sizeof *note + name + id;
        if (whole > size) {
            return;
        }
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof "GNU" &&
            memcmp(note + 1, "GNU", sizeof "GNU") == 0 && note->n_descsz <= MOST_ID_BYTES) {
            image->id = (const uint8_t *)(note + 1) + name;
            image->id_bytes = note->n_descsz;
            return;
        }
        at += whole;
        size -= whole;
    }
}

static struct image image_of(const struct dl_phdr_info *info)
{
    struct image image = {
        .start = UINTPTR_MAX, .is_pic = info->dlpi_addr != 0, .path = info->dlpi_name};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD) {
            image.start = start < image.start ? start : image.start;
            image.end = start + segment->p_memsz > image.end ? start + segment->p_memsz : image.end;
        } else if (segment->p_type == PT_NOTE && !image.id) {
            find_id(&image, start, segment->p_memsz);
        }
    }
    return image;
}

struct search {
    uintptr_t address;
    struct image image;
};

static int compare(struct dl_phdr_info *info, size_t size, void *user)
{
    struct search *search = user;
    search->image = image_of(info);
    return search->image.start <= search->address && search->address < search->image.end;
}

/* Once for each process: the recorder keeps the names of its functions. `told` has a bit for each path;
 * of two with the same bit one is missing. */
static void note_file(const char *path, uint64_t inode)
{
    static atomic_uint told[64];
    char name[PATH_MAX], line[PATH_MAX + 64];
    struct timespec now;
    unsigned hash = 5381;
    for (const char *at = path; *at; at++) {
        hash = hash * 33 + (uint8_t)*at;
    }
    if (atomic_fetch_or(&told[hash / 32 % 64], 1u << hash % 32) & 1u << hash % 32) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    const int length = snprintf(line, sizeof line, "%llu %lld%09ld %s\n", (unsigned long long)inode,
                                (long long)now.tv_sec, now.tv_nsec, path);
    snprintf(name, sizeof name, "%s/../objects", hook_folder());
    const int fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        (void)!write(fd, line, (size_t)length);
        close(fd);
    }
}

static void put_image(struct hook_stream *stream, const struct image *image)
{
    char self[PATH_MAX];
    struct stat st;
    const char *path = image->path;
    if (!*path) { /* the program */
        const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = '\0';
        path = self;
    }
    const size_t length = strnlen(path, PATH_MAX - 1);
    const uint64_t inode = stat(path, &st) == 0 ? st.st_ino : 0;
    const uint64_t place[] = {image->start, image->end - image->start, inode};
    const uint8_t is_pic = image->is_pic;
    uint8_t *at = hook_start_event(stream, HOOK_IMAGE, sizeof place + 1 + length + 1);
    if (at) {
        at = hook_put(hook_put(at, place, sizeof place), &is_pic, 1);
        hook_end_event(stream, hook_put(hook_put(at, path, length), "", 1));
    }
    at = image->id ? hook_start_event(stream, HOOK_IMAGE_ID, 8 + 4 + MOST_ID_BYTES) : NULL;
    if (at) {
        at = hook_put(hook_put(at, place, 8), &image->id_bytes, 4);
        hook_end_event(stream, hook_put(at, image->id, image->id_bytes));
    }
    if (inode != 0 && *path == '/') {
        note_file(path, inode);
    }
}

/* Reports where the function lies, unless this thread has done so. */
static void report(struct thread *thread, uintptr_t address)
{
    struct search search = {.address = address};
    for (uint32_t i = 1; i < thread->n_reported; i++) {
        const struct range range = thread->reported[i];
        if (address - range.start < range.end - range.start) {
            thread->reported[i] = thread->reported[0];
            thread->reported[0] = range;
            return;
        }
    }
    struct hook_pause before;
    hook_pause(&before);
    if (dl_iterate_phdr(compare, &search) != 0) {
        put_image(&thread->stream, &search.image);
    } else {
        search.image = (struct image){.start = address, .end = address + 1};
    }
    /* The new one is the first, and what was there the last, or the one before. */
    const uint32_t last = thread->n_reported < MOST_REPORTED ? thread->n_reported++ : 1;
    thread->reported[last] = thread->reported[0];
    thread->reported[0] = (struct range){search.image.start, search.image.end};
    hook_resume(&before);
}

static bool is_reported(struct thread *thread, uintptr_t address)
{
    const unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (thread->generation != now) {
        thread->generation = now;
        thread->n_reported = 0;
    }
    return thread->n_reported > 0 && address - thread->reported[0].start <
                                         thread->reported[0].end - thread->reported[0].start;
}

/* ---- calls and returns ---- */

static bool is_recording(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (__builtin_expect(now == 0, false)) {
        now = hook_init() ? 1 : -1;
        atomic_store_explicit(&state, now, memory_order_release);
    }
    return now > 0;
}

/* Before the program has threads. */
__attribute__((constructor)) static void load(void)
{
    is_recording();
}

static void defer(enum hook_event_id id, uintptr_t address)
{
    if (next - first < MOST_DEFERRED) {
        deferred[next % MOST_DEFERRED] = (struct deferred){hook_now_ns(), address, id};
        next++;
    } else if (hook_own && hook_own->packet) {
        hook_head_of(hook_own)->discarded++;
    }
}

/* At a time; or, 0, now, but before what waits. */
static void write_event(struct thread *thread, enum hook_event_id id, uintptr_t address,
                        uint64_t time_ns)
{
    const uint64_t function = address;
    if (id == HOOK_ENTRY && !is_reported(thread, address)) {
        report(thread, address);
    }
    uint8_t *at = hook_start_event(&thread->stream, id, sizeof function);
    if (at) {
        if (__builtin_expect(time_ns != 0, false)) {
            hook_set_time(&thread->stream, time_ns);
        } else if (__builtin_expect(first != next, false)) {
            hook_set_time(&thread->stream, deferred[first % MOST_DEFERRED].time_ns);
        }
        hook_end_event(&thread->stream, hook_put(at, &function, sizeof function));
    }
}

static void write_deferred(struct thread *thread)
{
    while (__builtin_expect(first != next, false)) {
        const struct deferred one = deferred[first % MOST_DEFERRED];
        write_event(thread, one.id, one.address, one.time_ns);
        first++;
    }
}

static void put(enum hook_event_id id, uintptr_t address)
{
    if (is_inside) {
        defer(id, address);
        return;
    }
    is_inside = true;
    atomic_signal_fence(memory_order_seq_cst);
    struct hook_stream *stream = !is_recording() ? NULL : hook_own ? hook_own : hook_start();
    if (stream) {
        struct thread *thread = (struct thread *)(void *)stream;
        write_deferred(thread); /* what came when the last one was already written */
        write_event(thread, id, address, 0);
        atomic_signal_fence(memory_order_seq_cst);
        write_deferred(thread);
    }
    atomic_signal_fence(memory_order_seq_cst);
    is_inside = false;
}

PUBLIC void __cyg_profile_func_enter(void *function, void *caller)
{
    put(HOOK_ENTRY, (uintptr_t)function);
}

PUBLIC void __cyg_profile_func_exit(void *function, void *caller)
{
    put(HOOK_EXIT, (uintptr_t)function);
}

/* ---- libraries that are closed ---- */

struct images {
    struct range *ranges;
    size_t n;
};

static int collect(struct dl_phdr_info *info, size_t size, void *user)
{
    struct images *images = user;
    struct range *more = realloc(images->ranges, (images->n + 1) * sizeof *more);
    if (!more) {
        return 1;
    }
    const struct image image = image_of(info);
    images->ranges = more;
    more[images->n++] = (struct range){image.start, image.end};
    return 0;
}

static bool has(const struct images *images, struct range range)
{
    size_t i = 0;
    while (i < images->n && images->ranges[i].start != range.start) {
        i++;
    }
    return i < images->n;
}

/* Those that were there before, and are not any more. */
static void report_gone(const struct images *before)
{
    struct images after = {0};
    dl_iterate_phdr(collect, &after);
    struct hook_stream *stream = hook_own ? hook_own : hook_start();
    for (size_t i = 0; stream && i < before->n; i++) {
        const uint64_t start = before->ranges[i].start;
        uint8_t *at = has(&after, before->ranges[i])
                          ? NULL
                          : hook_start_event(stream, HOOK_IMAGE_GONE, sizeof start);
        if (at) {
            hook_end_event(stream, hook_put(at, &start, sizeof start));
        }
    }
    free(after.ranges);
    atomic_fetch_add(&generation, 1);
}

PUBLIC int dlclose(void *handle)
{
    int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    struct images before = {0};
    const bool is_first = !is_inside && is_recording();
    if (is_first) {
        is_inside = true;
        dl_iterate_phdr(collect, &before);
        is_inside = false;
    }
    const int result = real(handle); /* calls destructors, which are recorded */
    if (is_first) {
        is_inside = true;
        report_gone(&before);
        is_inside = false;
    }
    free(before.ranges);
    return result;
}
