/* SPDX-License-Identifier: MIT */
/* How the events of system calls say which call it is: by the name of their class, or by a number. Private to machine_call*.c. */
#ifndef LULL_KERNEL_MACHINE_CALL_NAMES_H
#define LULL_KERNEL_MACHINE_CALL_NAMES_H

#include "kernel/machine.h"
#include "source/source.h"

/* Numbers above are not the kernel's, but for the bit of x32, a further ABI of x86-64
 * (__X32_SYSCALL_BIT of asm/unistd.h): most of its calls have the number of those without it. */
#define CALL_MAX_NUMBER 0xfffff
#define CALL_X32_BIT 0x40000000

/* -1: it is none. */
static inline int32_t call_plain_number(int64_t number)
{
    const int64_t plain = number >= CALL_X32_BIT ? number - CALL_X32_BIT : number;
    return plain >= 0 && plain <= CALL_MAX_NUMBER ? (int32_t)plain : -1;
}

/* The call of that number, as the machine's architecture counts; "syscall N" if that is none it has. */
struct call_name call_numbered(struct lull_model *model, enum call_numbers numbers,
                               int64_t recorded);

void call_class_learn(struct lull_model *model, uint32_t number,
                      const struct lull_event_class *event_class);

/* What the events of that class have in common. */
static inline const struct call_class *call_class_of(struct lull_model *model,
                                                     const struct lull_event_class *event_class)
{
    /* Without a class: events that a test feeds, which carry numbers. */
    const uint32_t number = event_class ? event_class->number + 1 : 0;
    if (G_UNLIKELY(number >= model->call_classes.count ||
                   !model->call_classes.items[number].is_known)) {
        call_class_learn(model, number, event_class);
    }
    return &model->call_classes.items[number];
}

#endif
