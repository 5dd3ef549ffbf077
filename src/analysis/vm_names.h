/* SPDX-License-Identifier: MIT */
/* Which processes run virtual machines, and how those are called, for tables with a row for each. */
#ifndef LULL_ANALYSIS_VM_NAMES_H
#define LULL_ANALYSIS_VM_NAMES_H

#include <lull/session.h>

#include "kernel/model.h"

struct lull_vm_names;

/* Reads the session once, if its hosts recorded virtual CPUs: a thread is one before its first entry,
 * too. NULL: they did not. */
struct lull_vm_names *lull_vm_names_read(struct lull_session *session);
/* To a model of the session that is grouped by LULL_BY_VM, before it reads. */
void lull_vm_names_apply(const struct lull_vm_names *names, struct lull_model *model);
void lull_vm_names_free(struct lull_vm_names *names);

/* As it is called if its guest was not recorded: by the number of its process, of which `thread` is
 * a thread, and the program's name at that time. Free with g_free(). */
char *lull_vm_name(const struct lull_model *model, uint32_t thread, int64_t time_ns);

#endif
