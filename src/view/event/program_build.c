/* SPDX-License-Identifier: MIT */
/* The compiler of print programs: drives the writer of brackets and names along the layout of a
 * class and cuts its text at the values. */
#include "view/event/program_private.h"

struct builder {
    const struct lull_layout *layout;
    struct lull_event_program *program;
    struct lull_event_writer writer;
    struct lull_linebuf pool; /* text of all pieces */
    uint32_t cut;             /* start of the current piece */
    uint32_t align;           /* still to be done */
    GArray *ops;
    uint32_t *op_of_step; /* the first operation after each step's start */
    bool is_possible;
};

/* An operation after the text so far. The reference is valid until the next. */
static struct lull_print_op *add(struct builder *b, enum lull_print_code code, uint32_t align)
{
    align = MAX(align, b->align);
    const struct lull_print_op op = {
        .code = (uint8_t)code,
        .align_mask = align - 1,
        .text_at = b->cut,
        .text_length = (uint32_t)b->pool.length - b->cut,
        .slot = -1,
    };
    b->cut = (uint32_t)b->pool.length;
    b->align = 1;
    g_array_append_val(b->ops, op);
    return &g_array_index(b->ops, struct lull_print_op, b->ops->len - 1);
}

/* Before a place that is jumped to or from, nothing may be pending. */
static void settle(struct builder *b)
{
    if (b->pool.length != b->cut || b->align != 1) {
        add(b, LULL_PRINT_PIECE, 1);
    }
}

static void add_integer(struct builder *b, const struct lull_step *step)
{
    if (!step->is_hidden) {
        lull_event_writer_name(&b->writer, step->name);
    }
    struct lull_print_op *op = add(b, LULL_PRINT_INTEGER, step->align);
    op->size = step->size;
    op->shift = (uint8_t)(64 - step->size);
    op->is_signed = step->is_signed;
    op->is_big_endian = step->is_big_endian;
    op->slot = step->slot;
    op->value = (struct lull_visit_int){.is_signed = step->is_signed,
                                        .base = step->base,
                                        .size_bits = step->size,
                                        .is_enum = step->is_enum};
    op->mapping = step->mapping;
    if (step->is_hidden) {
        op->code = LULL_PRINT_SKIP;
    } else if (step->is_enum || (step->base != 10 && step->base != 16)) {
        op->code = LULL_PRINT_OTHER;
    } else if (step->base == 16) {
        uint32_t bits = (step->size + 3u) / 4 * 4;
        op->code = LULL_PRINT_HEX;
        op->bits_mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    } else if (step->slot < 0 && !step->is_big_endian && step->align >= 8) {
        op->code = step->is_signed ? LULL_PRINT_SIGNED_LE : LULL_PRINT_UNSIGNED_LE;
    }
}

static void add_leaf(struct builder *b, const struct lull_step *step, enum lull_print_code code)
{
    b->is_possible = b->is_possible && !step->is_hidden;
    lull_event_writer_name(&b->writer, step->name);
    if (code != LULL_PRINT_REAL) {
        lull_linebuf_char(&b->pool, '"');
    }
    struct lull_print_op *op = add(b, code, step->align);
    op->size = step->size;
    op->is_big_endian = step->is_big_endian;
    op->slot = step->slot;
    op->count = step->count;
    if (code != LULL_PRINT_REAL) {
        lull_linebuf_char(&b->pool, '"');
    }
}

static void start_scope(struct builder *b, const struct lull_step *step)
{
    if (!step->is_hidden) {
        lull_event_writer_start(&b->writer, step->name, LULL_VISIT_SCOPE);
    }
}

static void start_array(struct builder *b, const struct lull_step *step)
{
    if (!step->is_hidden) {
        lull_event_writer_start(&b->writer, step->name, LULL_VISIT_ARRAY);
        b->writer.is_element = true;
    }
    struct lull_print_op *op = add(b, LULL_PRINT_ARRAY, step->align);
    op->slot = step->slot;
    op->count = step->count;
    op->target = step->target;
    op->is_hidden = step->is_hidden;
    op->numbers = b->writer.dialect->numbers_elements && b->writer.with_names;
}

static void end_array(struct builder *b, const struct lull_step *step)
{
    settle(b);
    add(b, LULL_PRINT_END, 1);
    b->writer.is_element = false;
    if (!step->is_hidden) {
        lull_event_writer_end(&b->writer);
    }
}

static void start_variant(struct builder *b, const struct lull_step *step)
{
    b->is_possible = b->is_possible && !step->is_hidden;
    lull_event_writer_start(&b->writer, step->name, LULL_VISIT_VARIANT);
    struct lull_print_op *op = add(b, LULL_PRINT_VARIANT, step->align);
    op->slot = step->slot;
    op->is_signed = step->is_signed;
    op->choices = step->choices;
    op->n_choices = step->n_choices;
}

