/* A trace directory of which one file is the fuzzer's: made from the trace that LULL_FUZZ_TRACE
 * names, in a temporary directory, and read in every way the library has. */
#ifndef LULL_TESTS_FUZZ_TRACE_H
#define LULL_TESTS_FUZZ_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Copies the files of the model trace; call once. */
void fuzz_trace_init(void);
/* Writes `data` to the file of the copy that has this name. */
void fuzz_trace_write(const char *name, const uint8_t *data, size_t size);
/* Opens, reads, visits and counts the copy. */
void fuzz_trace_read(void);

#endif
