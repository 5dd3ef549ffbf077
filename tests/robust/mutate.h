/* SPDX-License-Identifier: MIT */
/* Test only: ways to damage a trace, chosen at random but repeatably. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/image.h"

struct random {
    uint64_t state;
};

uint64_t random_next(struct random *random);
/* 0 <= result < n; n > 0 */
uint64_t random_below(struct random *random, uint64_t n);

struct mutation {
    char what[160];   /* for a person */
    bool must_report; /* something is certainly missing or wrong: silence is a fault */
};

/* Damages `image` in one or two ways; `other` is another trace to take parts from. */
struct mutation mutate(struct random *random, struct image *image, const struct image *other);
/* The same for its metadata alone. */
struct mutation mutate_metadata(struct random *random, struct image *image);
/* Whether the text ends behind a declaration: then it is valid, whatever followed. */
bool metadata_ends_whole(const void *text, size_t length);

#endif
