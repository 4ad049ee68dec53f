/* exactformer run: the outputs of a model for every input. */
#include "commands.h"
#include "evaluation.h"
#include "files.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

static const cli_option_id option_ids[] = {CLI_OUTPUT_DATA,
                                           CLI_DISTINCT,
                                           CLI_STRIP_POSITIONS,
                                           CLI_ENGINE,
                                           CLI_ATTENTION_OVERRIDE,
                                           CLI_TAU_OVERRIDE,
                                           CLI_THREADS,
                                           CLI_JSON,
                                           CLI_QUIET,
                                           CLI_HELP,
                                           CLI_NONE};

/* Output tokens; rows are removed and columns dropped in place. */
typedef struct outputs {
    int64_t n_sequences;
    int64_t d;
    double *y;        /* [y_offsets[n_sequences]][d] */
    int64_t *offsets; /* [n_sequences + 1] */
} outputs;

static int outputs_init(outputs *out, const xf_dataset *input) {
    size_t n = (size_t)input->n_sequences + 1;
    *out = (outputs){.n_sequences = input->n_sequences, .d = input->d};
    out->offsets = calloc(n, sizeof *out->offsets);
    out->y = calloc((size_t)input->n_tokens, (size_t)input->d * sizeof *out->y);
    if (out->offsets == NULL || out->y == NULL)
        return 0;
    memcpy(out->offsets, input->x_offsets, n * sizeof *out->offsets);
    return 1;
}

static void outputs_clear(outputs *out) {
    free(out->y);
    free(out->offsets);
}

static int is_equal(const double *a, const double *b, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        if (a[c] != b[c])
            return 0;
    return 1;
}

/* Does `row` occur among the `count` rows from `rows` on? */
static int occurs(const double *rows, int64_t count, const double *row, int64_t d) {
    for (int64_t i = 0; i < count; i++)
        if (is_equal(rows + i * d, row, d))
            return 1;
    return 0;
}

/* Keep the first of equal rows in each sequence. */
static void remove_repetitions(outputs *out) {
    int64_t d = out->d, kept = 0, first = 0;
    for (int64_t j = 0; j < out->n_sequences; j++) {
        int64_t end = out->offsets[j + 1], start = kept;
        for (int64_t i = first; i < end; i++) {
            const double *row = out->y + i * d;
            if (!occurs(out->y + start * d, kept - start, row, d))
                memmove(out->y + kept++ * d, row, (size_t)d * sizeof *row);
        }
        first = end;
        out->offsets[j + 1] = kept;
    }
}

static void drop_last_column(outputs *out) {
    int64_t n_rows = out->offsets[out->n_sequences], d = out->d - 1;
    for (int64_t i = 0; i < n_rows; i++)
        memmove(out->y + i * d, out->y + i * (d + 1), (size_t)d * sizeof *out->y);
    out->d = d;
}

static int evaluate(outputs *out, const xf_model *model, const xf_dataset *input,
                    const cli_options *options) {
    cli_progress progress;
    cli_evaluation evaluation;
    int status = cli_evaluation_init(&evaluation, options, model, &progress);
    if (status != 0)
        return status;
    xf_error error;
    cli_progress_begin(&progress, options);
    xf_status outcome = xf_run(out->y, model, input, &evaluation.run, &error);
    cli_progress_end(&progress);
    return outcome == XF_OK ? 0 : cli_fail(options, options->arguments[1], &error);
}

static int write_outputs(const outputs *out, const cli_options *options) {
    int status = cli_save_outputs(options, out->n_sequences, out->d, out->y, out->offsets);
    if (status != 0)
        return status;
    int64_t n_rows = out->offsets[out->n_sequences];
    cli_line(options, "outputs", "%lld sequences, %lld tokens, d = %lld",
             (long long)out->n_sequences, (long long)n_rows, (long long)out->d);
    cli_line(options, "written", "%s", options->output);
    json_t *json = json_pack("{s:I,s:I,s:I,s:b,s:o}", "sequences", (json_int_t)out->n_sequences,
                             "rows", (json_int_t)n_rows, "d", (json_int_t)out->d, "distinct",
                             options->distinct, "output", cli_json_text(options->output));
    return cli_finish(options, json, 0);
}

static int run_on(const xf_model *model, const xf_dataset *input, const cli_options *options) {
    outputs out;
    int status = 0;
    if (outputs_init(&out, input)) {
        status = evaluate(&out, model, input, options);
    } else {
        xf_error error = {XF_ERR_MEMORY, -1, -1, "out of memory"};
        status = cli_fail(options, NULL, &error);
    }
    if (status == 0 && options->distinct)
        remove_repetitions(&out);
    if (status == 0 && options->strip_positions)
        drop_last_column(&out);
    if (status == 0)
        status = write_outputs(&out, options);
    outputs_clear(&out);
    return status;
}

static int run(const cli_options *options) {
    int status = cli_check_output(options);
    if (status != 0)
        return status;
    xf_model model;
    xf_dataset input;
    xf_model_init(&model);
    xf_dataset_init(&input);
    status = cli_load_model(&model, options, options->arguments[0]);
    if (status == 0 && options->strip_positions && model.positions < 0)
        status = cli_usage(options, "--positions: the model has no position coordinate");
    if (status == 0)
        status = cli_load_data(&input, options, options->arguments[1], &model, 1);
    if (status == 0)
        status = run_on(&model, &input, options);
    xf_dataset_clear(&input);
    xf_model_clear(&model);
    return status;
}

const cli_command cli_run = {
    .name = "run",
    .summary = "write a model's outputs for every input",
    .usage = "MODEL INPUT -o OUTPUT",
    .description =
        "Run MODEL on every sequence of INPUT (targets are ignored) and write the output "
        "tokens as y and y_offsets, one row for each input token.",
    .option_ids = option_ids,
    .n_required = 2,
    .n_allowed = 2,
    .argument_names = {"MODEL", "INPUT"},
    .run = run,
};
