/* SPDX-License-Identifier: MIT */
/* Files that people take for traces, or that are only part of one, by how they start. */
#ifndef LULL_SOURCE_FILES_SIGNATURE_H
#define LULL_SOURCE_FILES_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes from the start of a file are looked at. */
#define LULL_SIGNATURE_BYTES 4096u

/* "an ELF core dump": what starts so; NULL: nothing that is known. */
const char *lull_signature_of(const uint8_t *start, size_t size);

#endif
