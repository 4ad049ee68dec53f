/* exactformer build: construct a model, check it, write it. */
#include "commands.h"
#include "files.h"
#include "output.h"
#include "processes.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const cli_option_id option_ids[] = {CLI_OUTPUT_MODEL, CLI_CONSTRUCTION, CLI_FRONT,
                                           CLI_WRITER,       CLI_OPTIMISE,     CLI_NORM,
                                           CLI_ATTENTION,    CLI_TAU,          CLI_DTYPE,
                                           CLI_BUILD_SEED,   CLI_THREADS,      CLI_APPEND_POSITIONS,
                                           CLI_LAYOUT,       CLI_JSON,         CLI_QUIET,
                                           CLI_HELP,         CLI_NONE};

static void print_report(const cli_options *options, const xf_model *model,
                         const xf_build_report *report) {
    cli_line(options, "data", "%lld sequences, %lld targets, %lld tokens, d = %lld",
             (long long)model->n_sequences, (long long)model->n_targets, (long long)model->n_tokens,
             (long long)model->d);
    cli_line(options, "construction", "%s, front end %s, writer %s", model->construction,
             report->front, report->writer);
    if (report->n_folds > 0 || report->extra_blocks > 0)
        cli_line(options, "extra", "%lld folds, %lld extra blocks", (long long)report->n_folds,
                 (long long)report->extra_blocks);
    cli_line(options, "model", "%s, %s, width %lld", cli_attention_names[model->attention],
             cli_dtype_names[model->dtype], (long long)model->width);
    cli_blocks_line(options, model, report->bound);
    cli_margin_line(options, report->margin, report->margin_sequence);
    if (strcmp(report->front, "leaders") == 0)
        cli_line(options, "separations", "%lld", (long long)report->n_separations);
    if (strcmp(report->front, "leaders") == 0 && isfinite(report->tau_max))
        cli_line(options, "collapse",
                 "logits at least %.6g apart, exact for softmax up to tau = %.17g",
                 report->collapse_margin, report->tau_max);
    cli_line(options, "time", "%.2f s construction, %.2f s self-check", report->seconds_construct,
             report->seconds_check);
    cli_line(options, "written", "%s", options->output);
}

static void remark_left_out(const cli_options *options, const xf_build_report *report) {
    if (report->left_out)
        cli_note((void *)options,
                 "for lack of memory, ways of building that hold numbers of every token were left "
                 "out; with more, or with --writer, the model may be shallower");
}

static json_t *report_json(const cli_options *options, const xf_model *model,
                           const xf_build_report *report) {
    json_t *size =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "blocks", (json_int_t)model->n_blocks, "bound",
                  (json_int_t)report->bound, "sequences", (json_int_t)model->n_sequences, "targets",
                  (json_int_t)model->n_targets, "tokens", (json_int_t)model->n_tokens, "d",
                  (json_int_t)model->d, "width", (json_int_t)model->width);
    json_t *how =
        json_pack("{s:s,s:s,s:s,s:I,s:I,s:b}", "construction", model->construction, "front",
                  report->front, "writer", report->writer, "folds", (json_int_t)report->n_folds,
                  "extra_blocks", (json_int_t)report->extra_blocks, "left_out", report->left_out);
    json_t *margin = cli_json_margin(report->margin, report->margin_sequence);
    if (strcmp(report->front, "leaders") == 0)
        how = cli_json_join(how,
                            json_pack("{s:I,s:o}", "separations", (json_int_t)report->n_separations,
                                      "collapse_margin", cli_json_real(report->collapse_margin)));
    json_t *rest =
        json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o}", "dtype", cli_dtype_names[model->dtype],
                  "attention", cli_attention_names[model->attention], "tau",
                  cli_json_real(model->attention == XF_SOFTMAX ? model->tau : NAN), "tau_max",
                  cli_json_real(model->tau_max), "seconds_construct",
                  cli_json_real(report->seconds_construct), "seconds_check",
                  cli_json_real(report->seconds_check), "output", cli_json_text(options->output));
    return cli_json_join(size, cli_json_join(how, cli_json_join(margin, rest)));
}

static int build(xf_model *model, xf_build_report *report, const xf_dataset *data,
                 const cli_options *options) {
    cli_progress progress;
    const xf_build_options how = {.construction = (xf_construction)options->construction,
                                  .attention = (xf_attention)options->attention,
                                  .tau = options->tau,
                                  .dtype = (xf_dtype)options->dtype,
                                  .optimise = (xf_optimise)options->optimise,
                                  .hardmax_only = cli_given(options, CLI_ATTENTION) &&
                                                  options->attention == XF_HARDMAX,
                                  .front = options->front,
                                  .writer = options->writer,
                                  .balanced = options->balanced,
                                  .seed = options->seed,
                                  .threads = (int)options->threads,
                                  .progress = cli_progress_report,
                                  .progress_context = &progress,
                                  .peers = cli_peers()};
    xf_error error;
    cli_progress_begin(&progress, options);
    xf_status status = xf_build(model, data, &how, report, &error);
    cli_progress_end(&progress);
    return status == XF_OK ? 0 : cli_fail(options, options->arguments[0], &error);
}

/* Is the value (NULL: not given) one of the library's names? */
static int check_name(const cli_options *options, const char *option, const char *value,
                      const char *const *names) {
    char list[256] = "";
    for (int i = 0; names[i] != NULL; i++) {
        if (value == NULL || strcmp(names[i], value) == 0)
            return 0;
        size_t used = strlen(list);
        const char *comma = i == 0 ? "" : names[i + 1] == NULL ? " or " : ", ";
        snprintf(list + used, sizeof list - used, "%s%s", comma, names[i]);
    }
    return cli_usage(options, "unknown --%s '%s': use %s", option, value, list);
}

static int check_usage(const cli_options *options) {
    if (cli_given(options, CLI_TAU) && options->attention != XF_SOFTMAX)
        return cli_usage(options, "--tau needs --attention softmax");
    int status = check_name(options, "front", options->front, xf_build_fronts());
    if (status == 0)
        status = check_name(options, "writer", options->writer, xf_build_writers());
    return status != 0 ? status : cli_check_output(options);
}

static int run(const cli_options *options) {
    int status = check_usage(options);
    if (status != 0)
        return status;
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    xf_dataset_init(&data);
    xf_model_init(&model);
    status = cli_load_data(&data, options, options->arguments[0], NULL, 0);
    if (status == 0)
        status = build(&model, &report, &data, options);
    if (status == 0)
        status = cli_save_model(&model, options);
    if (status == 0) {
        remark_left_out(options, &report);
        print_report(options, &model, &report);
        json_t *json = options->json ? report_json(options, &model, &report) : NULL;
        status = cli_finish(options, json, 0);
    }
    xf_model_clear(&model);
    xf_dataset_clear(&data);
    return status;
}

const cli_command cli_build = {
    .name = "build",
    .summary = "construct a model for a data set, check it, write it",
    .usage = "DATASET -o MODEL",
    .description = "Construct a transformer that maps every input of DATASET (.npz, .safetensors "
                   "or .jsonl) exactly to its targets, check every sequence, and write it.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 1,
    .argument_names = {"DATASET"},
    .run = run,
};
