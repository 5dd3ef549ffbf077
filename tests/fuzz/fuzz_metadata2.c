/* SPDX-License-Identifier: MIT */
/* Fuzz target: the text of a metadata stream of CTF 2. */
#include "ctf/ctf2/ctf2.h"
#include "fuzz/fuzz_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GError *error = NULL;
    g_autofree char *text = g_strndup((const char *)data, size);
    struct lull_schema *schema = ctf2_parse("metadata", text, size, &error);
    fuzz_schema_try(schema, error);
    return 0;
}
