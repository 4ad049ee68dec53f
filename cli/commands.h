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

/* All of them, NULL-terminated. */
extern const cli_command *const cli_all_commands[];

/* The one of this name (NULL: none) in a NULL-terminated list, or NULL. */
const cli_command *cli_find_command(const cli_command *const *commands, const char *name);

/* A program made of commands. */
typedef struct cli_program {
    const char *about;                  /* for --help */
    const cli_command *const *commands; /* those it has, NULL-terminated */
    const char *elsewhere;              /* why it has no others; NULL if it has them all */
} cli_program;

/* Find the command, parse its options, run it. Without one: --help, --version or a complaint.
 * Returns the exit status. */
int cli_run_program(const cli_program *program, int argc, char **argv);

#endif
