/* SPDX-License-Identifier: MIT */
/* Who moved how much through which files and network devices. For each direction, what the tasks
 * moved is what went through the files plus what went through descriptors of which nothing is
 * known. */
#include <stdlib.h>
#include <string.h>

#include "analysis/io/io.h"

enum { READ, WRITTEN };

/* ---- counting ---- */

/* The sum of hostile sizes must not wrap. */
static void add_bytes(uint64_t *sum, uint64_t bytes)
{
    *sum = *sum > INT64_MAX - bytes ? INT64_MAX : *sum + bytes;
}

static struct io_task *task_of(struct io_analysis *io, uint32_t task)
{
    struct io_usage *usage = &io->usage;
    task = lull_params_row(io->head.params, io->head.model, task);
    uint32_t *slot = lull_slots_at(&usage->tasks_by_number, task);
    if (*slot == 0) {
        lull_vec_push(&usage->tasks, (struct io_task){.task = task});
        *slot = (uint32_t)usage->tasks.count;
    }
    return &usage->tasks.items[*slot - 1];
}

static struct io_file *file_of(struct io_usage *usage, uint32_t file)
{
    uint32_t *slot = lull_slots_at(&usage->files_by_number, file);
    if (*slot == 0) {
        lull_vec_push(&usage->files, (struct io_file){.file = file});
        *slot = (uint32_t)usage->files.count;
    }
    return &usage->files.items[*slot - 1];
}

static uint64_t *untyped_bytes(struct io_usage *usage, const struct io_task *task, uint32_t file)
{
    uint32_t index = (uint32_t)(task - usage->tasks.items);
    uint64_t key = (uint64_t)index << 32 | file;
    uint32_t at = lull_map_find(&usage->untyped_by_key, key);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)usage->untyped.count;
        lull_vec_push(&usage->untyped, (struct io_untyped){index, file, {0}});
        lull_map_insert(&usage->untyped_by_key, key, at);
    }
    return usage->untyped.items[at].bytes;
}

/* A path is on a disk unless it starts so: the kernel itself answers. (/dev/sda is a disk.) */
static bool is_of_kernel(const char *path)
{
    static const char *const starts[] = {
        "/proc/",    "/sys/",      "/dev/null", "/dev/zero", "/dev/full",    "/dev/random",
        "/dev/tty",  "/dev/pts/",  "/dev/ptmx", "/dev/kmsg", "/dev/urandom", "/dev/console",
        "/dev/shm/", "/dev/input", "/dev/net/", "/dev/kvm",  "/dev/fuse"};
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
        if (g_str_has_prefix(path, starts[i])) {
            return true;
        }
    }
    return false;
}

/* What kind of file it is; to lttng-analyses every path is on a disk. */
static uint8_t type_of(const struct io_analysis *io, const struct lull_file *file)
{
    const char *path = lull_model_label(io->head.model, file->path);
    bool may_be = file->type == LULL_FILE_DISK && path && strchr("dps", path[0] ? path[1] : 'x');
    return may_be && !io->head.params->is_lami && is_of_kernel(path) ? LULL_FILE_OTHER : file->type;
}

static void count_side(struct io_analysis *io, struct io_task *task, uint32_t number, int direction,
                       uint64_t bytes)
{
    if (number == LULL_NONE) {
        add_bytes(&io->usage.unknown_bytes[direction], bytes);
        add_bytes(&task->bytes[direction][LULL_FILE_UNKNOWN], bytes);
        return;
    }
    add_bytes(&file_of(&io->usage, number)->bytes[direction], bytes);
    uint8_t type = type_of(io, lull_model_file(io->head.model, number));
    add_bytes(type == LULL_FILE_UNKNOWN ? &untyped_bytes(&io->usage, task, number)[direction]
                                        : &task->bytes[direction][type],
              bytes);
}

/* The types of files as they are known at the end. */
static void settle_untyped(struct io_analysis *io)
{
    for (size_t i = 0; i < io->usage.untyped.count; i++) {
        struct io_untyped *moved = &io->usage.untyped.items[i];
        uint8_t type = type_of(io, lull_model_file(io->head.model, moved->file));
        for (int direction = READ; direction <= WRITTEN; direction++) {
            add_bytes(&io->usage.tasks.items[moved->task].bytes[direction][type],
                      moved->bytes[direction]);
            moved->bytes[direction] = 0;
        }
    }
}

