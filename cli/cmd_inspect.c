/* exactformer inspect: what a model consists of. */
#include "commands.h"
#include "files.h"
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const cli_option_id option_ids[] = {CLI_JSON, CLI_QUIET, CLI_HELP, CLI_NONE};

static int is_published(const xf_model *model) {
    return strcmp(model->construction, "published") == 0;
}

/* Of the column of names. */
static int longest_name(const xf_model *model) {
    size_t longest = 12;
    for (int64_t i = 0; i < model->n_phases; i++) {
        size_t length = strlen(model->phases[i].name);
        longest = length > longest ? length : longest;
    }
    return (int)longest;
}

/* What the file says may be any number. */
static int64_t target_values(const xf_model *model) {
    int64_t n = 0;
    return __builtin_mul_overflow(model->d, model->n_targets, &n) ? INT64_MAX : n;
}

static void print_phases(const cli_options *options, const xf_model *model) {
    int width = longest_name(model);
    for (int64_t i = 0; i < model->n_phases; i++) {
        const xf_phase *phase = &model->phases[i];
        char count[32] = "";
        if (is_published(model))
            snprintf(count, sizeof count, " (%lld)", (long long)phase->count);
        cli_line(options, i ? "" : "phases", "%-*s blocks %lld to %lld%s, norm squared %.6g", width,
                 phase->name, (long long)phase->first, (long long)(phase->first + phase->count - 1),
                 count, xf_norm_squared(model, phase->first, phase->count));
    }
}

/* The paper's counts beside ours, and what was found again from the weights. */
static void print_published(const cli_options *options, const xf_model *model,
                            const xf_inspection *i) {
    int64_t N = model->n_sequences, M = model->n_targets;
    cli_line(options, "paper", "at most %lld blocks for hardmax, %lld for softmax",
             (long long)xf_published_bound(N, M, XF_HARDMAX),
             (long long)xf_published_bound(N, M, XF_SOFTMAX));
    if (!i->has_collapse)
        return;
    cli_line(options, "separations", "%lld", (long long)i->n_separations);
    if (isinf(i->collapse_margin))
        cli_line(options, "collapse", "nothing to collapse, exact for softmax at every tau");
    else
        cli_line(options, "collapse",
                 "logits at least %.6g apart, exact for softmax up to tau = %.17g",
                 i->collapse_margin, i->tau_max);
}

static void print_model(const cli_options *options, const xf_model *model) {
    cli_line(options, "data", "%lld sequences, %lld targets, %lld tokens, d = %lld",
             (long long)model->n_sequences, (long long)model->n_targets, (long long)model->n_tokens,
             (long long)model->d);
    if (model->positions >= 0)
        cli_line(options, "positions", "last coordinate, multiples of 2^-%d", model->positions);
    if (model->writer[0] != '\0')
        cli_line(options, "construction", "%s, front end %s, writer %s", model->construction,
                 model->front, model->writer);
    else
        cli_line(options, "construction", "%s", model->construction);
    cli_line(options, "model", "%s, %s, width %lld", cli_attention_names[model->attention],
             cli_dtype_names[model->dtype], (long long)model->width);
    if (model->attention == XF_SOFTMAX)
        cli_line(options, "tau", "%.17g", model->tau);
    if (isfinite(model->tau_max))
        cli_line(options, "exact", "for softmax with tau up to %.17g", model->tau_max);
}

/* What was chosen, and what the alternatives would have cost. */
static void print_alternatives(const cli_options *options, const xf_model *model) {
    for (int i = 0; i < model->n_alternatives; i++) {
        const xf_alternative *other = &model->alternatives[i];
        char norm[48] = "";
        if (isfinite(other->norm_squared))
            snprintf(norm, sizeof norm, ", norm squared %.3g", other->norm_squared);
        cli_line(options, i ? "" : "alternatives", "%-6s %-14s %lld blocks%s", other->front,
                 other->writer, (long long)other->blocks, norm);
    }
}

static json_t *alternatives_json(const xf_model *model) {
    json_t *list = json_array();
    for (int i = 0; i < model->n_alternatives; i++) {
        const xf_alternative *other = &model->alternatives[i];
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:I,s:o}", "front", cli_json_text(other->front), "writer",
                            cli_json_text(other->writer), "blocks", (json_int_t)other->blocks,
                            "l2_norm_squared", cli_json_real(other->norm_squared)));
    }
    return list;
}

