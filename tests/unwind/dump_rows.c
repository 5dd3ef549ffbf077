/* SPDX-License-Identifier: MIT */
/* Prints what call frame information of a file says at the addresses that it reads (hexadecimal), as readelf
 * --debug-dump=frames-interp has it: address, the frame's address, and where registers are that are not the same. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "symbol/elf_frames.h"
#include "symbol/object.h"
#include "unwind/cfi.h"

static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra"};

static void print_rule(const struct lull_cfi_rule *rule)
{
    switch (rule->kind) {
    case LULL_CFI_AT:
        printf("c%+" PRId64, rule->offset);
        break;
    case LULL_CFI_IS:
        printf("v%+" PRId64, rule->offset);
        break;
    case LULL_CFI_REGISTER:
        printf("%s", names[rule->from]);
        break;
    case LULL_CFI_AT_EXPRESSION:
        printf("exp");
        break;
    case LULL_CFI_IS_EXPRESSION:
        printf("vexp");
        break;
    default:
        printf("u");
        break;
    }
}

int main(int argc, char **argv)
{
    const int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    const struct lull_apart apart = {.root = argc > 2 ? argv[2] : NULL};
    struct lull_object *object = fd >= 0 ? lull_elf_read_frames(fd, argv[1], &apart) : NULL;
    uint64_t address;
    while (object && object->cfi && scanf("%" SCNx64, &address) == 1) {
        const struct lull_cfi_row *row = lull_cfi_find(object->cfi, address);
        printf("%" PRIx64, address);
        if (!row) {
            puts(" -");
            continue;
        }
        if (row->frame.kind == LULL_CFI_IS_EXPRESSION) {
            printf(" exp");
        } else {
            printf(" %s%+" PRId64, names[row->frame.from], row->frame.offset);
        }
        const struct lull_cfi_rule *rules = lull_cfi_rules(object->cfi, row);
        for (unsigned i = 0; i < row->n_rules; i++) {
            printf(" %s=", names[rules[i].of]);
            print_rule(&rules[i]);
        }
        putchar('\n');
    }
    lull_object_free(object);
    return object ? 0 : 1;
}
