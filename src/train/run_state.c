/* Stages, starts and epochs. */
#include "train/run_state.h"

#include "base/alloc.h"
#include "base/error.h"
#include "train/adam.h"
#include "train/lbfgs_round.h"
#include "train/out_of_range.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Iterations of a round of L-BFGS, which is where a run can go on: many, since a round starts from
 * an empty memory, but fewer where one costs much. */
enum { LEAST_ROUND = 50, MOST_ROUND = 1000 };
static const double WORK_OF_A_ROUND = 4e9;

static int64_t round_length(const xfi_run *run) {
    double length = WORK_OF_A_ROUND / xfi_objective_work(run->objective);
    return length > MOST_ROUND ? MOST_ROUND : length < LEAST_ROUND ? LEAST_ROUND : (int64_t)length;
}

static const xf_stage *stage_of(const xfi_run *run) {
    return &run->options->stages[run->stage];
}

static void copy(double *out, const double *in, int64_t n) {
    memcpy(out, in, (size_t)n * sizeof(double));
}

static void round_to_dtype(const xfi_run *run, double *values) {
    for (int64_t i = 0; run->options->dtype == XF_F32 && i < run->n_parameters; i++)
        values[i] = (double)(float)values[i];
}

/* theta for the first epoch of a start. */
static void begin_start(xfi_run *run) {
    const xf_train_options *o = run->options;
    size_t size = (size_t)run->n_parameters * sizeof(double);
    run->epoch = 0;
    run->current = (xf_stage_report){.min_loss = INFINITY, .min_objective = INFINITY};
    memset(run->m, 0, size);
    memset(run->v, 0, size);
    if (run->start == 0 && run->stage > 0 && !o->cold)
        copy(run->theta, run->kept, run->n_parameters);
    else if (run->start == 0 && o->initial != NULL)
        copy(run->theta, o->initial, run->n_parameters);
    else
        xf_family_initial(run->theta, &run->objective->net.family, o->seed, run->start,
                          o->residual);
    round_to_dtype(run, run->theta);
}

static void finish_start(xfi_run *run) {
    const xf_train_options *o = run->options;
    xf_stage_report *best = &run->stages[run->stage];
    run->current.epochs = run->epoch;
    if (run->start == 0 || run->current.last.objective < best->last.objective) {
        *best = run->current;
        copy(run->kept, run->theta, run->n_parameters);
    }
    if (++run->start == o->starts) {
        run->start = 0;
        run->stage++;
    }
    if (!xfi_run_is_done(run))
        begin_start(run);
}

xf_status xfi_run_new(xfi_run *out, xfi_objective *objective, const xf_train_options *options,
                      xf_error *error) {
    int64_t n = objective->net.n_parameters;
    *out = (xfi_run){.objective = objective, .options = options, .n_parameters = n};
    double **arrays[] = {&out->gradient, &out->theta, &out->m, &out->v, &out->kept};
    int ok = (out->stages = xfi_calloc(options->n_stages, sizeof *out->stages)) != NULL;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        ok = (*arrays[i] = xfi_calloc(n, sizeof(double))) != NULL && ok;
    if (!ok) {
        xfi_run_clear(out);
        return xfi_fail_memory(error);
    }
    begin_start(out);
    return XF_OK;
}

void xfi_run_clear(xfi_run *run) {
    xfi_free(run->gradient);
    xfi_free(run->theta);
    xfi_free(run->m);
    xfi_free(run->v);
    xfi_free(run->kept);
    xfi_free(run->stages);
    xfi_free(run->records);
    *run = (xfi_run){0};
}

int xfi_run_reserve(xfi_run *run, int64_t n) {
    if (n <= run->capacity)
        return 1;
    int64_t capacity = n > 2 * run->capacity ? n : 2 * run->capacity;
    xf_train_record *grown = xfi_realloc(run->records, capacity, sizeof *grown);
    if (grown == NULL)
        return 0;
    run->records = grown;
    run->capacity = capacity;
    return 1;
}

double xfi_run_share(const xfi_run *run) {
    double done = 0.0, total = 0.0;
    for (int i = 0; i < run->options->n_stages; i++) {
        double epochs = (double)run->options->stages[i].epochs,
               starts = (double)run->options->starts;
        total += starts * epochs;
        if (i < run->stage)
            done += starts * epochs;
        else if (i == run->stage)
            done += (double)run->start * epochs + (double)run->epoch;
    }
    return total > 0.0 ? done / total : 1.0;
}

static int is_same_state(const xf_train_record *a, const xf_train_record *b) {
    return a->stage == b->stage && a->start == b->start && a->epoch == b->epoch;
}

/* Take note of a state; into the log if it is its turn or `always`. Returns 0 if memory runs out.
 */
