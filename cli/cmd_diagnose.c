/* exactformer diagnose: is a training certainly not at a global minimum? */
#include "commands.h"
#include "diagnose_figures.h"
#include "family_line.h"
#include "files.h"
#include "output.h"
#include "progress.h"

#include <math.h>
#include <string.h>

static const cli_option_id option_ids[] = {
    CLI_EXACT_MODEL,   CLI_DATA,           CLI_APPEND_POSITIONS,
    CLI_FIGURE_EPOCHS, CLI_FIGURE_SCALING, CLI_THREADS,
    CLI_JSON,          CLI_QUIET,          CLI_HELP,
    CLI_NONE};

/* Relative; verdicts by less are told as such. */
static const double NARROW = 1e-3;

static const char *const verdict_names[] = {"undecided", "not a global minimum", "not comparable"};
static const char *const trend_names[] = {"unknown", "levelling off", "growing", "falling"};

/* All that a diagnosis needs. */
typedef struct task {
    const cli_options *options;
    xf_training_log log;
    xf_model exact; /* n_blocks 0: none */
    xf_dataset data;
    xf_diagnosis diagnosis;
} task;

static int build(task *t) {
    cli_progress progress;
    xf_error error;
    const xf_build_options how = {.optimise = XF_OPTIMISE_NORM,
                                  .threads = (int)t->options->threads,
                                  .progress = cli_progress_report,
                                  .progress_context = &progress};
    cli_progress_begin(&progress, t->options);
    xf_status status = xf_build(&t->exact, &t->data, &how, NULL, &error);
    cli_progress_end(&progress);
    return status == XF_OK ? 0 : cli_fail(t->options, t->options->data, &error);
}

/* With data at hand the model's exactness need not be taken on trust. */
static int verify(task *t) {
    xf_verify_report report;
    xf_error error = {0};
    const xf_run_options how = {.threads = (int)t->options->threads};
    xf_status status = xf_verify(&report, &t->exact, &t->data, &how, &error);
    if (status == XF_NOT_EXACT) {
        error = (xf_error){.status = XF_NOT_EXACT, .sequence = report.first_mismatch, .token = -1};
        snprintf(error.message, sizeof error.message,
                 "it is exact on %lld of %lld sequences of the data only, so its norm is no "
                 "threshold",
                 (long long)report.n_exact, (long long)report.n_sequences);
    }
    return status == XF_OK ? 0 : cli_fail(t->options, t->options->exact_model, &error);
}

static int says_its_data(const task *t) {
    return t->log.dataset.values_sha256[0] != '\0';
}

/* The data are those of the log, if it says; their size bounds the rounding of its losses. */
static int check_data(task *t) {
    xf_dataset_digest *logged = &t->log.dataset, given;
    xf_error error = {.status = XF_ERR_DATA, .sequence = -1, .token = -1};
    xf_digest_dataset(&given, &t->data);
    if (!says_its_data(t) || strcmp(logged->values_sha256, given.values_sha256) == 0) {
        logged->largest_target = given.largest_target;
        logged->n_sequences = given.n_sequences;
        return 0;
    }
    snprintf(error.message, sizeof error.message,
             "not the data of this run: the SHA-256 of their values begins with %.12s, the log "
             "has %.12s",
             given.values_sha256, logged->values_sha256);
    return cli_fail(t->options, t->options->data, &error);
}

/* As the training read them: the model, or else the log, tells the position coordinate. */
static int load_data(task *t) {
    const xf_model shape = {.positions = t->log.dataset.positions};
    const cli_options *o = t->options;
    int status =
        cli_load_data(&t->data, o, o->data, o->exact_model != NULL ? &t->exact : &shape, 0);
    return status == 0 ? check_data(t) : status;
}

static int load(task *t) {
    const cli_options *o = t->options;
    xf_error error;
    if (xf_training_log_load(&t->log, o->arguments[0], &error) != XF_OK)
        return cli_fail(o, NULL, &error);
    int status = o->exact_model != NULL ? cli_load_model(&t->exact, o, o->exact_model) : 0;
    if (status != 0 || o->data == NULL)
        return status;
    status = load_data(t);
    if (status != 0)
        return status;
    return o->exact_model != NULL ? verify(t) : build(t);
}

/* --- the report --------------------------------------------------------------------------- */

static void print_rounding(const task *t) {
    const xf_diagnosis *d = &t->diagnosis;
    cli_line(t->options, "rounding", "of %s, outputs taken to be right to half their digits; %s",
             t->log.dtype == XF_F32 ? "binary32" : "binary64",
             d->scale_known ? "the size of the targets is known"
                            : "the size of the targets is a guess (--data tells)");
}

