/* SPDX-License-Identifier: MIT */
/* t-asker waits on a condition variable for its thread t-worker, which reads a pipe from the
 * process t-writer. That naps 40 ms, burns 30 ms, writes 4 MiB to a file and syncs it, and writes
 * the pipe; t-worker burns 5 ms and signals; t-asker burns 10 ms. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "truth.h"

static struct gate go, written;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool is_done;

static void writer(void *user)
{
    static const char block[1 << 16];
    char name[4096];
    snprintf(name, sizeof name, "%s.data", (const char *)user);
    int fd = (int)must(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600), name);
    unlink(name);
    gate_pass(&go);
    nap(40);
    burn(30);
    stamp("writes");
    for (int i = 0; i < 64; i++) {
        must(write(fd, block, sizeof block), "write");
    }
    stamp("syncs");
    must(fsync(fd), "fsync");
    stamp("wakes");
    gate_open(&written);
}

static void worker(void *user)
{
    gate_pass(&written);
    burn(5);
    stamp("wakes");
    pthread_mutex_lock(&mutex);
    is_done = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-asker");
    gate_make(&go);
    gate_make(&written);
    pid_t child = truth_process("t-writer", writer, argv[1]);
    unsigned long thread = truth_thread("t-worker", worker, NULL);
    usleep(20000); /* until both wait */
    stamp("begins");
    gate_open(&go);
    stamp("waits");
    pthread_mutex_lock(&mutex);
    while (!is_done) {
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    burn(10);
    stamp("ends");
    truth_join(thread);
    truth_wait_for(child);
    truth_end();
}
