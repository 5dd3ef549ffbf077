/* SPDX-License-Identifier: MIT */
/* One of eight parts, which differ in the name of their function alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PART(int x);

#define STEP(n) x = x * 31 + (n) * (x & 7) + (int)strlen(&"some words"[x & 7]);
#define FOUR(n) STEP(n) STEP((n) + 1) STEP((n) + 2) STEP((n) + 3)
#define MANY(n) FOUR(n) FOUR((n) + 4) FOUR((n) + 8) FOUR((n) + 12)

int PART(int x)
{
    MANY(0)
    MANY(16)
    MANY(32)
    MANY(48)
    MANY(64)
    MANY(80)
    return x;
}
