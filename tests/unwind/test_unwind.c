/* SPDX-License-Identifier: MIT */
/* Unwinds this program's own stack: each function says itself where it returns to, as the compiler knows it. And
 * expressions, worked out by hand. */
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernel/stacks.h"
#include "unwind/expression.h"
#include "unwind/unwind.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define CAN_CAPTURE 1
#endif

#define MOST_STACK 65536u
#define APART __attribute__((noinline, noclone, optimize("omit-frame-pointer")))

static struct {
    uint64_t registers[2 + 33];
    uint32_t n_registers;
    uint8_t stack[MOST_STACK];
    uint32_t size;
    const void *returns[16]; /* of the functions below, the innermost first */
    unsigned n;
} seen;

static volatile unsigned sink;

/* What lies on the stack may belong to nobody. */
static __attribute__((noinline, no_sanitize("address"))) void copy_stack(uint64_t from)
{
    pthread_attr_t attr;
    void *start;
    size_t size;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &start, &size);
    pthread_attr_destroy(&attr);
    seen.size = (uint32_t)MIN((uint64_t)(uintptr_t)start + size - from, MOST_STACK);
    const volatile uint8_t *p = (const volatile uint8_t *)(uintptr_t)from;
    for (uint32_t i = 0; i < seen.size; i++) {
        seen.stack[i] = p[i];
    }
}

static void note_return(const void *address)
{
    seen.returns[seen.n++] = address;
}

/* perf's form: ABI, mask, registers. */
static APART void innermost(void)
{
#if defined(__x86_64__)
    uint64_t r[9];
    __asm__ volatile("movq %%rbx, 0(%0)\n\tmovq %%rbp, 8(%0)\n\tmovq %%rsp, 16(%0)\n\t"
                     "leaq 1f(%%rip), %%rax\n\tmovq %%rax, 24(%0)\n\tmovq %%r12, 32(%0)\n\t"
                     "movq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\tmovq %%r15, 56(%0)\n1:"
                     :
                     : "r"(r)
                     : "rax", "memory");
    const uint64_t registers[] = {2, 0xf001c2, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]};
    const uint64_t stack = r[2];
    memcpy(seen.registers, registers, sizeof registers);
    seen.n_registers = G_N_ELEMENTS(registers);
#elif defined(__aarch64__)
    uint64_t *r = seen.registers + 2;
    __asm__ volatile(
        "stp x18, x19, [%0, 144]\n\tstp x20, x21, [%0, 160]\n\tstp x22, x23, [%0, 176]\n\t"
        "stp x24, x25, [%0, 192]\n\tstp x26, x27, [%0, 208]\n\tstp x28, x29, [%0, 224]\n\t"
        "mov x9, sp\n\tstp x30, x9, [%0, 240]\n\tadr x9, 1f\n\tstr x9, [%0, 256]\n1:"
        :
        : "r"(r)
        : "x9", "memory");
    const uint64_t stack = r[31];
    seen.registers[0] = 2;
    seen.registers[1] = (UINT64_C(1) << 33) - 1;
    seen.n_registers = 35;
#else
    const uint64_t stack = 0;
#endif
    note_return(__builtin_return_address(0));
    if (stack) {
        copy_stack(stack);
    }
}

/* With room on the stack of a size that is known only now. */
static APART void middle(unsigned n)
{
    char *room = __builtin_alloca(16 + n % 64);
    memset(room, (int)n, 16);
    innermost();
    note_return(__builtin_return_address(0));
    sink = sink + (unsigned)room[n % 16];
}

static APART unsigned again(unsigned n, double x)
{
    const unsigned more = n ? again(n - 1, x * 2) + 1 : (middle((unsigned)x), 7);
    note_return(__builtin_return_address(0));
    return more * sink;
}

/* What this process has mapped to run it, as the kernel says. */
static struct lull_stacks *map_all(void)
{
    struct lull_stacks *stacks = lull_stacks_new();
    char line[4096], rights[8], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    lull_stacks_set_here(stacks, 0);
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset, inode;
        path[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %4095s", &start, &end, rights, &offset, &inode,
                   path) >= 5 &&
            rights[2] == 'x') {
            lull_stacks_map(stacks, 0, 7, start, end - start, offset,
                            (struct lull_text){path, (uint32_t)strlen(path)}, inode,
                            g_get_real_time() * 1000);
        }
    }
    fclose(maps);
    return stacks;
}

static struct lull_stack_dump dump_of_seen(const char *architecture)
{
    return (struct lull_stack_dump){
        architecture,
        {(const char *)seen.registers, 8 * seen.n_registers},
        {(const char *)seen.stack, seen.size},
    };
}

