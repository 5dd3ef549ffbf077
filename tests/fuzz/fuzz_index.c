/* SPDX-License-Identifier: MIT */
/* Fuzz target: a letter for the trace, then the bytes of an index file beside a valid stream. */
#include "fuzz/fuzz_trace.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_trace_init(true);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct fuzz_trace *trace = fuzz_trace_find(data[0]);
    struct fuzz_file file = {.index = data + 1, .index_size = size - 1};
    file.data = fuzz_trace_stream(trace, &file.size);
    fuzz_trace_try(trace, &file, 1);
    return 0;
}
