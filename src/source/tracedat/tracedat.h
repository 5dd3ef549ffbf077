/* SPDX-License-Identifier: MIT */
/* A trace.dat file, which trace-cmd writes (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)): what is
 * before the pages of the ring buffers, and the pages. Version 6 is one sequence of parts; version
 * 7 has sections, found through options, that may be compressed.
 *
 * Why it is not read with trace-cmd's own library, libtracecmd: that opens paths and descriptors of
 * plain files, and Lull reads members of archives where they lie; here files come from strangers,
 * so each size and offset is checked before it is used, and an error names the byte; what damage
 * has cost is counted and reading goes on after it; and the streams of one file are read by
 * several threads. Formats of events are left to libtraceevent, see format/parse.c. */
#ifndef LULL_SOURCE_TRACEDAT_H
#define LULL_SOURCE_TRACEDAT_H

#include "base/report.h"
#include "ctf/stream/bytes.h"
#include "source/format/format.h"

enum lull_packing { LULL_PACKING_NONE, LULL_PACKING_ZLIB, LULL_PACKING_ZSTD };

/* Where the pages of one CPU lie. */
struct lull_tracedat_cpu {
    int32_t cpu;
    uint64_t offset, size; /* in the file */
    bool is_left_out;      /* other pages lie there */
};

/* One instance of the ring buffer. */
struct lull_tracedat_buffer {
    char *name;  /* "" for the top one */
    char *clock; /* or "" */
    uint32_t page_bytes;
    bool is_packed;
    GArray *cpus; /* struct lull_tracedat_cpu */
};

/* From the time stamps of one CPU to those of another machine's clock. */
struct lull_tracedat_shift {
    struct lull_tracedat_sample *samples; /* in order of time */
    uint32_t n_samples;
};

/* A virtual machine that was traced at the same time. */
struct lull_tracedat_guest {
    char *name;
    uint64_t id;  /* of its trace */
    GArray *tids; /* int32_t, of this machine: the threads that are its CPUs */
};

/* What the kernel counted for one CPU of an instance by the end of the recording. */
struct lull_tracedat_stat {
    char *buffer;
    int32_t cpu;
    uint64_t overwritten; /* events that newer ones took the place of */
    uint64_t dropped;     /* for which there was no place, or that came at the wrong moment */
};

struct lull_tracedat {
    char *path; /* for messages */
    struct lull_bytes *bytes;
    uint64_t size;
    const struct lull_report *report;
    unsigned version;
    bool is_big_endian;
    uint32_t long_bytes, page_bytes;
    enum lull_packing packing;
    /* Of the head of a page. */
    uint32_t commit_offset, commit_bytes, data_offset;
    uint32_t n_cpus;    /* version 6: as the file says */
    GPtrArray *buffers; /* struct lull_tracedat_buffer */
    char *uname, *clock, *tool;
    char *cmdlines;      /* "TID NAME" lines, or NULL */
    uint64_t symbols_at; /* where the list of the kernel's symbols is, or its section; 0: nowhere */
    int64_t offset_ns;   /* added to all times */
    uint32_t mult, shift; /* mult 0: clock values are nanoseconds */
    uint64_t id, peer_id; /* of the recording; whose clock the shifts lead to; 0: none */
    struct lull_tracedat_shift *shifts; /* by CPU; or NULL */
    uint32_t n_shifts;
    bool interpolates;
    GPtrArray *guests; /* struct lull_tracedat_guest */
    GArray *stats;     /* struct lull_tracedat_stat */
    struct lull_formats *formats;
};

/* Reads all but the pages. `bytes` are taken, also on failure. NULL and an error if the file is no
 * trace.dat or too damaged to know its pages. */
struct lull_tracedat *lull_tracedat_open(const char *path, struct lull_bytes *bytes, uint64_t size,
                                         const struct lull_report *report, GError **error);
void lull_tracedat_free(struct lull_tracedat *file);

/* What /proc/kallsyms had when it was recorded; free with g_free(); NULL: it is not there. */
char *lull_tracedat_symbols(struct lull_tracedat *file, gsize *length);

/* Unpacks into exactly out_size bytes; false if that is not what comes out. */
bool lull_tracedat_unpack(enum lull_packing packing, const uint8_t *in, size_t in_size,
                          uint8_t *out, size_t out_size);
