/* SPDX-License-Identifier: MIT */
/* The error domain, and the version of the library. */
#include <lull/error.h>
#include <lull/version.h>

GQuark lull_error_quark(void)
{
    return g_quark_from_static_string("lull-error-quark");
}

const char *lull_version(void)
{
    return LULL_VERSION;
}
