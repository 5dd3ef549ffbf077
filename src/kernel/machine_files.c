/* SPDX-License-Identifier: MIT */
/* Tables of descriptors: which file each descriptor of a process is, as forks copy tables, threads
 * share them, exec closes what it should, and the state dump tells what was open before. A file
 * takes some 48 bytes and stays after it is closed, so that results may refer to it; paths are
 * shared. A fork copies slots only: files are made when the child uses them. */
#include "kernel/model_private.h"

#include <stdlib.h>
#include <string.h>

static struct machine *machine_of(const struct lull_model *model, uint32_t task)
{
    return &model->machines.items[model->tasks.items[task].public.host];
}

/* ---- tables ---- */

/* The process of a task; a task that no event told the process of is taken for its leader. */
static int32_t pid_of(const struct task *task)
{
    return task->public.pid > 0 ? task->public.pid : task->public.tid;
}

static uint32_t table_new(struct lull_model *model, uint32_t host, int32_t pid, uint32_t owner)
{
    uint32_t number = model->free_table;
    if (number == LULL_NONE) {
        number = model->tables.count;
        memset(lull_vec_add(&model->tables), 0, sizeof(struct fd_table));
    } else {
        model->free_table = model->tables.items[number].next_free;
    }
    model->tables.items[number] = (struct fd_table){
        .host = host, .owner = owner, .pid = pid, .since_ns = INT64_MIN, .next_free = LULL_NONE};
    return number;
}

static void clear_slots(struct fd_table *table)
{
    lull_vec_free(&table->slots);
    lull_map_free(&table->by_fd);
}

/* Nobody is left who has the table: what is open in it is closed. */
static void table_free(struct lull_model *model, uint32_t number, int64_t t)
{
    struct fd_table *table = &model->tables.items[number];
    struct machine *machine = &model->machines.items[table->host];
    for (size_t i = 0; i < table->slots.count; i++) {
        if (table->slots.items[i].file != LULL_NONE && !table->slots.items[i].is_inherited) {
            model->files.items[table->slots.items[i].file].close_ns = t;
        }
    }
    if (lull_map_find(&machine->tables, (uint32_t)table->pid) == number) {
        lull_map_remove(&machine->tables, (uint32_t)table->pid);
    }
    if (table->address && lull_map_find(&machine->addresses, table->address) == number) {
        lull_map_remove(&machine->addresses, table->address);
    }
    clear_slots(table);
    table->next_free = model->free_table;
    model->free_table = number;
}

static void leave(struct lull_model *model, uint32_t task, int64_t t)
{
    uint32_t number = model->tasks.items[task].table;
    if (number == LULL_NONE) {
        return;
    }
    model->tasks.items[task].table = LULL_NONE;
    struct fd_table *table = &model->tables.items[number];
    if (--table->users == 0 && table->is_orphan) {
        table_free(model, number, t);
    }
}

static void enter(struct lull_model *model, uint32_t task, uint32_t number)
{
    model->tasks.items[task].table = number;
    model->tables.items[number].users++;
}

/* A new table for the process of the task alone. */
static uint32_t enter_new(struct lull_model *model, uint32_t task)
{
    const struct task *item = &model->tasks.items[task];
    uint32_t number = table_new(model, item->public.host, pid_of(item), task);
    lull_map_insert(&machine_of(model, task)->tables, (uint32_t)pid_of(item), number);
    enter(model, task, number);
    return number;
}

/* In tables that grew from low numbers to high, as programs open files, slots are in order. */
static size_t lower_slot(const struct fd_table *table, int32_t fd)
{
    size_t low = 0, high = table->slots.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->slots.items[middle].fd < fd) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct fd_slot *find_slot(const struct fd_table *table, int32_t fd)
{
    struct fd_slot *slots = table->slots.items;
    if ((size_t)fd < table->slots.count && slots[fd].fd == fd) {
        return &slots[fd];
    }
    if (table->by_fd.count > 0) {
        uint32_t at = lull_map_find(&table->by_fd, (uint32_t)fd);
        return at != LULL_MAP_NONE ? &slots[at] : NULL;
    }
    size_t low = lower_slot(table, fd);
    return low < table->slots.count && slots[low].fd == fd ? &slots[low] : NULL;
}