void io_usage_call(struct io_analysis *io, const struct lull_syscall_fact *fact)
{
    const struct lull_io *moved = fact->io;
    struct io_task *task = task_of(io, fact->task);
    task->last_ns = fact->end_ns;
    bool is_copy = moved->kind == LULL_IO_COPY;
    if (moved->kind != LULL_IO_READ && moved->kind != LULL_IO_WRITE && !is_copy) {
        return;
    }
    if (moved->bytes < 0) {
        io->usage.n_unreported++;
        return;
    }
    /* A copy from or to memory (vmsplice) has one descriptor. */
    if (moved->bytes > 0 && (!is_copy || moved->fd >= 0)) {
        count_side(io, task, moved->file, moved->kind == LULL_IO_WRITE ? WRITTEN : READ,
                   moved->bytes);
    }
    if (moved->bytes > 0 && is_copy && moved->to_fd >= 0) {
        count_side(io, task, moved->to_file, WRITTEN, moved->bytes);
    }
}

void io_usage_netif(struct io_analysis *io, const struct lull_netif_fact *fact)
{
    const struct lull_question_params *params = io->head.params;
    uint32_t task = fact->in_interrupt ? LULL_NONE : fact->task;
    if (!lull_params_want_task(params, io->head.model, task, fact->time_ns) ||
        !lull_params_want_cpu(params, fact->host, fact->cpu)) {
        return;
    }
    struct io_usage *usage = &io->usage;
    const uint64_t key = (uint64_t)fact->host << 32 | fact->device;
    uint32_t i = lull_map_find(&usage->netif_numbers, key);
    if (i == LULL_MAP_NONE) {
        i = (uint32_t)usage->netifs.count;
        lull_map_insert(&usage->netif_numbers, key, i);
        lull_vec_push(&usage->netifs, (struct io_netif){fact->host, fact->device, {0}, {0}});
    }
    add_bytes(&usage->netifs.items[i].bytes[fact->is_send], fact->length);
    usage->netifs.items[i].packets[fact->is_send]++;
}

void io_usage_free(struct io_usage *usage)
{
    lull_slots_free(&usage->tasks_by_number);
    lull_slots_free(&usage->files_by_number);
    lull_vec_free(&usage->tasks);
    lull_vec_free(&usage->files);
    lull_vec_free(&usage->untyped);
    lull_map_free(&usage->untyped_by_key);
    lull_vec_free(&usage->netifs);
    lull_map_free(&usage->netif_numbers);
}

/* ---- tables ---- */

struct usage_table {
    struct io_analysis *io;
    int64_t end_ns;
    int direction;
    LULL_VEC(struct io_rank) ranks;
    const struct file_group *groups;
};

static void emit_ranks(struct usage_table *table, const struct lull_result_class *class,
                       const char *subtitle,
                       void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                       struct lull_sink *sink)
{
    sink->table(sink, &(struct lull_result_table){
                          .class = class,
                          .subtitle = subtitle,
                          .n_rows = io_rank_sort(table->io, table->ranks.items, table->ranks.count),
                          .row = row,
                          .user = table});
    table->ranks.count = 0;
}

static const char *const directions[] = {"read", "written"};

static const struct lull_result_column per_process_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Total operations size", "TOTAL", "total_bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},
    {"Disk operations size", "DISK", "disk_bytes", LULL_CELL_SIZE, NULL, 0},
    {"Network operations size", "NET", "net_bytes", LULL_CELL_SIZE, NULL, 0},
    {"Unix socket operations size", "SOCKET", "socket_bytes", LULL_CELL_SIZE, NULL, LULL_USE_OWN},
    {"Pipe operations size", "PIPE", "pipe_bytes", LULL_CELL_SIZE, NULL, LULL_USE_OWN},
    {"Other operations size", "OTHER", "other_bytes", LULL_CELL_SIZE, NULL, LULL_USE_OWN},
    {"Unknown operations size", "UNKNOWN", "unknown_bytes", LULL_CELL_SIZE, NULL, 0},
    {0},
};

const struct lull_result_class io_per_process_class = {.name = "per-process-top",
                                                       .title = "Per-process top I/O operations",
                                                       .columns = per_process_columns};

static uint64_t sum_of_types(const struct io_task *task, int direction)
{
    uint64_t sum = 0;
    for (int type = 0; type < IO_FILE_TYPES; type++) {
        add_bytes(&sum, task->bytes[direction][type]);
    }
    return sum;
}

