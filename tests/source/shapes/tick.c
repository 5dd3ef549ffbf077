/* SPDX-License-Identifier: MIT */
/* A program to trace: tick COUNT PAUSE_US records COUNT events, numbered, of changing size. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tick.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char text[200];
    int count = argc > 2 ? atoi(argv[1]) : 0;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < count; i++) {
        lttng_ust_tracepoint(lull_test, tick, i, text + 10 + i % 150);
        usleep((useconds_t)atoi(argv[2]));
    }
    return 0;
}
