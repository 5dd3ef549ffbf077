/* SPDX-License-Identifier: MIT */
/* t-victim and t-rival want the same CPU, 80 ms each: t-victim runs half of the time, and waits for
 * t-rival in the other. */
#include <stddef.h>

#include "truth.h"

static struct gate ready, go;

static void rival(void *user)
{
    gate_open(&ready);
    gate_pass(&go);
    burn(80);
    stamp("ends");
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-victim");
    truth_pin(0);
    gate_make(&ready);
    gate_make(&go);
    pid_t child = truth_process("t-rival", rival, NULL);
    gate_pass(&ready);
    stamp("begins");
    gate_open(&go);
    burn(80);
    stamp("ends");
    truth_wait_for(child);
    truth_end();
}
