/* The promises of the published construction, one after the other. */
#include "property/published_trial.h"

#include "base/alloc.h"
#include "support/rational.h"
#include "support/shuffled.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static int fail(xft_published_verdict *v, const char *format,
                                                      ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
    v->failed = 1;
    return 0;
}

xf_status xft_build_published(xf_model *out, const xf_dataset *data,
                              const xf_build_options *options, xfi_stage first_stage,
                              xf_build_report *report, xf_error *error) {
    xfi_problem problem;
    if (first_stage == XFI_STAGE_NONE)
        return xf_build(out, data, options, report, error);
    xf_model_init(out);
    xf_status status = xfi_problem_init(&problem, data, options, error);
    if (status != XF_OK)
        return status;
    status = xfi_build_published(out, &problem, report, first_stage, error);
    xfi_problem_clear(&problem);
    if (status != XF_OK)
        return status;
    strcpy(out->construction, "published");
    out->attention = options->attention;
    out->tau = options->tau > 0 ? options->tau : 1.0;
    out->tau_max = report->tau_max;
    out->n_sequences = data->n_sequences;
    out->n_targets = data->n_targets;
    out->n_tokens = data->n_tokens;
    out->positions = data->positions;
    report->bound = xf_published_bound(data->n_sequences, data->n_targets, options->attention);
    return XF_OK;
}

static int is_pooled(const xf_build_report *report) {
    return strcmp(report->front, "leaders") != 0;
}

/* Width, the shape of A and V, and the collapse. */
static int check_shape(xft_published_verdict *v, const xf_model *m) {
    xf_error error = {0};
    int64_t n_collapses = 0;
    if (xf_model_check(m, &error) != XF_OK)
        return fail(v, "model check: %s", error.message);
    if (m->width > 4 || m->sa_A.full != NULL || m->sa_V.full != NULL ||
        m->tau_max != v->report.tau_max)
        return fail(v, "width %lld, tau_max %g, report %g", (long long)m->width, m->tau_max,
                    v->report.tau_max);
    for (int64_t b = 0; b < m->n_blocks; b++) {
        for (int64_t k = 0; k < m->d; k++)
            if (m->sa_A.left[b * m->d + k] != 0.0)
                return fail(v, "A of block %lld is not a multiple of I", (long long)b);
        if (m->sa_A.alpha[b] != 0.0) {
            n_collapses++;
            if (m->sa_rho[b] != 0.0 || m->sa_V.alpha[b] != 1.0)
                return fail(v, "the collapse has rho %g and V %g", m->sa_rho[b], m->sa_V.alpha[b]);
        }
    }
    if (n_collapses != !is_pooled(&v->report))
        return fail(v, "%lld collapses", (long long)n_collapses);
    return 1;
}

static int check_depth(xft_published_verdict *v, const xf_model *m, const xf_dataset *data) {
    int64_t N = data->n_sequences, M = data->n_targets, L = m->n_blocks;
    if (L > 2 * M + N + 4 || L > 2 * M + 2 * N + 1 || L > 2 * M + 3 * N || L > v->report.bound)
        return fail(v, "%lld blocks for N = %lld, M = %lld", (long long)L, (long long)N,
                    (long long)M);
    if (is_pooled(&v->report) && M > 1 && N > 2)
        return fail(v, "a pooled front end for N = %lld, M = %lld", (long long)N, (long long)M);
    if (v->report.n_separations > N - 1)
        return fail(v, "%lld separation blocks for N = %lld", (long long)v->report.n_separations,
                    (long long)N);
    return 1;
}

static int check_margins(xft_published_verdict *v, const xf_model *m, const xf_dataset *data) {
    const xf_build_report *r = &v->report;
    xf_inspection found;
    xf_error error = {0};
    if (!(r->margin > 1.0) || !(r->collapse_margin > 0) || !(r->tau_max > 0))
        return fail(v, "margin %g, collapse margin %g, tau_max %g", r->margin, r->collapse_margin,
                    r->tau_max);
    if (xf_inspect(&found, m, data, &error) != XF_OK)
        return fail(v, "inspect: %s", error.message);
    if (!found.has_margin || found.margin != r->margin || found.has_collapse == is_pooled(r) ||
        (found.has_collapse &&
         (found.collapse_margin != r->collapse_margin || found.tau_max != r->tau_max ||
          found.n_separations != r->n_separations)))
        return fail(v, "built with margins %g, %g, tau_max %g, inspected as %g, %g, %g", r->margin,
                    r->collapse_margin, r->tau_max, found.margin, found.collapse_margin,
                    found.tau_max);
    return 1;
}

