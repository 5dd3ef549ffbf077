/* SPDX-License-Identifier: MIT */
/* The recorder's side of names.bpf.c. */
#include "record/names/names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "names_object.h"

#define HEAD offsetof(struct lull_names_record, text)

/* What is read of which call; those that this machine does not have have no number. */
static const struct {
    int number;
    enum lull_names_action action;
} calls[] = {
#ifdef SYS_open
    {SYS_open, LULL_NAMES_OPEN_FIRST},
#endif
#ifdef SYS_creat
    {SYS_creat, LULL_NAMES_OPEN_FIRST},
#endif
    {SYS_openat, LULL_NAMES_OPEN_SECOND},
    {SYS_mq_open, LULL_NAMES_OPEN_FIRST},
    {SYS_execve, LULL_NAMES_PROGRAM},
#ifdef SYS_openat2
    {SYS_openat2, LULL_NAMES_OPEN_SECOND},
#endif
#ifdef SYS_stat
    {SYS_stat, LULL_NAMES_PATH_FIRST},
    {SYS_lstat, LULL_NAMES_PATH_FIRST},
    {SYS_access, LULL_NAMES_PATH_FIRST},
    {SYS_readlink, LULL_NAMES_PATH_FIRST},
    {SYS_unlink, LULL_NAMES_PATH_FIRST},
    {SYS_mkdir, LULL_NAMES_PATH_FIRST},
    {SYS_rmdir, LULL_NAMES_PATH_FIRST},
    {SYS_rename, LULL_NAMES_PATH_FIRST},
    {SYS_link, LULL_NAMES_PATH_FIRST},
    {SYS_symlink, LULL_NAMES_PATH_FIRST},
    {SYS_mknod, LULL_NAMES_PATH_FIRST},
    {SYS_chmod, LULL_NAMES_PATH_FIRST},
    {SYS_chown, LULL_NAMES_PATH_FIRST},
    {SYS_lchown, LULL_NAMES_PATH_FIRST},
    {SYS_utime, LULL_NAMES_PATH_FIRST},
    {SYS_utimes, LULL_NAMES_PATH_FIRST},
#endif
#ifdef SYS_fchmodat2
    {SYS_fchmodat2, LULL_NAMES_PATH_SECOND},
#endif
#ifdef SYS_newfstatat
    {SYS_newfstatat, LULL_NAMES_PATH_SECOND},
#endif
#ifdef SYS_renameat
    {SYS_renameat, LULL_NAMES_PATH_SECOND},
#endif
#ifdef SYS_statx
    {SYS_statx, LULL_NAMES_PATH_SECOND},
#endif
#ifdef SYS_faccessat2
    {SYS_faccessat2, LULL_NAMES_PATH_SECOND},
#endif
#ifdef SYS_renameat2
    {SYS_renameat2, LULL_NAMES_PATH_SECOND},
#endif
    {SYS_faccessat, LULL_NAMES_PATH_SECOND},
    {SYS_readlinkat, LULL_NAMES_PATH_SECOND},
    {SYS_unlinkat, LULL_NAMES_PATH_SECOND},
    {SYS_mkdirat, LULL_NAMES_PATH_SECOND},
    {SYS_mknodat, LULL_NAMES_PATH_SECOND},
    {SYS_linkat, LULL_NAMES_PATH_SECOND},
    {SYS_symlinkat, LULL_NAMES_PATH_FIRST},
    {SYS_fchmodat, LULL_NAMES_PATH_SECOND},
    {SYS_fchownat, LULL_NAMES_PATH_SECOND},
    {SYS_utimensat, LULL_NAMES_PATH_SECOND},
    {SYS_inotify_add_watch, LULL_NAMES_PATH_SECOND},
    {SYS_name_to_handle_at, LULL_NAMES_PATH_SECOND},
    {SYS_getxattr, LULL_NAMES_PATH_FIRST},
    {SYS_lgetxattr, LULL_NAMES_PATH_FIRST},
    {SYS_setxattr, LULL_NAMES_PATH_FIRST},
    {SYS_lsetxattr, LULL_NAMES_PATH_FIRST},
    {SYS_listxattr, LULL_NAMES_PATH_FIRST},
    {SYS_llistxattr, LULL_NAMES_PATH_FIRST},
    {SYS_removexattr, LULL_NAMES_PATH_FIRST},
    {SYS_lremovexattr, LULL_NAMES_PATH_FIRST},
    {SYS_swapon, LULL_NAMES_PATH_FIRST},
    {SYS_swapoff, LULL_NAMES_PATH_FIRST},
    {SYS_chroot, LULL_NAMES_PATH_FIRST},
    {SYS_pivot_root, LULL_NAMES_PATH_FIRST},
    {SYS_acct, LULL_NAMES_PATH_FIRST},
    {SYS_statfs, LULL_NAMES_PATH_FIRST},
    {SYS_truncate, LULL_NAMES_PATH_FIRST},
    {SYS_chdir, LULL_NAMES_PATH_FIRST},
    {SYS_umount2, LULL_NAMES_PATH_FIRST},
    {SYS_mount, LULL_NAMES_PATH_SECOND},
    {SYS_connect, LULL_NAMES_ADDRESS},
    {SYS_bind, LULL_NAMES_BOUND},
    {SYS_sendto, LULL_NAMES_ADDRESS_TO},
    {SYS_accept4, LULL_NAMES_PEER},
    {SYS_ppoll, LULL_NAMES_POLLED},
    {SYS_pselect6, LULL_NAMES_SELECTED},
    {SYS_io_getevents, LULL_NAMES_EVENTS},
    {SYS_io_submit, LULL_NAMES_REQUESTS},
    {SYS_epoll_ctl, LULL_NAMES_WATCHES},
    {SYS_epoll_pwait, LULL_NAMES_WATCHED},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, LULL_NAMES_WATCHED},
