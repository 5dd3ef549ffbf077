/* SPDX-License-Identifier: MIT */
/* Packs what is written for pprof, whose files are packed by gzip. */
#include <errno.h>
#include <zlib.h>

#include "view/flame/flame.h"
#include "view/out.h"

enum { BLOCK_BYTES = 1 << 16, GZIP = 16 };

void flame_write_packed(struct lull_out *out, const char *data, size_t size)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data};
    g_autofree char *block = g_malloc(BLOCK_BYTES);
    size_t left = size;
    int status = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                              MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
    while (status == Z_OK) {
        if (stream.avail_in == 0) {
            stream.avail_in = (uInt)MIN(left, BLOCK_BYTES);
            left -= stream.avail_in;
        }
        stream.next_out = (Bytef *)block;
        stream.avail_out = BLOCK_BYTES;
        status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
        lull_out_bytes(out, block, BLOCK_BYTES - stream.avail_out);
    }
    deflateEnd(&stream);
    if (status != Z_STREAM_END && out->error == 0) {
        out->error = ENOMEM;
    }
}
