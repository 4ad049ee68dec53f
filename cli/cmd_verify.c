/* exactformer verify: run every input and compare with the targets. */
#include "commands.h"
#include "evaluation.h"
#include "files.h"
#include "output.h"

#include <math.h>
#include <time.h>

static const cli_option_id option_ids[] = {CLI_ENGINE,       CLI_ATTENTION_OVERRIDE,
                                           CLI_TAU_OVERRIDE, CLI_THREADS,
                                           CLI_JSON,         CLI_QUIET,
                                           CLI_HELP,         CLI_NONE};

/* All that is to be printed. */
typedef struct verification {
    const xf_model *model;
    const xf_dataset *data;
    cli_evaluation evaluation;
    xf_verify_report report;
    int64_t bound;
    double seconds;
} verification;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_report(const cli_options *options, const verification *v) {
    const xf_verify_report *r = &v->report;
    cli_line(options, "result", "%lld of %lld sequences exact, Hausdorff distance %.17g",
             (long long)r->n_exact, (long long)r->n_sequences, r->hausdorff_max);
    if (r->first_mismatch >= 0)
        cli_line(options, "mismatch", "first in sequence %lld, largest in sequence %lld",
                 (long long)r->first_mismatch, (long long)r->worst_sequence);
    cli_blocks_line(options, v->model, v->bound);
}

static json_t *report_json(const cli_options *options, const verification *v) {
    const xf_verify_report *r = &v->report;
    json_t *result =
        json_pack("{s:I,s:I,s:o,s:o,s:o,s:I,s:I}", "sequences", (json_int_t)r->n_sequences, "exact",
                  (json_int_t)r->n_exact, "hausdorff_max", cli_json_real(r->hausdorff_max),
                  "first_mismatch", cli_json_position(r->first_mismatch), "worst_sequence",
                  cli_json_position(r->worst_sequence), "blocks", (json_int_t)v->model->n_blocks,
                  "bound", (json_int_t)v->bound);
    int is_softmax = v->evaluation.attention == XF_SOFTMAX;
    json_t *how =
        json_pack("{s:s,s:o,s:s,s:o}", "attention", cli_attention_names[v->evaluation.attention],
                  "tau", cli_json_real(is_softmax ? v->evaluation.tau : NAN), "engine",
                  cli_engine_names[options->engine], "seconds", cli_json_real(v->seconds));
    return cli_json_join(result, how);
}

/* A mismatch is a result, exit status 1, and not a failure. */
static int verify(verification *v, const cli_options *options) {
    cli_progress progress;
    int status = cli_evaluation_init(&v->evaluation, options, v->model, &progress);
    if (status != 0)
        return status;
    xf_error error;
    double start = now();
    cli_progress_begin(&progress, options);
    xf_status outcome = xf_verify(&v->report, v->model, v->data, &v->evaluation.run, &error);
    cli_progress_end(&progress);
    v->seconds = now() - start;
    v->bound =
        xf_published_bound(v->data->n_sequences, v->data->n_targets, v->evaluation.attention);
    if (outcome != XF_OK && outcome != XF_NOT_EXACT)
        return cli_fail(options, options->arguments[1], &error);
    print_report(options, v);
    json_t *json = options->json ? report_json(options, v) : NULL;
    return cli_finish(options, json, xf_status_exit_code(outcome));
}

static int run(const cli_options *options) {
    xf_model model;
    xf_dataset data;
    xf_model_init(&model);
    xf_dataset_init(&data);
    verification v = {.model = &model, .data = &data};
    int status = cli_load_model(&model, options, options->arguments[0]);
    if (status == 0)
        status = cli_load_data(&data, options, options->arguments[1], &model, 0);
    if (status == 0)
        status = verify(&v, options);
    xf_dataset_clear(&data);
    xf_model_clear(&model);
    return status;
}

const cli_command cli_verify = {
    .name = "verify",
    .summary = "compare a model's outputs with the targets, exactly",
    .usage = "MODEL DATASET",
    .description = "Run MODEL on every input of DATASET and compare the output sets with the "
                   "targets, value by value. Exit status 0 if all are equal, 1 if not.",
    .option_ids = option_ids,
    .n_required = 2,
    .n_allowed = 2,
    .argument_names = {"MODEL", "DATASET"},
    .run = run,
};