#endif
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, LULL_NAMES_WATCHED},
#endif
#ifdef SYS_io_pgetevents
    {SYS_io_pgetevents, LULL_NAMES_EVENTS},
#endif
#ifdef SYS_poll
    {SYS_poll, LULL_NAMES_POLLED},
    {SYS_select, LULL_NAMES_SELECTED},
#endif
#ifdef SYS_accept
    {SYS_accept, LULL_NAMES_PEER},
#endif
#ifdef SYS_pipe
    {SYS_pipe, LULL_NAMES_PAIR_FIRST},
#endif
    {SYS_pipe2, LULL_NAMES_PAIR_FIRST},
    {SYS_socketpair, LULL_NAMES_PAIR_FOURTH},
};

enum { MOST_PROGRAMS = 16 };

struct lull_names {
    struct bpf_object *object;
    struct bpf_link *link[MOST_PROGRAMS];
    struct ring_buffer *ring;
    const volatile struct lull_names_counts *counts;
    uint64_t damaged;
    const struct lull_names_sink *sink; /* while records are taken */
};

static bool refuse(const char *what, int why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "%s: %s", what, g_strerror(why));
    return false;
}

static bool is_of_descriptors(uint32_t kind)
{
    return kind == LULL_NAMES_POLL || kind == LULL_NAMES_SELECT || kind == LULL_NAMES_READY ||
           kind == LULL_NAMES_DATA;
}

/* Text ends with a NUL, whatever a program has written behind its back. */
static int take_record(void *user, void *data, size_t size)
{
    struct lull_names *names = user;
    struct lull_names_record record;
    memcpy(&record, data, MIN(size, sizeof record));
    if (size < HEAD || record.length > LULL_NAMES_TEXT || record.length > size - HEAD ||
        record.kind >= LULL_NAMES_KINDS) {
        names->damaged++;
        return 0;
    }
    if (record.length > 0 && !is_of_descriptors(record.kind)) {
        record.text[record.length - 1] = '\0';
    }
    if (names->sink->put) {
        names->sink->put(names->sink->user, &record);
    }
    return 0;
}

static int take_packet(void *user, void *data, size_t size)
{
    struct lull_names *names = user;
    struct lull_names_packet packet;
    memcpy(&packet, data, MIN(size, sizeof packet));
    if (size < sizeof packet) {
        names->damaged++;
    } else if (names->sink->packet) {
        names->sink->packet(names->sink->user, &packet);
    }
    return 0;
}

/* Of packets. */
static bool is_of_packets(const struct bpf_program *program)
{
    return g_str_has_prefix(bpf_program__name(program), "packet_");
}

