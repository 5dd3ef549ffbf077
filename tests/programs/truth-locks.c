/* SPDX-License-Identifier: MIT */
/* t-waiter waits for a flock that t-holder holds, which naps 70 ms and burns 10 ms; burns 5 ms; and
 * waits for its child t-child, which naps 20 ms and burns 12 ms, to end. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "truth.h"

static struct gate ready, go;

static int lock(const char *name)
{
    int fd = (int)must(open(name, O_RDONLY | O_CREAT, 0600), name);
    must(flock(fd, LOCK_EX), "flock");
    return fd;
}

static void holder(void *user)
{
    int fd = lock(user);
    gate_open(&ready);
    gate_pass(&go);
    nap(70);
    burn(10);
    stamp("wakes");
    must(flock(fd, LOCK_UN), "flock");
}

static void child(void *user)
{
    nap(20);
    burn(12);
    stamp("wakes");
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-waiter");
    gate_make(&ready);
    gate_make(&go);
    pid_t other = truth_process("t-holder", holder, argv[1]);
    gate_pass(&ready);
    stamp("begins");
    gate_open(&go);
    stamp("waits");
    lock(argv[1]);
    burn(5);
    stamp("forks");
    pid_t own = truth_process("t-child", child, NULL);
    stamp("waits");
    truth_wait_for(own);
    stamp("ends");
    truth_wait_for(other);
    truth_end();
}
