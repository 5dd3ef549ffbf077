/* What the files of the CTF 2 writer share. */
#ifndef LULL_CTF_WRITER_PRIVATE_H
#define LULL_CTF_WRITER_PRIVATE_H

#include "ctf/writer.h"

struct lull_ctf_writer {
    char *dir;
    const struct lull_ctf_plan *plan;
    struct lull_ctf_writer_clock clock;
    struct lull_ctf_layout *layouts; /* as plan->streams */
    uint8_t uuid[16];
    GHashTable *names; /* of stream files */
    GPtrArray *streams;
};

/* The path of a new stream file, named as the one at `input`. Free with g_free(). */
char *lull_ctf_writer_file(struct lull_ctf_writer *writer, const char *input);
/* Appends to a file, which is made if it is not there. */
bool lull_ctf_append_file(const char *path, const void *data, size_t size, GError **error);
void lull_ctf_out_stream_free(gpointer data);

#endif
