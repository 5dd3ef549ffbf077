/* SPDX-License-Identifier: MIT */
/* Tables of descriptors: which file each descriptor of a process is, as forks copy tables, threads
 * share them, exec closes what it should, and the state dump reports what was open before. A file
 * takes some 48 bytes and stays after it is closed, so that results may refer to it; paths are
 * shared. Files of a child are made when it uses them. */
#include "kernel/machine.h"

#include <string.h>

static struct machine *machine_of(const struct lull_model *model, uint32_t task)
{
    return &model->machines.items[model->tasks.items[task].public.host];
}

/* ---- tables ---- */

/* The process of a task; a task whose process no event reported is taken for its leader. */
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
    model->tables.items[number].slots.owner = model->n_tables++;
    return number;
}

static bool is_own(const struct fd_table *table, const struct fd_slot *slot)
{
    return slot->owner == table->slots.owner;
}

/* Nobody is left who has the table: what is open in it is closed. */
static void table_free(struct lull_model *model, uint32_t number, int64_t t)
{
    struct fd_table *table = &model->tables.items[number];
    struct machine *machine = &model->machines.items[table->host];
    const struct fd_slot *slot;
    for (int64_t fd = 0; (slot = fd_slots_next(&table->slots, &fd)); fd++) {
        if (is_own(table, slot)) {
            model->files.items[slot->file].close_ns = t;
        }
    }
    if (lull_map_find(&machine->tables, (uint32_t)table->pid) == number) {
        lull_map_remove(&machine->tables, (uint32_t)table->pid);
    }
    if (table->address && lull_map_find(&machine->addresses, table->address) == number) {
        lull_map_remove(&machine->addresses, table->address);
    }
    fd_slots_clear(&table->slots);
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

/* Takes over what another table has; what this one knows itself it knows better. */
static void merge(struct lull_model *model, uint32_t from, uint32_t into)
{
    struct fd_table *table = &model->tables.items[into], *other = &model->tables.items[from];
    const struct fd_slot *slot;
    for (int64_t fd = 0; (slot = fd_slots_next(&other->slots, &fd)); fd++) {
        if (fd_slots_find(&table->slots, (int32_t)fd)) {
            continue;
        }
        struct fd_slot *mine = fd_slots_change(&table->slots, (int32_t)fd);
        *mine = *slot;
        if (is_own(other, slot)) {
            mine->owner = table->slots.owner;
            model->files.items[slot->file].owner = table->owner;
        }
    }
    fd_slots_clear(&other->slots);
}

/* The table of a task which has none yet, or was taken for a process of its own until its pid became
 * known. */
static uint32_t look_for_table(struct lull_model *model, uint32_t task)
{
    const struct task *item = &model->tasks.items[task];
    const uint32_t mine = item->table;
    const int32_t pid = pid_of(item);
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

/* NULL: it has to be looked for. */
static inline const struct fd_table *known_table(const struct lull_model *model, uint32_t task)
{
    const struct task *item = &model->tasks.items[task];
    if (G_UNLIKELY(item->table == LULL_NONE)) {
        return NULL;
    }
    const struct fd_table *mine = &model->tables.items[item->table];
    return G_LIKELY(mine->pid == pid_of(item) || mine->is_shared) ? mine : NULL;
}

static inline uint32_t table_number(struct lull_model *model, uint32_t task)
{
    return G_LIKELY(known_table(model, task)) ? model->tasks.items[task].table
                                              : look_for_table(model, task);
}

uint32_t files_table(struct lull_model *model, uint32_t task)
{
    return table_number(model, task);
}

static struct fd_table *table_of(struct lull_model *model, uint32_t task)
{
    uint32_t number = table_number(model, task); /* may move the tables */
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
                                                    .copies = (uint32_t)model->files.count,
                                                    .open_ns = open_ns,
                                                    .close_ns = INT64_MAX});
    return model->files.count - 1;
}

