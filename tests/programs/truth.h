/* SPDX-License-Identifier: MIT */
/* What the programs of known structure share. Each task says what it does from now on with stamp();
 * what it did then is known without any tracer: the clock, the task's own CPU time and the time it
 * was kept waiting for a CPU. */
#ifndef LULL_TESTS_PROGRAMS_TRUTH_H
#define LULL_TESTS_PROGRAMS_TRUTH_H

#include <stdbool.h>
#include <sys/types.h>

/* Begins with the file for the stamps, argv[1], and names the first task. The program ends by
 * itself after a minute. */
void truth_begin(int argc, char **argv, const char *name);
/* Runs the program again, in place of this one, with "again" as its last argument; it begins with truth_begin_again(), and its
 * stamps are among those of before. */
_Noreturn void truth_execute(char *program);
bool truth_is_again(int argc, char **argv);
void truth_begin_again(char **argv, const char *name);
/* Writes the stamps of all tasks, one line each: TIME CPU DELAY TID NAME LABEL, in nanoseconds, and
 * ends the program. */
_Noreturn void truth_end(void);

void truth_name(const char *name);
/* From now on this task does what the label says. What it waits for others is called "waits". */
void stamp(const char *label);

/* The same with a stamp before: burns CPU time of this thread, sleeps. */
void burn(int ms);
void nap(int ms);

/* Ends the program with a message if a call failed, else gives back what the call did. */
long must(long result, const char *what);

/* Starts a process, or a thread, of that name; processes die with their parent. */
pid_t truth_process(const char *name, void (*run)(void *), void *argument);
unsigned long truth_thread(const char *name, void (*run)(void *), void *argument);
void truth_join(unsigned long thread);
void truth_wait_for(pid_t child);

/* A gate is closed until somebody opens it, once for each pass. */
struct gate {
    int ends[2];
};
void gate_make(struct gate *gate);
void gate_open(const struct gate *gate);
void gate_pass(const struct gate *gate);

void truth_pin(int cpu);
/* Two connected TCP sockets on the loopback interface. */
void truth_tcp_pair(int ends[2]);

#endif
