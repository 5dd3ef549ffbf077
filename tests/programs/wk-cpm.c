/* SPDX-License-Identifier: MIT */
/* Forks and waits. nested: t-master burns and forks t-child1, which burns and forks t-child2; each
 * waits for its child: the critical path is t-master, t-child1, t-child2, t-child1, t-master.
 * alone: t-master waits for t-child1 only after that has ended: its critical path is its own. */
#include <string.h>

#include "truth.h"

static void leaf(void *user)
{
    burn(20);
    stamp("wakes");
}

static void nested(void *user)
{
    burn(10);
    stamp("forks");
    pid_t child = truth_process("t-child2", leaf, NULL);
    stamp("waits");
    truth_wait_for(child);
    burn(10);
    stamp("wakes");
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-master");
    int is_nested = argc > 2 && strcmp(argv[2], "nested") == 0;
    stamp("begins");
    burn(10);
    stamp("forks");
    pid_t child = truth_process("t-child1", is_nested ? nested : leaf, NULL);
    if (!is_nested) {
        burn(60);
    }
    stamp("waits");
    truth_wait_for(child);
    burn(10);
    stamp("ends");
    truth_end();
}
