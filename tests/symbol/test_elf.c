/* SPDX-License-Identifier: MIT */
/* Symbols of ELF files; nm says what they are. Where symbols overlap, the one that starts last
 * counts, and of those any name of its address. */
#include <elf.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf.h"
#include "symbol/here.h"
#include "symbol/object.h"
#include "symbol/saved.h"

#define ADDRESSES 20000

struct function {
    uint64_t start, end;
    char name[256];
};

/* What nm says of functions with a size, or NULL if there is no nm. */
static GArray *functions_of(const char *path, const char *option)
{
    const char *argv[] = {"nm", "--defined-only", "-S", option, path, NULL};
    g_autofree char *text = NULL;
    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                      NULL, NULL, &text, NULL, NULL, NULL)) {
        return NULL;
    }
    GArray *functions = g_array_new(FALSE, FALSE, sizeof(struct function));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (size_t i = 0; lines[i]; i++) {
        struct function f;
        char kind;
        if (sscanf(lines[i], "%" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x %c %255s", &f.start,
                   &f.end, &kind, f.name) == 4 &&
            strchr("tTwWi", kind)) {
            f.name[strcspn(f.name, "@")] = '\0'; /* nm appends the version of dynamic symbols */
            f.end += f.start;
            g_array_append_val(functions, f);
        }
    }
    return functions;
}

/* The byte of the file at an address, by the program headers of this machine's programs. */
static uint64_t file_offset(const char *image, uint64_t address)
{
    const ElfW(Ehdr) *head = (const void *)image;
    const ElfW(Phdr) *segments = (const void *)(image + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz) {
            return address - segments[i].p_vaddr + segments[i].p_offset;
        }
    }
    return UINT64_MAX;
}

/* Whether `name`, `offset` is right by nm's list. */
static bool is_right(const GArray *functions, uint64_t address, const char *name, uint64_t offset)
{
    uint64_t start = 0;
    bool is_any = false, is_name = false;
    for (guint i = 0; i < functions->len; i++) {
        const struct function *f = &g_array_index(functions, struct function, i);
        if (address >= f->start && address < f->end && f->start >= start) {
            is_name = is_name && f->start == start;
            start = f->start;
            is_any = true;
            is_name = is_name || g_strcmp0(f->name, name) == 0;
        }
    }
    return is_any ? is_name && address - offset == start : true;
}

static void check_object(const struct lull_object *object, const GArray *functions,
                         const char *image)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(15);
    unsigned right = 0, asked = 0;
    while (asked < ADDRESSES) {
        const struct function *f = &g_array_index(
            functions, struct function, (guint)g_rand_int_range(random, 0, (gint32)functions->len));
        const uint64_t address = f->start + g_rand_int(random) % (f->end - f->start);
        uint64_t offset = 0;
        const char *name = lull_object_find(object, file_offset(image, address), &offset);
        asked++;
        if (name && is_right(functions, address, name, offset)) {
            right++;
        } else {
            g_test_message("%#" G_GINT64_MODIFIER "x is in %s, not %s", address, f->name, name);
        }
    }
    g_assert_cmpuint(right, ==, asked);
}

/* A recording has the same of it. */
static void check_saved(const struct lull_object *object, const GArray *functions,
                        const char *image)
{
    g_autoptr(GString) text = g_string_new(NULL);
    lull_saved_append(text, object, "/a", 1);
    struct lull_saved *saved = lull_saved_new(g_strdup(text->str), text->len);
    struct lull_object *again = lull_saved_read(saved, "/a", 1);
    g_assert_nonnull(again);
    g_assert_cmpstr(again->build_id, ==, object->build_id);
    check_object(again, functions, image);
    lull_object_free(again);
    lull_saved_free(saved);
}

