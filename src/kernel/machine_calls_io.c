/* SPDX-License-Identifier: MIT */
/* What system calls do with descriptors: their arguments as the tracers record them, and the effect
 * of each kind of call (calls.def) on the table of its process when it has ended. */
#include "kernel/machine.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- arguments ---- */

#define HAS(field) LULL_HAS(ev, io_entry, field)

/* An address of either family, in network order. */
static bool take_ip(uint8_t ip[static 16], struct lull_text ip4, struct lull_text ip6)
{
    if (ip4.length == 4) {
        memcpy(ip, ip4.data, 4);
    } else if (ip6.length == 16) {
        memcpy(ip, ip6.data, 16);
    } else {
        return false;
    }
    return true;
}

static void take_fields(struct call *call, const struct lull_ev_io_entry *ev)
{
    struct call_args *args = &call->args;
    /* Both sides name the numbers in the same order. */
    enum { FIRST = LULL_FIELD_io_entry_fd, NUMBERS = 2 * CALL_ARG_FAMILY - 1 };
    G_STATIC_ASSERT(CALL_ARG_FD == 1 &&
                    CALL_ARG_TO_FD == 1 << (LULL_FIELD_io_entry_to_fd - FIRST) &&
                    CALL_ARG_NEW_FD == 1 << (LULL_FIELD_io_entry_new_fd - FIRST) &&
                    CALL_ARG_BYTES == 1 << (LULL_FIELD_io_entry_bytes - FIRST) &&
                    CALL_ARG_FLAGS == 1 << (LULL_FIELD_io_entry_flags - FIRST) &&
                    CALL_ARG_COMMAND == 1 << (LULL_FIELD_io_entry_command - FIRST) &&
                    CALL_ARG_ARGUMENT == 1 << (LULL_FIELD_io_entry_argument - FIRST) &&
                    CALL_ARG_FAMILY == 1 << (LULL_FIELD_io_entry_family - FIRST));
    args->have = (uint32_t)(ev->have >> FIRST) & NUMBERS;
    args->fd = (int32_t)ev->fd;
    if (ev->have >> (FIRST + 1) == 0) {
        return; /* many have nothing else */
    }
    args->to_fd = (int32_t)ev->to_fd;
    args->new_fd = (int32_t)ev->new_fd;
    args->bytes = ev->bytes;
    args->flags = (uint32_t)ev->flags;
    args->command = (uint32_t)ev->command;
    args->argument = (uint64_t)ev->argument;
    args->family = (int32_t)ev->family;
    args->port = (uint16_t)ev->port;
    args->watched = (uint32_t)ev->watched;
    args->have |= HAS(watched) ? CALL_ARG_WATCHED : 0;
    args->ipc = (int32_t)ev->ipc;
    args->have |= HAS(ipc) ? CALL_ARG_IPC : 0;
    args->has_ip = take_ip(args->ip, ev->ip4, ev->ip6);
    if (HAS(path)) {
        args->have |= CALL_ARG_PATH;
        g_string_append_len(call->path, ev->path.data, ev->path.length);
    }
}

uint64_t calls_number_at(struct lull_text array, uint32_t index, uint32_t width, bool is_big_endian)
{
    uint64_t value = 0;
    if (((uint64_t)index + 1) * width > array.length) {
        return 0;
    }
    const uint8_t *bytes = (const uint8_t *)array.data + (size_t)index * width;
    for (uint32_t i = 0; i < width; i++) {
        value = value << 8 | bytes[is_big_endian ? i : width - 1 - i];
    }
    return value;
}

