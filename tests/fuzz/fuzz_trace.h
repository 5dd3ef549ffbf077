/* SPDX-License-Identifier: MIT */
/* Streams of the traces in tests/fuzz/traces, whose bytes are the fuzzer's, read in every way the
 * library has. The metadata are parsed once. Each trace has a letter, the first of its directory's
 * name. */
#ifndef LULL_TESTS_FUZZ_TRACE_H
#define LULL_TESTS_FUZZ_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_trace;

/* Opens all traces, or those that have index files. Call once. */
void fuzz_trace_init(bool with_index);
/* The trace with the letter, or any if there is none. */
struct fuzz_trace *fuzz_trace_find(uint8_t letter);
/* The bytes of its stream, without a change. */
const uint8_t *fuzz_trace_stream(const struct fuzz_trace *trace, size_t *size);

/* A stream file; no index if that is NULL. */
struct fuzz_file {
    const uint8_t *data;
    size_t size;
    const uint8_t *index;
    size_t index_size;
};

/* Finds packets, makes streams of the files, reads, visits, prints and counts them, which must
 * agree. */
void fuzz_trace_try(struct fuzz_trace *trace, const struct fuzz_file *files, unsigned n_files);

#endif