static void print_yardstick(const task *t) {
    const cli_options *o = t->options;
    const xf_diagnosis *d = &t->diagnosis;
    cli_family_line(o, &t->log.family);
    cli_line(o, "objective", "%s",
             t->log.decoupled ? "none: decoupled weight decay"
                              : "J = loss + (weight decay / 2) norm squared");
    print_rounding(t);
    if (o->data != NULL)
        cli_line(o, "data", "%s",
                 says_its_data(t) ? "those of the run"
                                  : "not compared: the log does not say on which it was trained");
    if (!d->comparable) {
        cli_line(o, "exact model", "not comparable: %s", d->why);
        return;
    }
    cli_line(o, "exact model",
             "%lld blocks, norm squared %.6g; %.6g as a member of the family, identity layers "
             "included",
             (long long)t->exact.n_blocks, d->own_norm2, d->norm2);
    if (o->data == NULL)
        cli_line(o, "", "taken to be exact on the data of the training (--data checks it)");
}

static void print_crossings(const cli_options *o, const xf_stage_diagnosis *s) {
    char loss[32] = "never", objective[32] = "never";
    if (s->loss_below < 0 && s->objective_below < 0)
        return;
    if (s->loss_below >= 0)
        snprintf(loss, sizeof loss, "at epoch %lld", (long long)s->loss_below);
    if (s->objective_below >= 0)
        snprintf(objective, sizeof objective, "at epoch %lld", (long long)s->objective_below);
    cli_line(o, "", "first below the threshold: loss %s, J %s", loss, objective);
}

/* By how much a value exceeds another one, for a reader. */
static void print_excess(char out[48], double value, double other) {
    out[0] = '\0';
    if (value >= 2.0 * other && other > 0.0)
        snprintf(out, 48, ", %.3g times as large", value / other);
    else if (other > 0.0)
        snprintf(out, 48, ", by %.2g %% of it", 100.0 * (value / other - 1.0));
}

static void print_reasons(const task *t, int i) {
    const cli_options *o = t->options;
    const xf_stage_diagnosis *s = &t->diagnosis.stages[i];
    double objective = t->log.stages[i].last.objective;
    char excess[48];
    print_excess(excess, objective, s->threshold);
    if (s->objective_above)
        cli_line(o, "", "J is above the threshold%s%s", excess,
                 s->loss_above ? ", and so is the loss by itself" : "; the loss by itself is not");
    print_excess(excess, objective, s->better_objective);
    if (s->beaten)
        cli_line(o, "", "J is above that of epoch %lld of stage %lld, %.6g at this weight decay%s",
                 (long long)s->better.epoch, (long long)s->better.stage, s->better_objective,
                 excess);
    print_crossings(o, s);
}

static void print_verdict(const cli_options *o, const xf_stage_diagnosis *s) {
    int certain = s->verdict == XF_NOT_A_MINIMUM;
    cli_line(o, "", "%s%s%s", certain ? "certainly " : "", verdict_names[s->verdict],
             certain && s->margin < NARROW ? ", but by a narrow margin" : "");
}

static void print_stages(const task *t) {
    const cli_options *o = t->options;
    for (int i = 0; i < t->log.n_stages; i++) {
        const xf_log_stage *stage = &t->log.stages[i];
        const xf_stage_diagnosis *s = &t->diagnosis.stages[i];
        char threshold[48] = "";
        if (isfinite(s->threshold))
            snprintf(threshold, sizeof threshold, ", threshold %.6g", s->threshold);
        cli_line(o, "stage", "%d: weight decay %.3g, loss %.6g, J %.6g%s", i, stage->weight_decay,
                 stage->last.loss, stage->last.objective, threshold);
        print_verdict(o, s);
        print_reasons(t, i);
    }
}

static void print_slope(const cli_options *o, const char *name, const xf_slope *slope) {
    if (!isfinite(slope->slope))
        return;
    if (slope->n >= 3)
        cli_line(o, "slope", "%s ~ eps^%.3f, standard error %.3f, %d points", name, slope->slope,
                 slope->error, slope->n);
    else
        cli_line(o, "slope", "%s ~ eps^%.3f from 2 points, error unknown", name, slope->slope);
}

static void print_trend(const task *t) {
    const xf_diagnosis *d = &t->diagnosis;
    static const char *const meaning[] = {"", "J is nearly linear in eps here",
                                          "J falls more slowly than eps",
                                          "J falls faster than eps"};
    if (d->trend == XF_TREND_UNKNOWN)
        return;
    cli_line(t->options, "J / eps", "%s: local slope of J %.3f, %s", trend_names[d->trend],
             d->local_slope, meaning[d->trend]);
    if (d->local_slope > 1.0005)
        cli_line(t->options, "",
                 "at global minima it is at most 1: unless the log's digits explain it, some run "
                 "is not at one");
}

/* --- JSON --------------------------------------------------------------------------------- */