void files_copied(struct lull_model *model, uint32_t from, uint32_t to)
{
    struct lull_file *original = &model->files.items[from], *copy = &model->files.items[to];
    copy->path = original->path;
    copy->type = original->type;
    copy->is_datagram = original->is_datagram;
    copy->is_accepted = original->is_accepted;
    copy->copies = original->copies;
    original->copies = to;
}

void files_name(struct lull_model *model, uint32_t file, uint32_t path, enum lull_file_type type)
{
    struct lull_file *files = model->files.items;
    files[file].path = path;
    files[file].type = type;
    for (uint32_t at = file, next; (next = files[at].copies) != file;) {
        if (files[next].close_ns != INT64_MAX) {
            files[at].copies = files[next].copies;
            files[next].copies = next;
            continue;
        }
        files[next].path = path;
        files[next].type = type;
        at = next;
    }
}

/* The slot of a descriptor, to be changed; what is inherited becomes the process's own. */
static struct fd_slot *own(struct lull_model *model, struct fd_table *table, int32_t fd)
{
    struct fd_slot *slot = fd_slots_change(&table->slots, fd);
    if (slot->file == LULL_NONE || is_own(table, slot)) {
        return slot;
    }
    uint32_t file = file_new(model, table, fd, table->since_ns);
    files_copied(model, slot->file, file);
    model->files.items[file].is_cloexec = slot->is_cloexec;
    slot->file = file;
    slot->owner = table->slots.owner;
    return slot;
}

/* Opens a file that is not known yet in a slot of the table. */
static void fill(struct lull_model *model, const struct fd_table *table, struct fd_slot *slot,
                 int32_t fd, int64_t open_ns)
{
    *slot = (struct fd_slot){file_new(model, table, fd, open_ns), table->slots.owner, false};
}

static void close_slot(struct lull_model *model, const struct fd_table *table, struct fd_slot *slot,
                       int64_t t)
{
    if (slot->file != LULL_NONE && is_own(table, slot)) {
        model->files.items[slot->file].close_ns = t;
    }
    slot->file = LULL_NONE;
}

static void set_cloexec(struct lull_model *model, struct fd_table *table, int32_t fd,
                        bool is_cloexec)
{
    const struct fd_slot *slot = fd_slots_find(&table->slots, fd);
    if (!slot || slot->is_cloexec == is_cloexec) {
        return;
    }
    if (is_own(table, slot)) {
        model->files.items[slot->file].is_cloexec = is_cloexec;
    }
    fd_slots_change(&table->slots, fd)->is_cloexec = is_cloexec;
}

static __attribute__((noinline)) uint32_t find_unusual(struct lull_model *model, uint32_t task,
                                                       int32_t fd)
{
    if (fd < 0) {
        return LULL_NONE;
    }
    struct fd_table *table = table_of(model, task);
    const struct fd_slot *slot = fd_slots_find(&table->slots, fd);
    return !slot ? LULL_NONE : is_own(table, slot) ? slot->file : own(model, table, fd)->file;
}

uint32_t files_find(struct lull_model *model, uint32_t task, int32_t fd)
{
    const struct fd_table *table = known_table(model, task);
    const struct fd_slot *slot =
        G_LIKELY(table) && G_LIKELY(fd >= 0) ? fd_slots_at_once(&table->slots, fd) : NULL;
    return G_LIKELY(slot) && G_LIKELY(is_own(table, slot)) ? slot->file
                                                           : find_unusual(model, task, fd);
}

uint32_t files_use(struct lull_model *model, uint32_t task, int32_t fd)
{
    uint32_t file = files_find(model, task, fd);
    if (fd < 0 || file != LULL_NONE) {
        return file;
    }
    struct fd_table *table = table_of(model, task);
    struct fd_slot *slot = fd_slots_change(&table->slots, fd);
    fill(model, table, slot, fd, INT64_MIN);
    return slot->file;
}

