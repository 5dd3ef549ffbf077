/* SPDX-License-Identifier: MIT */
/* Fuzz target: call frame information, registers, and a stack. Rules are about registers that there are; the
 * frames end. The first byte says for which machine, and which kind of section; the next two how long that is;
 * registers and the stack follow. */
#include <glib.h>
#include <string.h>

#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 64u
#define CODE_BYTES 0x10000u

static bool find_code(void *user, uint64_t address, struct lull_unwind_code *code)
{
    *code = (struct lull_unwind_code){address & 0x8000 ? NULL : user, address};
    return address < CODE_BYTES;
}

static void check_rows(struct lull_cfi *cfi, const struct lull_unwind_machine *machine)
{
    for (uint64_t address = 0; address < 512; address++) {
        const struct lull_cfi_row *row = lull_cfi_find(cfi, address);
        for (unsigned i = 0; row && i < row->n_rules; i++) {
            const struct lull_cfi_rule *rule = &lull_cfi_rules(cfi, row)[i];
            g_assert_cmpuint(rule->of, <, machine->n_registers);
            g_assert_cmpuint(rule->from, <, machine->n_registers);
        }
        g_assert_true(!row || row->frame.from < machine->n_registers);
        g_assert_true(row == lull_cfi_find(cfi, address));
    }
}

static void unwind(struct lull_cfi *cfi, const uint8_t *data, size_t size)
{
    static const char *const architectures[] = {"x86_64", "aarch64", "i686", NULL};
    uint64_t words[2 + 33], to[MOST];
    const size_t n_bytes = MIN(size, sizeof words);
    struct lull_unwind_memory memory;
    uint32_t n = 0;
    memcpy(words, data, n_bytes);
    const char *architecture = size > 0 ? architectures[data[0] >> 4 & 3] : NULL;
    if (lull_unwind_start(&memory, architecture, (const uint8_t *)words, n_bytes, data + n_bytes,
                          size - n_bytes)) {
        lull_unwind(&memory, find_code, cfi, to, MOST, &n);
        g_assert_cmpuint(n, >=, 1);
        g_assert_cmpuint(n, <=, MOST);
        for (uint32_t i = 1; i < n; i++) {
            g_assert_cmpuint(to[i], <=, CODE_BYTES);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {62, 183, 3, 62}; /* of ELF */
    if (size < 3) {
        return 0;
    }
    const struct lull_unwind_machine *machine = lull_unwind_machine_of_elf(machines[data[0] & 3]);
    const size_t section = MIN((size_t)data[1] | (size_t)data[2] << 8, size - 3);
    struct lull_cfi *cfi = lull_cfi_new(machine);
    lull_cfi_add(cfi, g_memdup2(data + 3, section), section, 0, (data[0] & 4) != 0);
    if (data[0] & 8) {
        lull_cfi_add(cfi, g_memdup2(data + 3, section), section, 0x100, (data[0] & 4) == 0);
    }
    lull_cfi_finish(cfi);
    check_rows(cfi, machine);
    unwind(cfi, data + 3 + section, size - 3 - section);
    lull_cfi_free(cfi);
    return 0;
}