/* Numbers of which calls.def says what they mean. */
static void take_raw(const struct call_class *call_class, struct call *call, struct lull_text array)
{
#define LETTER(letter, is_wide, member, arg)                                                       \
    [(letter) - 'a'] = {offsetof(struct call_args, member), CALL_ARG_##arg, is_wide}
    static const struct {
        uint16_t offset, arg; /* arg 0: none */
        bool is_wide;
    } meanings['z' - 'a' + 1] = {
        LETTER('f', false, fd, FD),
        LETTER('t', false, to_fd, TO_FD),
        LETTER('n', false, new_fd, NEW_FD),
        LETTER('c', true, bytes, BYTES),
        LETTER('o', false, flags, FLAGS),
        LETTER('m', false, command, COMMAND),
        LETTER('a', true, argument, ARGUMENT),
        LETTER('y', false, family, FAMILY),
        LETTER('u', true, futex.address, FUTEX),
        LETTER('p', false, futex.operation, FUTEX),
        LETTER('v', false, futex.value, FUTEX),
        LETTER('w', false, watched, WATCHED),
        LETTER('i', false, ipc, IPC),
    };
#undef LETTER
    const char *letters = call->name.kind->arguments;
    uint32_t width = call_class->word_bytes;
    for (uint32_t i = 0; letters[i] && (i + 1) * width <= array.length; i++) {
        const unsigned letter = (unsigned)(letters[i] - 'a');
        if (letter >= G_N_ELEMENTS(meanings) || !meanings[letter].arg) {
            continue;
        }
        const uint64_t value = calls_number_at(array, i, width, call_class->is_big_endian);
        void *position = (char *)&call->args + meanings[letter].offset;
        if (meanings[letter].is_wide) {
            *(uint64_t *)position = value;
        } else {
            *(uint32_t *)position = (uint32_t)value;
        }
        call->args.have |= meanings[letter].arg;
    }
}

static void take_futex_operation(struct lull_futex *futex, uint32_t operation)
{
    enum { FUTEX_PRIVATE = 128, FUTEX_CLOCK_REALTIME = 256 };
    futex->operation = (int32_t)(operation & ~(uint32_t)(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME));
    futex->is_private = operation & FUTEX_PRIVATE;
}

void call_take(struct lull_model *model, const struct call_class *call_class, struct call *call,
               enum lull_event_id id, const void *event)
{
    /* What is not had has no meaning: clearing it would cost more than all else of a call. */
    call->args.have = 0;
    call->args.has_ip = false;
    if (id == LULL_EVENT_syscall_entry) { /* most, where arguments are not wanted */
        return;
    }
    if (id == LULL_EVENT_io_entry) {
        take_fields(call, event);
    } else if (id == LULL_EVENT_raw_entry) {
        call->args = (struct call_args){.have = 0};
        take_raw(call_class, call, ((const struct lull_ev_raw_entry *)event)->args);
        take_futex_operation(&call->args.futex, (uint32_t)call->args.futex.operation);
    } else if (id == LULL_EVENT_exec_entry) {
        const struct lull_ev_exec_entry *ev = event;
        g_string_append_len(call->path, ev->path.data, ev->path.length);
    } else if (id == LULL_EVENT_futex_entry) {
        const struct lull_ev_futex_entry *ev = event;
        if (!LULL_HAS(ev, futex_entry, address) || !LULL_HAS(ev, futex_entry, operation)) {
            return;
        }
        call->args.have |= CALL_ARG_FUTEX;
        call->args.futex.address = (uint64_t)ev->address;
        call->args.futex.value = (uint32_t)ev->value;
        take_futex_operation(&call->args.futex, (uint32_t)ev->operation);
    } else if (id == LULL_EVENT_epoll_entry) {
        const struct lull_ev_epoll_entry *ev = event;
        call->args.have = (LULL_HAS(ev, epoll_entry, epoll) ? CALL_ARG_FD : 0) |
                          (LULL_HAS(ev, epoll_entry, operation) ? CALL_ARG_COMMAND : 0) |
                          (LULL_HAS(ev, epoll_entry, fd) ? CALL_ARG_NEW_FD : 0);
        call->args.fd = (int32_t)ev->epoll;
        call->args.command = (uint32_t)ev->operation;
        call->args.new_fd = (int32_t)ev->fd;
        if (LULL_HAS(ev, epoll_entry, data)) {
            call->args.have |= CALL_ARG_DATA;
            call->args.data = (uint64_t)ev->data;
        }
    } else if (id == LULL_EVENT_poll_entry) {
        const struct lull_ev_poll_entry *ev = event;
        call->args.have = LULL_HAS(ev, poll_entry, watched) ? CALL_ARG_WATCHED : 0;
        call->args.watched = (uint32_t)ev->watched;
        polled_started(call, call_class, ev);
    }
    if (!model->follows_files) {
        return;
    }
    if (call->args.have & CALL_ARG_FD) {
        call->file = files_find(model, call->task, call->args.fd);
    }
    if (call->args.have & CALL_ARG_TO_FD) {
        call->to_file = files_find(model, call->task, call->args.to_fd);
    }
    if (call->name.kind->effect == CALL_EPOLL_WAIT && call->file != LULL_NONE) {
        call->watched = epoll_label(model, call->file);
    }
}
#undef HAS

/* ---- effects ---- */

/* A call that ended, and what is made of it. */
struct ended {
    struct lull_model *model;
    const struct call_class *call_class;
    const struct call *call;
    const struct call_kind *kind;
    const struct lull_ev_io_exit *event; /* or NULL */
    uint32_t task;
    int64_t t;
    bool has_ret;
    int64_t ret;
    struct lull_io *io;
};

static bool has(const struct ended *e, enum call_arg arg)
{
    return e->call->args.have & arg;
}

static bool succeeded(const struct ended *e)
{
    bool is_32bit = e->call->may_be_32bit || e->call_class->is_32bit;
    return e->has_ret && call_error(e->ret, is_32bit) == 0;
}

/* The descriptor that the call returned; -1 if it failed. */
static int32_t returned_fd(const struct ended *e)
{
    return succeeded(e) && e->ret >= 0 && e->ret <= INT32_MAX ? (int32_t)e->ret : -1;
}

static const struct call_arch *arch_of(const struct ended *e)
{
    return e->model->machines.items[e->model->tasks.items[e->task].public.host].arch;
}

static bool wants_cloexec(const struct ended *e)
{
    uint32_t bits = e->kind->cloexec;
    if (bits == CALL_CLOEXEC_ALWAYS) {
        return true;
    }
    if (bits == CALL_CLOEXEC_O_CLOEXEC) {
        bits = arch_of(e)->o_cloexec;
    }
    return has(e, CALL_ARG_FLAGS) && (e->call->args.flags & bits);
}

/* The file of a descriptor that the call was given, if it was `known` when the call started: that is when
 * the kernel looks it up, so other threads may close it in the meantime, and open another with its number. */
static uint32_t given(struct ended *e, uint32_t known, int32_t fd)
{
    if (known != LULL_NONE) {
        return known;
    }
    const uint32_t file = files_use(e->model, e->task, fd);
    return file != LULL_NONE && e->model->files.items[file].open_ns > e->call->start_ns ? LULL_NONE
                                                                                        : file;
}

/* The call was given a descriptor: its file, unless the call says that it is none. Some calls show
 * the type of a file that was open before the trace. */
static void use(struct ended *e)
{
    enum { EBADF_ = 9 };
    if (!has(e, CALL_ARG_FD)) {
        return;
    }
    e->io->fd = e->call->args.fd;
    if (e->has_ret && e->ret == -EBADF_) {
        return;
    }
    e->io->file = given(e, e->call->file, e->io->fd);
    if (e->io->file == LULL_NONE) {
        return;
    }
    struct lull_file *file = &e->model->files.items[e->io->file];
    if (file->type == LULL_FILE_UNKNOWN && succeeded(e)) {
        file->type = e->kind->file_type;
    }
}

uint32_t calls_label_of_address(struct lull_model *model, int32_t family, const uint8_t ip[16],
                                uint32_t port)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char address[INET6_ADDRSTRLEN] = "?", text[INET6_ADDRSTRLEN + 16];
    if (family == CALL_FAMILY_INET6 && memcmp(ip, mapped, sizeof mapped) == 0) {
        family = CALL_FAMILY_INET;
        ip += sizeof mapped;
    }
    inet_ntop(family == CALL_FAMILY_INET6 ? AF_INET6 : AF_INET, ip, address, sizeof address);
    g_snprintf(text, sizeof text, family == CALL_FAMILY_INET6 ? "[%s]:%u" : "%s:%u", address, port);
    return model_label(model, text);
}

