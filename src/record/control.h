/* SPDX-License-Identifier: MIT */
/* How to request a snapshot from a flight recorder: a socket in a directory of its own below the
 * runtime directory, which only root and the user who records may use. */
#ifndef LULL_RECORD_CONTROL_H
#define LULL_RECORD_CONTROL_H

#include "record/invoker.h"

/* ---- the recorder's side ---- */

struct lull_control {
    char *dir;  /* its own, "/run/lull/PID"; also where a tracer may put files meanwhile */
    int socket; /* readable when there is a request; -1: not open */
    const struct lull_invoker *invoker;
};

/* Somebody who requests a snapshot. */
struct lull_control_request {
    int socket;
    char *output; /* absolute; NULL: the recorder finds a name */
};

/* Removes what killed recorders left there, too. Clear it in any case. */
bool lull_control_open(struct lull_control *control, const struct lull_invoker *invoker,
                       GError **error);
void lull_control_clear(struct lull_control *control);
/* Takes the next request. False if there is none that counts; then nothing is to be answered. */
bool lull_control_take(const struct lull_control *control, struct lull_control_request *request);
/* Answers with the path of the snapshot, or why there is none, and clears the request. */
void lull_control_answer(struct lull_control_request *request, const char *path,
                         const GError *error);

/* ---- the other side ---- */

/* Has the recorder with process id `pid`, or, if that is 0, the one that started last, write a
 * snapshot to the new directory `output` (NULL: it finds a name), and waits until it is done. The
 * snapshot's path, to be freed with g_free(); NULL and an error if there is no recorder, or it
 * cannot. */
char *lull_control_snapshot(pid_t pid, const char *output, GError **error);

#endif
