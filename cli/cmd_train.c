/* exactformer train: a model by gradients, for comparison with constructed ones. */
#include "commands.h"
#include "family_line.h"
#include "files.h"
#include "output.h"
#include "progress.h"
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 64 };

static const cli_option_id option_ids[] = {
    CLI_OUTPUT_MODEL,     CLI_BLOCKS,     CLI_WIDTH,         CLI_RANK,     CLI_ORDER,
    CLI_CAUSAL,           CLI_TAU,        CLI_VALUE_FORM,    CLI_SCALAR,   CLI_INITIAL,
    CLI_RESIDUAL,         CLI_OPTIMISER,  CLI_LEARNING_RATE, CLI_SCHEDULE, CLI_WEIGHT_DECAY,
    CLI_EPOCHS,           CLI_COLD,       CLI_STARTS,        CLI_SEED,     CLI_DTYPE,
    CLI_THREADS,          CLI_CHECKPOINT, CLI_RESUME,        CLI_LOG,      CLI_LOG_EVERY,
    CLI_APPEND_POSITIONS, CLI_JSON,       CLI_QUIET,         CLI_HELP,     CLI_NONE};

/* All that a training needs. */
typedef struct task {
    const cli_options *options;
    xf_dataset data;
    xf_model initial; /* of --init; else empty */
    xf_family family;
    double *theta; /* [P] of --init; else NULL */
    xf_stage stages[MOST_STAGES];
    xf_train_options how;
    xf_training training;
    xf_model model;
} task;

static int fail(const task *t, const char *file, const xf_error *error) {
    return cli_fail(t->options, file, error);
}

/* --weight-decay and --epochs as stages. */
static int read_stages(task *t) {
    const cli_options *o = t->options;
    const char *decay_text = o->weight_decay != NULL ? o->weight_decay : "0";
    const char *epoch_text = o->epochs != NULL ? o->epochs : "1000";
    double decays[MOST_STAGES], epochs[MOST_STAGES];
    int n_decays = 0, n_epochs = 0;
    int ok = cli_read_reals(decays, &n_decays, MOST_STAGES, decay_text);
    for (int i = 0; ok && i < n_decays; i++)
        ok = decays[i] >= 0.0;
    if (!ok)
        return cli_usage(o, "bad --weight-decay '%s': use numbers from 0 on, separated by commas",
                         decay_text);
    ok = cli_read_reals(epochs, &n_epochs, MOST_STAGES, epoch_text);
    for (int i = 0; ok && i < n_epochs; i++)
        ok = epochs[i] >= 1.0 && epochs[i] <= 1e9 && epochs[i] == (double)(int64_t)epochs[i];
    if (!ok || (n_epochs != 1 && n_epochs != n_decays))
        return cli_usage(o,
                         "bad --epochs '%s': use whole numbers from 1 to 10^9, one or as many as "
                         "there are weight decays",
                         epoch_text);
    for (int i = 0; i < n_decays; i++)
        t->stages[i] = (xf_stage){decays[i], (int64_t)epochs[n_epochs == 1 ? 0 : i]};
    t->how.stages = t->stages;
    t->how.n_stages = n_decays;
    return 0;
}

static int has_extension(const char *path, const char *extension) {
    size_t length = strlen(path), n = strlen(extension);
    return length > n && strcmp(path + length - n, extension) == 0;
}

/* Everything that can be said before any work. */
static int check_usage(const cli_options *o) {
    if (o->optimiser == XF_LBFGS && (cli_given(o, CLI_LEARNING_RATE) || cli_given(o, CLI_SCHEDULE)))
        return cli_usage(o, "L-BFGS has no learning rate and no schedule");
    if (o->resume && o->checkpoint == NULL)
        return cli_usage(o, "--resume needs --checkpoint FILE");
    if (o->log != NULL && !has_extension(o->log, ".csv") && !has_extension(o->log, ".json"))
        return cli_usage(o, "--log '%s': a log is a file .csv or .json", o->log);
    return cli_check_output(o);
}

