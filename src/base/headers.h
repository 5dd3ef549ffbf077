/* SPDX-License-Identifier: MIT */
/* What most sources of the libraries include, compiled once for each where Meson has -Db_pch=true, as in two of CI's
 * trees: a third of the time of a small file goes into these. Sources include what they use all the same; the
 * builds without show it. */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