static int note(xfi_run *run, int64_t epoch, double loss, double norm2, double rate, int always) {
    xf_stage_report *report = &run->current;
    report->last = (xf_train_record){.stage = run->stage,
                                     .start = run->start,
                                     .epoch = epoch,
                                     .loss = loss,
                                     .norm2 = norm2,
                                     .objective = loss + 0.5 * stage_of(run)->weight_decay * norm2,
                                     .learning_rate = rate};
    if (loss < report->min_loss) {
        report->min_loss = loss;
        report->min_loss_epoch = epoch;
    }
    report->min_objective = fmin(report->min_objective, report->last.objective);
    int64_t first = run->options->optimiser == XF_LBFGS ? 0 : 1;
    if (!always && (epoch - first) % run->options->log_every != 0)
        return 1;
    if (run->n_records > 0 && is_same_state(&run->records[run->n_records - 1], &report->last))
        run->n_records--;
    if (!xfi_run_reserve(run, run->n_records + 1))
        return 0;
    run->records[run->n_records++] = report->last;
    return 1;
}

/* Evaluate and note the state at theta; `gradient` may be NULL. */
static xf_status look(xfi_run *run, double *gradient, int64_t epoch, double rate, int always,
                      xf_error *error) {
    double loss = xfi_objective_loss(run->objective, run->theta, gradient);
    double norm2 = xfi_norm_squared(run->theta, run->n_parameters);
    XFI_TRY(xfi_check_in_range(run, loss, norm2, epoch, error));
    return note(run, epoch, loss, norm2, rate, always) ? XF_OK : xfi_fail_memory(error);
}

static xf_status report_progress(const xfi_run *run, xf_error *error) {
    static const char *const names[] = {"adam", "adamw", "lbfgs"};
    const xf_train_options *o = run->options;
    if (o->progress == NULL ||
        !o->progress(o->progress_context, names[o->optimiser], xfi_run_share(run)))
        return XF_OK;
    return xfi_fail(error, XF_ERR_CANCELLED, "cancelled");
}

static xf_status advance_adam(xfi_run *run, xf_error *error) {
    const xf_train_options *o = run->options;
    const xf_stage *stage = stage_of(run);
    if (run->epoch < stage->epochs) {
        double rate = xfi_learning_rate(o->schedule, o->learning_rate, run->epoch, stage->epochs);
        const xfi_adam adam = {.learning_rate = rate,
                               .weight_decay = stage->weight_decay,
                               .decoupled = o->optimiser == XF_ADAMW,
                               .step = run->epoch + 1};
        XFI_TRY(look(run, run->gradient, run->epoch + 1, rate, 0, error));
        xfi_adam_step(run->theta, run->m, run->v, run->gradient, run->n_parameters, &adam,
                      o->dtype);
        run->epoch++;
    }
    if (run->epoch == stage->epochs) {
        XFI_TRY(look(run, NULL, run->epoch + 1, 0.0, 1, error));
        finish_start(run);
    }
    return XF_OK;
}

/* Iterations of a round, noted one behind the other. */
typedef struct round_log {
    xfi_run *run;
    int64_t n_iterations;
    int failed; /* memory */
} round_log;

static int see_iteration(void *context, int64_t iteration, double loss, double norm2) {
    round_log *log = context;
    const xf_train_options *o = log->run->options;
    log->n_iterations = iteration;
    log->failed = !note(log->run, log->run->epoch + iteration, loss, norm2, 0.0, 0);
    return log->failed || (o->progress != NULL &&
                           o->progress(o->progress_context, "lbfgs", xfi_run_share(log->run)));
}

static xf_status advance_lbfgs(xfi_run *run, xf_error *error) {
    int64_t left = stage_of(run)->epochs - run->epoch, length = round_length(run);
    int64_t n_records = run->n_records;
    xf_stage_report before = run->current;
    round_log log = {.run = run};
    xfi_round_end end = XFI_ROUND_STUCK;
    if (run->epoch == 0)
        XFI_TRY(look(run, NULL, 0, 0.0, 0, error));
    if (left > 0)
        XFI_TRY(xfi_lbfgs_round(run->theta, &end, run->objective, stage_of(run)->weight_decay,
                                left < length ? left : length, see_iteration, &log, error));
    if (end == XFI_ROUND_STOPPED) { /* as if the round had not begun */
        run->n_records = n_records;
        run->current = before;
        return log.failed ? xfi_fail_memory(error) : xfi_fail(error, XF_ERR_CANCELLED, "cancelled");
    }
    run->epoch += log.n_iterations;
    round_to_dtype(run, run->theta);
    if (end == XFI_ROUND_MORE && run->epoch < stage_of(run)->epochs)
        return XF_OK;
    XFI_TRY(look(run, NULL, run->epoch, 0.0, 1, error));
    finish_start(run);
    return XF_OK;
}

xf_status xfi_run_advance(xfi_run *run, xf_error *error) {
    if (run->options->optimiser == XF_LBFGS)
        return advance_lbfgs(run, error);
    XFI_TRY(report_progress(run, error));
    return advance_adam(run, error);
}
