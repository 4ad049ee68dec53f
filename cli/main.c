/* exactformer: the program. Finds the command, parses its options, runs it. */
#include "commands.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FAILURE = 4 };

static int in_command;

/* A library that ends the program in the midst of a command (OpenMP does where it cannot start a
 * thread) gives a status of its own, and 1 would say that something is not exact. */
static void at_exit(void) {
    if (in_command) {
        fflush(NULL);
        _exit(FAILURE);
    }
}

int main(int argc, char **argv) {
    const cli_command *command = argc > 1 ? cli_find_command(argv[1]) : NULL;
    if (command == NULL)
        return cli_program(argc, argv);
    cli_options options;
    int status = 0;
    if (!cli_parse(&options, &status, command, argc - 1, argv + 1))
        return status;
    in_command = atexit(at_exit) == 0;
    status = command->run(&options);
    in_command = 0;
    return status;
}
