/* SPDX-License-Identifier: MIT */
/* Three threads in a pipeline over semaphores, three items: t-first burns 10 ms for each, t-second
 * naps 15 ms, t-third burns 5 ms. t-second is the slowest: its work is most of what t-third waits
 * for. t-first begins an item when the one before has been taken. */
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

#include "truth.h"

enum { ITEMS = 3 };

static sem_t first_done, is_taken, second_done;
static struct gate go;

static void first(void *user)
{
    gate_pass(&go);
    for (int i = 0; i < ITEMS; i++) {
        burn(10);
        stamp("wakes");
        sem_post(&first_done);
        sem_wait(&is_taken);
    }
}

static void second(void *user)
{
    for (int i = 0; i < ITEMS; i++) {
        stamp("waits");
        sem_wait(&first_done);
        stamp("takes");
        sem_post(&is_taken);
        nap(15);
        stamp("wakes");
        sem_post(&second_done);
    }
}

static void third(void *user)
{
    usleep(20000); /* until both wait */
    stamp("begins");
    gate_open(&go);
    for (int i = 0; i < ITEMS; i++) {
        stamp("waits");
        sem_wait(&second_done);
        burn(5);
    }
    stamp("ends");
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-main");
    gate_make(&go);
    sem_init(&first_done, 0, 0);
    sem_init(&is_taken, 0, 0);
    sem_init(&second_done, 0, 0);
    unsigned long threads[] = {truth_thread("t-first", first, NULL),
                               truth_thread("t-second", second, NULL),
                               truth_thread("t-third", third, NULL)};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        truth_join(threads[i]);
    }
    truth_end();
}
