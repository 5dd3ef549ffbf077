/* SPDX-License-Identifier: MIT */
/* t-asker waits for its thread t-runner, which naps 20 ms, burns 15 ms and runs this program in place of the process: the kernel
 * ends t-asker, and gives its number to t-runner, which calls itself t-asker then and burns 10 ms. */
#include "truth.h"

static void runner(void *program)
{
    nap(20);
    burn(15);
    stamp("executes");
    truth_execute(program);
}

int main(int argc, char **argv)
{
    if (truth_is_again(argc, argv)) {
        truth_begin_again(argv, "t-asker");
        burn(10);
        stamp("ends");
        truth_end();
    }
    truth_begin(argc, argv, "t-asker");
    stamp("begins");
    unsigned long thread = truth_thread("t-runner", runner, argv[0]);
    stamp("waits");
    truth_join(thread);
    return 2;
}
