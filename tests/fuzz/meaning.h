/* SPDX-License-Identifier: MIT */
/* Traces that are well formed and mean nonsense: bytes choose events of the vocabulary, their times
 * and the values of their fields, and become CTF 1.8 of one to three machines. */
#ifndef LULL_TESTS_FUZZ_MEANING_H
#define LULL_TESTS_FUZZ_MEANING_H

#include <stddef.h>
#include <stdint.h>

#define MEANING_HOSTS 3

/* What is left of an input; all reading beyond its end gives 0. */
struct meaning_input {
    const uint8_t *data;
    size_t size;
};

uint8_t meaning_byte(struct meaning_input *input);

/* Writes the traces of `input` to the directories "h0" and so on below `dir`, which it makes or
 * writes over. Returns how many there are. */
unsigned meaning_write(struct meaning_input *input, const char *dir);

#endif