static bool is_internet(int32_t family)
{
    return family == CALL_FAMILY_INET || family == CALL_FAMILY_INET6;
}

static void name_by_address(struct ended *e, uint32_t file, int32_t family, const uint8_t ip[16],
                            uint32_t port)
{
    if (file != LULL_NONE && is_internet(family)) {
        files_name(e->model, file, calls_label_of_address(e->model, family, ip, port),
                   LULL_FILE_NET);
    }
}

static void make_named(struct ended *e, const char *path /* or NULL */)
{
    const int32_t fd = returned_fd(e);
    if (fd >= 0) {
        e->io->fd = fd;
        e->io->file =
            files_open(e->model, e->task, e->t, fd, path ? model_label(e->model, path) : LULL_NONE,
                       e->kind->file_type, wants_cloexec(e));
    }
}

/* Nothing can be opened by the path "" (path_resolution(7)): the tracer could not read it. */
static bool has_path(const struct ended *e)
{
    return has(e, CALL_ARG_PATH) && e->call->path->len;
}

static void make(struct ended *e)
{
    const char *name = e->kind->file_name;
    make_named(e, !name || *name ? name : has_path(e) ? e->call->path->str : NULL);
}

/* The kernel is given the name of a message queue without its slash (mq_open(3)), which the link in /proc has. */
static void make_queue(struct ended *e)
{
    if (has_path(e)) {
        g_string_printf(e->model->scratch, "/%s", e->call->path->str);
    }
    make_named(e, has_path(e) ? e->model->scratch->str : NULL);
}