/* All of `size` bytes at `offset`; false if the file does not have them. It is open. */
bool lull_tracedat_read(struct lull_bytes *bytes, uint64_t offset, uint8_t *out, uint64_t size);

/* Reads the section of one kind of description; kinds that nobody needs are left. */
bool lull_tracedat_section(struct lull_tracedat *file, unsigned id, uint64_t at, GError **error);

/* tracedat_options.c: the options at `in`, which end with the option 0; *next is what a version 7
 * says is the place of more, or 0. False with an error if they pass the end. */
struct lull_tracedat_in;
bool lull_tracedat_options(struct lull_tracedat *file, struct lull_tracedat_in *in, uint64_t *next,
                           GError **error);

/* ---- times: tracedat_time.c ---- */

/* Reads the option TIME_SHIFT. */
void lull_tracedat_take_shifts(struct lull_tracedat *file, struct lull_tracedat_in *in);
void lull_tracedat_free_shifts(struct lull_tracedat *file);
/* Of a CPU, or NULL: none. */
const struct lull_tracedat_shift *lull_tracedat_shift_of(const struct lull_tracedat *file,
                                                         int32_t cpu);
/* Nanoseconds of the trace's clock, less file->offset_ns. */
uint64_t lull_tracedat_nanoseconds(const struct lull_tracedat *file,
                                   const struct lull_tracedat_shift *shift, uint64_t clock);

/* ---- reading what precedes the pages ---- */

/* Goes through the bytes of a section, or of the file itself. */
struct lull_tracedat_in {
    struct lull_tracedat *file;
    const uint8_t *data; /* NULL: of the file */
    uint64_t pos, end;
    bool is_short; /* something was not there; all reads after that give nothing */
};

uint64_t lull_tracedat_number(struct lull_tracedat_in *in, unsigned bytes);
/* Free with g_free(); NULL if it has no end, or is longer than 4096. */
char *lull_tracedat_string(struct lull_tracedat_in *in);
/* `size` bytes and a NUL; free with g_free(). NULL if they are not there. */
char *lull_tracedat_block(struct lull_tracedat_in *in, uint64_t size);
void lull_tracedat_skip(struct lull_tracedat_in *in, uint64_t size);

/* ---- pages ---- */

/* Whether the buffer's pages have a size that can be. */
bool lull_tracedat_is_readable(const struct lull_tracedat_buffer *buffer);

/* The pages of one CPU, in order, read through a window. */
struct lull_tracedat_pages;

struct lull_tracedat_pages *lull_tracedat_pages_new(const struct lull_tracedat *file,
                                                    const struct lull_tracedat_buffer *buffer,
                                                    const struct lull_tracedat_cpu *cpu);
/* The same pages, to be read apart. */
struct lull_tracedat_pages *lull_tracedat_pages_share(const struct lull_tracedat_pages *pages);
void lull_tracedat_pages_free(struct lull_tracedat_pages *pages);
uint64_t lull_tracedat_pages_count(const struct lull_tracedat_pages *pages);
bool lull_tracedat_pages_are_packed(const struct lull_tracedat_pages *pages);
uint32_t lull_tracedat_pages_bytes(const struct lull_tracedat_pages *pages); /* of one page */
/* The bytes of a page, after which LULL_LOAD_SLACK bytes may be read; valid until the next call.
 * NULL with *why set if it cannot be read. */
const uint8_t *lull_tracedat_pages_get(struct lull_tracedat_pages *pages, uint64_t index,
                                       const char **why);
/* The same of the first `size` bytes alone, which for pages that are not packed takes less. */
bool lull_tracedat_pages_peek(struct lull_tracedat_pages *pages, uint64_t index, uint8_t *out,
                              uint32_t size);
/* Byte of the file where a page, or what it is packed in, starts. */
uint64_t lull_tracedat_pages_where(const struct lull_tracedat_pages *pages, uint64_t index);
/* See struct lull_bytes; before anything of them is read. */
void lull_tracedat_pages_set_brief(struct lull_tracedat_pages *pages, bool is_brief);
/* Gives the file and the memory back until a page is wanted again. */
void lull_tracedat_pages_close(struct lull_tracedat_pages *pages);

#endif
