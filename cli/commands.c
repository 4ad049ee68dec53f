/* The table of commands. */
#include "commands.h"

#include "output.h"

#include <stdio.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_build,  &cli_verify,   &cli_certify, &cli_run,    &cli_trace,    &cli_inspect,
    &cli_export, &cli_generate, &cli_train,   &cli_golden, &cli_diagnose,
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

const cli_command *cli_find_command(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void list_names(char *out, size_t size) {
    out[0] = '\0';
    for (int i = 0; i < N_COMMANDS; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? ", " : "", commands[i]->name);
    }
}

/* argp prints what follows \v after the options. */
static void describe(char *out, size_t size) {
    snprintf(out, size,
             "Constructs, without training, a transformer that maps every input sequence of a data "
             "set exactly to its output sequence.\vCommands:\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    size_t used = strlen(out);
    snprintf(out + used, size - used,
             "\nexactformer COMMAND --help tells more about one of them.\n"
             "Exit status: 0 done and exact, 1 not exact, 2 usage, 3 bad data or model, "
             "4 input/output failure, 5 exactness not possible for these data.");
}

static int complain(const cli_options *options) {
    char names[128];
    list_names(names, sizeof names);
    return cli_usage(options, "a command is missing: use %s", names);
}

static int refuse_command(const char *name, int argc, char **argv) {
    cli_options options = {0};
    for (int i = 1; i < argc; i++) {
        options.json |= strcmp(argv[i], "--json") == 0;
        options.quiet |= strcmp(argv[i], "--quiet") == 0;
    }
    char names[128];
    list_names(names, sizeof names);
    return cli_usage(&options, "unknown command '%s': use %s", name, names);
}

int cli_program(int argc, char **argv) {
    static const cli_option_id ids[] = {CLI_JSON, CLI_QUIET, CLI_VERSION, CLI_HELP, CLI_NONE};
    if (argc > 1 && argv[1][0] != '-')
        return refuse_command(argv[1], argc, argv);
    char description[2048];
    describe(description, sizeof description);
    const cli_command program = {
        .usage = "COMMAND [ARGUMENT...]", .description = description, .option_ids = ids};
    cli_options options;
    int status = 0;
    if (!cli_parse(&options, &status, &program, argc, argv))
        return status;
    return complain(&options);
}