static void make_or_change(struct ended *e)
{
    if (has(e, CALL_ARG_FD) && e->call->args.fd >= 0) {
        e->io->kind = LULL_IO_OTHER;
        use(e);
    } else {
        make(e);
    }
}

static void make_unless_flags(struct ended *e)
{
    if (has(e, CALL_ARG_FLAGS) && e->call->args.flags != 0) {
        e->io->kind = LULL_IO_OTHER;
    } else {
        make(e);
    }
}

/* Commands of bpf() that return a descriptor (linux/bpf.h). */
static void bpf(struct ended *e)
{
    const uint64_t makers = UINT64_C(1) << 0 | UINT64_C(1) << 5 | UINT64_C(1) << 7 |
                            UINT64_C(1) << 13 | UINT64_C(1) << 14 | UINT64_C(1) << 17 |
                            UINT64_C(1) << 18 | UINT64_C(1) << 19 | UINT64_C(1) << 28 |
                            UINT64_C(1) << 30 | UINT64_C(1) << 32 | UINT64_C(1) << 33;
    uint32_t command = e->call->args.command;
    if (!has(e, CALL_ARG_COMMAND) || command > 63 || !(makers >> command & 1)) {
        return;
    }
    e->io->kind = LULL_IO_OPEN;
    make(e);
}

static enum lull_file_type type_of_family(int32_t family)
{
    return is_internet(family) ? LULL_FILE_NET : LULL_FILE_SOCKET;
}

static void make_socket(struct ended *e)
{
    make(e);
    if (e->io->file != LULL_NONE && has(e, CALL_ARG_FAMILY)) {
        enum { KIND_MASK = 0xf, DATAGRAM = 2 }; /* SOCK_DGRAM; MIPS alone has other numbers */
        struct lull_file *file = &e->model->files.items[e->io->file];
        file->type = type_of_family(e->call->args.family);
        file->is_datagram = file->type == LULL_FILE_NET && has(e, CALL_ARG_FLAGS) &&
                            (e->call->args.flags & KIND_MASK) == DATAGRAM;
    }
}

static void make_pair(struct ended *e)
{
    const bool has_fields = e->event && e->event->pair.length == 2 * sizeof(int32_t);
    if (!succeeded(e) || (!has_fields && !has(e, CALL_ARG_PAIR))) {
        return;
    }
    uint32_t path = model_label(e->model, e->kind->file_name);
    int32_t fds[2];
    uint32_t files[2];
    for (uint32_t i = 0; i < 2; i++) {
        fds[i] = has_fields ? (int32_t)(uint32_t)calls_number_at(e->event->pair, i, sizeof(int32_t),
                                                                 e->call_class->is_big_endian)
                            : e->call->args.pair[i];
        files[i] =
            files_open(e->model, e->task, e->t, fds[i], path, e->kind->file_type, wants_cloexec(e));
    }
    e->io->fd = fds[0], e->io->to_fd = fds[1];
    e->io->file = files[0], e->io->to_file = files[1];
}

