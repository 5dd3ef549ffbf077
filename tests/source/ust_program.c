/* SPDX-License-Identifier: MIT */
/* A traced program for test_lttng.py: a line "N" on stdin asks for N more numbered events, which a
 * line with the sum so far on stdout confirms. */
#include <lttng/tracef.h>
#include <stdio.h>

int main(void)
{
    unsigned long wanted, number = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (scanf("%lu", &wanted) == 1) {
        for (unsigned long i = 0; i < wanted; i++) {
            lttng_ust_tracef("number %lu", number++);
        }
        printf("%lu\n", number);
    }
    return 0;
}
