/* One argp parser that serves every command. */
#include "options.h"

#include "option_table.h"
#include "output.h"
#include "processes.h"
#include "values.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

/* argp sees short names as their characters, the others from here on. */
enum { LONG_KEYS = 256 };

/* What travels through argp. */
typedef struct parser {
    cli_options *options;
    const cli_command *command;
    const struct argp *argp;
    int finished; /* nothing is left to run: help was printed or a failure reported */
    int exit_status;
} parser;

static int refuse(parser *p, const cli_option *o, const char *text) {
    char names[64];
    switch (o->kind) {
    case CLI_VALUE_CHOICE:
        cli_join(names, sizeof names, o->choices);
        return cli_usage(p->options, "unknown --%s '%s': use %s", o->name, text, names);
    case CLI_VALUE_INTEGER:
        return cli_usage(p->options, "bad --%s '%s': use a whole number from 1 to %lld", o->name,
                         text, (long long)o->highest);
    case CLI_VALUE_RANGE:
        return cli_usage(p->options, "bad --%s '%s': use A or A:B, 1 <= A <= B <= %lld", o->name,
                         text, (long long)o->highest);
    case CLI_VALUE_SEED:
        return cli_usage(p->options, "bad --%s '%s': use a whole number from 0 to 2^64 - 1",
                         o->name, text);
    case CLI_VALUE_POSITIVE:
        return cli_usage(p->options, "bad --%s '%s': use a finite number above 0", o->name, text);
    default:
        return cli_usage(p->options, "bad --%s '%s': use a finite number", o->name, text);
    }
}

static int store(cli_options *options, const cli_option *o, const char *text) {
    void *field = (char *)options + o->field;
    switch (o->kind) {
    case CLI_VALUE_FLAG:
        return *(int *)field = 1;
    case CLI_VALUE_TEXT:
        *(const char **)field = text;
        return 1;
    case CLI_VALUE_CHOICE:
        return cli_read_choice(field, text, o->choices);
    case CLI_VALUE_INTEGER:
        return cli_read_integer(field, text, 1, o->highest);
    case CLI_VALUE_RANGE:
        return cli_read_range(field, text, o->highest);
    case CLI_VALUE_SEED:
        return cli_read_seed(field, text);
    case CLI_VALUE_POSITIVE:
        return cli_read_real(field, text) && *(double *)field > 0.0;
    case CLI_VALUE_REAL:
        return cli_read_real(field, text);
    }
    return 0;
}

static error_t finish(parser *p, int exit_status) {
    p->finished = 1;
    p->exit_status = exit_status;
    return EINVAL;
}