/* Options that were given override what the initial model, or else the default, says. */
static void choose_family(task *t) {
    const cli_options *o = t->options;
    xf_family *f = &t->family;
    int has_initial = o->initial != NULL;
    if (has_initial)
        xf_family_of_model(f, &t->initial, o->tau);
    else
        *f = (xf_family){.n_blocks = 1,
                         .width = 4,
                         .rank = 1,
                         .order = XF_FF_SA,
                         .tau = cli_given(o, CLI_TAU) ? o->tau : 1.0};
    f->d = t->data.d;
    f->n_blocks = cli_given(o, CLI_BLOCKS) ? o->blocks : f->n_blocks;
    f->width = cli_given(o, CLI_WIDTH) ? o->width : f->width;
    f->rank = cli_given(o, CLI_RANK) ? o->rank : f->rank;
    f->order = cli_given(o, CLI_ORDER) ? (xf_order)o->order : f->order;
    f->value = cli_given(o, CLI_VALUE_FORM) ? (xf_value_form)o->value_form : f->value;
    f->causal |= o->causal;
    f->scalar |= o->scalar;
}

static int choose_start(task *t) {
    const cli_options *o = t->options;
    xf_error error;
    xf_status status = xf_family_check(&t->family, &error);
    if (status != XF_OK)
        return fail(t, NULL, &error);
    if (o->initial == NULL)
        return 0;
    t->theta = calloc((size_t)xf_family_parameters(&t->family), sizeof(double));
    if (t->theta == NULL) {
        error = (xf_error){.status = XF_ERR_MEMORY, .message = "out of memory"};
        return fail(t, NULL, &error);
    }
    status = xf_family_embed(t->theta, &t->family, &t->initial, &error);
    return status == XF_OK ? 0 : fail(t, o->initial, &error);
}

static void choose_options(task *t, cli_progress *progress) {
    const cli_options *o = t->options;
    xf_train_options *how = &t->how;
    how->optimiser = (xf_optimiser)o->optimiser;
    how->schedule = (xf_schedule)o->schedule;
    how->learning_rate = o->learning_rate;
    how->cold = o->cold;
    how->initial = t->theta;
    how->residual = cli_given(o, CLI_RESIDUAL) ? o->residual : t->family.n_blocks > 1;
    how->seed = o->seed;
    how->starts = o->starts;
    how->dtype =
        cli_given(o, CLI_DTYPE) || o->initial == NULL ? (xf_dtype)o->dtype : t->initial.dtype;
    how->threads = (int)o->threads;
    how->log_every = o->log_every;
    how->checkpoint = o->checkpoint;
    how->resume = o->resume;
    how->progress = cli_progress_report;
    how->progress_context = progress;
}

static int train(task *t) {
    cli_progress progress;
    xf_error error;
    choose_options(t, &progress);
    cli_progress_begin(&progress, t->options);
    xf_status status = xf_train(&t->training, &t->family, &t->data, &t->how, &error);
    cli_progress_end(&progress);
    return status == XF_OK ? 0 : fail(t, NULL, &error);
}

static int save(task *t) {
    const cli_options *o = t->options;
    xf_error error;
    xf_status status =
        xf_family_model(&t->model, &t->family, t->training.theta, t->how.dtype, &error);
    if (status != XF_OK)
        return fail(t, NULL, &error);
    t->model.n_sequences = t->data.n_sequences;
    t->model.n_targets = t->data.n_targets;
    t->model.n_tokens = t->data.n_tokens;
    t->model.positions = t->data.positions;
    int failed = cli_save_model(&t->model, o);
    if (failed != 0 || o->log == NULL)
        return failed;
    sigset_t old;
    cli_signals_hold(&old);
    status = xf_training_save_log(&t->training, &t->family, &t->how, o->log, &error);
    cli_signals_release(&old);
    return status == XF_OK ? 0 : fail(t, NULL, &error);
}