static void per_process_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct usage_table *table = user;
    const struct io_analysis *io = table->io;
    const struct io_rank *rank = &table->ranks.items[index];
    const struct io_task *task = &io->usage.tasks.items[rank->index];
    const uint64_t *bytes = task->bytes[table->direction];
    uint64_t unknown = bytes[LULL_FILE_UNKNOWN];
    /* LAMI's columns know disk and network; what they leave over is unknown, so that they sum up.
     */
    if (io->head.params->is_lami) {
        unknown = rank->value - bytes[LULL_FILE_DISK] - bytes[LULL_FILE_NET];
    }
    *cells++ = lull_cell_host_of(&io->head, lull_model_task(io->head.model, task->task)->host);
    *cells++ = lull_cell_task(io->head.model, task->task, task->last_ns, true);
    *cells++ = io_size_cell(rank->value);
    *cells++ = io_size_cell(bytes[LULL_FILE_DISK]);
    *cells++ = io_size_cell(bytes[LULL_FILE_NET]);
    *cells++ = io_size_cell(bytes[LULL_FILE_SOCKET]);
    *cells++ = io_size_cell(bytes[LULL_FILE_PIPE]);
    *cells++ = io_size_cell(bytes[LULL_FILE_OTHER]);
    *cells = io_size_cell(unknown);
}

static void emit_processes(struct usage_table *table, struct lull_sink *sink)
{
    const struct io_usage *usage = &table->io->usage;
    for (uint32_t i = 0; i < usage->tasks.count; i++) {
        uint64_t sum = sum_of_types(&usage->tasks.items[i], table->direction);
        if (sum || table->io->head.params->is_lami) {
            lull_vec_push(&table->ranks, (struct io_rank){i, sum});
        }
    }
    emit_ranks(table, &io_per_process_class, directions[table->direction], per_process_row, sink);
}

/* Files of one name; of those that have no name of their own, one owner's. */
struct file_group {
    char *name; /* NULL: bytes of descriptors of which nothing is known */
    uint32_t host;
    uint8_t type;
    uint64_t bytes[2];
    LULL_VEC(uint32_t) uses; /* indices in usage.files */
};

typedef LULL_VEC(struct file_group) file_groups;

/* A path names a file, and an address a connection, whoever uses it. "pipe" names nothing. */
static char *file_name(const struct lull_model *model, const struct lull_file *file,
                       int64_t time_ns)
{
    const char *path = lull_model_label(model, file->path);
    bool is_address = path && file->type == LULL_FILE_NET && strchr(path, ':') &&
                      !g_str_has_prefix(path, "socket");
    if (path && (file->type == LULL_FILE_DISK || *path == '/' || is_address)) {
        return g_strdup(path);
    }
    return g_strdup_printf("%s (%s)", path ? path : "unknown",
                           lull_model_comm(model, file->owner, time_ns));
}

static struct file_group *group_of(file_groups *groups, GHashTable *by_name,
                                   const struct lull_file *file, uint8_t type, char *name)
{
    g_autofree char *key = g_strdup_printf("%u %s", file->host, name);
    uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(by_name, key));
    if (at == 0) {
        lull_vec_push(groups, (struct file_group){.name = name, .host = file->host, .type = type});
        at = (uint32_t)groups->count;
        g_hash_table_insert(by_name, g_steal_pointer(&key), GUINT_TO_POINTER(at));
    } else {
        g_free(name);
    }
    return &groups->items[at - 1];
}

static void group_files(const struct io_analysis *io, int64_t end_ns, file_groups *groups)
{
    g_autoptr(GHashTable) by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < io->usage.files.count; i++) {
        const struct io_file *use = &io->usage.files.items[i];
        const struct lull_file *file = lull_model_file(io->head.model, use->file);
        struct file_group *group = group_of(groups, by_name, file, type_of(io, file),
                                            file_name(io->head.model, file, end_ns));
        add_bytes(&group->bytes[READ], use->bytes[READ]);
        add_bytes(&group->bytes[WRITTEN], use->bytes[WRITTEN]);
        lull_vec_push(&group->uses, (uint32_t)i);
    }
    const uint64_t *unknown = io->usage.unknown_bytes;
    if ((unknown[READ] || unknown[WRITTEN]) && !io->head.params->is_lami) {
        lull_vec_push(groups, (struct file_group){.bytes = {unknown[READ], unknown[WRITTEN]}});
    }
}

static const struct lull_result_column per_file_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"File path/info", "FILE", "path", LULL_CELL_PATH, NULL, 0},
    {"Operations size", "SIZE", "bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},
    {"Kind of file", "KIND", "kind", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"File descriptor owners", "OWNERS", "owners", LULL_CELL_STRING, NULL, LULL_USE_NOT_TEXT},
    {0},
};

const struct lull_result_class io_per_file_class = {
    .name = "per-file-top", .title = "Per-file top I/O operations", .columns = per_file_columns};

