/* SPDX-License-Identifier: MIT */
/* Built without zstd: what is packed with it stays so, unless libelf can unpack it. */
#include "symbol/elf_private.h"

void elf_unpack_zstd(struct opened *opened, Elf_Scn *section)
{
}
