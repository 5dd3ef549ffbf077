/* SPDX-License-Identifier: MIT */
/* One mutex, three threads that come one after the other: t-first holds it while it burns 10 ms and
 * then naps 10 ms, t-second while it burns 10 ms, then t-third gets it. */
#include <pthread.h>
#include <stddef.h>

#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gate held, go;

static void first(void *user)
{
    pthread_mutex_lock(&mutex);
    gate_open(&held);
    gate_pass(&go);
    burn(10);
    nap(10);
    stamp("wakes");
    pthread_mutex_unlock(&mutex);
}

static void second(void *user)
{
    stamp("waits");
    pthread_mutex_lock(&mutex);
    burn(10);
    stamp("wakes");
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-third");
    gate_make(&held);
    gate_make(&go);
    unsigned long one = truth_thread("t-first", first, NULL);
    gate_pass(&held);
    stamp("begins");
    unsigned long two = truth_thread("t-second", second, NULL);
    gate_open(&go);
    stamp("waits");
    truth_join(two);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    burn(5);
    stamp("ends");
    truth_join(one);
    truth_end();
}
