/* SPDX-License-Identifier: MIT */
/* Test only: a directory of its own for a test, gone afterwards. */
#ifndef SCRATCH_H
#define SCRATCH_H

/* Makes a new empty directory in $TMPDIR, or else in memory, or else in the system's temporary directory;
 * free with g_free(). */
char *scratch_dir(void);
/* Removes it with all that is in it. */
void scratch_remove(const char *dir);

#endif
