/* SPDX-License-Identifier: MIT */
/* The functions of a program or library: which bytes of its file have which addresses, the symbols of
 * these, or how they call each other. It does not know where they come from. */
#ifndef LULL_SYMBOL_OBJECT_H
#define LULL_SYMBOL_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct lull_cfi;
struct lull_debuginfod;
struct lull_symbol_table;

/* Part of the file that is mapped: which address its bytes have. */
struct lull_load {
    uint64_t offset, length, address;
};

/* Where debug symbols are, if not in the file itself. */
struct lull_apart {
    const char *root;                /* below it, by build-id and by path; NULL: nowhere */
    struct lull_debuginfod *servers; /* that are asked for what is nowhere else; NULL: none */
};

/* Where the file is that was read, so that more of the same can be read later. */
struct lull_object_file {
    char *path;              /* NULL: not known */
    struct lull_apart apart; /* its root is the object's */
    uint64_t device, inode, size;
    int64_t changed_ns;
};

struct lull_object {
    struct lull_load *loads;
    uint32_t n_loads;
    char *build_id; /* in hexadecimal digits; or NULL */
    struct lull_symbol_table *table;
    struct lull_object_file file;
    struct lull_cfi
        *cfi; /* how its functions call each other; NULL: that was not wanted, or is not known */
};

/* What to read of an open file: lull_elf_read() for its symbols, lull_elf_read_frames(). */
typedef struct lull_object *lull_object_reader(int fd, const char *path,
                                               const struct lull_apart *apart);

/* Without loads and symbols. */
struct lull_object *lull_object_new(void);
void lull_object_free(struct lull_object *object);
/* Whether anything is known of its functions. */
bool lull_object_is_useful(const struct lull_object *object);

/* False: it has more than any program has. */
bool lull_object_add_load(struct lull_object *object, const struct lull_load *load);
/* The address of the byte at `file_offset`. False: it is not mapped. */
bool lull_object_address(const struct lull_object *object, uint64_t file_offset, uint64_t *address);
/* The lowest address that it has, if it is put where its file says. */
uint64_t lull_object_start(const struct lull_object *object);
/* The symbol of the byte at `file_offset`, *offset bytes after its start; NULL: none. */
const char *lull_object_find(const struct lull_object *object, uint64_t file_offset,
                             uint64_t *offset);

#endif
