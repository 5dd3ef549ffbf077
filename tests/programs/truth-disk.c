/* SPDX-License-Identifier: MIT */
/* Waiting for the disk. direct: t-asks waits for its child t-reads, which reads blocks past the
 * page cache and burns 1 ms after each. sync: t-sync appends 8 KiB and syncs, 60 times. The file
 * lies beside that of the stamps. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

enum { BLOCKS = 40, SYNCS = 60, BLOCK_BYTES = 1 << 20, SMALL_BYTES = 8192, ALIGNMENT = 4096 };

static int fd;
static char *block;

static void reads(void *user)
{
    for (int i = 0; i < BLOCKS; i++) {
        stamp("reads");
        must(pread(fd, block, BLOCK_BYTES, (off_t)(i * 7 % BLOCKS) * BLOCK_BYTES), "pread");
        burn(1);
    }
    stamp("wakes");
}

static void direct(const char *name)
{
    fd = (int)must(open(name, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600), name);
    unlink(name);
    for (int i = 0; i < BLOCKS; i++) {
        must(write(fd, block, BLOCK_BYTES), "write");
    }
    must(fsync(fd), "fsync");
    stamp("begins");
    pid_t child = truth_process("t-reads", reads, NULL);
    stamp("waits");
    truth_wait_for(child);
    stamp("ends");
}

static void sync_often(const char *name)
{
    truth_name("t-sync");
    fd = (int)must(open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600), name);
    unlink(name);
    stamp("begins");
    for (int i = 0; i < SYNCS; i++) {
        stamp("writes");
        must(write(fd, block, SMALL_BYTES), "write");
        stamp("syncs");
        must(fsync(fd), "fsync");
    }
    stamp("ends");
}

int main(int argc, char **argv)
{
    char name[4096];
    truth_begin(argc, argv, "t-asks");
    block = aligned_alloc(ALIGNMENT, BLOCK_BYTES);
    if (!block || argc < 3) {
        must(-1, "direct or sync?");
    }
    memset(block, 'x', BLOCK_BYTES);
    snprintf(name, sizeof name, "%s.data", argv[1]);
    if (strcmp(argv[2], "direct") == 0) {
        direct(name);
    } else {
        sync_often(name);
    }
    truth_end();
}
