/* SPDX-License-Identifier: MIT */
/* The functions of the kernel and of its modules, as files of a recording, so that it names them anywhere. */
#ifndef LULL_RECORD_KERNEL_FUNCTIONS_H
#define LULL_RECORD_KERNEL_FUNCTIONS_H

#include "record/keeper.h"

/* Has the keeper make them. `kallsyms` is the text of /proc/kallsyms. */
bool lull_kernel_functions_save(const struct lull_keeper *keeper, const char *kallsyms,
                                GError **error);

#endif
