/* Looking up the members of structures and variants by name. */
#include "ctf/tsdl/tree.h"

#include <string.h>

const char *tsdl_bare_name(const struct tsdl_atom *name)
{
    return name->text + (name->text[0] == '_' && name->length > 1);
}

static int64_t find(const struct tsdl_tree *tree, const struct tsdl_body *body,
                    const struct tsdl_atom *name)
{
    gpointer index = name ? tsdl_map_find(&tree->members, body, name) : NULL;
    return (int64_t)GPOINTER_TO_UINT(index) - 1;
}

int64_t tsdl_tree_member(const struct tsdl_tree *tree, const struct tsdl_body *body,
                         const struct tsdl_atom *name, bool loosely)
{
    int64_t index = find(tree, body, name);

    if (index >= 0 || !loosely) {
        return index;
    }
    const char *bare = tsdl_bare_name(name);
    if (bare != name->text) {
        index = find(tree, body, tsdl_atoms_find(&tree->atoms, bare, strlen(bare)));
    }
    if (index >= 0) {
        return index;
    }
    char stack[64], *longer = stack;
    if (name->length + 1 > sizeof stack) {
        longer = g_malloc(name->length + 1);
    }
    longer[0] = '_';
    memcpy(longer + 1, name->text, name->length);
    index = find(tree, body, tsdl_atoms_find(&tree->atoms, longer, name->length + 1));
    if (longer != stack) {
        g_free(longer);
    }
    return index;
}
