/* SPDX-License-Identifier: MIT */
/* What system calls were given by pointer, and the arguments of programs, where the recorder has read them beside a
 * tracer that records pointers only. The recorder reads at the end of a call, just before the tracer sees that end; so
 * what it read belongs to the call that the task is in. */
#include "kernel/machine.h"

#include <string.h>

struct inode_name {
    uint64_t inode;
    uint32_t dev, host;
    uint32_t path;   /* label of the last that it was opened by */
    uint32_t before; /* another of the same hash, or LULL_MAP_NONE */
};

struct inode_names {
    LULL_VEC(struct inode_name) names;
    struct lull_map by_file; /* hash of host, dev, inode → the name that came last */
};

void names_free(struct inode_names *names)
{
    if (names) {
        lull_vec_free(&names->names);
        lull_map_free(&names->by_file);
        g_free(names);
    }
}

static uint64_t key_of(const struct inode_name *file)
{
    const uint64_t words[] = {file->inode, (uint64_t)file->dev << 32 | file->host};
    return lull_hash_words(words, sizeof words);
}

/* NULL: it has no name yet. */
static struct inode_name *find_name(const struct inode_names *names, const struct inode_name *file)
{
    uint32_t found = lull_map_find(&names->by_file, key_of(file));
    while (found != LULL_MAP_NONE) {
        struct inode_name *name = &names->names.items[found];
        if (name->inode == file->inode && name->dev == file->dev && name->host == file->host) {
            return name;
        }
        found = name->before;
    }
    return NULL;
}

static void name_file(struct lull_model *model, uint32_t host, int64_t dev, int64_t inode,
                      struct lull_text path)
{
    if (!(model->wanted.paging && path.length > 0 && inode != 0)) {
        return;
    }
    if (!model->inode_names) {
        model->inode_names = g_new0(struct inode_names, 1);
    }
    struct inode_names *names = model->inode_names;
    struct inode_name file = {(uint64_t)inode, (uint32_t)dev, host, LULL_NONE, LULL_MAP_NONE};
    struct inode_name *known = find_name(names, &file);
    if (!known) {
        const uint64_t key = key_of(&file);
        file.before = lull_map_find(&names->by_file, key);
        lull_map_insert(&names->by_file, key, (uint32_t)names->names.count);
        lull_vec_push(&names->names, file);
        known = &names->names.items[names->names.count - 1];
    }
    known->path = model_label_of(model, path);
}

uint32_t names_of_inode(const struct lull_model *model, uint32_t host, int64_t dev, uint64_t inode)
{
    const struct inode_name file = {.inode = inode, .dev = (uint32_t)dev, .host = host};
    const struct inode_name *known =
        model->inode_names && inode != 0 ? find_name(model->inode_names, &file) : NULL;
    return known ? known->path : LULL_NONE;
}

void names_file(struct lull_model *model, const struct machine *machine,
                const struct lull_ev_mapped_file *ev)
{
    name_file(model, machine->host, ev->dev, ev->inode, ev->path);
}

/* The call that the task is in; NULL: it was not seen, or nobody follows files. */
static struct call *call_of(struct lull_model *model, struct machine *machine, int64_t tid)
{
    if (!model->follows_files || tid <= 0 || tid > INT32_MAX) {
        return NULL;
    }
    const uint32_t task = lull_model_find_tid(model, machine->host, (int32_t)tid);
    const uint32_t number = task == LULL_NONE ? LULL_NONE : model->tasks.items[task].call;
    return number == LULL_NONE ? NULL : &model->calls.items[number];
}

void names_path(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_path *ev)
{
    struct call *call = call_of(model, machine, ev->tid);
    if (LULL_HAS(ev, call_path, inode)) {
        name_file(model, machine->host, ev->dev, ev->inode, ev->path);
    }
    if (call && !(call->args.have & CALL_ARG_PATH)) {
        call->args.have |= CALL_ARG_PATH;
        g_string_append_len(call->path, ev->path.data, ev->path.length);
    }
}

static void take_half(uint8_t bytes[static 8], uint64_t half)
{
    for (unsigned i = 8; i-- > 0; half >>= 8) {
        bytes[i] = (uint8_t)half;
    }
}

void names_address(struct lull_model *model, struct machine *machine,
                   const struct lull_ev_call_address *ev)
{
    struct call *call = call_of(model, machine, ev->tid);
    if (!call || call->args.has_ip || ev->port < 0 || ev->port > UINT16_MAX) {
        return;
    }
    struct call_args *args = &call->args;
    if (ev->family == CALL_FAMILY_INET || ev->family == CALL_FAMILY_INET6) {
        args->have |= CALL_ARG_FAMILY;
        args->family = (int32_t)ev->family;
        args->port = (uint32_t)ev->port;
        args->has_ip = true;
        take_half(args->ip, (uint64_t)ev->high);
        take_half(args->ip + 8, (uint64_t)ev->low);
    } else if (ev->family == CALL_FAMILY_UNIX && ev->path.length > 0 &&
               !(args->have & CALL_ARG_PATH)) {
        args->have |= CALL_ARG_FAMILY | CALL_ARG_PATH;
        args->family = CALL_FAMILY_UNIX;
        g_string_append_len(call->path, ev->path.data, ev->path.length);
    }
}

