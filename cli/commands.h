/* The commands of the program, one file each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

extern const cli_command cli_build;
extern const cli_command cli_verify;
extern const cli_command cli_certify;
extern const cli_command cli_run;
extern const cli_command cli_trace;
extern const cli_command cli_inspect;
extern const cli_command cli_export;
extern const cli_command cli_generate;
extern const cli_command cli_diagnose;
extern const cli_command cli_train;
extern const cli_command cli_golden;

/* What `exactformer` does without a command: --help, --version or a complaint. */
int cli_program(int argc, char **argv);

/* NULL if there is no such command. */
const cli_command *cli_find_command(const char *name);

#endif