/* "fd 3 in cat (12) fd 4 in dd (13) ": of each process the descriptor that it used first. */
static const char *owners_text(const struct usage_table *table, const struct file_group *group)
{
    const struct lull_model *model = table->io->head.model;
    GString *text = table->io->text;
    struct lull_map seen = {0};
    g_string_truncate(text, 0);
    for (size_t i = 0; i < group->uses.count; i++) {
        const struct io_file *use = &table->io->usage.files.items[group->uses.items[i]];
        const struct lull_file *file = lull_model_file(model, use->file);
        if (use->bytes[table->direction] == 0 ||
            lull_map_insert(&seen, file->owner, 0) != LULL_MAP_NONE) {
            continue;
        }
        const struct lull_task *owner = lull_model_task(model, file->owner);
        g_string_append_printf(text, "fd %d in %s (%d) ", file->fd,
                               lull_model_comm(model, file->owner, table->end_ns),
                               owner->pid >= 0 ? owner->pid : owner->tid);
    }
    lull_map_free(&seen);
    return text->str;
}

static void per_file_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    static const char *const kinds[IO_FILE_TYPES] = {
        [LULL_FILE_UNKNOWN] = NULL,    [LULL_FILE_DISK] = "disk", [LULL_FILE_NET] = "net",
        [LULL_FILE_SOCKET] = "socket", [LULL_FILE_PIPE] = "pipe", [LULL_FILE_OTHER] = "other"};
    const struct usage_table *table = user;
    const struct file_group *group = &table->groups[table->ranks.items[index].index];
    *cells++ = group->name ? lull_cell_host_of(&table->io->head, group->host)
                           : lull_cell_text(LULL_CELL_HOST, NULL);
    *cells++ = lull_cell_text(LULL_CELL_PATH, group->name);
    *cells++ = io_size_cell(group->bytes[table->direction]);
    *cells++ = lull_cell_text(LULL_CELL_STRING, kinds[group->type]);
    *cells = lull_cell_text(LULL_CELL_STRING, owners_text(table, group));
}

static void emit_files(struct usage_table *table, const file_groups *groups, struct lull_sink *sink)
{
    table->groups = groups->items;
    for (uint32_t i = 0; i < groups->count; i++) {
        uint64_t bytes = groups->items[i].bytes[table->direction];
        if (bytes) {
            lull_vec_push(&table->ranks, (struct io_rank){i, bytes});
        }
    }
    emit_ranks(table, &io_per_file_class, directions[table->direction], per_file_row, sink);
}

static const struct lull_result_column per_netif_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Network interface", "INTERFACE", "netif", LULL_CELL_NETIF, NULL, 0},
    {"Operations size", "SIZE", "bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},
    {"Packets", "PACKETS", "packets", LULL_CELL_NUMBER, "packets", LULL_USE_OWN},
    {0},
};

const struct lull_result_class io_per_netif_class = {.name = "per-netif-top",
                                                     .title =
                                                         "Per-network interface top I/O operations",
                                                     .columns = per_netif_columns};

static void per_netif_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct usage_table *table = user;
    const struct io_analysis *io = table->io;
    const struct io_netif *netif = &io->usage.netifs.items[table->ranks.items[index].index];
    *cells++ = lull_cell_host_of(&io->head, netif->host);
    *cells++ = lull_cell_text(LULL_CELL_NETIF, lull_model_label(io->head.model, netif->device));
    *cells++ = io_size_cell(netif->bytes[table->direction]);
    *cells = io_count_cell(netif->packets[table->direction]);
}

static void emit_netifs(struct usage_table *table, const char *subtitle, struct lull_sink *sink)
{
    const struct io_usage *usage = &table->io->usage;
    for (uint32_t i = 0; i < usage->netifs.count; i++) {
        lull_vec_push(&table->ranks,
                      (struct io_rank){i, usage->netifs.items[i].bytes[table->direction]});
    }
    emit_ranks(table, &io_per_netif_class, subtitle, per_netif_row, sink);
}

void io_usage_emit(struct io_analysis *io, int64_t end_ns, struct lull_sink *sink)
{
    struct usage_table table = {.io = io, .end_ns = end_ns};
    file_groups groups = {0};
    settle_untyped(io);
    group_files(io, end_ns, &groups);
    for (table.direction = READ; table.direction <= WRITTEN; table.direction++) {
        emit_processes(&table, sink);
    }
    for (table.direction = READ; table.direction <= WRITTEN; table.direction++) {
        emit_files(&table, &groups, sink);
    }
    io_disks_emit_usage(io, end_ns, sink);
    static const char *const ways[] = {"received", "sent"};
    for (table.direction = 0; table.direction <= 1; table.direction++) {
        emit_netifs(&table, ways[table.direction], sink);
    }
    for (size_t i = 0; i < groups.count; i++) {
        g_free(groups.items[i].name);
        lull_vec_free(&groups.items[i].uses);
    }
    lull_vec_free(&groups);
    lull_vec_free(&table.ranks);
}
