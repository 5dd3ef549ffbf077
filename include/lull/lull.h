/* All of liblull's public headers at once.
 *
 * A program reads traces in four steps:
 *
 *     struct lull_session *session = lull_session_new();
 *     lull_session_add(session, path, &error);             for each trace or directory of traces
 *     lull_session_subscribe(session, names, bindings, …);  what is wanted, nothing else is decoded
 *     while ((event = lull_session_read(session)) != NULL)  …  in one order of time
 *
 * The fields of an event come in three ways: those of a subscription's bindings lie behind
 * lull_event.fields, decoded with the event (for many events); lull_event_field() looks up one by
 * name; lull_event_visit() walks all. Several hosts: lull_session_join() puts them on one clock.
 * The examples that come with Lull's source show each. */
#ifndef LULL_LULL_H
#define LULL_LULL_H

#include <lull/error.h>
#include <lull/event.h>
#include <lull/recording.h>
#include <lull/session.h>
#include <lull/version.h>

#endif
