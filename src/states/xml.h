/* SPDX-License-Identifier: MIT */
/* State providers of Trace Compass (XML) in the language of .states files. What can be translated: event handlers
 * whose changes and conditions are about fields, names and constants, and the names and colours of views. What
 * cannot is reported with its element and line. docs/STATES.md says what becomes what. */
#ifndef LULL_STATES_XML_H
#define LULL_STATES_XML_H

#include <glib.h>
#include <stdbool.h>

/* Whether a text is XML rather than a .states file. */
bool lull_states_is_xml(const char *text, size_t length);

/* The file as .states text; free with g_free(). NULL and LULL_ERROR_USAGE: up to twenty reasons, each as
 * NAME:LINE: <ELEMENT>: reason. With is_partial what cannot be translated is left out, and `warnings` gets the
 * reasons. */
char *lull_states_from_xml(const char *text, size_t length, const char *name, bool is_partial,
                           GString *warnings, GError **error);

#endif
