/* Test only: writes the state of this machine as the trace argv[1], whose clock's zero is argv[2]
 * nanoseconds behind the Unix epoch. */
#include <stdio.h>
#include <stdlib.h>

#include "record/state/state.h"

int main(int argc, char **argv)
{
    GError *error = NULL;
    if (argc != 3) {
        return 2;
    }
    if (lull_state_write(argv[1], strtoll(argv[2], NULL, 10), &error)) {
        return 0;
    }
    fprintf(stderr, "%s\n", error->message);
    g_error_free(error);
    return 1;
}