/* The chain of what was seen last, and addresses of its frames. */
static const struct lull_frame *unwind(struct lull_stacks *stacks, uint32_t *n)
{
    struct utsname name;
    uname(&name);
    const struct lull_stack_dump dump = dump_of_seen(name.machine);
    return lull_stacks_frames(
        stacks, lull_stacks_unwind(stacks, 0, 7, (struct lull_text){"", 0}, &dump, INT64_MIN), n);
}

/* The frame of an address, in the words of the kernel's list. */
static void check_frame(struct lull_stacks *stacks, const struct lull_frame *frame,
                        const void *address)
{
    uint32_t n;
    const uint64_t number = (uint64_t)(uintptr_t)address;
    const struct lull_frame *one = lull_stacks_frames(
        stacks,
        lull_stacks_chain(stacks, 0, 7, (struct lull_text){(const char *)&number, 8}, INT64_MIN),
        &n);
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpstr(frame->object, ==, one->object);
    g_assert_cmphex(frame->offset, ==, one->offset);
}

#ifdef CAN_CAPTURE
static void test_own_stack(void)
{
    struct lull_stacks *stacks = map_all();
    uint32_t n;
    seen.n = 0;
    again(3, 5);
    g_assert_cmpuint(seen.n, ==, 6); /* innermost, middle, four times again */
    const struct lull_frame *frames = unwind(stacks, &n);
    g_assert_cmpuint(n, >, 8);
    struct lull_frame *copy = g_memdup2(frames, n * sizeof *frames);
    for (unsigned i = 0; i < seen.n; i++) {
        check_frame(stacks, &copy[i + 1], seen.returns[i]);
    }
    const struct lull_stack_ends ends = lull_stacks_ends(stacks);
    g_assert_cmpuint(ends.n, ==, 1);
    g_assert_cmpuint(ends.n_whole, ==, 1);
    g_free(copy);
    lull_stacks_free(stacks);
}

/* Of a stack that was cut only what is there is known, whatever its size. */
static void test_cut(void)
{
    struct lull_stacks *stacks = map_all();
    uint32_t n, before = 0;
    seen.n = 0;
    again(3, 5);
    const uint32_t size = seen.size;
    for (seen.size = 0; seen.size < MIN(size, 2048); seen.size += 4) {
        unwind(stacks, &n);
        g_assert_cmpuint(n, >=, MAX(before, 1));
        g_assert_cmpuint(n, <=, before + 1 + (before == 0));
        before = n;
    }
    g_assert_cmpuint(before, >, 3);
    g_assert_cmpuint(lull_stacks_ends(stacks).n_short, >, 100);
    g_assert_cmpuint(lull_stacks_ends(stacks).n_unknown, ==, 0);
    lull_stacks_free(stacks);
}

static void on_signal(int number)
{
    innermost();
}

static APART void interrupted(void)
{
    raise(SIGUSR1);
    note_return(__builtin_return_address(0));
}

/* What handles a signal was not called; what it interrupted is found all the same. */
static void test_signal(void)
{
    struct lull_stacks *stacks = map_all();
    const struct sigaction action = {.sa_handler = on_signal};
    uint32_t n;
    bool is_found = false;
    sigaction(SIGUSR1, &action, NULL);
    seen.n = 0;
    interrupted();
    g_assert_cmpuint(seen.n, ==, 2);
    unwind(stacks, &n);
    const struct lull_frame *frames = unwind(stacks, &n);
    struct lull_frame *copy = g_memdup2(frames, n * sizeof *frames);
    uint32_t m;
    const uint64_t wanted = (uint64_t)(uintptr_t)seen.returns[1];
    const struct lull_frame *one = lull_stacks_frames(
        stacks,
        lull_stacks_chain(stacks, 0, 7, (struct lull_text){(const char *)&wanted, 8}, INT64_MIN),
        &m);
    for (uint32_t i = 3; i < n; i++) {
        is_found |= copy[i].object && strcmp(copy[i].object, one->object) == 0 &&
                    copy[i].offset == one->offset;
    }
    g_assert_true(is_found);
    g_free(copy);
    lull_stacks_free(stacks);
}
#endif

