/* Thresholds, verdicts, slopes. The inequalities are in docs/yardstick.md. */
#include <exactformer/diagnose.h>

#include "api/state_bounds.h"
#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void xf_diagnosis_init(xf_diagnosis *diagnosis) {
    *diagnosis = (xf_diagnosis){0};
}

void xf_diagnosis_clear(xf_diagnosis *diagnosis) {
    xfi_free(diagnosis->stages);
    xf_diagnosis_init(diagnosis);
}

/* --- the yardstick ------------------------------------------------------------------------ */

static double norm2_of(const double *theta, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += theta[i] * theta[i];
    return sum;
}

/* |theta|^2 of the model as a member of the family. */
static xf_status measure(double *norm2, const xf_family *family, const xf_model *model,
                         xf_error *error) {
    int64_t n = xf_family_parameters(family);
    double *theta = xfi_calloc(n, sizeof *theta);
    if (theta == NULL)
        return xfi_fail_memory(error);
    xf_status status = xf_family_embed(theta, family, model, error);
    if (status == XF_OK)
        *norm2 = norm2_of(theta, n);
    xfi_free(theta);
    return status;
}

static xf_status compare_families(xf_diagnosis *out, const xf_training_log *log,
                                  const xf_model *exact, xf_error *error) {
    xf_error why = {0};
    xf_family own;
    if (log->decoupled) {
        snprintf(out->why, sizeof out->why,
                 "decoupled weight decay minimises no loss plus penalty, so there is no threshold");
        return XF_OK;
    }
    if (exact == NULL) {
        snprintf(out->why, sizeof out->why, "there is no exact model to compare with");
        return XF_OK;
    }
    xf_status status = measure(&out->norm2, &log->family, exact, &why);
    if (status == XF_ERR_MEMORY)
        return xfi_fail_memory(error);
    if (status != XF_OK) {
        snprintf(out->why, sizeof out->why, "%.250s", why.message);
        return XF_OK;
    }
    out->comparable = 1;
    xf_family_of_model(&own, exact, log->family.tau);
    return measure(&out->own_norm2, &own, exact, error);
}

/* Of the targets: as the data say, else a guess from the log. */
static void choose_scale(xf_diagnosis *out, const xf_training_log *log) {
    out->scale_known = log->dataset.largest_target > 0.0;
    out->scale = out->scale_known ? log->dataset.largest_target : 1.0;
    for (int64_t i = 0; !out->scale_known && i < log->n_records; i++)
        out->scale = fmax(out->scale, sqrt(log->records[i].loss));
}

/* --- verdicts ----------------------------------------------------------------------------- */

static double objective_at(const xf_train_record *record, double weight_decay) {
    return record->loss + weight_decay / 2 * record->norm2;
}

static int is_same_state(const xf_train_record *a, const xf_train_record *b) {
    return a->stage == b->stage && a->start == b->start && a->epoch == b->epoch;
}

/* Of all other states of the log the one that is best at this weight decay. `low` is what the J
 * of the last state is at least. */
static void find_better(xf_stage_diagnosis *out, const xf_diagnosis *diagnosis,
                        const xf_training_log *log, const xf_log_stage *stage, double low) {
    double least = INFINITY;
    for (int64_t i = 0; i < log->n_records; i++) {
        const xf_train_record *record = &log->records[i];
        if (is_same_state(record, &stage->last))
            continue;
        xfi_bounds bounds = xfi_state_bounds(log, record, diagnosis->scale);
        double high = xfi_objective_high(&bounds, stage->weight_decay);
        if (high < least) {
            least = high;
            out->better = *record;
            out->better_objective = objective_at(record, stage->weight_decay);
        }
    }
    out->beaten = least < low;
}

static void find_crossings(xf_stage_diagnosis *out, const xf_training_log *log,
                           const xf_log_stage *stage) {
    out->loss_below = out->objective_below = -1;
    for (int64_t i = stage->first; i < stage->first + stage->count; i++) {
        const xf_train_record *record = &log->records[i];
        if (record->start != stage->start)
            continue;
        if (out->loss_below < 0 && record->loss <= out->threshold)
            out->loss_below = record->epoch;
        if (out->objective_below < 0 && record->objective <= out->threshold)
            out->objective_below = record->epoch;
    }
}

/* The threshold, and whether the last state is above it for certain. */
static void compare_with_threshold(xf_stage_diagnosis *out, const xf_diagnosis *diagnosis,
                                   const xf_training_log *log, const xf_log_stage *stage,
                                   const xfi_bounds *last) {
    double norm2 = xfi_norm2_high(diagnosis->norm2, xf_family_parameters(&log->family));
    double most = stage->weight_decay / 2 * norm2;
    out->threshold = stage->weight_decay / 2 * diagnosis->norm2;
    out->objective_above = xfi_objective_low(last, stage->weight_decay) > most;
    out->loss_above = last->loss[0] > most;
    find_crossings(out, log, stage);
}

/* By how much J exceeds what it is compared with, relative to that. */
static double margin(const xf_stage_diagnosis *d, double objective) {
    double above = d->objective_above ? objective / d->threshold - 1.0 : NAN;
    double beaten = d->beaten ? objective / d->better_objective - 1.0 : NAN;
    return fmax(above, beaten);
}

