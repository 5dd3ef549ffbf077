/* SPDX-License-Identifier: MIT */
/* Writes the traces of a scripted scenario: make_traces SCRIPT DIRECTORY. The runner is
 * run_scenarios.py. */
#include "lib/scenario.h"

int main(int argc, char **argv)
{
    GError *error = NULL;
    if (argc != 3) {
        g_printerr("usage: make_traces SCRIPT DIRECTORY\n");
        return 2;
    }
    if (!scenario_run_script(argv[1], argv[2], &error)) {
        g_printerr("%s\n", error->message);
        g_error_free(error);
        return 1;
    }
    return 0;
}
