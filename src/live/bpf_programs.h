/* SPDX-License-Identifier: MIT */
/* The programs in the kernel: which there are, which are needed for what is measured, and what this kernel lacks. */
#ifndef LULL_LIVE_BPF_PROGRAMS_H
#define LULL_LIVE_BPF_PROGRAMS_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "live/bpf_cost.h"
#include "live/kind.h"

/* As many as there may be. */
enum { LULL_BPF_PROGRAMS = 48 };

/* What can be given up to cost less. */
enum lull_bpf_use {
    LULL_BPF_EVER,
    LULL_BPF_NAMES_WAKERS, /* which interrupt it is that wakes somebody */
    LULL_BPF_SEES_WAKING,  /* that somebody is woken */
};

struct lull_bpf_programs {
    struct bpf_program *program[LULL_BPF_PROGRAMS]; /* NULL: not needed, or not possible */
    struct bpf_link *link[LULL_BPF_PROGRAMS];       /* NULL: not attached */
    struct bpf_program *entered; /* does nothing; NULL: this kernel has no event for it */
};

/* What is missing, as an error of one line. Returns false. */
bool lull_bpf_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
bool lull_bpf_refuse_errno(GError **error, const char *what, int why);

/* The kernel's types, to be freed; NULL and an error. */
struct btf *lull_bpf_types(GError **error);
/* The number of arguments of a tracepoint; -1: this kernel does not have it. */
int lull_bpf_arguments(const struct btf *kernel, const char *event);
/* `lacks` of struct lull_live_kind. */
bool lull_bpf_lacks(const char *lacks[LULL_TRACK_MEASURES], GError **error);

/* What the rules measure, as bits; only the programs of waits know who descends from a command. */
uint32_t lull_bpf_measures(const struct lull_tracker_question *question);
/* Before the object is loaded: leaves out what this kernel does not have, and what is not measured. False and an error if
 * what is needed is missing. */
bool lull_bpf_programs_choose(struct lull_bpf_programs *chosen, const struct bpf_object *object,
                              const struct btf *kernel, uint32_t measures, GError **error);
/* Of the programs that are loaded; free it. */
struct lull_bpf_cost *lull_bpf_programs_cost(const struct lull_bpf_programs *chosen);
/* To be detached in any case. */
bool lull_bpf_programs_attach(struct lull_bpf_programs *chosen, GError **error);
/* Detaches the programs of that use that none of these other measures needs. */
void lull_bpf_programs_give_up(struct lull_bpf_programs *chosen, enum lull_bpf_use use,
                               uint32_t measures);
/* An iterator, once. Kernels that have none do without. */
void lull_bpf_programs_run(const struct bpf_object *object, const char *name);
void lull_bpf_programs_detach(struct lull_bpf_programs *chosen);

#endif