static json_t *stage_json(const task *t, int i) {
    const xf_log_stage *stage = &t->log.stages[i];
    const xf_stage_diagnosis *s = &t->diagnosis.stages[i];
    json_t *facts = json_pack(
        "{s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "weight_decay", cli_json_real(stage->weight_decay),
        "epoch", (json_int_t)stage->last.epoch, "loss", cli_json_real(stage->last.loss), "norm2",
        cli_json_real(stage->last.norm2), "J", cli_json_real(stage->last.objective), "min_loss",
        cli_json_real(stage->min_loss), "min_J", cli_json_real(stage->min_objective), "threshold",
        cli_json_real(s->threshold));
    json_t *verdict = json_pack(
        "{s:s,s:o,s:b,s:b,s:o,s:I,s:I}", "verdict", verdict_names[s->verdict], "margin",
        cli_json_real(s->margin), "J_above", s->objective_above, "loss_above", s->loss_above,
        "better",
        s->beaten ? json_pack("{s:I,s:I,s:I,s:o}", "stage", (json_int_t)s->better.stage, "start",
                              (json_int_t)s->better.start, "epoch", (json_int_t)s->better.epoch,
                              "J", cli_json_real(s->better_objective))
                  : json_null(),
        "loss_below_epoch", (json_int_t)s->loss_below, "J_below_epoch",
        (json_int_t)s->objective_below);
    return cli_json_join(facts, verdict);
}

static json_t *slope_json(const xf_slope *slope) {
    return json_pack("{s:i,s:o,s:o}", "points", slope->n, "slope", cli_json_real(slope->slope),
                     "standard_error", cli_json_real(slope->error));
}

static json_t *path_json(const char *path) {
    return path != NULL ? cli_json_text(path) : json_null();
}

/* null: not compared */
static json_t *same_data_json(const task *t) {
    return t->options->data != NULL && says_its_data(t) ? json_true() : json_null();
}

static json_t *report_json(const task *t) {
    const xf_diagnosis *d = &t->diagnosis;
    json_t *stages = json_array();
    for (int i = 0; i < t->log.n_stages; i++)
        json_array_append_new(stages, stage_json(t, i));
    json_t *yardstick =
        json_pack("{s:b,s:o,s:o,s:o,s:s,s:o,s:b}", "comparable", d->comparable, "why_not",
                  d->comparable ? json_null() : cli_json_text(d->why), "norm2",
                  cli_json_real(d->norm2), "model_norm2", cli_json_real(d->own_norm2), "penalty",
                  t->log.decoupled ? "decoupled" : "weight_decay/2 * norm2", "scale",
                  cli_json_real(d->scale), "scale_known", d->scale_known);
    json_t *rest =
        json_pack("{s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o}", "stages", stages, "slope_loss",
                  slope_json(&d->loss), "slope_J", slope_json(&d->objective), "trend",
                  trend_names[d->trend], "local_slope", cli_json_real(d->local_slope), "same_data",
                  same_data_json(t), "figure_epochs", path_json(t->options->figure_epochs),
                  "figure_scaling", path_json(t->options->figure_scaling));
    return cli_json_join(yardstick, rest);
}

/* --- the whole ---------------------------------------------------------------------------- */

static int draw(const task *t) {
    const cli_options *o = t->options;
    const cli_diagnosed diagnosed = {&t->log, &t->diagnosis};
    int status = 0;
    if (o->figure_epochs != NULL)
        status = cli_draw(o, o->figure_epochs, cli_draw_epochs, &diagnosed);
    if (status == 0 && o->figure_scaling != NULL)
        status = cli_draw(o, o->figure_scaling, cli_draw_scaling, &diagnosed);
    return status;
}

static int work(task *t) {
    const cli_options *o = t->options;
    int status = load(t);
    if (status != 0)
        return status;
    xf_error error;
    const xf_model *exact = t->exact.n_blocks > 0 ? &t->exact : NULL;
    if (xf_diagnose(&t->diagnosis, &t->log, exact, &error) != XF_OK)
        return cli_fail(o, NULL, &error);
    status = draw(t);
    if (status != 0)
        return status;
    print_yardstick(t);
    print_stages(t);
    print_slope(o, "loss", &t->diagnosis.loss);
    print_slope(o, "J", &t->diagnosis.objective);
    print_trend(t);
    return cli_finish(o, o->json ? report_json(t) : NULL, 0);
}

static int check_usage(const cli_options *o) {
    int status = cli_check_outputs(o);
    if (status == 0 && o->figure_epochs != NULL)
        status = cli_check_figure(o, o->figure_epochs);
    if (status == 0 && o->figure_scaling != NULL)
        status = cli_check_figure(o, o->figure_scaling);
    return status;
}

static int run(const cli_options *options) {
    task t = {.options = options};
    int status = check_usage(options);
    if (status != 0)
        return status;
    xf_training_log_init(&t.log);
    xf_model_init(&t.exact);
    xf_dataset_init(&t.data);
    xf_diagnosis_init(&t.diagnosis);
    status = work(&t);
    xf_diagnosis_clear(&t.diagnosis);
    xf_dataset_clear(&t.data);
    xf_model_clear(&t.exact);
    xf_training_log_clear(&t.log);
    return status;
}

const cli_command cli_diagnose = {
    .name = "diagnose",
    .summary = "tell whether a training is certainly not at a global minimum",
    .usage = "LOG",
    .description =
        "Read the LOG (.csv or .json) of a training with weight decay and compare it with an exact "
        "model: a state whose J = loss + (weight decay / 2) |theta|^2 exceeds (weight decay / 2) "
        "times the exact model's squared norm is no global minimum.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 1,
    .argument_names = {"LOG"},
    .run = run,
};