/* The slot of a descriptor that may not have one yet. A large table whose numbers come in no order
 * is not moved about for each: it gets an index and is in no order from then on. */
static struct fd_slot *add_slot(struct fd_table *table, int32_t fd)
{
    enum { FEW = 256 };
    struct fd_slot *found = find_slot(table, fd);
    if (found) {
        return found;
    }
    size_t at = table->by_fd.count > 0 ? table->slots.count : lower_slot(table, fd);
    if (at < table->slots.count && table->slots.count >= FEW) {
        for (size_t i = 0; i < table->slots.count; i++) {
            lull_map_insert(&table->by_fd, (uint32_t)table->slots.items[i].fd, (uint32_t)i);
        }
        at = table->slots.count;
    }
    if (table->by_fd.count > 0) {
        lull_map_insert(&table->by_fd, (uint32_t)fd, (uint32_t)at);
    }
    lull_vec_push(&table->slots, (struct fd_slot){fd, LULL_NONE, false, false});
    struct fd_slot *slots = table->slots.items;
    memmove(&slots[at + 1], &slots[at], (table->slots.count - 1 - at) * sizeof *slots);
    slots[at] = (struct fd_slot){fd, LULL_NONE, false, false};
    return &slots[at];
}

/* Takes over what another table has; what this one knows itself it knows better. */
static void merge(struct lull_model *model, uint32_t from, uint32_t into)
{
    struct fd_table *table = &model->tables.items[into];
    for (size_t i = 0; i < model->tables.items[from].slots.count; i++) {
        const struct fd_slot *slot = &model->tables.items[from].slots.items[i];
        if (slot->file == LULL_NONE) {
            continue;
        }
        struct fd_slot *mine = add_slot(table, slot->fd);
        if (mine->file != LULL_NONE) {
            continue;
        }
        *mine = *slot;
        if (!slot->is_inherited) {
            model->files.items[slot->file].owner = table->owner;
        }
    }
    clear_slots(&model->tables.items[from]);
}

uint32_t files_table(struct lull_model *model, uint32_t task)
{
    struct task *item = &model->tasks.items[task];
    uint32_t mine = item->table;
    int32_t pid = pid_of(item);
    if (mine != LULL_NONE &&
        (model->tables.items[mine].pid == pid || model->tables.items[mine].is_shared)) {
        return mine;
    }
    /* None yet, or it was taken for a process of its own until its pid became known. */
    uint32_t number = lull_map_find(&machine_of(model, task)->tables, (uint32_t)pid);
    if (number == LULL_NONE) {
        uint32_t leader = lull_map_find(&machine_of(model, task)->by_tid, (uint32_t)pid);
        number = table_new(model, item->public.host, pid, leader != LULL_NONE ? leader : task);
        lull_map_insert(&machine_of(model, task)->tables, (uint32_t)pid, number);
    }
    if (mine != LULL_NONE && mine != number) {
        merge(model, mine, number);
        model->tables.items[mine].is_orphan = true;
        leave(model, task, INT64_MAX);
    }
    enter(model, task, number);
    return number;
}

static struct fd_table *table_of(struct lull_model *model, uint32_t task)
{
    uint32_t number = files_table(model, task); /* may move the tables */
    return &model->tables.items[number];
}

/* ---- files ---- */

