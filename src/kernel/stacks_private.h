/* SPDX-License-Identifier: MIT */
/* Call chains and what is mapped where, for those who keep them and those who name their frames. */
#ifndef LULL_KERNEL_STACKS_PRIVATE_H
#define LULL_KERNEL_STACKS_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "kernel/stack_files.h"
#include "kernel/stacks.h"
#include "source/files/recording.h"
#include "source/session/symbols.h"
#include "symbol/object.h"
#include "unwind/unwind.h"

/* Where names came from, or why there are none. */
struct origin {
    enum lull_names_from from;
    const char *why; /* a constant */
};

/* A file that a process of a host has mapped, or the kernel. */
struct object {
    uint64_t inode;    /* 0: not known, or there were several files of this path */
    int32_t pid;       /* whose memory it is, if it is of no file; else 0 */
    int64_t mapped_ns; /* first */
    uint64_t start;    /* address of the kernel */
    bool is_kernel, is_read, has_read_frames;
    bool
        is_image; /* places in it are addresses, not bytes of the file: as its symbols have them, or */
    bool is_relative;            /* from the lowest address on that it has */
    char *build_id;              /* of an image; NULL: not known, "": there were several */
    struct lull_object *symbols; /* once they are read; NULL: none that are of the same file */
    struct origin origin;        /* the same */
    bool is_jitdump, has_read_jitdump;
    struct lull_jitdump *jitdump; /* once it is read; NULL: none */
    bool has_looked_for_lines;
    struct lull_object *of_lines; /* whose file has them; `symbols` or another; NULL: none */
    struct lull_lines *lines;     /* once they are read; NULL: none */
    struct lull_object *frames; /* how its functions call each other; once that is read, or NULL */
    uint64_t n_ends;            /* stacks that end here, since that is not known */
    char path[];
};

struct mapping {
    uint64_t start, end, offset; /* offset: in the file, of `start` */
    struct object *object;       /* NULL: it holds no code */
};

struct process {
    LULL_VEC(struct mapping) mappings; /* by start, without overlap */
    size_t spare; /* room before the first: libraries are mapped from the highest address down */
    struct object *jitdump; /* in which it says what code it makes; or NULL */
    uint32_t parent;        /* whose mappings hold too, or LULL_MAP_NONE */
};

struct chain {
    size_t first;
    uint32_t n, host;
    bool is_named;
    struct split *split; /* if calls in line are wanted and it has some; else NULL */
    uint32_t next;       /* chain with the same hash, or LULL_NO_CHAIN */
};

/* The frames of a chain with those of calls that were put in line. */
struct split {
    uint32_t n;
    struct split_frame {
        uint32_t frame, level; /* of the chain; place in what lull_stacks_code() says of it */
    } *of;                     /* each */
    struct lull_frame *frames;
};

/* What a host's traces and its recording hold of names. */
struct names {
    GPtrArray *build_ids;                  /* of its traces; borrowed hash tables */
    struct lull_recording_file *recording; /* NULL: none, or several */
    uint32_t n_recordings;
    int64_t clock_offset_ns; /* from the host's own clock */
    bool has_read_kernel, has_read_files;
    struct lull_symbol_table *kernel;       /* once it is read; NULL: hidden, or not known */
    struct origin kernel_origin;            /* the same */
    const struct lull_nameless *kernel_why; /* why that is NULL */
    bool has_hidden_kernel; /* the recording, or a trace, has its list without addresses */
    uint64_t kernel_start;  /* address of its _text; 0: not known */
    bool has_looked_for_vmlinux, has_looked_for_kernel_lines;
    struct lull_object *vmlinux; /* its file, once that is read; NULL: none */
    enum lull_names_from vmlinux_from;
    uint64_t kernel_slide;           /* from addresses of the file to those that it had */
    struct lull_lines *kernel_lines; /* the same of the file; NULL: none */
    struct lull_saved *files;        /* the same */
};

