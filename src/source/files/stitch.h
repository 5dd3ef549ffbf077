/* SPDX-License-Identifier: MIT */
/* Makes data streams of stream files. LTTng spreads one stream over several files when it recycles
 * files (c0_0_0, c0_0_1, …), rotates (a directory a chunk) or takes snapshots, which may hold the
 * same packet twice. Packets that belong together are put in the order of their times. */
#ifndef LULL_SOURCE_FILES_STITCH_H
#define LULL_SOURCE_FILES_STITCH_H

#include "ctf/stream/packet.h"

/* One stream file. */
struct lull_piece {
    char *path;
    char *name; /* of the file alone */
    struct lull_bytes *bytes;
    struct lull_packet_list list;
};

/* One data stream: what lull_ctf_stream_new_from() takes. */
struct lull_stitched {
    char *path;
    struct lull_bytes *bytes;
    struct lull_packet_list list;
};

struct lull_piece *lull_piece_new(const char *path, const char *name, struct lull_bytes *bytes);
void lull_piece_free(struct lull_piece *piece);

/* Takes what is in the pieces (but not the pieces), which are in the order of their names. Calls
 * `add`, which takes path, bytes and list, for each data stream, in the order of its first file. */
void lull_stitch(const struct lull_ctf_plan *plan, GPtrArray *pieces,
                 void (*add)(void *user, struct lull_stitched *stream), void *user);

#endif
