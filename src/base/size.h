/* SPDX-License-Identifier: MIT */
/* Sizes and shares as people type them. */
#ifndef LULL_BASE_SIZE_H
#define LULL_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* "4096", "512k", "64M", "2G": bytes, from 1 to 1024G. False if it is none. */
bool lull_size_parse(const char *text, uint64_t *bytes);

/* "0.5%" or "0.5": 0.005; from 0 to 1. False if it is none. */
bool lull_share_parse(const char *text, double *share);

#endif
