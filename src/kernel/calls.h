/* SPDX-License-Identifier: MIT */
/* What is known of system calls before any trace is read: names of numbers, what a call does with
 * descriptors, constants that differ between architectures. */
#ifndef LULL_KERNEL_CALLS_H
#define LULL_KERNEL_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call does to the descriptors of its task; each is a function of machine_calls_io.c. */
enum call_effect {
    CALL_NOTHING,
    CALL_USE,               /* names the descriptor */
    CALL_MAKE,              /* returns a new descriptor */
    CALL_MAKE_QUEUE,        /* the same, of a message queue */
    CALL_MAKE_OR_CHANGE,    /* the same, if it was given -1 */
    CALL_MAKE_UNLESS_FLAGS, /* the same, if flags are 0 */
    CALL_BPF,               /* the same, for some commands */
    CALL_SOCKET,            /* returns a socket of a family */
    CALL_PAIR,              /* makes two descriptors */
    CALL_ACCEPT,
    CALL_CONNECT,
    CALL_BIND,
    CALL_DUP,
    CALL_FCNTL,
    CALL_IOCTL,
    CALL_CLOSE,
    CALL_CLOSE_RANGE,
    CALL_MOVE,          /* returns the bytes moved */
    CALL_MOVE_MESSAGES, /* returns something else */
    CALL_EPOLL_CTL,     /* the command is the operation, the new descriptor the one it is about */
    CALL_EPOLL_WAIT,
    CALL_POLL, /* waits for any of many */
    CALL_UNSHARE,
    CALL_FORK,
    CALL_EXEC,
    CALL_FUTEX,
    CALL_NO_RETURN,
    CALL_RESTART, /* goes on with the one before, which a signal interrupted */
    CALL_EFFECT_COUNT
};

#define CALL_IO_NONE UINT8_MAX

/* Values of call_kind.cloexec besides bits of the flags. */
#define CALL_CLOEXEC_NEVER 0
#define CALL_CLOEXEC_ALWAYS UINT32_MAX
#define CALL_CLOEXEC_O_CLOEXEC (UINT32_MAX - 1)

/* One line of calls.def, which says what the members mean. */
struct call_kind {
    const char *name;
    uint8_t io;        /* enum lull_io_kind or CALL_IO_NONE */
    uint8_t effect;    /* enum call_effect */
    uint8_t file_type; /* enum lull_file_type */
    uint32_t cloexec;
    const char *file_name; /* NULL: not known; "": the call's path */
    const char *arguments;
};

/* How much of a call's name says what it does: kernels of 32 bits, and 64-bit ones for programs of
 * 32 bits, have "futex_time32" and "futex_time64", "timerfd_settime32" and "timerfd_settime64". */
size_t call_name_length(const char *name);

/* Never NULL: calls that calls.def does not know are of one kind. */
const struct call_kind *call_kind_find(const char *name);

enum call_numbers {
    CALL_NUMBERS_X86_64,
    CALL_NUMBERS_I386,
    CALL_NUMBERS_GENERIC,
    CALL_NUMBERS_ARM,
    CALL_NUMBERS
};

/* The table of the machine that Lull is built for; CALL_NUMBERS: one of its own, not known here. */
#if defined(__x86_64__)
#define CALL_NUMBERS_HERE CALL_NUMBERS_X86_64
#elif defined(__i386__)
#define CALL_NUMBERS_HERE CALL_NUMBERS_I386
#elif defined(__aarch64__) || defined(__riscv) || defined(__loongarch__)
#define CALL_NUMBERS_HERE CALL_NUMBERS_GENERIC
#elif defined(__ARM_EABI__)
#define CALL_NUMBERS_HERE CALL_NUMBERS_ARM
#else
#define CALL_NUMBERS_HERE CALL_NUMBERS
#endif

/* What system calls of a kernel look like. */
struct call_arch {
    const char *part;    /* of the names of such machines and of their kernels' releases */
    uint8_t numbers;     /* enum call_numbers; CALL_NUMBERS: not known */
    uint8_t compat;      /* the same for 32-bit calls */
    uint32_t o_cloexec;  /* O_CLOEXEC, SOCK_CLOEXEC, EFD_CLOEXEC, … */
    int32_t einprogress; /* the error EINPROGRESS */
};

/* By the name of the machine ("aarch64"), or if that is "", by that of the kernel's release
 * ("6.1.0-50-arm64"), which is all that LTTng records of it; x86-64 if neither says anything. */
const struct call_arch *call_arch_find(const char *machine, const char *release);

/* The table by which the machine numbers calls, of which an event has a long of 32 bits or not. That
 * of a 64-bit kernel does not fit a 32-bit one whose name is not known. */
enum call_numbers call_numbers_of(const struct call_arch *arch, bool is_32bit);

/* Calls that only ARM has: 32-bit programs set their thread's pointer by one of them as they start,
 * also on arm64, where nothing else shows their kind. Source: __ARM_NR_BASE of
 * arch/arm/include/uapi/asm/unistd.h. */
#define CALL_ARMS_OWN 0xf0000

static inline bool call_is_arms_own(const struct call_arch *arch, int64_t number)
{
    return number >= CALL_ARMS_OWN && number <= CALL_ARMS_OWN + UINT16_MAX &&
           arch->compat == CALL_NUMBERS_ARM;
}

/* The errno that a return value means, or 0. Below the last 4095 values a call of 32 bits returns
 * addresses, which kernels of 64 bits extend by their sign. Source: MAX_ERRNO and IS_ERR_VALUE() of
 * include/linux/err.h, syscall_get_return_value() of arm64. Of calls of 64 bits anything negative is an
 * error, as lttng-analyses has it. */
static inline int32_t call_error(int64_t ret, bool may_be_32bit)
{
    if (ret >= 0 || (may_be_32bit && ret < -4095)) {
        return 0;
    }
    return ret < -INT32_MAX ? INT32_MAX : (int32_t)-ret;
}

/* The name of a number, or NULL. */
const char *call_name_of_number(enum call_numbers numbers, int64_t number);

#endif