struct lull_stacks {
    struct lull_map by_pid; /* host, pid → process */
    LULL_VEC(struct process) processes;
    LULL_VEC(struct lull_frame) frames;
    LULL_VEC(struct chain) chains;
    struct lull_map by_hash; /* → the last chain of it */
    GHashTable *objects;     /* "host path" → struct object */
    GHashTable *names;       /* host → struct names */
    GHashTable *readable;    /* name of a symbol → how its source has it; NULL: the same */
    uint32_t here;           /* host whose files are those of this machine, or LULL_MAP_NONE */
    GStringChunk *texts;     /* names of calls in line */
    const struct lull_session *session;      /* or NULL */
    const struct lull_symbol_wishes *wishes; /* NULL: none */
    struct lull_debuginfod *servers;         /* once they are asked; NULL: none */
    uint64_t ends[LULL_UNWIND_ENDS];         /* of stacks that were unwound */
};

/* What is known of the host's names; made if there is nothing yet. */
struct names *stacks_names_of(struct lull_stacks *stacks, uint32_t host);
/* What a process (its number, or LULL_MAP_NONE) has at an address; NULL: no code. Until the next is mapped. */
const struct mapping *stacks_mapping_at(const struct lull_stacks *stacks, uint32_t process,
                                        uint64_t address);
uint32_t stacks_process(const struct lull_stacks *stacks, uint32_t host, int32_t pid);
/* What address the place has in the file, as `of`, which was read of that file, has them. False: none. */
bool stacks_address(const struct object *object, const struct lull_object *of, uint64_t place,
                    uint64_t *address);
/* The symbol of a place in a file (of an image: of an address), *offset bytes before it; NULL: none is known. */
const char *stacks_symbol_at(struct lull_stacks *stacks, uint32_t host, struct object *object,
                             uint64_t place, uint64_t *offset);
/* The function of the kernel at an address; `kernel` is its object, or NULL. */
const char *stacks_name_in_kernel(struct lull_stacks *stacks, uint32_t host,
                                  const struct object *kernel, uint64_t address, uint64_t *offset);
/* What lull_lines_find() says of the address. */
uint32_t stacks_code_in_kernel(struct lull_stacks *stacks, uint32_t host,
                               const struct object *kernel, uint64_t address,
                               struct lull_code code[LULL_MOST_INLINED]);
void stacks_drop_kernel(struct names *names);
bool stacks_wants_recorded_only(const struct lull_stacks *stacks);
/* A file of the host's recording; NULL: it has none, or there is no recording. */
char *stacks_read_recorded(const struct names *names, const char *file, uint64_t most_bytes,
                           gsize *length);
/* A name as its source has it, if that is wished. It stays where it is, so each is looked at once. */
const char *stacks_readable(struct lull_stacks *stacks, const char *symbol);
/* Whose path the text of a frame is; NULL for NULL. */
struct object *stacks_object_of(const char *path);
/* The build-id that was recorded. NULL: none; "": there were several. `names` may be NULL. */
const char *stacks_build_id_of(const struct names *names, const struct object *object);
/* What the recording has of a file, read by lull_saved_read() or lull_saved_read_frames(); NULL: nothing. */
struct lull_object *stacks_find_recorded(struct names *names, const struct object *object,
                                         struct lull_object *(*read)(const struct lull_saved *saved,
                                                                     const char *path,
                                                                     uint64_t inode));
/* A file of this machine, or a copy, which surely is the one that was mapped; NULL: there is none. *origin: where it
 * is from, or why there is none. */
struct lull_object *stacks_find_file(const struct lull_stacks *stacks, uint32_t host,
                                     const struct object *object, const char *build_id,
                                     lull_object_reader *reader, struct origin *origin);
/* What lull_lines_find() says of a place in the object. */
uint32_t stacks_code(struct lull_stacks *stacks, uint32_t host, struct object *object,
                     uint64_t place, struct lull_code code[LULL_MOST_INLINED]);
/* The code that was at the address at `time` of the host's own clock. False: none. */
bool stacks_find_made(const struct lull_stacks *stacks, uint32_t host, struct object *jitdump,
                      uint64_t address, uint64_t time, uint64_t *offset);
/* Once its frames are named. */
void stacks_split(struct lull_stacks *stacks, struct chain *chain);
void stacks_drop_split(struct split *split);
void stacks_drop_lines(struct object *object);

#endif
