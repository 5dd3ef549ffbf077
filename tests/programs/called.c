/* SPDX-License-Identifier: MIT */
/* A library of two functions, of which the inner makes a system call. Built twice, with other names: what the one left
 * when it was closed, the other may take. */
#include <sys/syscall.h>
#include <unistd.h>

long INNER(void);
void OUTER(int n);

__attribute__((noinline)) long INNER(void)
{
    return syscall(SYS_getppid);
}

void OUTER(int n)
{
    for (int i = 0; i < n; i++) {
        INNER();
    }
}
