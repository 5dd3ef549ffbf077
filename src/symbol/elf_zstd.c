/* SPDX-License-Identifier: MIT */
/* Sections that are packed with zstd, which libelf unpacks from 0.189 on. */
#include <glib.h>
#include <zstd.h>

#include "symbol/elf_private.h"

/* In newer <elf.h>. */
#define PACKED_WITH_ZSTD 2

static bool is_packed_so(Elf_Scn *section, GElf_Shdr *header, GElf_Chdr *packed)
{
    return gelf_getshdr(section, header) && (header->sh_flags & SHF_COMPRESSED) &&
           gelf_getchdr(section, packed) && packed->ch_type == PACKED_WITH_ZSTD;
}

void elf_unpack_zstd(struct opened *opened, Elf_Scn *section)
{
    const size_t head =
        gelf_getclass(opened->file) == ELFCLASS32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
    GElf_Shdr header;
    GElf_Chdr packed;
    if (!is_packed_so(section, &header, &packed) || elf_compress(section, 0, 0) >= 0) {
        return;
    }
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size <= head) {
        return;
    }
    void *whole = g_try_malloc(packed.ch_size + 1);
    const size_t n = whole ? ZSTD_decompress(whole, packed.ch_size, (char *)data->d_buf + head,
                                             data->d_size - head)
                           : 0;
    header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
    header.sh_size = packed.ch_size;
    if (!whole || n != packed.ch_size || !gelf_update_shdr(section, &header)) {
        g_free(whole);
        return;
    }
    /* libelf keeps two views of the same bytes. */
    Elf_Data *views[] = {data, elf_getdata(section, NULL)};
    for (size_t i = 0; i < G_N_ELEMENTS(views); i++) {
        if (views[i]) {
            views[i]->d_buf = whole;
            views[i]->d_size = n;
        }
    }
    opened->unpacked = opened->unpacked ? opened->unpacked : g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(opened->unpacked, whole);
}
