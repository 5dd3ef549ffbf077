/* SPDX-License-Identifier: MIT */
/* What both ends of the keeper's socket know. A request is one message: its kind, and two texts that
 * end with NUL; an answer is one message too: struct lull_keeper_answer and a text, and the
 * descriptor of a file that was created. */
#ifndef LULL_RECORD_KEEPER_PRIVATE_H
#define LULL_RECORD_KEEPER_PRIVATE_H

#include "record/keeper.h"

/* Of a message: two paths. */
#define LULL_KEEPER_MOST_BYTES 16384u

enum lull_keeper_request {
    LULL_KEEPER_MAKE,
    LULL_KEEPER_CREATE,
    LULL_KEEPER_CREATE_UNNAMED,
    LULL_KEEPER_CREATE_DIRECTORY,
    LULL_KEEPER_EXPECT,
    LULL_KEEPER_LIFT,
    LULL_KEEPER_MEASURE,
    LULL_KEEPER_HAS_ROOM,
    LULL_KEEPER_FIND_LEFT,
    LULL_KEEPER_PATH_FOR_DAEMON,
    LULL_KEEPER_PUBLISH,
    LULL_KEEPER_CLEAR,
    LULL_KEEPER_REMEMBER,
    LULL_KEEPER_SAVE_SYMBOLS,
    LULL_KEEPER_SAVE_MAP,
    LULL_KEEPER_SAVE_JITDUMP,
    LULL_KEEPER_REQUESTS
};

struct lull_keeper_answer {
    int32_t error; /* enum lull_error; -1: none, then the text is a path */
    uint32_t unused;
    uint64_t number;
};

/* One message, with a descriptor if `fd` is not -1. False, with errno. */
bool lull_keeper_send(int socket, const void *message, size_t size, int fd);
/* Its size, and its descriptor or -1; 0: nobody is left at the other end; -1, with errno. */
ssize_t lull_keeper_receive(int socket, void *message, size_t most, int *fd);

#endif
