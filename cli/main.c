/* exactformer: the program, with all commands, in one process. */
#include "commands.h"

int main(int argc, char **argv) {
    const cli_program program = {
        .about = "Constructs, without training, a transformer that maps every input sequence of a "
                 "data set exactly to its output sequence.",
        .commands = cli_all_commands};
    return cli_run_program(&program, argc, argv);
}
