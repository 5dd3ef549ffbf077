/* SPDX-License-Identifier: MIT */
/* What is preloaded into programs that `lull record` starts to record compiled code: which file each
 * place lies in, before the first event that is about it; and what signals bring meanwhile. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/native.h"

#define MOST_ID_BYTES 64
#define MOST_DEFERRED 64u

/* A program or library in memory. */
struct image {
    uintptr_t start, end;
    bool is_pic;
    uint32_t id_bytes;
    const uint8_t *id;
    const char *path;
};

/* An event of a signal's handler that came while another one was written. */
struct deferred {
    uint64_t time_ns;
    struct native_record record;
};

atomic_uint native_generation;
atomic_int native_state;
__thread bool native_is_inside HOOK_INITIAL, native_is_own HOOK_INITIAL;
__thread unsigned native_first HOOK_INITIAL;
__thread atomic_uint native_next HOOK_INITIAL;
static __thread struct deferred deferred[MOST_DEFERRED] HOOK_INITIAL;
/* For which there was no room. They came after those that wait, and are counted when those are written: until then there
 * may be no stream. */
static __thread atomic_uint n_unkept HOOK_INITIAL;

/* What waits is the parent's. */
static void restart(struct hook_stream *stream)
{
    ((struct native_thread *)(void *)stream)->n_reported = 0;
    native_first = native_next;
    n_unkept = 0;
}

static void clear(struct hook_stream *stream)
{
}

const struct hook_kind hook_kind = {.letter = 'f',
                                    .lasts = true,
                                    .size = sizeof(struct native_thread),
                                    .restart = restart,
                                    .clear = clear};

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
static void note_file(struct native_thread *thread, const char *path, uint64_t inode)
{
    static atomic_uint told[64];
    struct timespec now;
    unsigned hash = 5381;
    for (const char *at = path; *at; at++) {
        hash = hash * 33 + (uint8_t)*at;
    }
    if (atomic_fetch_or(&told[hash / 32 % 64], 1u << hash % 32) & 1u << hash % 32) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    const int length =
        snprintf(thread->line, sizeof thread->line, "%llu %lld%09ld %s\n",
                 (unsigned long long)inode, (long long)now.tv_sec, now.tv_nsec, path);
    snprintf(thread->name, sizeof thread->name, "%s/../objects", hook_folder());
    const int fd = open(thread->name, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        (void)!write(fd, thread->line, (size_t)length);
        close(fd);
    }
}

/* As it is in the file system: the program's has none, and dlopen() may have been given one from where the program is. */
static const char *path_of(struct native_thread *thread, const struct image *image)
{
    if (*image->path == '/') {
        return image->path;
    }
    if (*image->path == '\0') {
        const ssize_t n = readlink("/proc/self/exe", thread->path, sizeof thread->path - 1);
        thread->path[n > 0 ? n : 0] = '\0';
        return thread->path;
    }
    const size_t length = strlen(image->path), folder = getcwd(thread->path, sizeof thread->path)
                                                            ? strlen(thread->path)
                                                            : sizeof thread->path;
    if (!strchr(image->path, '/') || folder + 1 + length >= sizeof thread->path) {
        return image->path;
    }
    thread->path[folder] = '/';
    memcpy(thread->path + folder + 1, image->path, length + 1);
    return thread->path;
}

static void put_image(struct native_thread *thread, const struct image *image)
{
    struct stat st;
    struct hook_stream *stream = &thread->stream;
    const char *path = path_of(thread, image);
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
        note_file(thread, path, inode);
    }
}

void native_report(struct native_thread *thread, uintptr_t address)
{
    struct search search = {.address = address};
    for (uint32_t i = 1; i < thread->n_reported; i++) {
        const struct native_range range = thread->reported[i];
        if (address - range.start < range.end - range.start) {
            thread->reported[i] = thread->reported[0];
            thread->reported[0] = range;
            return;
        }
    }
    struct hook_pause before;
    hook_start_own(&thread->stream);
    hook_pause(&before);
    if (dl_iterate_phdr(compare, &search) != 0) {
        put_image(thread, &search.image);
    } else {
        search.image = (struct image){.start = address, .end = address + 1};
    }
    /* The new one is the first, and what was there the last, or the one before. */
    const uint32_t last = thread->n_reported < NATIVE_MOST_REPORTED ? thread->n_reported++ : 1;
    thread->reported[last] = thread->reported[0];
    thread->reported[0] = (struct native_range){search.image.start, search.image.end};
    hook_resume(&before);
    hook_end_own(&thread->stream);
}

/* ---- events ---- */

bool native_init(void)
{
    native_is_own = true; /* what this allocates is not the program's */
    const int now = hook_init() ? 1 : -1;
    native_is_own = false;
    atomic_store_explicit(&native_state, now, memory_order_release);
    return now > 0;
}

/* Before the program has threads. */
__attribute__((constructor)) static void load(void)
{
    native_is_recording();
}

/* One handler may interrupt another one here. */
void native_defer(const struct native_record *record)
{
    const uint64_t now_ns = hook_now_ns();
    unsigned at = atomic_load_explicit(&native_next, memory_order_relaxed);
    do {
        if (at - native_first >= MOST_DEFERRED) {
            atomic_fetch_add_explicit(&n_unkept, 1, memory_order_relaxed);
            return;
        }
    } while (!atomic_compare_exchange_weak_explicit(&native_next, &at, at + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    deferred[at % MOST_DEFERRED] = (struct deferred){now_ns, *record};
}

uint64_t native_deferred_ns(void)
{
    return deferred[native_first % MOST_DEFERRED].time_ns;
}

void native_write_deferred(struct native_thread *thread)
{
    while (native_has_deferred()) {
        const struct deferred one = deferred[native_first % MOST_DEFERRED];
        native_write(thread, &one.record, one.time_ns);
        native_first++;
        atomic_signal_fence(memory_order_seq_cst);
    }
    hook_discard(&thread->stream, atomic_exchange_explicit(&n_unkept, 0, memory_order_relaxed));
}

void native_end(struct hook_stream *stream)
{
    hook_end(stream);
    struct hook_stream *more = native_has_deferred() ? hook_start() : NULL;
    if (more) {
        native_write_deferred((struct native_thread *)(void *)more);
        hook_end(more);
    }
}

/* ---- libraries that are closed ---- */

struct images {
    struct native_range *ranges;
    size_t n;
};

static int collect(struct dl_phdr_info *info, size_t size, void *user)
{
    struct images *images = user;
    struct native_range *more = realloc(images->ranges, (images->n + 1) * sizeof *more);
    if (!more) {
        return 1;
    }
    const struct image image = image_of(info);
    images->ranges = more;
    more[images->n++] = (struct native_range){image.start, image.end};
    return 0;
}

static bool has(const struct images *images, struct native_range range)
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
    atomic_fetch_add(&native_generation, 1);
}

PUBLIC int dlclose(void *handle)
{
    int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    struct images before = {0};
    const bool is_first = !native_is_inside && native_is_recording();
    if (is_first) {
        native_is_inside = native_is_own = true;
        dl_iterate_phdr(collect, &before);
        native_is_inside = native_is_own = false;
    }
    const int result = real(handle); /* calls destructors, which are recorded */
    native_is_own = is_first;
    if (is_first) {
        native_is_inside = true;
        report_gone(&before);
        native_is_inside = false;
    }
    free(before.ranges);
    native_is_own = false;
    return result;
}