/* Registers that are none, stacks that are none, addresses at the edge: an answer, and no more. */
static void test_nonsense(void)
{
    struct lull_stacks *stacks = lull_stacks_new();
    uint64_t registers[2 + 24] = {2, 0xff0fff};
    const char stack[64] = {0};
    uint32_t n;
    lull_stacks_map(stacks, 0, 7, 0, UINT64_MAX, 0, (struct lull_text){"/nowhere", 8}, 1, 0);
    for (unsigned i = 0; i < 4096; i++) {
        for (unsigned k = 2; k < G_N_ELEMENTS(registers); k++) {
            registers[k] = i % 3 == 0 ? UINT64_MAX - k : i % 3 == 1 ? k * i : 8 * (k % 8);
        }
        registers[0] = i % 4;
        registers[1] = i % 5 == 0   ? UINT64_MAX
                       : i % 5 == 1 ? UINT64_C(0)
                                    : UINT64_C(0xff0fff) >> i % 7;
        const struct lull_stack_dump dump = {i % 2   ? "x86_64"
                                             : i % 3 ? "s390x"
                                                     : NULL,
                                             {(const char *)registers, 8 * (i % (2 + 24))},
                                             {stack, i % 64}};
        const uint32_t chain =
            lull_stacks_unwind(stacks, 0, 7, (struct lull_text){"", 0}, &dump, INT64_MIN);
        lull_stacks_frames(stacks, chain, &n);
        g_assert_cmpuint(n, <=, 1024);
    }
    lull_stacks_free(stacks);
}

/* DWARF 5, section 2.5: the first is of x86-64's stubs, in which the stack grows after the 11th byte. */
static void test_expressions(void)
{
    static const uint8_t stack[16] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0xff};
    struct lull_unwind_memory memory = {.machine = lull_unwind_machine_find("x86_64", 2, 0),
                                        .known = 1 << 7 | 1 << 16 | 1 << 3,
                                        .stack = stack,
                                        .start = 0x1000,
                                        .size = sizeof stack};
    memory.registers[7] = 0x1000;
    memory.registers[16] = 0x402b;
    memory.registers[3] = (uint64_t)-5;
    static const struct {
        const char *bytes;
        size_t size;
        bool is_good;
        uint64_t value;
    } cases[] = {
        {"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11, true, 0x1010},
        {"\x77\x00\x06", 3, true, UINT64_C(0xfedcba9876543210)},
        {"\x77\x08\x94\x01", 4, true, 0xff},
        {"\x77\x0c\x94\x08", 4, false, 0},                   /* beyond what was recorded */
        {"\x77\x7f\x06", 3, false, 0},                       /* before it */
        {"\x73\x00\x19", 3, true, 5},                        /* abs */
        {"\x73\x00\x31\x26", 4, true, (uint64_t)-3},         /* shra by 1 */
        {"\x09\xff\x08\xff\x22", 5, true, 0xfe},             /* -1 + 255 */
        {"\x31\x32\x33\x17\x1c\x1e", 6, true, (uint64_t)-3}, /* 1 2 3 rot: 3 1 2; 3 × (1 - 2) */
        {"\x32\x35\x14\x1e\x22", 5, true, 12},               /* 2 5 over: 2 5 2; 2 + 5 × 2 */
        {"\x30\x28\x01\x00\x31\x35", 6, true, 5},            /* bra not taken */
        {"\x31\x28\x01\x00\x31\x35", 6, true, 5},            /* bra over the literal */
        {"\x2f\xfd\xff", 3, false, 0},                       /* an endless loop */
        {"\x2f\x70\x00", 3, false, 0},                       /* out of it */
        {"\x30\x30\x1b", 3, false, 0},                       /* 0 / 0 */
        {"\x22", 1, false, 0},                               /* nothing to add */
        {"\x76\x00", 2, false, 0},                           /* a register that is not known */
        {"\x92\xff\x7f\x00", 4, false, 0},                   /* one that there is not */
        {"\xe0", 1, false, 0},                               /* an operation that is not known */
        {"\x0e\x01", 2, false, 0},                           /* a constant that is cut */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t value = 0;
        g_test_message("case %zu", i);
        g_assert_cmpint(lull_unwind_evaluate(&memory, (const uint8_t *)cases[i].bytes,
                                             cases[i].size, false, &value),
                        ==, cases[i].is_good);
        if (cases[i].is_good) {
            g_assert_cmphex(value, ==, cases[i].value);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#ifdef CAN_CAPTURE
    g_test_add_func("/unwind/own-stack", test_own_stack);
    g_test_add_func("/unwind/cut", test_cut);
    g_test_add_func("/unwind/signal", test_signal);
#endif
    g_test_add_func("/unwind/nonsense", test_nonsense);
    g_test_add_func("/unwind/expressions", test_expressions);
    return g_test_run();
}
