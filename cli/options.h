/* Every option of every command, in one table, and its strict parsing.
 *
 * A command lists the options it takes; their names, values and help texts are in
 * option_table.c and nowhere else. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <exactformer/exactformer.h>

typedef enum cli_option_id {
    CLI_NONE = 0, /* closes a list */
    CLI_HELP,
    CLI_JSON,
    CLI_QUIET,
    CLI_VERSION,
    CLI_OUTPUT_MODEL,
    CLI_OUTPUT_DATA,
    CLI_OUTPUT_TRACE,
    CLI_OUTPUT_CERTIFICATE,
    CLI_EXP_ULP,
    CLI_CONSTRUCTION,
    CLI_ATTENTION,
    CLI_ATTENTION_OVERRIDE,
    CLI_TAU,
    CLI_TAU_OVERRIDE,
    CLI_DTYPE,
    CLI_FRONT,
    CLI_WRITER,
    CLI_OPTIMISE,
    CLI_NORM,
    CLI_BUILD_SEED,
    CLI_THREADS,
    CLI_APPEND_POSITIONS,
    CLI_LAYOUT,
    CLI_ENGINE,
    CLI_DISTINCT,
    CLI_STRIP_POSITIONS,
    CLI_EVERY,
    CLI_PHASE,
    CLI_LIST,
    CLI_SEQUENCES,
    CLI_DIMENSION,
    CLI_TOKENS,
    CLI_TARGETS,
    CLI_VOCABULARY,
    CLI_GRID,
    CLI_INPUT_GRID,
    CLI_SCALE,
    CLI_OFFSET,
    CLI_SEED,
    CLI_BLOCKS,
    CLI_WIDTH,
    CLI_RANK,
    CLI_ORDER,
    CLI_CAUSAL,
    CLI_VALUE_FORM,
    CLI_SCALAR,
    CLI_INITIAL,
    CLI_RESIDUAL,
    CLI_OPTIMISER,
    CLI_LEARNING_RATE,
    CLI_SCHEDULE,
    CLI_WEIGHT_DECAY,
    CLI_EPOCHS,
    CLI_COLD,
    CLI_STARTS,
    CLI_CHECKPOINT,
    CLI_RESUME,
    CLI_LOG,
    CLI_LOG_EVERY,
    CLI_EXACT_MODEL,
    CLI_DATA,
    CLI_FIGURE_EPOCHS,
    CLI_FIGURE_SCALING,
    CLI_N_OPTIONS
} cli_option_id;

enum { CLI_MAX_ARGUMENTS = 2 };

typedef struct cli_range {
    int64_t low, high;
} cli_range;

/* What was asked for. Choices are positions in their list, which are the values of the
 * library's enumerations. Strings belong to argv. */
typedef struct cli_options {
    const char *command; /* NULL: the program itself */
    unsigned char given[CLI_N_OPTIONS];
    int json;
    int quiet;
    int n_arguments;
    const char *arguments[CLI_MAX_ARGUMENTS];
    const char *output;
    int construction, attention, dtype, engine, layout, append_positions;
    int optimise, balanced;
    const char *front, *writer; /* NULL: the library chooses */
    double tau;
    uint64_t seed;
    int64_t threads;
    int64_t exp_ulp;
    int distinct;
    int strip_positions;
    int64_t every;
    const char *phase; /* NULL: all */
    int list;
    int64_t n_sequences, d, vocabulary;
    cli_range tokens, targets;
    int grid, input_grid;
    double scale, offset;
    int64_t blocks, width, rank, starts, log_every;
    int order, causal, value_form, scalar;
    int optimiser, schedule, cold, resume;
    double learning_rate, residual;
    const char *initial, *weight_decay, *epochs, *checkpoint, *log;  /* NULL: not given */
    const char *exact_model, *data, *figure_epochs, *figure_scaling; /* likewise */
} cli_options;

typedef struct cli_command {
    const char *name;
    const char *summary;     /* one line for the list of commands */
    const char *usage;       /* what follows the name */
    const char *description; /* for --help */
    const cli_option_id *option_ids;
    int n_required, n_allowed; /* arguments */
    const char *argument_names[CLI_MAX_ARGUMENTS];
    int (*run)(const cli_options *options); /* returns the exit status */
} cli_command;

/* Names of attentions, number formats and engines in the order of their enumerations,
 * NULL-terminated. */
extern const char *const cli_attention_names[];
extern const char *const cli_dtype_names[];
extern const char *const cli_engine_names[];
extern const char *const cli_order_names[];
extern const char *const cli_value_form_names[];
extern const char *const cli_optimiser_names[];

static inline int cli_given(const cli_options *options, cli_option_id id) {
    return options->given[id];
}

/* Parse the command's own argv (argv[0] is the command). Returns nonzero if the command
 * should run; otherwise help was printed or a usage error reported, and *exit_status says
 * how to end. */
int cli_parse(cli_options *options, int *exit_status, const cli_command *command, int argc,
              char **argv);

#endif
