/* SPDX-License-Identifier: MIT */
/* Fuzz target: a letter for the trace, where to cut (in 256ths), then the bytes of a stream file
 * without an index, or of two that the cut makes of it. */
#include "fuzz/fuzz_trace.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_trace_init(false);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    size_t first = data[1] == 0 ? size - 2 : (size - 2) * data[1] / 256;
    struct fuzz_file files[] = {{.data = data + 2, .size = first},
                                {.data = data + 2 + first, .size = size - 2 - first}};
    fuzz_trace_try(fuzz_trace_find(data[0]), files, data[1] == 0 ? 1 : 2);
    return 0;
}
