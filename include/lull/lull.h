/* SPDX-License-Identifier: MIT */
/* All of liblull's public headers at once.
 *
 * A program reads traces in four steps:
 *
 *     struct lull_session *session = lull_session_new();
 *     lull_session_add(session, path, &error);             for each trace or directory of traces
 *     lull_session_subscribe(session, names, bindings, …);  what is wanted, nothing else is decoded
 *     while ((event = lull_session_read(session)) != NULL)  …  in one order of time
 *
 * The fields of an event come in three ways: those of a subscription's bindings are at
 * lull_event.fields, decoded with the event (for many events); lull_event_field() looks up one by
 * name; lull_event_visit() walks all. Several hosts: lull_session_join() puts them on one clock.
 * The examples that come with Lull's source show each.
 *
 * Threads: the library has no state of its own that changes. A session, and everything that was
 * taken from it or made for it, belongs to one thread at a time, also for functions that take it as
 * const, because what is looked up may be kept; who hands it to another thread orders the two with
 * a lock or a join. Sessions share nothing, so any number of threads may work, each on its own.
 * Threads of the library's own run only inside of functions that read all of a session, such as
 * lull_session_count(), and only after lull_session_set_threads(). Callbacks run in the thread
 * that made the call, and must not call functions of the same session unless they say so.
 *
 * Versions: within one major version of liblull.so functions stay, and structs only grow at their
 * end. Structs that the library makes are handed out as pointers; where the caller makes one, its
 * size goes with it, in an argument that inline functions fill in or in a member `size`. */
#ifndef LULL_LULL_H
#define LULL_LULL_H

#include <lull/analysis.h>
#include <lull/error.h>
#include <lull/event.h>
#include <lull/instances.h>
#include <lull/path.h>
#include <lull/recording.h>
#include <lull/requests.h>
#include <lull/session.h>
#include <lull/version.h>
#include <lull/waits.h>
#include <lull/why.h>

#endif