static int verify_on(xft_published_verdict *v, const xf_model *model, const xf_dataset *data,
                     const xf_run_options *options) {
    xf_verify_report report;
    xf_error error = {0};
    if (xf_verify(&report, model, data, options, &error) == XF_OK)
        return 1;
    return fail(v, "engine %d, %s, tau %g: %lld of %lld exact; %s", (int)options->engine,
                options->attention == XF_SOFTMAX ? "softmax" : "hardmax", options->tau,
                (long long)report.n_exact, (long long)report.n_sequences, error.message);
}

/* A temperature between 1e-8 tau_max and tau_max. */
static double temperature(const xf_model *model, int i, int n) {
    double top = isfinite(model->tau_max) ? model->tau_max : 1.0;
    return i == n - 1 ? top : top * pow(10.0, -8.0 + 8.0 * i / (n - 1));
}

static int check_engines(xft_published_verdict *v, const xft_published_trial *trial,
                         const xf_model *model, const xf_dataset *data) {
    for (int engine = XF_ENGINE_SPARSE; engine <= (int)XF_ENGINE_BLAS; engine++) {
        xf_run_options options = {
            .engine = (xf_engine)engine, .threads = 1, .override_attention = 1};
        if (!verify_on(v, model, data, &options))
            return 0;
        options.attention = XF_SOFTMAX;
        for (int i = 0; i < trial->n_temperatures; i++) {
            options.tau = temperature(model, i, trial->n_temperatures);
            if (!verify_on(v, model, data, &options))
                return 0;
        }
    }
    return 1;
}

static int check_rational(xft_published_verdict *v, const xf_model *model, const xf_dataset *data) {
    int64_t n_exact = 0;
    xf_error error = {0};
    xf_model hardmax = *model;
    hardmax.attention = XF_HARDMAX;
    if (xft_rational_verify(&n_exact, &hardmax, data, &error) == XF_OK)
        return 1;
    return fail(v, "rational: %s", error.message);
}

static int check_order(xft_published_verdict *v, const xf_model *model, const xf_dataset *data,
                       double *out, const xft_shuffle *shuffle) {
    xf_verify_report report;
    xf_error error = {0};
    if (xft_run_shuffled(out, model, data, shuffle, &error) == XF_OK &&
        xf_compare(&report, out, data, &error) == XF_OK)
        return 1;
    return fail(v, "order %llu, fma %d, %s, tau %g: %s", (unsigned long long)shuffle->seed,
                shuffle->fma, shuffle->attention == XF_SOFTMAX ? "softmax" : "hardmax",
                shuffle->tau, error.message);
}

static int check_orders(xft_published_verdict *v, const xft_published_trial *trial,
                        const xf_model *model, const xf_dataset *data) {
    double *out = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    int ok = out != NULL || fail(v, "out of memory");
    for (int i = 0; ok && i < trial->n_orders; i++) {
        xft_shuffle shuffle = {.seed = trial->seed + (uint64_t)i,
                               .fma = i % 3,
                               .override_attention = 1,
                               .attention = XF_HARDMAX,
                               .tokens_per_order = 1 + i % 5,
                               .values_first = i % 2};
        ok = check_order(v, model, data, out, &shuffle);
        shuffle.attention = XF_SOFTMAX;
        shuffle.tau = temperature(model, 16 - i % 3, 17);
        ok = ok && check_order(v, model, data, out, &shuffle);
    }
    xfi_free(out);
    return ok;
}

static int check_refusal(xft_published_verdict *v, const xft_published_trial *trial,
                         const xf_dataset *data, xf_status status, const xf_error *error,
                         const xf_model *model) {
    if (status != XF_ERR_INFEASIBLE || error->message[0] == '\0' || error->sequence < -1 ||
        error->sequence >= data->n_sequences || strstr(error->message, "self-check") != NULL)
        return fail(v, "%s: %s", xf_status_string(status), error->message);
    if (model->n_blocks != 0)
        return fail(v, "refused, but left a model");
    if (!trial->may_refuse)
        return fail(v, "must not be refused: %s", error->message);
    snprintf(v->text, sizeof v->text, "%s", error->message);
    v->refused = 1;
    return 0;
}

void xft_published_trial_run(xft_published_verdict *out, const xft_published_trial *trial,
                             const xf_dataset *data) {
    *out = (xft_published_verdict){0};
    xf_model model;
    xf_error error = {0};
    xf_build_options options = {.construction = XF_PUBLISHED,
                                .threads = 1,
                                .balanced = trial->balanced,
                                .seed = trial->seed};
    xf_status status =
        xft_build_published(&model, data, &options, trial->first_stage, &out->report, &error);
    if (status != XF_OK) {
        check_refusal(out, trial, data, status, &error, &model);
        return;
    }
    out->n_blocks = model.n_blocks;
    int ok = check_shape(out, &model) && check_depth(out, &model, data) &&
             check_margins(out, &model, data) && check_engines(out, trial, &model, data) &&
             (!trial->rational || check_rational(out, &model, data)) &&
             check_orders(out, trial, &model, data);
    (void)ok;
    xf_model_clear(&model);
}