/* What is accepted is of the family that its address has, or else of the listening socket's. */
/* A socket that has not been bound, or of which nothing else is known. */
static bool is_nameless(const char *socket)
{
    return strcmp(socket, "socket") == 0 || g_str_has_prefix(socket, "socket:[");
}

static void accept_peer(struct ended *e)
{
    const struct lull_ev_io_exit *ev = e->event;
    enum lull_file_type type = LULL_FILE_SOCKET;
    uint32_t path = LULL_NONE;
    if (has(e, CALL_ARG_FD)) {
        use(e);
        const struct lull_file *listener =
            e->io->file != LULL_NONE ? &e->model->files.items[e->io->file] : NULL;
        if (listener && listener->type == LULL_FILE_NET) {
            type = LULL_FILE_NET;
        } else if (listener && listener->path != LULL_NONE &&
                   !is_nameless(e->model->labels.items[listener->path])) {
            path = listener->path; /* a unix socket is called as who connected it calls it */
        }
        e->io->fd = -1;
        e->io->file = LULL_NONE;
    }
    make(e);
    if (e->io->file == LULL_NONE) {
        return;
    }
    e->model->files.items[e->io->file].type = type;
    e->model->files.items[e->io->file].is_accepted = true;
    if (path != LULL_NONE) {
        e->model->files.items[e->io->file].path = path;
    }
    uint8_t ip[16] = {0};
    if (ev && LULL_HAS(ev, io_exit, family) && LULL_HAS(ev, io_exit, port) &&
        take_ip(ip, ev->ip4, ev->ip6)) {
        name_by_address(e, e->io->file, (int32_t)ev->family, ip, (uint16_t)ev->port);
    } else if (e->call->args.has_ip && has(e, CALL_ARG_FAMILY)) {
        const struct call_args *args = &e->call->args;
        name_by_address(e, e->io->file, args->family, args->ip, args->port);
    }
}

/* A socket is named by its peer; until there is one, by the address it is bound to. */
static void name_socket(struct ended *e, bool is_done)
{
    const struct call_args *args = &e->call->args;
    use(e);
    if (e->io->file == LULL_NONE) {
        return;
    }
    if (e->model->files.items[e->io->file].path == LULL_NONE && has(e, CALL_ARG_FAMILY)) {
        e->model->files.items[e->io->file].type = type_of_family(args->family);
    }
    if (is_done && args->has_ip && has(e, CALL_ARG_FAMILY)) {
        name_by_address(e, e->io->file, args->family, args->ip, args->port);
    } else if (is_done && has(e, CALL_ARG_PATH) && has(e, CALL_ARG_FAMILY) &&
               args->family == CALL_FAMILY_UNIX && e->call->path->len) {
        files_name(e->model, e->io->file, model_label(e->model, e->call->path->str),
                   LULL_FILE_SOCKET);
    }
}

/* One that fails leaves the socket without a peer: it is called by whom it was to have, unless it had one before. */
static void connect_peer(struct ended *e)
{
    enum { EFAULT_ = 14, ENOTSOCK_ = 88, EISCONN_ = 106, EINPROGRESS_ = 115 };
    const bool is_known = arch_of(e)->einprogress == EINPROGRESS_; /* what the other numbers mean */
    const bool is_asked = e->has_ret && e->ret == -arch_of(e)->einprogress;
    name_socket(e, e->has_ret && (e->ret == 0 || is_asked ||
                                  (is_known && e->ret != -EFAULT_ && e->ret != -ENOTSOCK_ &&
                                   e->ret != -EISCONN_)));
    if (is_asked) {
        e->io->kind = LULL_IO_CONNECT;
    }
}

static void bind_address(struct ended *e)
{
    /* To port 0: the kernel chooses one. */
    name_socket(e, e->has_ret && e->ret == 0 &&
                       !(is_internet(e->call->args.family) && e->call->args.port == 0));
}

static void duplicate(struct ended *e)
{
    int32_t fd = returned_fd(e);
    use(e);
    const bool is_itself = has(e, CALL_ARG_NEW_FD) && fd == e->io->fd;
    if (fd < 0 || (is_itself && e->io->file != LULL_NONE)) { /* dup2() of a number to itself */
        return;
    }
    e->io->to_fd = fd;
    e->io->to_file =
        files_open(e->model, e->task, e->t, fd, LULL_NONE, LULL_FILE_UNKNOWN, wants_cloexec(e));
    if (e->io->file != LULL_NONE) {
        files_copied(e->model, e->io->file, e->io->to_file);
    }
}

