/* SPDX-License-Identifier: MIT */
/* The part of a machine's state that is not about tasks. */
#ifndef LULL_RECORD_STATE_MACHINE_H
#define LULL_RECORD_STATE_MACHINE_H

#include "record/state/trace.h"

/* A device's number as tracepoints show it: the kernel's own dev_t. */
uint32_t lull_state_device(unsigned major, unsigned minor);
/* Adds disks, network interfaces, interrupts and CPUs. What is not there is left out. */
void lull_state_dump_machine(struct lull_state_trace *trace);

#endif