/* Each option is written with the variant open, and closes it in its own text. */
static void end_option(struct builder *b, uint32_t at)
{
    const struct lull_step *step = &b->layout->steps[at];
    bool is_last = step->target == at + 1;
    lull_event_writer_end(&b->writer);
    settle(b);
    add(b, LULL_PRINT_JUMP, 1)->target = step->target;
    if (!is_last) {
        b->writer.depth++; /* open for the next option, which is its first part again */
        b->writer.open[b->writer.depth - 1].count = 0;
    }
}

static void add_step(struct builder *b, uint32_t at)
{
    const struct lull_step *step = &b->layout->steps[at];
    switch (step->kind) {
    case LULL_STEP_SCOPE:
        start_scope(b, step);
        break;
    case LULL_STEP_SCOPE_END:
    case LULL_STEP_STRUCT_END:
        if (!step->is_hidden) {
            lull_event_writer_end(&b->writer);
        }
        break;
    case LULL_STEP_STRUCT:
        b->align = MAX(b->align, step->align);
        if (!step->is_hidden) {
            lull_event_writer_start(&b->writer, step->name, LULL_VISIT_STRUCT);
        }
        break;
    case LULL_STEP_ALIGN:
        b->align = MAX(b->align, step->align);
        break;
    case LULL_STEP_ARRAY:
        start_array(b, step);
        break;
    case LULL_STEP_ARRAY_END:
        end_array(b, step);
        break;
    case LULL_STEP_VARIANT:
        start_variant(b, step);
        break;
    case LULL_STEP_OPTION_END:
        end_option(b, at);
        break;
    case LULL_STEP_INT:
        add_integer(b, step);
        break;
    case LULL_STEP_REAL:
        add_leaf(b, step, LULL_PRINT_REAL);
        break;
    case LULL_STEP_STRING:
        add_leaf(b, step, LULL_PRINT_STRING);
        break;
    case LULL_STEP_TEXT:
        add_leaf(b, step, LULL_PRINT_TEXT);
        break;
    case LULL_STEP_DONE:
        settle(b);
        add(b, LULL_PRINT_END, 1);
        break;
    }
}

/* Targets were steps; now they are operations. Texts were places in the pool; now pointers. */
static void resolve(struct builder *b)
{
    struct lull_event_program *program = b->program;
    lull_linebuf_reserve(&b->pool, LULL_PRINT_SLACK);
    memset(b->pool.data + b->pool.length, 0, LULL_PRINT_SLACK);
    program->pool = b->pool.data;
    program->n_ops = b->ops->len;
    program->ops = (struct lull_print_op *)(void *)g_array_free(b->ops, FALSE);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        struct lull_print_op *op = &program->ops[i];
        op->text = program->pool + op->text_at;
        if (op->code == LULL_PRINT_ARRAY || op->code == LULL_PRINT_JUMP) {
            op->target = b->op_of_step[op->target];
        } else if (op->code == LULL_PRINT_VARIANT) {
            struct lull_choice *choices =
                g_memdup2(op->choices, op->n_choices * sizeof *op->choices);
            for (uint32_t c = 0; c < op->n_choices; c++) {
                choices[c].target = b->op_of_step[choices[c].target];
            }
            op->choices = choices;
        }
    }
}

struct lull_event_program *lull_event_program_new(const struct lull_event *event,
                                                  const struct lull_dialect *dialect,
                                                  bool follows_scope)
{
    struct lull_layout *layout = lull_event_layout(event, dialect->visit_flags);
    if (!layout) {
        return NULL;
    }
    struct lull_event_program *program = g_new0(struct lull_event_program, 1);
    struct builder b = {
        .layout = layout,
        .program = program,
        .writer = {.dialect = dialect, .follows_scope = follows_scope},
        .align = 1,
        .ops = g_array_new(FALSE, FALSE, sizeof(struct lull_print_op)),
        .op_of_step = g_new0(uint32_t, layout->n_steps),
        .is_possible = layout->n_slots <= LULL_PRINT_SLOTS,
    };
    b.writer.line = &b.pool;
    program->dialect = dialect;
    program->find_labels = layout->find_labels;
    for (uint32_t i = 0; i < layout->n_steps; i++) {
        /* Text and alignment that are pending belong before a jump's target. */
        if (i > 0 && (layout->steps[i - 1].kind == LULL_STEP_OPTION_END ||
                      layout->steps[i - 1].kind == LULL_STEP_VARIANT)) {
            settle(&b);
        }
        b.op_of_step[i] = b.ops->len;
        add_step(&b, i);
    }
    resolve(&b);
    g_free(b.op_of_step);
    lull_layout_free(layout);
    if (!b.is_possible) {
        g_clear_pointer(&program, lull_event_program_free);
    }
    return program;
}

void lull_event_program_free(struct lull_event_program *program)
{
    if (!program) {
        return;
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        if (program->ops[i].code == LULL_PRINT_VARIANT) {
            g_free((gpointer)program->ops[i].choices);
        }
    }
    g_free(program->ops);
    g_free(program->pool);
    g_free(program);
}
