/* SPDX-License-Identifier: MIT */
/* The error domain. */
#include <lull/error.h>

G_DEFINE_QUARK(lull - error - quark, lull_error)
