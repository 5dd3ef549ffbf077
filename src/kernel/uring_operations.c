/* SPDX-License-Identifier: MIT */
/* What requests of io_uring do, by their numbers in linux/io_uring.h. */
#include "kernel/uring_operations.h"

#include <stddef.h>

/* By IORING_OP_…, and what stands between the operation and its file. */
static const struct {
    const char *name, *preposition;
} operations[] = {
    {"nop", "on"},
    {"readv", "of"},
    {"writev", "to"},
    {"fsync", "of"},
    {"read", "of"},
    {"write", "to"},
    {"poll", "of"},
    {"poll_remove", "on"},
    {"sync_file_range", "of"},
    {"sendmsg", "to"},
    {"recvmsg", "from"},
    {"timeout", "on"},
    {"timeout_remove", "on"},
    {"accept", "on"},
    {"cancel", "on"},
    {"link_timeout", "on"},
    {"connect", "to"},
    {"fallocate", "of"},
    {"openat", "at"},
    {"close", "of"},
    {"files_update", "on"},
    {"statx", "of"},
    {"read", "of"},
    {"write", "to"},
    {"fadvise", "of"},
    {"madvise", "on"},
    {"send", "to"},
    {"recv", "from"},
    {"openat2", "at"},
    {"epoll_ctl", "on"},
    {"splice", "to"},
    {"provide_buffers", "on"},
    {"remove_buffers", "on"},
    {"tee", "to"},
    {"shutdown", "of"},
    {"renameat", "on"},
    {"unlinkat", "on"},
    {"mkdirat", "on"},
    {"symlinkat", "on"},
    {"linkat", "on"},
    {"msg_ring", "to"},
    {"fsetxattr", "of"},
    {"setxattr", "on"},
    {"fgetxattr", "of"},
    {"getxattr", "on"},
    {"socket", "on"},
    {"uring_cmd", "on"},
    {"send", "to"},
    {"sendmsg", "to"},
    {"read", "of"},
    {"waitid", "on"},
    {"futex_wait", "on"},
    {"futex_wake", "on"},
    {"futex_waitv", "on"},
    {"fixed_fd_install", "on"},
    {"ftruncate", "of"},
    {"bind", "on"},
    {"listen", "on"},
    {"recv", "from"},
    {"epoll_wait", "on"},
    {"readv", "of"},
    {"writev", "to"},
    {"pipe", "on"},
    {"nop", "on"},
    {"uring_cmd", "on"},
};

enum { N_OPERATIONS = sizeof operations / sizeof *operations };

const char *lull_uring_operation(uint8_t operation)
{
    return operation && operation <= N_OPERATIONS ? operations[operation - 1].name : NULL;
}

const char *lull_uring_preposition(uint8_t operation)
{
    return operation && operation <= N_OPERATIONS ? operations[operation - 1].preposition : NULL;
}