static uint32_t file_new(struct lull_model *model, const struct fd_table *table, int32_t fd,
                         int64_t open_ns)
{
    lull_vec_push(&model->files, (struct lull_file){.host = table->host,
                                                    .owner = table->owner,
                                                    .fd = fd,
                                                    .path = LULL_NONE,
                                                    .type = LULL_FILE_UNKNOWN,
                                                    .open_ns = open_ns,
                                                    .close_ns = INT64_MAX});
    return model->files.count - 1;
}

/* Makes an inherited descriptor the process's own. */
static void own(struct lull_model *model, const struct fd_table *table, struct fd_slot *slot)
{
    if (slot->file == LULL_NONE || !slot->is_inherited) {
        return;
    }
    uint32_t file = file_new(model, table, slot->fd, table->since_ns);
    model->files.items[file].path = model->files.items[slot->file].path;
    model->files.items[file].type = model->files.items[slot->file].type;
    model->files.items[file].is_cloexec = slot->is_cloexec;
    slot->file = file;
    slot->is_inherited = false;
}

static void close_slot(struct lull_model *model, const struct fd_table *table, struct fd_slot *slot,
                       int64_t t)
{
    own(model, table, slot);
    if (slot->file != LULL_NONE) {
        model->files.items[slot->file].close_ns = t;
    }
    slot->file = LULL_NONE;
}

static void set_cloexec(struct lull_model *model, struct fd_slot *slot, bool is_cloexec)
{
    slot->is_cloexec = is_cloexec;
    if (slot->file != LULL_NONE && !slot->is_inherited) {
        model->files.items[slot->file].is_cloexec = is_cloexec;
    }
}

uint32_t files_find(struct lull_model *model, uint32_t task, int32_t fd)
{
    if (fd < 0) {
        return LULL_NONE;
    }
    struct fd_table *table = table_of(model, task);
    struct fd_slot *slot = find_slot(table, fd);
    if (!slot) {
        return LULL_NONE;
    }
    own(model, table, slot);
    return slot->file;
}

uint32_t files_use(struct lull_model *model, uint32_t task, int32_t fd)
{
    if (fd < 0) {
        return LULL_NONE;
    }
    struct fd_table *table = table_of(model, task);
    struct fd_slot *slot = add_slot(table, fd);
    if (slot->file == LULL_NONE) {
        slot->file = file_new(model, table, fd, INT64_MIN);
        slot->is_inherited = slot->is_cloexec = false;
    }
    own(model, table, slot);
    return slot->file;
}

uint32_t files_open(struct lull_model *model, uint32_t task, int64_t t, int32_t fd, uint32_t path,
                    enum lull_file_type type, bool is_cloexec)
{
    if (fd < 0) {
        return LULL_NONE;
    }
    struct fd_table *table = table_of(model, task);
    struct fd_slot *slot = add_slot(table, fd);
    close_slot(model, table, slot, t);
    slot->file = file_new(model, table, fd, t);
    slot->is_inherited = false;
    model->files.items[slot->file].path = path;
    model->files.items[slot->file].type = type;
    set_cloexec(model, slot, is_cloexec);
    return slot->file;
}

void files_close(struct lull_model *model, uint32_t task, int64_t t, int32_t fd)
{
    if (fd < 0) {
        return;
    }
    struct fd_table *table = table_of(model, task);
    struct fd_slot *slot = find_slot(table, fd);
    if (slot) {
        close_slot(model, table, slot, t);
    }
}

void files_close_range(struct lull_model *model, uint32_t task, int64_t t, int32_t first,
                       int32_t last, bool only_cloexec)
{
    struct fd_table *table = table_of(model, task);
    for (size_t i = 0; i < table->slots.count; i++) {
        struct fd_slot *slot = &table->slots.items[i];
        if (slot->fd < first || slot->fd > last) {
            continue;
        }
        if (only_cloexec) {
            set_cloexec(model, slot, true);
        } else {
            close_slot(model, table, slot, t);
        }
    }
}

