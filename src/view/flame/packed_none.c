/* SPDX-License-Identifier: MIT */
/* Built without zlib: pprof reads what is not packed, too. */
#include "view/flame/flame.h"
#include "view/out.h"

void flame_write_packed(struct lull_out *out, const char *data, size_t size)
{
    lull_out_bytes(out, data, size);
}
