/* SPDX-License-Identifier: MIT */
/* Calls all parts. They are the same, so the result shows that each was built and linked. */
#include <stdio.h>

int one(int x), two(int x), three(int x), four(int x), five(int x), six(int x), seven(int x),
    eight(int x);

int main(void)
{
    int first = one(1);
    int same = (two(1) == first) + (three(1) == first) + (four(1) == first) + (five(1) == first) +
               (six(1) == first) + (seven(1) == first) + (eight(1) == first);
    printf("%d parts agree\n", 1 + same);
    return 0;
}