/* Reads `path`, and files with the same symbols below `root`, where nm says what `symbols` has. */
static void check_names(const char *path, const char *root, const char *symbols, const char *option)
{
    g_autoptr(GArray) functions = functions_of(symbols, option);
    g_autofree char *image = NULL;
    gsize size;
    if (!functions || functions->len == 0) {
        g_test_skip("nm is not installed, or names nothing");
        return;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    g_assert_true(g_file_get_contents(path, &image, &size, NULL));
    struct lull_object *elf = lull_elf_read(fd, path, &(struct lull_apart){.root = root});
    g_assert_nonnull(elf);
    close(fd);
    check_object(elf, functions, image);
    check_saved(elf, functions, image);
    lull_object_free(elf);
}

static void check_file(const char *path, const char *option)
{
    check_names(path, NULL, path, option);
}

static char *own_path(void)
{
    char *path = g_file_read_link("/proc/self/exe", NULL);
    g_assert_nonnull(path);
    return path;
}

static void test_own(void)
{
    g_autofree char *path = own_path();
    check_file(path, "--no-demangle");
}

static int note_libc(struct dl_phdr_info *info, size_t size, void *path)
{
    if (strstr(info->dlpi_name, "/libc.so")) {
        g_strlcpy(path, info->dlpi_name, PATH_MAX);
    }
    return 0;
}

/* Libraries of this machine, by their dynamic symbols. */
static void test_libraries(void)
{
    static const char *const names[] = {"libc.so.6", "libstdc++.so.6", "libm.so.6",
                                        "libglib-2.0.so.0", "libelf.so.1"};
    char libc[PATH_MAX] = "";
    unsigned checked = 0;
    dl_iterate_phdr(note_libc, libc);
    g_autofree char *directory = g_path_get_dirname(libc);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(directory, names[i], NULL);
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
            check_file(path, "-D");
            checked++;
        }
    }
    if (checked == 0) {
        g_test_skip("the C library is no shared one");
    }
}

/* "0000000000001030 <malloc@plt>:": what objdump says of the stubs of a file; each is found from its first to its
 * last byte. Those without a name of their own ("*ABS*+0x9d40@plt") are no function of a library. */
static unsigned check_stubs(const char *path)
{
    const char *argv[] = {"objdump",  "-d", "-j",       ".plt", "-j",
                          ".plt.got", "-j", ".plt.sec", path,   NULL};
    g_autofree char *text = NULL;
    g_autofree char *image = NULL;
    gsize size;
    unsigned n = 0;
    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                      NULL, NULL, &text, NULL, NULL, NULL)) {
        return 0;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    g_assert_true(g_file_get_contents(path, &image, &size, NULL));
    struct lull_object *elf = lull_elf_read(fd, NULL, NULL);
    g_assert_nonnull(elf);
    close(fd);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (size_t i = 0; lines[i]; i++) {
        uint64_t address, offset = 99;
        char name[256];
        if (sscanf(lines[i], "%" G_GINT64_MODIFIER "x <%255[^>]>:", &address, name) == 2 &&
            g_str_has_suffix(name, "@plt") && *name != '*') {
            g_assert_cmpstr(lull_object_find(elf, file_offset(image, address), &offset), ==, name);
            g_assert_cmpuint(offset, ==, 0);
            g_assert_cmpstr(lull_object_find(elf, file_offset(image, address) + 7, &offset), ==,
                            name);
            n++;
        }
    }
    lull_object_free(elf);
    return n;
}

static void test_stubs(void)
{
#ifdef __x86_64__
    static const char *const names[] = {"libglib-2.0.so.0", "libstdc++.so.6", "libelf.so.1"};
    char libc[PATH_MAX] = "";
    unsigned n = 0;
    dl_iterate_phdr(note_libc, libc);
    g_autofree char *directory = g_path_get_dirname(libc);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(directory, names[i], NULL);
        n += g_file_test(path, G_FILE_TEST_IS_REGULAR) ? check_stubs(path) : 0;
    }
    g_autofree char *own = own_path();
    n += check_stubs(own);
    if (n == 0) {
        g_test_skip("objdump is not installed, or finds no stubs");
    }
    g_test_message("%u stubs", n);
#else
    g_test_skip("stubs are known of x86-64 only");
#endif
}