static bool configure(struct lull_names *names, const struct lull_names_wish *wish)
{
    size_t size = 0;
    struct bpf_map *map = bpf_object__find_map_by_name(names->object, ".rodata.config");
    struct lull_names_config *config = map ? (void *)bpf_map__initial_value(map, &size) : NULL;
    if (!config || size < sizeof *config) {
        return false;
    }
    config->is_filtered = wish->is_filtered;
    config->self = (uint32_t)getpid();
    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
        config->action[calls[i].number] = (uint8_t)calls[i].action;
    }
    struct bpf_program *program;
    bpf_object__for_each_program(program, names->object)
    {
        bpf_program__set_autoload(program, is_of_packets(program) ? wish->packets : wish->calls);
    }
    return true;
}

/* Where the kernel has no tracepoint for the start of each call, a select() that times out is for nothing that is known. */
static bool is_optional(const struct bpf_program *program)
{
    return g_str_has_prefix(bpf_program__name(program), "select_");
}

static bool attach(struct lull_names *names, GError **error)
{
    struct bpf_program *program;
    size_t i = 0;
    bpf_object__for_each_program(program, names->object)
    {
        g_assert(i < MOST_PROGRAMS);
        names->link[i] = bpf_program__autoload(program) ? bpf_program__attach(program) : NULL;
        if (!names->link[i] && bpf_program__autoload(program) && !is_optional(program)) {
            return refuse(bpf_program__section_name(program), errno, error);
        }
        i++;
    }
    return true;
}

static bool start(struct lull_names *names, const struct lull_names_wish *wish, GError **error)
{
    struct stat st;
    struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "lull_names"};
    if (stat("/sys/kernel/btf/vmlinux", &st) != 0) {
        return refuse("the kernel does not describe its types (/sys/kernel/btf/vmlinux)", errno,
                      error);
    }
    names->object = bpf_object__open_mem(names_bpf_o, sizeof names_bpf_o, &options);
    if (!names->object || !configure(names, wish)) {
        return refuse("the eBPF object cannot be opened", errno ? errno : EINVAL, error);
    }
    const int why = -bpf_object__load(names->object);
    if (why) {
        return refuse("eBPF programs cannot be loaded", why, error);
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *counts = mmap(NULL, page, PROT_READ, MAP_SHARED,
                        bpf_object__find_map_fd_by_name(names->object, ".data.counts"), 0);
    names->counts = counts == MAP_FAILED ? NULL : counts;
    names->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(names->object, "names"),
                                   take_record, names, NULL);
    if (!names->counts || !names->ring ||
        ring_buffer__add(names->ring, bpf_object__find_map_fd_by_name(names->object, "packets"),
                         take_packet, names) != 0) {
        return refuse("memory cannot be shared with the eBPF programs", errno, error);
    }
    return attach(names, error);
}

struct lull_names *lull_names_new(const struct lull_names_wish *wish, GError **error)
{
    struct lull_names *names = g_new0(struct lull_names, 1);
    libbpf_set_print(NULL); /* what goes wrong is said in one line */
    if (start(names, wish, error)) {
        return names;
    }
    lull_names_free(names);
    return NULL;
}

bool lull_names_follow(struct lull_names *names, pid_t pid, GError **error)
{
    const uint32_t key = (uint32_t)pid;
    const uint8_t one = 1;
    const int map = bpf_object__find_map_fd_by_name(names->object, "followed");
    return bpf_map_update_elem(map, &key, &one, BPF_ANY) == 0 ||
           refuse("processes cannot be followed", errno, error);
}

void lull_names_take(struct lull_names *names, const struct lull_names_sink *sink)
{
    names->sink = sink;
    ring_buffer__consume(names->ring);
    names->sink = NULL;
}

uint64_t lull_names_lost(const struct lull_names *names)
{
    return names->counts->lost + names->counts->unread + names->damaged;
}

void lull_names_free(struct lull_names *names)
{
    if (!names) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names->link); i++) {
        bpf_link__destroy(names->link[i]);
    }
    ring_buffer__free(names->ring);
    if (names->counts) {
        munmap((void *)names->counts, (size_t)sysconf(_SC_PAGESIZE));
    }
    bpf_object__close(names->object);
    g_free(names);
}