void files_set_cloexec(struct lull_model *model, uint32_t task, int32_t fd, bool is_cloexec)
{
    if (fd < 0) {
        return;
    }
    struct fd_slot *slot = find_slot(table_of(model, task), fd);
    if (slot) {
        set_cloexec(model, slot, is_cloexec);
    }
}

/* ---- tasks come, change and go ---- */

static int compare_slots(const void *a, const void *b)
{
    const struct fd_slot *x = a, *y = b;
    return x->fd < y->fd ? -1 : x->fd > y->fd;
}

/* Gives the task a copy of a table: what is open in it is inherited. */
static void enter_copy(struct lull_model *model, uint32_t task, uint32_t from, int64_t t)
{
    const struct task *item = &model->tasks.items[task];
    struct lull_map *by_pid = &machine_of(model, task)->tables;
    int32_t pid = pid_of(item);
    uint32_t others = lull_map_find(by_pid, (uint32_t)pid);
    uint32_t number = enter_new(model, task);
    struct fd_table *copy = &model->tables.items[number];
    const struct fd_table *original = &model->tables.items[from];
    if (item->public.tid != pid && others != LULL_NONE) {
        /* A thread that has its own descriptors is not where other threads look for theirs. */
        copy->is_orphan = copy->is_shared = true;
        lull_map_insert(by_pid, (uint32_t)pid, others);
    }
    copy->since_ns = t;
    lull_vec_reserve(&copy->slots, original->slots.count);
    for (size_t i = 0; i < original->slots.count; i++) {
        struct fd_slot slot = original->slots.items[i];
        if (slot.file == LULL_NONE) {
            continue;
        }
        slot.is_inherited = true;
        copy->slots.items[copy->slots.count++] = slot;
    }
    if (original->by_fd.count > 0 && copy->slots.count > 1) {
        qsort(copy->slots.items, copy->slots.count, sizeof *copy->slots.items, compare_slots);
    }
}

void files_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t,
                  bool is_shared)
{
    uint32_t number = files_table(model, parent);
    leave(model, child, t);
    if (!is_shared) {
        enter_copy(model, child, number, t);
        return;
    }
    struct fd_table *table = &model->tables.items[number];
    if (pid_of(&model->tasks.items[child]) != table->pid) {
        table->is_shared = true;
    }
    enter(model, child, number);
}

void files_unshare(struct lull_model *model, uint32_t task, int64_t t)
{
    uint32_t number = files_table(model, task);
    if (model->tables.items[number].users < 2) {
        return;
    }
    enter_copy(model, task, number, t);
    model->tables.items[number].users--;
}

/* What is left to a process after exec; its other threads are gone, and what it shared with other
 * processes it does not share any more. */
void files_executed(struct lull_model *model, uint32_t task, int64_t t)
{
    uint32_t number = files_table(model, task);
    struct fd_table *table = &model->tables.items[number];
    if (table->users > 1 && table->is_shared) {
        enter_copy(model, task, number, t);
        model->tables.items[number].users--;
    } else if (table->users > 1) {
        uint32_t mine = enter_new(model, task);
        model->tables.items[mine].since_ns = model->tables.items[number].since_ns;
        merge(model, number, mine);
        model->tables.items[number].is_orphan = true;
        model->tables.items[number].users--;
    }
    table = &model->tables.items[model->tasks.items[task].table];
    for (size_t i = 0; i < table->slots.count; i++) {
        struct fd_slot *slot = &table->slots.items[i];
        if (!slot->is_cloexec || slot->file == LULL_NONE) {
            continue;
        }
        if (!slot->is_inherited) {
            model->files.items[slot->file].close_ns = t;
        }
        slot->file = LULL_NONE;
    }
}