static void judge(xf_stage_diagnosis *out, const xf_diagnosis *diagnosis,
                  const xf_training_log *log, const xf_log_stage *stage) {
    xfi_bounds last = xfi_state_bounds(log, &stage->last, diagnosis->scale);
    *out = (xf_stage_diagnosis){
        .threshold = NAN, .better_objective = NAN, .loss_below = -1, .objective_below = -1};
    if (diagnosis->comparable)
        compare_with_threshold(out, diagnosis, log, stage, &last);
    if (!log->decoupled)
        find_better(out, diagnosis, log, stage, xfi_objective_low(&last, stage->weight_decay));
    out->margin = margin(out, stage->last.objective);
    int certain = out->objective_above || out->loss_above || out->beaten;
    out->verdict = certain                 ? XF_NOT_A_MINIMUM
                   : diagnosis->comparable ? XF_UNDECIDED
                                           : XF_NOT_COMPARABLE;
}

/* --- slopes ------------------------------------------------------------------------------- */

/* Through the points with positive x and y; x [n], y [n]. */
static xf_slope fit(const double *x, const double *y, int n) {
    xf_slope out = {.slope = NAN, .error = NAN, .intercept = NAN};
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        if (!(x[i] > 0.0 && y[i] > 0.0))
            continue;
        out.n++;
        mean_x += (log(x[i]) - mean_x) / out.n;
        mean_y += (log(y[i]) - mean_y) / out.n;
    }
    for (int i = 0; i < n; i++) {
        if (!(x[i] > 0.0 && y[i] > 0.0))
            continue;
        xx += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
        xy += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
    }
    if (out.n < 2 || !(xx > 0.0))
        return out;
    out.slope = xy / xx;
    out.intercept = mean_y - out.slope * mean_x;
    for (int i = 0; i < n; i++)
        if (x[i] > 0.0 && y[i] > 0.0)
            rest += pow(log(y[i]) - out.intercept - out.slope * log(x[i]), 2);
    if (out.n > 2)
        out.error = sqrt(rest / (out.n - 2) / xx);
    return out;
}

/* The two smallest positive weight decays, and the least J at each; 0 where there is none. */
static void two_smallest(double eps[2], double objective[2], const xf_training_log *log) {
    eps[0] = eps[1] = INFINITY;
    objective[0] = objective[1] = INFINITY;
    for (int i = 0; i < log->n_stages; i++) {
        double e = log->stages[i].weight_decay;
        if (e <= 0.0 || e == eps[0] || e >= eps[1])
            continue;
        eps[1] = e < eps[0] ? eps[0] : e;
        eps[0] = e < eps[0] ? e : eps[0];
    }
    for (int i = 0; i < log->n_stages; i++)
        for (int k = 0; k < 2; k++)
            if (log->stages[i].weight_decay == eps[k])
                objective[k] = fmin(objective[k], log->stages[i].min_objective);
}

static void find_trend(xf_diagnosis *out, const xf_training_log *log) {
    double eps[2], objective[2];
    two_smallest(eps, objective, log);
    out->local_slope = NAN;
    if (log->decoupled || !isfinite(eps[1]) || !(objective[0] > 0.0) || !(objective[1] > 0.0))
        return;
    double slope = log2(objective[1] / objective[0]) / log2(eps[1] / eps[0]);
    out->local_slope = slope;
    out->trend = slope < 0.9 ? XF_GROWING : slope > 1.1 ? XF_FALLING : XF_LEVELLING;
}

static xf_status fit_all(xf_diagnosis *out, const xf_training_log *log, xf_error *error) {
    int n = log->n_stages;
    double *points = xfi_calloc2(3, n, sizeof *points);
    if (points == NULL)
        return xfi_fail_memory(error);
    double *eps = points, *loss = points + n, *objective = points + 2 * (int64_t)n;
    for (int i = 0; i < n; i++) {
        eps[i] = log->stages[i].weight_decay;
        loss[i] = log->stages[i].min_loss;
        objective[i] = log->stages[i].min_objective;
    }
    out->loss = fit(eps, loss, n);
    out->objective = fit(eps, objective, log->decoupled ? 0 : n);
    xfi_free(points);
    return XF_OK;
}

static xf_status diagnose(xf_diagnosis *out, const xf_training_log *log, const xf_model *exact,
                          xf_error *error) {
    XFI_TRY(compare_families(out, log, exact, error));
    out->stages = xfi_calloc(log->n_stages, sizeof *out->stages);
    if (out->stages == NULL)
        return xfi_fail_memory(error);
    out->n_stages = log->n_stages;
    for (int i = 0; i < log->n_stages; i++)
        judge(&out->stages[i], out, log, &log->stages[i]);
    find_trend(out, log);
    return fit_all(out, log, error);
}

xf_status xf_diagnose(xf_diagnosis *out, const xf_training_log *log, const xf_model *exact,
                      xf_error *error) {
    xf_diagnosis_init(out);
    xfi_error_clear(error);
    out->norm2 = out->own_norm2 = NAN;
    choose_scale(out, log);
    xf_status status = diagnose(out, log, exact, error);
    if (status != XF_OK)
        xf_diagnosis_clear(out);
    return status;
}