static void control(struct ended *e)
{
    enum { DUPFD = 0, SETFD = 2, DUPFD_CLOEXEC = 1030, FLAG_CLOEXEC = 1 };
    uint32_t command = e->call->args.command;
    if (has(e, CALL_ARG_COMMAND) && (command == DUPFD || command == DUPFD_CLOEXEC)) {
        e->io->kind = LULL_IO_DUP;
        duplicate(e);
        if (command == DUPFD_CLOEXEC) {
            files_set_cloexec(e->model, e->task, e->io->to_fd, true);
        }
        return;
    }
    use(e);
    if (has(e, CALL_ARG_COMMAND) && command == SETFD && succeeded(e)) {
        files_set_cloexec(e->model, e->task, e->io->fd, e->call->args.argument & FLAG_CLOEXEC);
    }
}

/* Python, for one, sets the flag so; terminals come from openpty(3). Some architectures have other numbers for the same. */
static void control_device(struct ended *e)
{
    static const uint32_t set[] = {0x5451, 0x6601, 0x20006601};      /* FIOCLEX of asm/ioctls.h */
    static const uint32_t clear[] = {0x5450, 0x6602, 0x20006602};    /* FIONCLEX */
    static const uint32_t peer[] = {0x5441, 0x20005441, 0x20007489}; /* TIOCGPTPEER */
    use(e);
    for (size_t i = 0; has(e, CALL_ARG_COMMAND) && succeeded(e) && i < G_N_ELEMENTS(set); i++) {
        const uint32_t command = e->call->args.command;
        if (command == set[i] || command == clear[i]) {
            files_set_cloexec(e->model, e->task, e->io->fd, command == set[i]);
        } else if (command == peer[i]) {
            const bool is_cloexec =
                has(e, CALL_ARG_ARGUMENT) && (e->call->args.argument & arch_of(e)->o_cloexec);
            files_open(e->model, e->task, e->t, returned_fd(e), model_label(e->model, "terminal"),
                       LULL_FILE_OTHER, is_cloexec);
        }
    }
}

/* Linux frees the number early in close(), whatever it returns: another thread may have got it
 * again before this call ended. */
static void close_one(struct ended *e)
{
    if (!has(e, CALL_ARG_FD)) {
        return;
    }
    use(e);
    const uint32_t file = e->call->file != LULL_NONE ? e->call->file : e->io->file;
    if (file != LULL_NONE && file == files_find(e->model, e->task, e->io->fd)) {
        files_close(e->model, e->task, e->t, e->io->fd);
    }
}

static void close_many(struct ended *e)
{
    enum { RANGE_UNSHARE = 2, RANGE_CLOEXEC = 4 };
    const struct call_args *args = &e->call->args;
    if (!succeeded(e) || !has(e, CALL_ARG_FD) || !has(e, CALL_ARG_NEW_FD)) {
        return;
    }
    uint32_t flags = has(e, CALL_ARG_FLAGS) ? args->flags : 0;
    if (flags & RANGE_UNSHARE) {
        files_unshare(e->model, e->task, e->t);
    }
    /* They are unsigned: ~0 is the usual end, and there are no descriptors above INT32_MAX. */
    if (args->fd >= 0) {
        files_close_range(e->model, e->task, e->t, args->fd,
                          args->new_fd < 0 ? INT32_MAX : args->new_fd, flags & RANGE_CLOEXEC);
    }
}

/* Reads, writes, and copies from one file to another. */
static void move(struct ended *e)
{
    use(e);
    if (has(e, CALL_ARG_TO_FD)) {
        e->io->to_fd = e->call->args.to_fd;
        e->io->to_file = given(e, e->call->to_file, e->io->to_fd);
    }
    if (has(e, CALL_ARG_BYTES) && e->call->args.bytes >= 0) {
        e->io->requested_bytes = e->call->args.bytes;
    }
    if (e->has_ret) {
        e->io->bytes = MAX(e->ret, 0);
    }
    /* sendto() to an address: who was written to last by this descriptor is its peer. */
    const struct call_args *args = &e->call->args;
    if (args->has_ip && succeeded(e) && e->io->file != LULL_NONE && is_internet(args->family)) {
        struct lull_file *file = &e->model->files.items[e->io->file];
        file->path = calls_label_of_address(e->model, args->family, args->ip, args->port);
        file->type = LULL_FILE_NET;
    }
}

