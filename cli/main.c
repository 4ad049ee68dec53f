/* exactformer: the program. Finds the command, parses its options, runs it. */
#include "commands.h"

#include <stddef.h>

int main(int argc, char **argv) {
    const cli_command *command = argc > 1 ? cli_find_command(argv[1]) : NULL;
    if (command == NULL)
        return cli_program(argc, argv);
    cli_options options;
    int status = 0;
    if (!cli_parse(&options, &status, command, argc - 1, argv + 1))
        return status;
    return command->run(&options);
}
