/* SPDX-License-Identifier: MIT */
/* Fuzz target: a metadata file of CTF 1.8, plain or in packets. */
#include "ctf/metadata.h"
#include "fuzz/fuzz_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GError *error = NULL;
    struct lull_schema *schema = lull_metadata_parse("metadata", data, size, &error);
    fuzz_schema_try(schema, error);
    return 0;
}