static void print_inspection(const cli_options *options, const xf_model *model,
                             const xf_inspection *i) {
    cli_blocks_line(options, model, i->bound);
    cli_line(options, "parameters", "%lld dense, %lld nonzero, %lld target values, ratio %.3f",
             (long long)i->parameters_dense, (long long)i->parameters_nonzero,
             (long long)target_values(model), i->nonzero_ratio);
    if (i->cell_bits > 0)
        cli_line(options, "cells", "%d bits", i->cell_bits);
    cli_line(options, "norm squared", "%.6g", i->l2_norm_squared);
    cli_line(options, "max |weight|", "%.6g", i->max_abs_weight);
    if (i->has_margin)
        cli_margin_line(options, i->margin, i->margin_sequence);
    if (is_published(model))
        print_published(options, model, i);
}

static json_t *phases_json(const xf_model *model) {
    json_t *phases = json_array();
    for (int64_t i = 0; i < model->n_phases; i++) {
        const xf_phase *phase = &model->phases[i];
        double norm = xf_norm_squared(model, phase->first, phase->count);
        json_array_append_new(
            phases, json_pack("{s:o,s:I,s:I,s:o}", "name", cli_json_text(phase->name), "first",
                              (json_int_t)phase->first, "count", (json_int_t)phase->count,
                              "l2_norm_squared", cli_json_real(norm)));
    }
    return phases;
}

static json_t *model_json(const xf_model *model) {
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:o,s:o,s:o,s:o,s:o}", "sequences",
        (json_int_t)model->n_sequences, "targets", (json_int_t)model->n_targets, "tokens",
        (json_int_t)model->n_tokens, "d", (json_int_t)model->d, "width", (json_int_t)model->width,
        "dtype", cli_dtype_names[model->dtype], "attention", cli_attention_names[model->attention],
        "tau", cli_json_real(model->attention == XF_SOFTMAX ? model->tau : NAN), "tau_max",
        cli_json_real(model->tau_max), "construction", cli_json_text(model->construction),
        "positions", cli_json_position(model->positions), "phases", phases_json(model));
}

static json_t *choice_json(const xf_model *model) {
    return json_pack("{s:o,s:o,s:o}", "front", cli_json_text(model->front), "writer",
                     cli_json_text(model->writer), "alternatives", alternatives_json(model));
}

static json_t *collapse_json(const xf_inspection *i) {
    return json_pack("{s:I,s:o,s:o}", "separations", (json_int_t)i->n_separations,
                     "collapse_margin", cli_json_real(i->collapse_margin), "tau_max_found",
                     cli_json_real(i->tau_max));
}

static json_t *inspection_json(const xf_model *model, const xf_inspection *i) {
    json_t *size = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:o,s:i,s:o,s:o}", "blocks", (json_int_t)i->blocks, "bound",
        (json_int_t)i->bound, "parameters_dense", (json_int_t)i->parameters_dense,
        "parameters_nonzero", (json_int_t)i->parameters_nonzero, "target_values",
        (json_int_t)target_values(model), "nonzero_ratio", cli_json_real(i->nonzero_ratio),
        "cell_bits", i->cell_bits, "l2_norm_squared", cli_json_real(i->l2_norm_squared),
        "max_abs_weight", cli_json_real(i->max_abs_weight));
    if (i->has_margin)
        size = cli_json_join(size, cli_json_margin(i->margin, i->margin_sequence));
    if (i->has_collapse)
        size = cli_json_join(size, collapse_json(i));
    return cli_json_join(size, cli_json_join(model_json(model), choice_json(model)));
}

static int inspect(const xf_model *model, const xf_dataset *data, const cli_options *options) {
    xf_inspection inspection;
    xf_error error;
    if (xf_inspect(&inspection, model, data, &error) != XF_OK)
        return cli_fail(options, options->arguments[data ? 1 : 0], &error);
    print_model(options, model);
    print_inspection(options, model, &inspection);
    print_phases(options, model);
    print_alternatives(options, model);
    json_t *json = options->json ? inspection_json(model, &inspection) : NULL;
    return cli_finish(options, json, 0);
}

static int run(const cli_options *options) {
    xf_model model;
    xf_dataset data;
    xf_model_init(&model);
    xf_dataset_init(&data);
    int with_data = options->n_arguments > 1;
    int status = cli_load_model(&model, options, options->arguments[0]);
    if (status == 0 && with_data)
        status = cli_load_data(&data, options, options->arguments[1], &model, 0);
    if (status == 0)
        status = inspect(&model, with_data ? &data : NULL, options);
    xf_dataset_clear(&data);
    xf_model_clear(&model);
    return status;
}

const cli_command cli_inspect = {
    .name = "inspect",
    .summary = "show a model's phases, size, norms and margins",
    .usage = "MODEL [DATASET]",
    .description = "Show what MODEL consists of. With DATASET its margin is computed again from "
                   "the stored weights.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 2,
    .argument_names = {"MODEL", "DATASET"},
    .run = run,
};
