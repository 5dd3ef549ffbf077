/* SPDX-License-Identifier: MIT */
/* What KVM calls the reasons for which a guest was left. */
#ifndef LULL_ANALYSIS_EXIT_REASONS_H
#define LULL_ANALYSIS_EXIT_REASONS_H

#include <stdint.h>

/* isa: enum lull_vcpu_isa. NULL: none that is known. */
const char *lull_exit_reason_name(uint8_t isa, uint32_t reason);
/* Without what the processor adds to it, so that equal reasons are equal numbers. */
uint32_t lull_exit_reason_plain(uint8_t isa, uint32_t reason);

#endif
