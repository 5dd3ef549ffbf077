/* SPDX-License-Identifier: MIT */
/* Three rounds of: t-client burns 3 ms and asks t-broker over a Unix socket, which asks t-backend
 * by an eventfd; that naps 25 ms, burns 15 ms and answers; t-broker burns 4 ms and passes the
 * answer on. */
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "truth.h"

enum { ROUNDS = 3 };

static int ends[2], asked, answered;

static void send_word(int fd)
{
    uint64_t word = 1;
    must(write(fd, &word, sizeof word), "write");
}

static void receive_word(int fd)
{
    uint64_t word;
    must(read(fd, &word, sizeof word), "read");
}

static void backend(void *user)
{
    for (int i = 0; i < ROUNDS; i++) {
        receive_word(asked);
        nap(25);
        burn(15);
        stamp("wakes");
        send_word(answered);
    }
}

static void broker(void *user)
{
    for (int i = 0; i < ROUNDS; i++) {
        receive_word(ends[1]);
        stamp("passes");
        send_word(asked);
        receive_word(answered);
        burn(4);
        stamp("wakes");
        send_word(ends[1]);
    }
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-client");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    asked = (int)must(eventfd(0, 0), "eventfd");
    answered = (int)must(eventfd(0, 0), "eventfd");
    pid_t children[] = {truth_process("t-backend", backend, NULL),
                        truth_process("t-broker", broker, NULL)};
    usleep(20000); /* until both wait */
    stamp("begins");
    for (int i = 0; i < ROUNDS; i++) {
        burn(3);
        stamp("waits");
        send_word(ends[0]);
        receive_word(ends[0]);
    }
    stamp("ends");
    truth_wait_for(children[0]);
    truth_wait_for(children[1]);
    truth_end();
}
