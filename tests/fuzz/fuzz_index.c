/* Fuzz target: the bytes of an index file beside a valid stream. */
#include "fuzz/fuzz_trace.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_trace_init();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace_write("index/c0_0.idx", data, size);
    fuzz_trace_read();
    return 0;
}