uint32_t files_open(struct lull_model *model, uint32_t task, int64_t t, int32_t fd, uint32_t path,
                    enum lull_file_type type, bool is_cloexec)
{
    if (fd < 0) {
        return LULL_NONE;
    }
    struct fd_table *table = table_of(model, task);
    struct fd_slot *slot = fd_slots_change(&table->slots, fd);
    close_slot(model, table, slot, t);
    fill(model, table, slot, fd, t);
    slot->is_cloexec = is_cloexec;
    struct lull_file *file = &model->files.items[slot->file];
    file->path = path;
    file->type = type;
    file->is_cloexec = is_cloexec;
    return slot->file;
}

void files_close(struct lull_model *model, uint32_t task, int64_t t, int32_t fd)
{
    if (fd < 0) {
        return;
    }
    struct fd_table *table = table_of(model, task);
    if (fd_slots_find(&table->slots, fd)) {
        close_slot(model, table, fd_slots_change(&table->slots, fd), t);
    }
}

void files_close_range(struct lull_model *model, uint32_t task, int64_t t, int32_t first,
                       int32_t last, bool only_cloexec)
{
    struct fd_table *table = table_of(model, task);
    if (!only_cloexec) {
        fd_slots_drop_range(&table->slots, first, last);
    }
    for (int64_t fd = MAX(first, 0); fd_slots_next(&table->slots, &fd) && fd <= last; fd++) {
        if (only_cloexec) {
            set_cloexec(model, table, (int32_t)fd, true);
        } else {
            close_slot(model, table, fd_slots_change(&table->slots, (int32_t)fd), t);
        }
    }
}

void files_set_cloexec(struct lull_model *model, uint32_t task, int32_t fd, bool is_cloexec)
{
    if (fd >= 0) {
        set_cloexec(model, table_of(model, task), fd, is_cloexec);
    }
}

/* ---- tasks come, change and go ---- */

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
    fd_slots_share(&copy->slots, &original->slots);
}

void files_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t,
                  bool is_shared)
{
    if (parent == child) { /* it says of itself that it is new */
        return;
    }
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
    const struct fd_slot *slot;
    for (int64_t fd = 0; (slot = fd_slots_next(&table->slots, &fd)); fd++) {
        if (slot->is_cloexec && is_own(table, slot)) {
            model->files.items[slot->file].close_ns = t;
        }
    }
    fd_slots_drop_cloexec(&table->slots);
}

