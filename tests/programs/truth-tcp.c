/* SPDX-License-Identifier: MIT */
/* t-caller asks t-server twice over TCP: that burns 50 ms and answers; t-caller burns 5 ms;
 * t-server naps 30 ms and answers; t-caller burns 5 ms. */
#include <unistd.h>

#include "truth.h"

static int ends[2];

static void say(int fd)
{
    must(write(fd, "", 1), "write");
}

static void hear(int fd)
{
    char byte;
    must(read(fd, &byte, 1), "read");
}

static void server(void *user)
{
    hear(ends[1]);
    burn(50);
    stamp("wakes");
    say(ends[1]);
    hear(ends[1]);
    nap(30);
    stamp("wakes");
    say(ends[1]);
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-caller");
    truth_tcp_pair(ends);
    pid_t child = truth_process("t-server", server, NULL);
    usleep(20000); /* until it waits */
    stamp("begins");
    for (int i = 0; i < 2; i++) {
        stamp("waits");
        say(ends[0]);
        hear(ends[0]);
        burn(5);
    }
    stamp("ends");
    truth_wait_for(child);
    truth_end();
}
