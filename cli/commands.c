/* The table of commands, and what a program does with those that it has. */
#include "commands.h"

#include "output.h"
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILURE = 4 };

const cli_command *const cli_all_commands[] = {
    &cli_build,  &cli_verify,   &cli_certify, &cli_run,    &cli_trace,    &cli_inspect,
    &cli_export, &cli_generate, &cli_train,   &cli_golden, &cli_diagnose, NULL,
};

const cli_command *cli_find_command(const cli_command *const *commands, const char *name) {
    for (; name != NULL && *commands != NULL; commands++)
        if (strcmp((*commands)->name, name) == 0)
            return *commands;
    return NULL;
}

static void list_names(char *out, size_t size, const cli_program *program) {
    out[0] = '\0';
    for (int i = 0; program->commands[i] != NULL; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? ", " : "", program->commands[i]->name);
    }
}

/* argp prints what follows \v after the options. */
static void describe(char *out, size_t size, const cli_program *program) {
    snprintf(out, size, "%s\vCommands:\n", program->about);
    for (int i = 0; program->commands[i] != NULL; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "  %-10s %s\n", program->commands[i]->name,
                 program->commands[i]->summary);
    }
    size_t used = strlen(out);
    snprintf(out + used, size - used,
             "\n%s COMMAND --help tells more about one of them.\n"
             "Exit status: 0 done and exact, 1 not exact, 2 usage, 3 bad data or model, "
             "4 input/output failure, 5 exactness not possible for these data.",
             cli_program_name);
}

static int complain(const cli_options *options, const cli_program *program) {
    char names[128];
    list_names(names, sizeof names, program);
    return cli_usage(options, "a command is missing: use %s", names);
}

static int refuse_command(const cli_program *program, int argc, char **argv) {
    cli_options options = {0};
    for (int i = 1; i < argc; i++) {
        options.json |= strcmp(argv[i], "--json") == 0;
        options.quiet |= strcmp(argv[i], "--quiet") == 0;
    }
    if (program->elsewhere != NULL && cli_find_command(cli_all_commands, argv[1]) != NULL)
        return cli_usage(&options, "no command '%s' here: %s", argv[1], program->elsewhere);
    char names[128];
    list_names(names, sizeof names, program);
    return cli_usage(&options, "unknown command '%s': use %s", argv[1], names);
}

/* A call without a command. */
static int run_without(const cli_program *program, int argc, char **argv) {
    static const cli_option_id ids[] = {CLI_JSON, CLI_QUIET, CLI_VERSION, CLI_HELP, CLI_NONE};
    if (argc > 1 && argv[1][0] != '-')
        return refuse_command(program, argc, argv);
    char description[2048];
    describe(description, sizeof description, program);
    const cli_command bare = {
        .usage = "COMMAND [ARGUMENT...]", .description = description, .option_ids = ids};
    cli_options options;
    int status = 0;
    if (!cli_parse(&options, &status, &bare, argc, argv))
        return status;
    return complain(&options, program);
}

static int in_command;

/* A library that ends the program in the midst of a command (OpenMP does where it cannot start a
 * thread) gives a status of its own, and 1 would say that something is not exact. */
static void at_exit(void) {
    if (in_command) {
        fflush(NULL);
        _exit(FAILURE);
    }
}

int cli_run_program(const cli_program *program, int argc, char **argv) {
    const cli_command *command = argc > 1 ? cli_find_command(program->commands, argv[1]) : NULL;
    if (command == NULL)
        return run_without(program, argc, argv);
    cli_options options;
    int status = 0;
    if (!cli_parse(&options, &status, command, argc - 1, argv + 1))
        return status;
    in_command = atexit(at_exit) == 0;
    status = command->run(&options);
    in_command = 0;
    return status;
}