static void test_build_id(void)
{
    g_autofree char *text = NULL;
    g_autofree char *path = own_path();
    const char *argv[] = {"readelf", "-n", path, NULL};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct lull_object *elf = lull_elf_read(fd, NULL, NULL);
    close(fd);
    g_assert_nonnull(elf);
    if (g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                     NULL, NULL, &text, NULL, NULL, NULL) &&
        strstr(text, "Build ID: ")) {
        const char *said = strstr(text, "Build ID: ") + strlen("Build ID: ");
        g_autofree char *wanted = g_strndup(said, strcspn(said, "\n"));
        g_assert_cmpstr(elf->build_id, ==, wanted);
    } else {
        g_assert_null(elf->build_id);
    }
    lull_object_free(elf);
}

/* ---- stripped, with symbols elsewhere ---- */

/* A copy of this program without symbols, and a file that has them. */
struct stripped {
    char *directory, *path, *symbols, *own;
};

static bool run(const char *first, ...)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    gint status;
    va_list more;
    va_start(more, first);
    for (const char *word = first; word; word = va_arg(more, const char *)) {
        g_ptr_array_add(argv, (char *)word);
    }
    va_end(more);
    g_ptr_array_add(argv, NULL);
    return g_spawn_sync(NULL, (char **)argv->pdata, NULL,
                        G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                        &status, NULL) &&
           g_spawn_check_wait_status(status, NULL);
}

/* False, and the test is skipped, if there is no objcopy. */
static bool strip_own(struct stripped *stripped)
{
    stripped->own = own_path();
    stripped->directory = g_dir_make_tmp("lull-elf-XXXXXX", NULL);
    g_assert_nonnull(stripped->directory);
    stripped->path = g_build_filename(stripped->directory, "program", NULL);
    stripped->symbols = g_build_filename(stripped->directory, "program.debug", NULL);
    if (run("objcopy", "--strip-all", stripped->own, stripped->path, NULL) &&
        run("objcopy", "--only-keep-debug", stripped->own, stripped->symbols, NULL)) {
        return true;
    }
    g_test_skip("objcopy is not installed");
    return false;
}

static void remove_stripped(struct stripped *stripped)
{
    g_assert_true(run("rm", "-r", stripped->directory, NULL));
    g_free(stripped->directory);
    g_free(stripped->path);
    g_free(stripped->symbols);
    g_free(stripped->own);
}

/* How many of the functions that nm names in the program have names in the stripped one. */
static unsigned count_named(const struct stripped *stripped, const char *root)
{
    g_autoptr(GArray) functions = functions_of(stripped->own, "--no-demangle");
    g_autofree char *image = NULL;
    unsigned named = 0;
    const int fd = open(stripped->path, O_RDONLY | O_CLOEXEC);
    struct lull_object *elf = lull_elf_read(fd, stripped->path, &(struct lull_apart){.root = root});
    close(fd);
    g_assert_nonnull(elf);
    g_assert_nonnull(functions);
    g_assert_true(g_file_get_contents(stripped->own, &image, NULL, NULL));
    for (guint i = 0; i < functions->len; i++) {
        const struct function *f = &g_array_index(functions, struct function, i);
        uint64_t offset;
        const char *name = lull_object_find(elf, file_offset(image, f->start), &offset);
        named += g_strcmp0(name, f->name) == 0;
    }
    lull_object_free(elf);
    return named;
}

static void add_byte(const char *path)
{
    FILE *file = fopen(path, "a");
    g_assert_nonnull(file);
    g_assert_cmpint(fputc('x', file), ==, 'x');
    fclose(file);
}

/* Beside the program, below .debug and below the root; not if it has changed. */
static void test_link(void)
{
    struct stripped it;
    if (strip_own(&it)) {
        g_autofree char *link = g_strconcat("--add-gnu-debuglink=", it.symbols, NULL);
        g_autofree char *below = g_build_filename(it.directory, ".debug", NULL);
        g_autofree char *root = g_build_filename(it.directory, "root", NULL);
        g_autofree char *far = g_build_filename(root, it.directory, NULL);
        g_autofree char *moved = g_build_filename(below, "program.debug", NULL);
        g_assert_true(run("objcopy", link, it.path, NULL));
        check_names(it.path, "/nowhere", it.own, "--no-demangle");
        const unsigned all = count_named(&it, "/nowhere");
        g_assert_cmpuint(all, >, 20);
        g_assert_cmpuint(count_named(&it, NULL), ==, 0);
        g_assert_true(run("mkdir", "-p", below, far, NULL));
        g_assert_true(run("mv", it.symbols, moved, NULL));
        g_assert_cmpuint(count_named(&it, "/nowhere"), ==, all);
        g_assert_true(run("mv", moved, far, NULL));
        g_assert_cmpuint(count_named(&it, "/nowhere"), ==, 0);
        g_assert_cmpuint(count_named(&it, root), ==, all);
        g_autofree char *there = g_build_filename(far, "program.debug", NULL);
        add_byte(there);
        g_assert_cmpuint(count_named(&it, root), ==, 0);
    }
    remove_stripped(&it);
}

