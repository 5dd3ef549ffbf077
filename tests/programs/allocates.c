/* SPDX-License-Identifier: MIT */
/* Allocates memory in each way that there is, frees some of it, and says what came of it, by the function that
 * allocated: "NAME ALLOCATIONS BYTES LIVE-BLOCKS LIVE-BYTES". Built with -finstrument-functions, the functions are
 * call stacks. `allocates race N` has four threads reallocate N blocks each, which get each other's addresses.
 * `allocates threads N` has N threads, one after the other, for each of which the C library keeps a text until it
 * is gone. */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define APART __attribute__((noinline))

enum { KEEP, CHURN, GROW, ALIGN, COPY, HAND, TAKE, CHILD, FUNCTIONS };

static const char *const names[FUNCTIONS] = {"keep",      "churn",   "grow",      "align",
                                             "copy_text", "hand_on", "take_over", "child_keeps"};
struct sums {
    unsigned long allocations, bytes, blocks, left;
};
static struct sums sums[FUNCTIONS];
static void *volatile kept[64];
static unsigned n_kept;
static unsigned long n_races;

APART void keep(void);
APART void churn(void);
APART void grow(void);
APART void align(void);
APART void copy_text(void);
APART void *hand_on(void *of);
APART void take_over(void);
APART void child_keeps(void);
APART void *race(void *of);
APART void *ask_library(void *of);

PLAIN static void *count(int function, size_t size, void *block)
{
    sums[function].allocations++;
    sums[function].bytes += size;
    sums[function].blocks++;
    sums[function].left += size;
    return block;
}

PLAIN static void *uncount(int function, size_t size, void *block)
{
    sums[function].blocks--;
    sums[function].left -= size;
    return block;
}

PLAIN static void say(void)
{
    char text[4096];
    int length = 0;
    for (int i = 0; i < FUNCTIONS; i++) {
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s %lu %lu %lu %lu\n", names[i],
                     sums[i].allocations, sums[i].bytes, sums[i].blocks, sums[i].left);
    }
    (void)!write(1, text, (size_t)length);
}

void keep(void)
{
    for (int i = 0; i < 4; i++) {
        kept[n_kept++] = count(KEEP, 1000, malloc(1000));
    }
}

void churn(void)
{
    for (int i = 0; i < 500; i++) {
        free(uncount(CHURN, 40, count(CHURN, 40, malloc(40))));
    }
}

void grow(void)
{
    char *block = count(GROW, 64, realloc(NULL, 64));
    for (size_t size = 128; size <= 1 << 17; size *= 2) {
        block = count(GROW, size, realloc(uncount(GROW, size / 2, block), size));
    }
    kept[n_kept++] = block;
    block = count(GROW, 10, malloc(10));
    kept[n_kept] = realloc(uncount(GROW, 10, block), 0);
    block = realloc(kept[0], (size_t)-1 / 2); /* fails */
    kept[0] = block ? block : kept[0];
}

void align(void)
{
    void *block = NULL;
    kept[n_kept++] = count(ALIGN, 300, posix_memalign(&block, 64, 300) == 0 ? block : NULL);
    free(uncount(ALIGN, 400, count(ALIGN, 400, memalign(128, 400))));
    free(uncount(ALIGN, 60, count(ALIGN, 60, calloc(6, 10))));
    kept[n_kept++] = count(ALIGN, 21, reallocarray(NULL, 3, 7));
    free(NULL);
}

void copy_text(void)
{
    kept[n_kept++] = count(COPY, 6, strdup("hello"));
}

void *hand_on(void *of)
{
    free(uncount(TAKE, 333, of));
    return count(HAND, 77, malloc(77));
}

void take_over(void)
{
    pthread_t thread;
    void *block;
    pthread_create(&thread, NULL, hand_on, count(TAKE, 333, malloc(333)));
    pthread_join(thread, &block);
    free(uncount(HAND, 77, block));
}

/* Of the child nothing is in the sums but what `child_keeps` says. */
void child_keeps(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        free(kept[1]); /* its copy of what its parent keeps */
        kept[1] = malloc(123);
        _exit(kept[1] ? 0 : 1);
    }
    waitpid(pid, NULL, 0);
}

void *race(void *of)
{
    unsigned seed = (unsigned)(size_t)of;
    char *block = malloc(24);
    for (unsigned long i = 0; i < n_races; i++) {
        seed = seed * 1103515245 + 12345;
        block = realloc(block, 24 + (seed >> 16) % 200);
    }
    free(block);
    return NULL;
}

void *ask_library(void *of)
{
    return strerror(100000) == of ? of : NULL; /* of an error that does not exist it makes a text */
}

PLAIN static void run(void *(*start)(void *), unsigned n, unsigned at_once)
{
    pthread_t threads[4];
    for (size_t i = 0; i < n; i++) {
        pthread_create(&threads[i % at_once], NULL, start, (void *)i);
        for (size_t k = 0; (i + 1) % at_once == 0 && k < at_once; k++) {
            pthread_join(threads[k], NULL);
        }
    }
}

PLAIN int main(int argc, char **argv)
{
    if (argc == 3) {
        const bool is_race = strcmp(argv[1], "race") == 0;
        n_races = strtoul(argv[2], NULL, 10);
        run(is_race ? race : ask_library, is_race ? 4 : (unsigned)n_races, is_race ? 4 : 1);
        return 0;
    }
    keep();
    churn();
    grow();
    align();
    copy_text();
    take_over();
    child_keeps();
    say();
    return 0;
}
