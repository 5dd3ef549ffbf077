/* Fuzz target: the bytes of a metadata file. */
#include <stddef.h>
#include <stdint.h>

#include "ctf/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    struct lull_schema *schema = lull_metadata_parse("metadata", data, size, &error);
    if (schema == NULL && (error == NULL || error->message[0] == '\0'))
        __builtin_trap(); /* a failure without a reason */
    if (schema != NULL)
        lull_schema_free(schema);
    return 0;
}
