/* SPDX-License-Identifier: MIT */
/* Preloaded into programs that `lull record --heap` starts: the functions that allocate and free, which call
 * those that the program would have called, and record what these did. A free is recorded before it is done:
 * after it, another thread may be given the same address. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "hook/native.h"

/* For what dlsym() allocates while it looks for the real functions: a message, if that. */
#define EARLY_BYTES (16u << 10)

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
} real;
static atomic_int found; /* 0: not yet, 1: being looked for, 2: all */
static _Alignas(max_align_t) uint8_t early[EARLY_BYTES];
static atomic_uint n_early;
/* Where C++ called its operator new, which calls malloc(). */
static __thread uintptr_t caller HOOK_INITIAL;
static __thread bool is_finding HOOK_INITIAL;

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);

/* ---- the real functions ---- */

/* Cleared, and never used again. */
static void *take_early(size_t size)
{
    const size_t room =
        (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (size > EARLY_BYTES || room > EARLY_BYTES - atomic_load(&n_early)) {
        errno = ENOMEM;
        return NULL;
    }
    return early + atomic_fetch_add(&n_early, (unsigned)room);
}

static bool is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < EARLY_BYTES;
}

static void find(void *function, const char *name)
{
    void *const at = dlsym(RTLD_NEXT, name);
    memcpy(function, &at, sizeof at);
}

static bool are_found(void)
{
    int none = 0;
    if (__builtin_expect(atomic_load_explicit(&found, memory_order_acquire) == 2, true)) {
        return true;
    }
    /* One looks; what that allocates is early, and others wait. */
    if (!atomic_compare_exchange_strong(&found, &none, 1)) {
        while (!is_finding && atomic_load(&found) != 2) {
            sched_yield();
        }
        return !is_finding;
    }
    is_finding = true;
    find(&real.malloc, "malloc");
    find(&real.calloc, "calloc");
    find(&real.realloc, "realloc");
    find(&real.free, "free");
    find(&real.memalign, "memalign");
    find(&real.aligned_alloc, "aligned_alloc");
    find(&real.posix_memalign, "posix_memalign");
    find(&real.valloc, "valloc");
    find(&real.pvalloc, "pvalloc");
    is_finding = false;
    atomic_store_explicit(&found, 2, memory_order_release);
    return true;
}

/* ---- records ---- */

__attribute__((always_inline)) static inline void *put_block(void *block, size_t size,
                                                             uintptr_t place)
{
    if (!native_is_own) {
        place = caller ? caller : place;
        native_put(&(struct native_record){.id = HOOK_HEAP_ALLOC,
                                           .n = 3,
                                           .place = place,
                                           .values = {(uintptr_t)block, size, place}});
    }
    return block;
}

static void put_free(const void *block)
{
    if (!native_is_own) {
        native_put(
            &(struct native_record){.id = HOOK_HEAP_FREE, .n = 1, .values = {(uintptr_t)block}});
    }
}

/* Where the function that is expanded in returns to. */
#define PLACE ((uintptr_t)__builtin_return_address(0))

/* ---- C ---- */

PUBLIC void *malloc(size_t size)
{
    return are_found() ? put_block(real.malloc(size), size, PLACE) : take_early(size);
}

PUBLIC void *calloc(size_t n, size_t size)
{
    size_t bytes;
    const bool is_too_large = __builtin_mul_overflow(n, size, &bytes);
    return !are_found() ? take_early(is_too_large ? SIZE_MAX : bytes)
                        : put_block(real.calloc(n, size), is_too_large ? SIZE_MAX : bytes, PLACE);
}

PUBLIC void free(void *block)
{
    if (block && !is_early(block) && are_found()) {
        put_free(block);
        real.free(block);
    }
}

/* Of an early block nobody knows the size: it is copied as far as it can reach. */
static void *leave_early(const void *block, size_t size)
{
    const size_t most = (size_t)(early + EARLY_BYTES - (const uint8_t *)block);
    void *moved = are_found() ? real.malloc(size) : take_early(size);
    return moved ? memcpy(moved, block, size < most ? size : most) : NULL;
}

PUBLIC void *realloc(void *block, size_t size)
{
    if (is_early(block)) {
        return put_block(leave_early(block, size), size, PLACE);
    }
    if (!are_found()) {
        return take_early(size);
    }
    void *moved = real.realloc(block, size);
    if (!native_is_own) {
        const uintptr_t place = caller ? caller : PLACE;
        native_put(
            &(struct native_record){.id = HOOK_HEAP_REALLOC,
                                    .n = 4,
                                    .place = place,
                                    .values = {(uintptr_t)block, size, (uintptr_t)moved, place}});
    }
    return moved;
}

PUBLIC void *reallocarray(void *block, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    const uintptr_t before = caller;
    caller = before ? before : PLACE;
    void *moved = realloc(block, bytes);
    caller = before;
    return moved;
}

PUBLIC void *memalign(size_t alignment, size_t size)
{
    return are_found() ? put_block(real.memalign(alignment, size), size, PLACE) : NULL;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    return are_found() ? put_block(real.aligned_alloc(alignment, size), size, PLACE) : NULL;
}

PUBLIC int posix_memalign(void **block, size_t alignment, size_t size)
{
    const int why = are_found() ? real.posix_memalign(block, alignment, size) : ENOMEM;
    put_block(why == 0 ? *block : NULL, size, PLACE);
    return why;
}

PUBLIC void *valloc(size_t size)
{
    return are_found() ? put_block(real.valloc(size), size, PLACE) : NULL;
}

PUBLIC void *pvalloc(size_t size)
{
    return are_found() ? put_block(real.pvalloc(size), size, PLACE) : NULL;
}

/* ---- C++ ---- */

static void forget_caller(const uintptr_t *before)
{
    caller = *before;
}

/* Also when it throws. Programs without C++ never call it. */
#define OPERATOR_NEW(name, parameters, ...)                                                        \
    PUBLIC void *name parameters;                                                                  \
    PUBLIC void *name parameters                                                                   \
    {                                                                                              \
        static void *(*_Atomic next)parameters;                                                    \
        __attribute__((cleanup(forget_caller))) const uintptr_t before = caller;                   \
        void *(*call)parameters = atomic_load(&next);                                              \
        if (!call) {                                                                               \
            find(&call, #name);                                                                    \
            atomic_store(&next, call);                                                             \
        }                                                                                          \
        caller = before ? before : PLACE;                                                          \
        return call(__VA_ARGS__);                                                                  \
    }

#if SIZE_MAX > UINT32_MAX
OPERATOR_NEW(_Znwm, (size_t size), size)
OPERATOR_NEW(_Znam, (size_t size), size)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), size, nothrow)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), size, nothrow)
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), size, alignment)
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), size, alignment)
#endif