static void print_report(const task *t) {
    const cli_options *o = t->options;
    cli_family_line(o, &t->family);
    cli_line(o, "training", "%s, %s", cli_optimiser_names[t->how.optimiser],
             cli_dtype_names[t->how.dtype]);
    for (int i = 0; i < t->training.n_stages; i++) {
        const xf_stage_report *r = &t->training.stages[i];
        cli_line(o, i ? "" : "stages",
                 "weight decay %-8.3g loss %-12.6g norm squared %-10.6g J %-12.6g least loss %.6g",
                 t->stages[i].weight_decay, r->last.loss, r->last.norm2, r->last.objective,
                 r->min_loss);
    }
    if (o->log != NULL)
        cli_line(o, "log", "%s", o->log);
    cli_line(o, "written", "%s", o->output);
}

static json_t *stages_json(const task *t) {
    json_t *list = json_array();
    for (int i = 0; i < t->training.n_stages; i++) {
        const xf_stage_report *r = &t->training.stages[i];
        json_array_append_new(
            list,
            json_pack("{s:f,s:I,s:I,s:o,s:o,s:o,s:o,s:I,s:o}", "weight_decay",
                      t->stages[i].weight_decay, "start", (json_int_t)r->last.start, "epochs",
                      (json_int_t)r->epochs, "loss", cli_json_real(r->last.loss), "norm2",
                      cli_json_real(r->last.norm2), "J", cli_json_real(r->last.objective),
                      "min_loss", cli_json_real(r->min_loss), "min_loss_epoch",
                      (json_int_t)r->min_loss_epoch, "min_J", cli_json_real(r->min_objective)));
    }
    return list;
}

static json_t *report_json(const task *t) {
    const cli_options *o = t->options;
    const xf_family *f = &t->family;
    json_t *family = json_pack(
        "{s:s,s:I,s:I,s:I,s:I,s:b,s:s,s:b,s:f,s:I}", "order", cli_order_names[f->order], "blocks",
        (json_int_t)f->n_blocks, "d", (json_int_t)f->d, "width", (json_int_t)f->width, "rank",
        (json_int_t)f->rank, "scalar", f->scalar, "value", cli_value_form_names[f->value], "causal",
        f->causal, "tau", f->tau, "parameters", (json_int_t)xf_family_parameters(f));
    return json_pack("{s:o,s:s,s:s,s:o,s:o,s:o}", "family", family, "optimiser",
                     cli_optimiser_names[t->how.optimiser], "dtype", cli_dtype_names[t->how.dtype],
                     "stages", stages_json(t), "log",
                     o->log != NULL ? cli_json_text(o->log) : json_null(), "output",
                     cli_json_text(o->output));
}

static int load(task *t) {
    const cli_options *o = t->options;
    int status = o->initial != NULL ? cli_load_model(&t->initial, o, o->initial) : 0;
    if (status == 0)
        status =
            cli_load_data(&t->data, o, o->arguments[0], o->initial != NULL ? &t->initial : NULL, 0);
    return status;
}

static int work(task *t) {
    int status = load(t);
    if (status != 0)
        return status;
    choose_family(t);
    status = choose_start(t);
    if (status == 0)
        status = train(t);
    if (status == 0)
        status = save(t);
    if (status != 0)
        return status;
    print_report(t);
    return cli_finish(t->options, t->options->json ? report_json(t) : NULL, 0);
}

static int run(const cli_options *options) {
    task t = {.options = options};
    int status = check_usage(options);
    if (status == 0)
        status = read_stages(&t);
    if (status != 0)
        return status;
    xf_dataset_init(&t.data);
    xf_model_init(&t.initial);
    xf_model_init(&t.model);
    xf_training_init(&t.training);
    status = work(&t);
    xf_training_clear(&t.training);
    xf_model_clear(&t.model);
    xf_model_clear(&t.initial);
    xf_dataset_clear(&t.data);
    free(t.theta);
    return status;
}

const cli_command cli_train = {
    .name = "train",
    .summary = "train a model by gradients, for comparison",
    .usage = "DATASET -o MODEL",
    .description =
        "Train a transformer with softmax attention on DATASET (.npz, .safetensors or "
        ".jsonl) by full-batch gradients, for comparison with constructed ones. The "
        "objective is J = loss + (weight decay / 2) |theta|^2; the loss is the mean over "
        "the sequences of the squared Hausdorff distance of outputs and targets.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 1,
    .argument_names = {"DATASET"},
    .run = run,
};