/* The socket may be named already, by who connected it. */
void names_peer(struct lull_model *model, struct machine *machine,
                const struct lull_ev_statedump_peer *ev)
{
    const uint32_t file = files_dumped_as(model, machine, ev->table, ev->fd);
    struct lull_file *known = file == LULL_NONE ? NULL : &model->files.items[file];
    uint8_t ip[16];
    if (!known || known->path == LULL_NONE ||
        !g_str_has_prefix(model->labels.items[known->path], "socket:")) {
        return;
    }
    if (ev->family == CALL_FAMILY_UNIX && ev->path.length > 0) {
        files_name(model, file, model_label_of(model, ev->path), LULL_FILE_SOCKET);
        return;
    }
    if (ev->port < 0 || ev->port > UINT16_MAX ||
        (ev->family != CALL_FAMILY_INET && ev->family != CALL_FAMILY_INET6)) {
        return;
    }
    take_half(ip, (uint64_t)ev->high);
    take_half(ip + 8, (uint64_t)ev->low);
    known->is_datagram = ev->is_datagram != 0;
    known->is_accepted = LULL_HAS(ev, statedump_peer, own_port) &&
                         ev->own_port < LULL_FIRST_EPHEMERAL_PORT &&
                         ev->port >= LULL_FIRST_EPHEMERAL_PORT;
    files_name(model, file,
               calls_label_of_address(model, (int32_t)ev->family, ip, (uint32_t)ev->port),
               LULL_FILE_NET);
}

/* The recorder does not know for sure that the call has waited. */
void names_poll(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_poll *ev)
{
    struct call *call = call_of(model, machine, ev->tid);
    if (call && call->has_blocked && call->name.kind->effect == CALL_POLL) {
        call->polled.n = call->is_asking ? 0 : call->polled.n;
        call->is_asking = false;
        polled_add(call, ev->fd);
    }
}

void names_polled(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_poll *ev)
{
    struct call *call = call_of(model, machine, ev->tid);
    /* A snapshot has the state of shortly after its end: the call that its events know may be over. */
    if (call && call->has_blocked && call->name.kind->effect == CALL_POLL &&
        (!machine->is_snapshot || call->start_ns == INT64_MIN)) {
        call->is_asking = true;
        polled_add(call, ev->fd);
        call->given = polled_label(model, call);
    }
}

/* In epoll_ctl() what the program calls the descriptor, else what became ready. */
void names_epoll(struct lull_model *model, struct machine *machine,
                 const struct lull_ev_call_epoll *ev)
{
    struct call *call = call_of(model, machine, ev->tid);
    const enum call_effect effect = call ? call->name.kind->effect : CALL_NOTHING;
    if (effect == CALL_EPOLL_CTL) {
        call->args.have |= CALL_ARG_DATA;
        call->args.data = (uint64_t)ev->data;
    } else if (effect == CALL_EPOLL_WAIT && call->has_blocked) {
        epoll_ready(model, call, (uint64_t)ev->data);
    }
}

void names_pair(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_pair *ev)
{
    struct call *call = call_of(model, machine, ev->tid);
    if (call && ev->first >= 0 && ev->first <= INT32_MAX && ev->second >= 0 &&
        ev->second <= INT32_MAX) {
        call->args.have |= CALL_ARG_PAIR;
        call->args.pair[0] = (int32_t)ev->first;
        call->args.pair[1] = (int32_t)ev->second;
    }
}

void names_command(struct lull_model *model, struct machine *machine,
                   const struct lull_ev_command_line *ev)
{
    if (ev->pid > 0 && ev->pid <= INT32_MAX && ev->arguments.length > 0) {
        const uint32_t task = model_task(model, machine, (int32_t)ev->pid, 0);
        model->tasks.items[task].command = model_label_of(model, ev->arguments);
    }
}

const char *lull_model_command(const struct lull_model *model, uint32_t task)
{
    const struct lull_task *known = lull_model_task(model, task);
    const uint32_t leader = known->pid > 0 && known->pid != known->tid
                                ? lull_model_find_tid(model, known->host, known->pid)
                                : task;
    const uint32_t command = leader == LULL_NONE ? LULL_NONE : model->tasks.items[leader].command;
    return command == LULL_NONE ? NULL : model->labels.items[command];
}
