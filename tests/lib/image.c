/* SPDX-License-Identifier: MIT */
/* Test only: see image.h. */
#include "lib/image.h"

#include <string.h>

static void free_file(gpointer data)
{
    struct image_file *file = data;
    g_free(file->name);
    g_byte_array_unref(file->bytes);
    g_free(file);
}

static struct image *image_new(void)
{
    struct image *image = g_new0(struct image, 1);
    image->files = g_ptr_array_new_with_free_func(free_file);
    return image;
}

static void add_file(struct image *image, const char *name, const void *data, size_t size)
{
    struct image_file *file = g_new0(struct image_file, 1);
    file->name = g_strdup(name);
    file->bytes = g_byte_array_new();
    g_byte_array_append(file->bytes, data, (guint)size);
    g_ptr_array_add(image->files, file);
}

static void read_dir(struct image *image, const char *dir, const char *prefix)
{
    GDir *entries = g_dir_open(dir, 0, NULL);
    for (const char *name; entries && (name = g_dir_read_name(entries));) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_autofree char *full = g_strconcat(prefix, name, NULL);
        char *data = NULL;
        gsize size = 0;
        if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
            g_autofree char *below = g_strconcat(full, "/", NULL);
            read_dir(image, path, below);
        } else if (g_file_get_contents(path, &data, &size, NULL)) {
            add_file(image, full, data, size);
            g_free(data);
        }
    }
    if (entries) {
        g_dir_close(entries);
    }
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp((*(struct image_file *const *)a)->name, (*(struct image_file *const *)b)->name);
}

struct image *image_read(const char *dir)
{
    struct image *image = image_new();
    read_dir(image, dir, "");
    g_ptr_array_sort(image->files, by_name);
    return image;
}

struct image *image_copy(const struct image *from)
{
    struct image *image = image_new();
    for (guint i = 0; i < from->files->len; i++) {
        const struct image_file *file = g_ptr_array_index(from->files, i);
        add_file(image, file->name, file->bytes->data, file->bytes->len);
    }
    return image;
}

void image_write(const struct image *image, const char *dir)
{
    for (guint i = 0; i < image->files->len; i++) {
        const struct image_file *file = g_ptr_array_index(image->files, i);
        g_autofree char *path = g_build_filename(dir, file->name, NULL);
        g_autofree char *parent = g_path_get_dirname(path);
        GError *error = NULL;
        if (g_mkdir_with_parents(parent, 0755) ||
            !g_file_set_contents_full(path, (const char *)file->bytes->data, file->bytes->len,
                                      G_FILE_SET_CONTENTS_NONE, 0644, &error)) {
            g_error("image: cannot write %s", path);
        }
    }
}

void image_free(struct image *image)
{
    g_ptr_array_unref(image->files);
    g_free(image);
}

struct image_file *image_find(const struct image *image, const char *name)
{
    for (guint i = 0; i < image->files->len; i++) {
        struct image_file *file = g_ptr_array_index(image->files, i);
        if (!strcmp(file->name, name)) {
            return file;
        }
    }
    return NULL;
}