static void test_packed(void)
{
    struct stripped it;
    if (strip_own(&it)) {
        g_autofree char *small = g_build_filename(it.directory, "small", NULL);
        g_autofree char *packed = g_strconcat(small, ".xz", NULL);
        g_autofree char *add = g_strconcat("--add-section=.gnu_debugdata=", packed, NULL);
        if (run("objcopy", "--strip-debug", it.symbols, small, NULL) &&
            run("xz", "--check=crc32", small, NULL) && run("objcopy", add, it.path, NULL)) {
            check_names(it.path, NULL, it.own, "--no-demangle");
        } else {
            g_test_skip("xz is not installed");
        }
    }
    remove_stripped(&it);
}

/* A file counts only if it is the one that was mapped, and has not changed since. */
static void test_here(void)
{
    g_autofree char *path = NULL;
    g_autofree char *image = NULL;
    gsize size;
    const int fd = g_file_open_tmp("lull-symbol-XXXXXX", &path, NULL);
    struct stat st;
    g_assert_cmpint(fd, >=, 0);
    g_assert_true(g_file_get_contents("/proc/self/exe", &image, &size, NULL));
    for (gsize done = 0; done < size;) {
        const ssize_t n = write(fd, image + done, size - done);
        g_assert_cmpint(n, >, 0);
        done += (gsize)n;
    }
    g_assert_cmpint(fstat(fd, &st), ==, 0);
    close(fd);
    const int64_t changed = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
    struct lull_object *elf = lull_here_file(path, st.st_ino, changed, lull_elf_read, NULL);
    g_assert_nonnull(elf);
    lull_object_free(elf);
    g_assert_null(lull_here_file(path, st.st_ino, changed - 1, lull_elf_read, NULL));
    g_assert_null(lull_here_file(path, st.st_ino + 1, changed, lull_elf_read, NULL));
    g_assert_null(lull_here_file(path, 0, changed, lull_elf_read, NULL));
    g_assert_null(lull_here_file(strrchr(path, '/') + 1, st.st_ino, changed, lull_elf_read, NULL));
    unlink(path);
    g_assert_null(lull_here_file(path, st.st_ino, changed, lull_elf_read, NULL));
    g_assert_null(lull_here_file("/dev/zero", 1, INT64_MAX, lull_elf_read, NULL));
}

static void test_boot_id(void)
{
    g_autofree char *text = NULL;
    uint8_t id[16];
    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL)) {
        g_test_skip("this machine has no boot id");
        return;
    }
    const char *at = text;
    for (size_t i = 0; i < sizeof id; i++, at += 2) {
        at += *at == '-';
        id[i] = (uint8_t)(g_ascii_xdigit_value(at[0]) << 4 | g_ascii_xdigit_value(at[1]));
    }
    g_assert_true(lull_here_is(id));
    id[15] ^= 1;
    g_assert_false(lull_here_is(id));
    id[15] ^= 1;
    id[0] ^= 0x10;
    g_assert_false(lull_here_is(id));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbol/elf/own", test_own);
    g_test_add_func("/symbol/elf/libraries", test_libraries);
    g_test_add_func("/symbol/elf/stubs", test_stubs);
    g_test_add_func("/symbol/elf/build-id", test_build_id);
    g_test_add_func("/symbol/elf/link", test_link);
    g_test_add_func("/symbol/elf/packed", test_packed);
    g_test_add_func("/symbol/here/file", test_here);
    g_test_add_func("/symbol/here/boot-id", test_boot_id);
    return g_test_run();
}
