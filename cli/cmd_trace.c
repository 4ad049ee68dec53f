/* exactformer trace: the tokens between a model's blocks. */
#include "commands.h"
#include "evaluation.h"
#include "files.h"
#include "output.h"

#include <string.h>
#include <strings.h>

static const cli_option_id option_ids[] = {
    CLI_OUTPUT_TRACE, CLI_EVERY,   CLI_PHASE, CLI_ENGINE, CLI_ATTENTION_OVERRIDE,
    CLI_TAU_OVERRIDE, CLI_THREADS, CLI_JSON,  CLI_QUIET,  CLI_HELP,
    CLI_NONE};

/* The library would refuse the name only after the work. */
static int check_name(const cli_options *options) {
    static const char extension[] = ".npz";
    size_t wanted = sizeof extension - 1, length = strlen(options->output);
    if (length > wanted && strcasecmp(options->output + length - wanted, extension) == 0)
        return 0;
    return cli_usage(options, "%s: a trace is written as .npz: end the name in that",
                     options->output);
}

static int trace(xf_snapshots *out, const xf_model *model, const xf_dataset *input,
                 const cli_options *options) {
    cli_progress progress;
    cli_evaluation evaluation;
    int status = cli_evaluation_init(&evaluation, options, model, &progress);
    if (status != 0)
        return status;
    const xf_trace_options how = {
        .every = options->every, .phase = options->phase, .run = evaluation.run};
    xf_error error;
    cli_progress_begin(&progress, options);
    xf_status outcome = xf_trace(out, model, input, &how, &error);
    cli_progress_end(&progress);
    return outcome == XF_OK ? 0 : cli_fail(options, options->arguments[0], &error);
}

static int report(const xf_snapshots *s, const cli_options *options) {
    int64_t first = s->blocks_done[0], last = s->blocks_done[s->n_snapshots - 1];
    cli_line(options, "trace", "%lld times %lld tokens, d = %lld", (long long)s->n_snapshots,
             (long long)s->n_tokens, (long long)s->d);
    cli_line(options, "blocks done", "%lld to %lld", (long long)first, (long long)last);
    cli_line(options, "written", "%s", options->output);
    json_t *json =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "snapshots", (json_int_t)s->n_snapshots,
                  "sequences", (json_int_t)s->n_sequences, "tokens", (json_int_t)s->n_tokens, "d",
                  (json_int_t)s->d, "first", (json_int_t)first, "last", (json_int_t)last, "output",
                  cli_json_text(options->output));
    return cli_finish(options, json, 0);
}

static int run(const cli_options *options) {
    int status = cli_check_output(options);
    if (status == 0)
        status = check_name(options);
    if (status != 0)
        return status;
    xf_model model;
    xf_dataset input;
    xf_snapshots snapshots;
    xf_model_init(&model);
    xf_dataset_init(&input);
    xf_snapshots_init(&snapshots);
    status = cli_load_model(&model, options, options->arguments[0]);
    if (status == 0)
        status = cli_load_data(&input, options, options->arguments[1], &model, 1);
    if (status == 0)
        status = trace(&snapshots, &model, &input, options);
    if (status == 0)
        status = cli_save_trace(&snapshots, options);
    if (status == 0)
        status = report(&snapshots, options);
    xf_snapshots_clear(&snapshots);
    xf_dataset_clear(&input);
    xf_model_clear(&model);
    return status;
}

const cli_command cli_trace = {
    .name = "trace",
    .summary = "write the tokens between a model's blocks",
    .usage = "MODEL DATASET -o TRACE",
    .description = "Run MODEL on every sequence of DATASET (targets are ignored) and write its "
                   "tokens before the first block and after every block to TRACE (.npz), with "
                   "the names of the phases.",
    .option_ids = option_ids,
    .n_required = 2,
    .n_allowed = 2,
    .argument_names = {"MODEL", "DATASET"},
    .run = run,
};
