/* SPDX-License-Identifier: MIT */
/* What completes the command line of lull in each shell, written from the table of verbs. */
#ifndef LULL_CMD_GEN_COMPLETION_H
#define LULL_CMD_GEN_COMPLETION_H

#include <stdio.h>

void lull_gen_bash(FILE *file);
void lull_gen_zsh(FILE *file);
void lull_gen_fish(FILE *file);

#endif
