/* SPDX-License-Identifier: MIT */
/* What processes of the daemon give up when they start. */
#ifndef LULL_TRIGGER_PROCESS_H
#define LULL_TRIGGER_PROCESS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Signals are for the daemon: the process ends with it. */
void lull_process_ignore_signals(void);
/* It has nothing of what the daemon has open but these, which get other numbers (-1: there is none), and what it
 * prints with. */
void lull_process_keep_only(int *descriptors[], size_t n);
/* Root keeps these capabilities and no other, and nothing that it executes gets more. */
bool lull_process_keep_rights(const uint8_t *capabilities, size_t n);
/* Makes a file of a text, to be sent and closed; -1 and an error. */
int lull_process_text(const char *text, size_t size, GError **error);

#endif
