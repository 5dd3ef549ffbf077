/* Fuzz target: the bytes of a stream file, under a valid schema. */
#include "fuzz/fuzz_trace.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_trace_init();
    fuzz_trace_write("index/c0_0.idx", (const uint8_t *)"", 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace_write("c0_0", data, size);
    fuzz_trace_read();
    return 0;
}