void files_died(struct lull_model *model, uint32_t task, int64_t t)
{
    const struct task *item = &model->tasks.items[task];
    uint32_t number = item->table != LULL_NONE
                          ? item->table
                          : lull_map_find(&machine_of(model, task)->tables, (uint32_t)pid_of(item));
    if (number == LULL_NONE) {
        return;
    }
    if (pid_of(item) == item->public.tid && model->tables.items[number].pid == item->public.tid) {
        model->tables.items[number].is_orphan = true;
    }
    if (item->table != LULL_NONE) {
        leave(model, task, t);
    } else if (model->tables.items[number].is_orphan && model->tables.items[number].users == 0) {
        table_free(model, number, t);
    }
}

/* ---- state dump ---- */

void files_dumped_process(struct lull_model *model, uint32_t task, uint64_t address)
{
    struct machine *machine = machine_of(model, task);
    uint32_t number = lull_map_find(&machine->addresses, address);
    uint32_t mine = files_table(model, task);
    if (number == LULL_NONE || number == mine) {
        lull_map_insert(&machine->addresses, address, mine);
        model->tables.items[mine].address = address;
        return;
    }
    /* Processes that share their descriptors; or the address was used again. */
    if (model->tables.items[mine].slots.count > 0) {
        return;
    }
    model->tables.items[mine].is_orphan = true;
    leave(model, task, INT64_MAX);
    model->tables.items[number].is_shared = true;
    enter(model, task, number);
}

/* What the kernel calls files that have no path: "socket:[123]", "pipe:[45]",
 * "anon_inode:[eventfd]". */
static enum lull_file_type type_of_path(struct lull_text path)
{
    static const struct {
        const char *prefix;
        enum lull_file_type type;
    } types[] = {
        {"/memfd:", LULL_FILE_OTHER},    {"/", LULL_FILE_DISK},
        {"socket:", LULL_FILE_SOCKET},   {"pipe:", LULL_FILE_PIPE},
        {"anon_inode", LULL_FILE_OTHER},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        if (path.length >= strlen(types[i].prefix) &&
            memcmp(path.data, types[i].prefix, strlen(types[i].prefix)) == 0) {
            return types[i].type;
        }
    }
    return path.length ? LULL_FILE_OTHER : LULL_FILE_UNKNOWN;
}

static uint32_t dumped_table(struct lull_model *model, struct machine *machine,
                             const struct lull_ev_statedump_file *ev)
{
    if (!LULL_HAS(ev, statedump_file, table)) {
        return LULL_HAS(ev, statedump_file, pid) && ev->pid > 0
                   ? files_table(model, model_task(model, machine, ev->pid, 0))
                   : LULL_NONE;
    }
    uint32_t number = lull_map_find(&machine->addresses, (uint64_t)ev->table);
    return number;
}

/* A state dump never overrides what events have told already. */
void files_dumped(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_file *ev)
{
    if (!model->follows_files || ev->fd < 0 || ev->fd > INT32_MAX) {
        return;
    }
    uint32_t number = dumped_table(model, machine, ev);
    if (number == LULL_NONE) {
        return;
    }
    struct fd_table *table = &model->tables.items[number];
    struct fd_slot *slot = add_slot(table, ev->fd);
    own(model, table, slot);
    if (slot->file == LULL_NONE) {
        slot->file = file_new(model, table, ev->fd, INT64_MIN);
    }
    struct lull_file *file = &model->files.items[slot->file];
    if (file->path != LULL_NONE || ev->path.length == 0) {
        return;
    }
    file->path = model_label_of(model, ev->path);
    if (file->type == LULL_FILE_UNKNOWN) {
        file->type = type_of_path(ev->path);
    }
    set_cloexec(model, slot, ev->flags & machine->arch->o_cloexec);
}

const struct lull_file *lull_model_file(const struct lull_model *model, uint32_t file)
{
    return &model->files.items[file];
}

void files_free(struct lull_model *model)
{
    for (size_t i = 0; i < model->tables.count; i++) {
        clear_slots(&model->tables.items[i]);
    }
    lull_vec_free(&model->tables);
    lull_vec_free(&model->files);
}