/* The thread's descriptors are those of the process now. */
void files_taken_over(struct lull_model *model, uint32_t thread, uint32_t leader, int64_t t)
{
    const uint32_t number = files_table(model, thread);
    leave(model, leader, t);
    model->tasks.items[leader].table = number;
    model->tasks.items[thread].table = LULL_NONE;
    model->tables.items[number].is_orphan = false;
    lull_map_insert(&machine_of(model, leader)->tables,
                    (uint32_t)model->tasks.items[leader].public.tid, number);
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

/* A dump says anew which process has a table at which address: another may have one where the last dump found it. */
void files_dump_starts(struct machine *machine, int64_t t)
{
    machine->redump_ns = machine->is_dumped ? t : INT64_MIN;
    machine->is_dumped = true;
    lull_map_clear(&machine->addresses);
}

void files_dumped_process(struct lull_model *model, uint32_t task, uint64_t address)
{
    struct machine *machine = machine_of(model, task);
    uint32_t number = lull_map_find(&machine->addresses, address);
    uint32_t mine = files_table(model, task);
    if (number == LULL_NONE || number == mine) {
        struct fd_table *table = &model->tables.items[mine];
        if (table->address && lull_map_find(&machine->addresses, table->address) == mine) {
            lull_map_remove(&machine->addresses, table->address); /* it was another before */
        }
        lull_map_insert(&machine->addresses, address, mine);
        table->address = address;
        return;
    }
    /* Processes that share their descriptors; or the address was used again since a dump whose start is not recorded. */
    if (!fd_slots_is_empty(&model->tables.items[mine].slots)) {
        if (!machine->is_dumped) {
            return;
        }
        merge(model, mine, number);
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

/* The name of a file in its directory, which is the last of a path; the kernel says behind it that it is deleted. */
static struct lull_text name_of_path(struct lull_text path)
{
    static const char deleted[] = " (deleted)";
    const size_t length = sizeof deleted - 1;
    if (path.length > length && memcmp(path.data + path.length - length, deleted, length) == 0) {
        path.length -= length;
    }
    const char *slash = memrchr(path.data, '/', path.length);
    if (slash) {
        path.length -= (size_t)(slash + 1 - path.data);
        path.data = slash + 1;
    }
    return path;
}

/* Whether a dumped path is that of another file than the one that events reported. These have paths as programs gave them,
 * relative or through links, and know peers of sockets. */
static bool is_another(const struct lull_model *model, const struct lull_file *file,
                       struct lull_text path)
{
    const char *known = model->labels.items[file->path];
    const struct lull_text a = name_of_path(path),
                           b = name_of_path((struct lull_text){known, (uint32_t)strlen(known)});
    const enum lull_file_type type = type_of_path(path),
                              own = file->type == LULL_FILE_NET ? LULL_FILE_SOCKET : file->type;
    const bool is_same_name = a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
    return !is_same_name && (type == LULL_FILE_DISK || type != own);
}

/* Whether what has become of a file since it was opened may not have been recorded: events were lost, or the session was
 * stopped and started again, which dumps the state once more. */
static bool is_unsure(const struct lull_model *model, const struct machine *machine,
                      const struct lull_file *file, int64_t t)
{
    return file->open_ns < machine->redump_ns || lost_any_between(machine, file->open_ns, t) ||
           lost_may_be_between(model, machine->host, file->open_ns, t);
}

/* A state dump overrides what events have reported only where some may be missing. LTTng lists a table under its lock, so
 * what it says is so at that time. */
void files_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_file *ev)
{
    if (!model->follows_files || ev->fd < 0 || ev->fd > INT32_MAX) {
        return;
    }
    uint32_t number = dumped_table(model, machine, ev);
    if (number == LULL_NONE) {
        return;
    }
    const int32_t fd = (int32_t)ev->fd;
    struct fd_table *table = &model->tables.items[number];
    const struct fd_slot *found = fd_slots_find(&table->slots, fd);
    const struct lull_file *known = found ? &model->files.items[found->file] : NULL;
    const bool is_named = known && known->path != LULL_NONE;
    const bool is_other = is_named && ev->path.length && is_unsure(model, machine, known, t) &&
                          is_another(model, known, ev->path);
    if (is_named && !is_other) {
        return;
    }
    struct fd_slot *slot = own(model, table, fd); /* may move the files */
    if (is_other) {
        close_slot(model, table, slot, t);
    }
    if (slot->file == LULL_NONE) {
        fill(model, table, slot, fd, is_other ? t : INT64_MIN);
    }
    if (ev->path.length == 0) {
        return;
    }
    struct lull_file *file = &model->files.items[slot->file];
    file->path = model_label_of(model, ev->path);
    if (file->type == LULL_FILE_UNKNOWN) {
        file->type = type_of_path(ev->path);
    }
    set_cloexec(model, table, fd, ev->flags & machine->arch->o_cloexec);
}

uint32_t files_dumped_as(const struct lull_model *model, const struct machine *machine,
                         int64_t address, int64_t fd)
{
    const uint32_t number = lull_map_find(&machine->addresses, (uint64_t)address);
    if (!model->follows_files || number == LULL_MAP_NONE || fd < 0 || fd > INT32_MAX) {
        return LULL_NONE;
    }
    const struct fd_slot *slot = fd_slots_find(&model->tables.items[number].slots, (int32_t)fd);
    return slot ? slot->file : LULL_NONE;
}

const struct lull_file *lull_model_file(const struct lull_model *model, uint32_t file)
{
    return &model->files.items[file];
}

void files_free(struct lull_model *model)
{
    for (size_t i = 0; i < model->tables.count; i++) {
        fd_slots_clear(&model->tables.items[i].slots);
    }
    lull_vec_free(&model->tables);
    lull_vec_free(&model->files);
}
