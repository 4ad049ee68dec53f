/* exactformer generate: seeded synthetic data sets. */
#include "commands.h"
#include "files.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

static const cli_option_id option_ids[] = {
    CLI_OUTPUT_DATA, CLI_SEQUENCES,  CLI_DIMENSION, CLI_TOKENS, CLI_TARGETS, CLI_VOCABULARY,
    CLI_GRID,        CLI_INPUT_GRID, CLI_SCALE,     CLI_OFFSET, CLI_SEED,    CLI_LIST,
    CLI_JSON,        CLI_QUIET,      CLI_HELP,      CLI_NONE};

static int list_kinds(const cli_options *options) {
    json_t *list = json_array();
    for (const char *const *kind = xf_generate_kinds(); *kind != NULL; kind++) {
        cli_line(options, *kind, "%s", xf_generate_describe(*kind));
        json_array_append_new(list, json_pack("{s:s,s:s}", "name", *kind, "description",
                                              xf_generate_describe(*kind)));
    }
    return cli_finish(options, json_pack("{s:o}", "kinds", list), 0);
}

static int refuse_kind(const cli_options *options) {
    char names[256] = "";
    for (const char *const *kind = xf_generate_kinds(); *kind != NULL; kind++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", *kind);
    }
    return cli_usage(options, "unknown kind '%s': use %s", options->arguments[0], names);
}

static int report(const xf_dataset *data, const cli_options *options) {
    cli_line(options, "data", "%lld sequences, %lld targets, %lld tokens, d = %lld",
             (long long)data->n_sequences, (long long)data->n_targets, (long long)data->n_tokens,
             (long long)data->d);
    cli_line(options, "written", "%s", options->output);
    json_t *json = json_pack("{s:s,s:I,s:I,s:I,s:I,s:o}", "kind", options->arguments[0],
                             "sequences", (json_int_t)data->n_sequences, "targets",
                             (json_int_t)data->n_targets, "tokens", (json_int_t)data->n_tokens, "d",
                             (json_int_t)data->d, "output", cli_json_text(options->output));
    return cli_finish(options, json, 0);
}

static int generate(xf_dataset *data, const cli_options *options) {
    const xf_generate_options how = {.kind = options->arguments[0],
                                     .n_sequences = options->n_sequences,
                                     .d = options->d,
                                     .n_min = options->tokens.low,
                                     .n_max = options->tokens.high,
                                     .m_min = options->targets.low,
                                     .m_max = options->targets.high,
                                     .vocabulary = options->vocabulary,
                                     .grid = (xf_grid)options->grid,
                                     .input_grid = (xf_grid)options->input_grid,
                                     .scale = options->scale,
                                     .offset = options->offset,
                                     .seed = options->seed};
    xf_error error;
    return xf_generate(data, &how, &error) == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

static int run(const cli_options *options) {
    if (options->list)
        return list_kinds(options);
    if (xf_generate_describe(options->arguments[0]) == NULL)
        return refuse_kind(options);
    if (cli_given(options, CLI_SCALE) && options->scale == 0.0)
        return cli_usage(options, "bad --scale '0': every token would be the same");
    int status = cli_check_output(options);
    if (status != 0)
        return status;
    xf_dataset data;
    xf_dataset_init(&data);
    status = generate(&data, options);
    if (status == 0)
        status = cli_save_data(&data, options);
    if (status == 0)
        status = report(&data, options);
    xf_dataset_clear(&data);
    return status;
}

const cli_command cli_generate = {
    .name = "generate",
    .summary = "make a seeded synthetic data set",
    .usage = "KIND -o FILE\n--list",
    .description = "Make a data set of the given KIND; the same options give the same values on "
                   "every machine. Sizes that are left out have defaults that suit the kind.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 1,
    .argument_names = {"KIND"},
    .run = run,
};
