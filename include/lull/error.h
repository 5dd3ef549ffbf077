/* SPDX-License-Identifier: MIT */
/* The one error domain of liblull. Every fallible function takes a GError** and says in the message
 * what failed, where (file and byte offset where there is one) and why. */
#ifndef LULL_ERROR_H
#define LULL_ERROR_H

#include <glib.h>

G_BEGIN_DECLS

/** Error domain of all errors that liblull reports. */
#define LULL_ERROR (lull_error_quark())
GQuark lull_error_quark(void);

/** Codes in LULL_ERROR. */
enum lull_error {
    LULL_ERROR_IO,          /**< a file or directory cannot be read or written */
    LULL_ERROR_FORMAT,      /**< a file is not what it should be: damaged, cut short, hostile */
    LULL_ERROR_UNSUPPORTED, /**< valid input that this version does not understand */
    LULL_ERROR_QUESTION, /**< the question cannot be answered: no such task, host, time, request */
    LULL_ERROR_USAGE,    /**< the call or the command line is wrong */
};

G_END_DECLS

#endif