static error_t print_help(parser *p) {
    char name[64];
    const char *command = p->command->name;
    snprintf(name, sizeof name, "%s%s%s", cli_program_name, command ? " " : "",
             command ? command : "");
    argp_help(p->argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    return finish(p, cli_finish(&(cli_options){0}, NULL, 0));
}

static error_t take_option(parser *p, cli_option_id id, const char *text) {
    if (id == CLI_HELP)
        return print_help(p);
    if (id == CLI_VERSION)
        printf("exactformer %s\n", xf_version());
    if (id == CLI_VERSION)
        return finish(p, cli_finish(&(cli_options){0}, NULL, 0));
    if (!store(p->options, &cli_option_table[id], text))
        return finish(p, refuse(p, &cli_option_table[id], text));
    p->options->given[id] = 1;
    return 0;
}

static error_t take_argument(parser *p, const char *text) {
    cli_options *options = p->options;
    if (options->n_arguments == p->command->n_allowed)
        return finish(p, cli_usage(options, "unexpected argument '%s'", text));
    options->arguments[options->n_arguments++] = text;
    return 0;
}

static error_t check_arguments(parser *p) {
    int n = p->options->n_arguments;
    if (n < p->command->n_required && !p->options->list)
        return finish(p,
                      cli_usage(p->options, "%s is missing; see %s %s --help",
                                p->command->argument_names[n], cli_program_name, p->command->name));
    return 0;
}

static int key_of(cli_option_id id) {
    return cli_option_table[id].short_name ? cli_option_table[id].short_name : LONG_KEYS + (int)id;
}

/* Two options never share a name within a command. */
static cli_option_id find_key(const cli_command *command, int key) {
    for (const cli_option_id *id = command->option_ids; *id != CLI_NONE; id++)
        if (key_of(*id) == key)
            return *id;
    return CLI_NONE;
}

/* What is wrong with `word`, --name or --name=value? Returns 0 if nothing. */
static int diagnose_long(parser *p, const char *word) {
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    int n_found = 0;
    const cli_option *found = NULL;
    for (const cli_option_id *id = p->command->option_ids; *id != CLI_NONE; id++) {
        if (strncmp(cli_option_table[*id].name, name, length) != 0)
            continue;
        found = &cli_option_table[*id];
        n_found++;
        if (found->name[length] == '\0') {
            n_found = 1;
            break;
        }
    }
    if (n_found == 0)
        return cli_usage(p->options, "unknown option '%s'", word);
    if (n_found > 1)
        return cli_usage(p->options, "ambiguous option '%s'", word);
    if (found->kind != CLI_VALUE_FLAG && name[length] == '\0')
        return cli_usage(p->options, "option --%s needs a value: %s", found->name, found->value);
    if (found->kind == CLI_VALUE_FLAG && name[length] != '\0')
        return cli_usage(p->options, "option --%s takes no value", found->name);
    return 0;
}

/* The same for -abc. */
static int diagnose_short(parser *p, const char *word) {
    for (const char *c = word + 1; *c; c++) {
        cli_option_id id = find_key(p->command, *c);
        if (id == CLI_NONE)
            return cli_usage(p->options, "unknown option '-%c'", *c);
        if (cli_option_table[id].kind != CLI_VALUE_FLAG && c[1] == '\0')
            return cli_usage(p->options, "option -%c needs a value: %s", *c,
                             cli_option_table[id].value);
        if (cli_option_table[id].kind != CLI_VALUE_FLAG)
            return 0;
    }
    return 0;
}

/* argp keeps its reasons to itself; the word at fault is the last it took or the next. */
static int diagnose(parser *p, const struct argp_state *state) {
    for (int i = state->next - 1; i <= state->next; i++) {
        const char *word = i < 1 || i >= state->argc ? "" : state->argv[i];
        int status = 0;
        if (word[0] == '-' && word[1] == '-')
            status = diagnose_long(p, word);
        else if (word[0] == '-')
            status = diagnose_short(p, word);
        if (status != 0)
            return status;
    }
    return cli_usage(p->options, "cannot make sense of the options");
}

static error_t parse(int key, char *text, struct argp_state *state) {
    parser *p = state->input;
    cli_option_id id = find_key(p->command, key);
    if (id != CLI_NONE)
        return take_option(p, id, text);
    switch (key) {
    case ARGP_KEY_ARG:
        return take_argument(p, text);
    case ARGP_KEY_END:
        return check_arguments(p);
    case ARGP_KEY_ERROR:
        if (!p->finished)
            finish(p, diagnose(p, state));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --json and --quiet decide how errors look, so they count wherever they stand. */
static void look_ahead(cli_options *options, int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        options->json |= strcmp(argv[i], "--json") == 0;
        options->quiet |= strcmp(argv[i], "--quiet") == 0 || strcmp(argv[i], "-q") == 0;
    }
}

int cli_parse(cli_options *options, int *exit_status, const cli_command *command, int argc,
              char **argv) {
    struct argp_option list[CLI_N_OPTIONS + 1] = {0};
    int n = 0;
    for (const cli_option_id *id = command->option_ids; *id != CLI_NONE; id++)
        list[n++] = (struct argp_option){.name = cli_option_table[*id].name,
                                         .key = key_of(*id),
                                         .arg = cli_option_table[*id].value,
                                         .doc = cli_option_table[*id].help};
    const struct argp argp = {list, parse, command->usage, command->description, NULL, NULL, NULL};
    parser p = {.options = options, .command = command, .argp = &argp};
    *options = (cli_options){.command = command->name};
    look_ahead(options, argc, argv);
    error_t error = argp_parse(
        &argp, argc, argv,
        ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT | (command->name ? 0 : ARGP_IN_ORDER), NULL, &p);
    if (error != 0 && !p.finished)
        finish(&p, cli_usage(options, "cannot parse the options"));
    *exit_status = p.exit_status;
    return !p.finished;
}