/* They return how many messages there were. */
static void move_messages(struct ended *e)
{
    use(e);
    if (e->has_ret && e->ret <= 0) {
        e->io->bytes = 0;
    }
}

static void control_epoll(struct ended *e)
{
    use(e);
    if (succeeded(e) && e->io->file != LULL_NONE && has(e, CALL_ARG_COMMAND) &&
        has(e, CALL_ARG_NEW_FD)) {
        epoll_controlled(e->model, e->io->file, e->call->args.command,
                         files_use(e->model, e->task, e->call->args.new_fd),
                         has(e, CALL_ARG_DATA) ? &e->call->args.data : NULL);
    }
}

static void unshare_files(struct ended *e)
{
    enum { FLAG_FILES = 0x400 }; /* CLONE_FILES */
    if (succeeded(e) && has(e, CALL_ARG_FLAGS) && (e->call->args.flags & FLAG_FILES)) {
        files_unshare(e->model, e->task, e->t);
    }
}

static void (*const effects[CALL_EFFECT_COUNT])(struct ended *) = {
    [CALL_USE] = use,
    [CALL_MAKE] = make,
    [CALL_MAKE_QUEUE] = make_queue,
    [CALL_MAKE_OR_CHANGE] = make_or_change,
    [CALL_MAKE_UNLESS_FLAGS] = make_unless_flags,
    [CALL_BPF] = bpf,
    [CALL_SOCKET] = make_socket,
    [CALL_PAIR] = make_pair,
    [CALL_ACCEPT] = accept_peer,
    [CALL_CONNECT] = connect_peer,
    [CALL_BIND] = bind_address,
    [CALL_DUP] = duplicate,
    [CALL_FCNTL] = control,
    [CALL_IOCTL] = control_device,
    [CALL_CLOSE] = close_one,
    [CALL_CLOSE_RANGE] = close_many,
    [CALL_MOVE] = move,
    [CALL_MOVE_MESSAGES] = move_messages,
    [CALL_EPOLL_CTL] = control_epoll,
    [CALL_EPOLL_WAIT] = use,
    [CALL_UNSHARE] = unshare_files,
};

/* A call of no line in calls.def is about a descriptor if it is given one. */
static bool is_io(const struct call *call)
{
    const struct call_kind *kind = call->name.kind;
    return kind->io != CALL_IO_NONE && (*kind->name || (call->args.have & CALL_ARG_FD));
}

static struct lull_io empty_io(const struct call_kind *kind)
{
    return (struct lull_io){.kind = kind->io,
                            .fd = -1,
                            .to_fd = -1,
                            .file = LULL_NONE,
                            .to_file = LULL_NONE,
                            .requested_bytes = -1,
                            .bytes = -1};
}

bool call_end_io(struct lull_model *model, const struct call_class *call_class,
                 const struct call *call, const struct lull_syscall_fact *fact,
                 const struct lull_ev_io_exit *event, struct lull_io *io)
{
    const struct call_kind *kind = call->name.kind;
    *io = empty_io(kind);
    struct ended e = {
        .model = model,
        .call_class = call_class,
        .call = call,
        .kind = kind,
        .event = event,
        .task = call->task,
        .t = fact->end_ns,
        .has_ret = fact->has_ret,
        .ret = fact->ret,
        .io = io,
    };
    if (effects[kind->effect]) {
        effects[kind->effect](&e);
    }
    return is_io(call);
}

bool call_open_io(const struct lull_model *model, const struct call *call, struct lull_io *io)
{
    if (!model->follows_files || !is_io(call)) {
        return false;
    }
    *io = empty_io(call->name.kind);
    if (call->args.have & CALL_ARG_FD && call->name.kind->io != LULL_IO_OPEN) {
        io->fd = call->args.fd;
        io->file = call->file;
    }
    return true;
}
