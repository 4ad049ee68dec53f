/* The promises, one after the other. */
#include "property/trial.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "support/rational.h"
#include "support/shuffled.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4))) static int fail(xft_verdict *v, xft_stage stage,
                                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
    v->stage = stage;
    return 0;
}

int xft_is_failure(const xft_verdict *verdict) {
    return verdict->stage != XFT_EXACT && verdict->stage != XFT_REFUSED;
}

/* A refusal must have the right status, one line of text and no model. */
static int check_refusal(xft_verdict *v, const xft_trial *trial, const xf_dataset *data,
                         xf_status status, const xf_error *error, const xf_model *model) {
    size_t length = strlen(error->message);
    if (status != XF_ERR_INFEASIBLE)
        return fail(v, XFT_BAD_REFUSAL, "build returned %s: %s", xf_status_string(status),
                    error->message);
    if (error->status != status || length == 0 || strchr(error->message, '\n') != NULL ||
        error->message[length - 1] == '.')
        return fail(v, XFT_BAD_REFUSAL, "refused with a bad message: '%s'", error->message);
    if (error->sequence < -1 || error->sequence >= data->n_sequences)
        return fail(v, XFT_BAD_REFUSAL, "refusal names sequence %lld", (long long)error->sequence);
    if (strstr(error->message, "self-check failed") != NULL)
        return fail(v, XFT_BAD_ENGINE, "%s", error->message);
    if (model->n_blocks != 0 || model->ff_W != NULL)
        return fail(v, XFT_BAD_REFUSAL, "refused, but left a model");
    if (!trial->may_refuse && !trial->must_refuse)
        return fail(v, XFT_BAD_REFUSAL, "must not be refused: %s", error->message);
    snprintf(v->text, sizeof v->text, "%s", error->message);
    v->stage = XFT_REFUSED;
    return 0;
}

static int check_model(xft_verdict *v, const xft_trial *trial, const xf_dataset *data,
                       const xf_model *m) {
    xf_error error = {0};
    if (xf_model_check(m, &error) != XF_OK)
        return fail(v, XFT_BAD_MODEL, "model check: %s", error.message);
    if (m->d != data->d || m->width != 4 || m->dtype != trial->build.dtype ||
        m->attention != trial->build.attention || m->n_sequences != data->n_sequences ||
        m->n_targets != data->n_targets || m->n_tokens != data->n_tokens || m->sa_A.full != NULL ||
        m->sa_V.full != NULL)
        return fail(v, XFT_BAD_MODEL, "the model does not describe this data set");
    if (strcmp(v->report.writer, "argmax") == 0) /* for hardmax only, by its nature */
        return m->tau_max == 0.0 ? 1 : fail(v, XFT_BAD_MODEL, "tau_max %g", m->tau_max);
    if (m->tau_max != INFINITY)
        return fail(v, XFT_BAD_MODEL, "tau_max %g", m->tau_max);
    for (int64_t b = 0; b < m->n_blocks; b++)
        for (int64_t k = 0; k < m->d; k++)
            if (m->sa_A.alpha[b] != 0.0 || m->sa_A.left[b * m->d + k] != 0.0)
                return fail(v, XFT_BAD_MODEL, "block %lld has logits", (long long)b);
    return 1;
}

static int64_t count_phase(const xf_model *m, const char *name) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->n_phases; i++)
        n += strcmp(m->phases[i].name, name) == 0 ? m->phases[i].count : 0;
    return n;
}

static int is_sorted(const xf_build_report *report) {
    return strstr(report->writer, "sorted") != NULL;
}

/* Blocks in front of the writer's. */
static int64_t count_front(const xf_model *m) {
    static const char *const writers[] = {"quantise", "route", "code", "write", "constant"};
    for (int64_t i = 0; i < m->n_phases; i++)
        for (int w = 0; w < 5; w++)
            if (strncmp(m->phases[i].name, writers[w], strlen(writers[w])) == 0)
                return m->phases[i].first;
    return m->n_blocks;
}

/* Behind cells: the cube's writers give every occupied cell a gate, and there are M to T of these.
 */
static void cube_depth(int64_t depth[2], const xf_dataset *data, const xf_model *m,
                       int64_t per_block, int64_t rest) {
    rest += count_phase(m, "quantise") + count_phase(m, "square");
    depth[0] = (data->n_targets + per_block - 1) / per_block + rest;
    depth[1] = (data->n_tokens + per_block - 1) / per_block + rest;
}

/* Depths that the report's own numbers can mean; a diamond depends on how many groups (at most one
 * a sequence) take several cells. */
static void promised_depth(int64_t depth[2], const xf_build_report *report, const xf_dataset *data,
                           const xf_model *m) {
    int64_t M = data->n_targets, half = (M + 1) / 2;
    int64_t rest = count_front(m) + report->extra_blocks + count_phase(m, "scale");
    if (strcmp(report->writer, "constant") == 0) {
        depth[0] = depth[1] = 1;
    } else if (strcmp(report->writer, "argmax") == 0) {
        depth[0] = depth[1] = (M + 3) / 4 + 2;
    } else if (strncmp(report->writer, "diamond", 7) == 0) {
        rest += 1 + count_phase(m, "quantise") + (is_sorted(report) ? half + 1 : 0);
        depth[0] = (M + 3) / 4 + rest;
        depth[1] = (M + data->n_sequences + 3) / 4 + rest;
    } else if (strcmp(report->writer, "cube") == 0) {
        cube_depth(depth, data, m, 4, rest);
    } else if (strcmp(report->writer, "cubeoff") == 0 || strcmp(report->writer, "offgrid") == 0) {
        cube_depth(depth, data, m, 2, rest + 1);
    } else {
        depth[0] = depth[1] = (is_sorted(report) ? 2 * half : half) + 1 + rest;
    }
}

/* One block, and one more for each fold; displacement takes as many as it needs. */
static int check_front(xft_verdict *v, const xf_model *m) {
    const char *front = v->report.front;
    int counted =
        strcmp(front, "plain") == 0 || strcmp(front, "kinks") == 0 || strcmp(front, "folds") == 0;
    if (counted && count_front(m) != 1 + v->report.n_folds)
        return fail(v, XFT_BAD_DEPTH, "front end %s takes %lld blocks and has %lld folds", front,
                    (long long)count_front(m), (long long)v->report.n_folds);
    return 1;
}

static int check_asked(xft_verdict *v, const xf_build_options *asked) {
    const xf_build_report *r = &v->report;
    int free_front = strcmp(r->writer, "constant") == 0 || strcmp(r->writer, "argmax") == 0;
    if ((asked->front == NULL || free_front || strcmp(asked->front, r->front) == 0) &&
        (asked->writer == NULL || strcmp(asked->writer, r->writer) == 0))
        return 1;
    return fail(v, XFT_BAD_DEPTH, "not what was asked for: front end %s, writer %s", r->front,
                r->writer);
}

static int check_bounds(xft_verdict *v, const xft_trial *trial, const xf_dataset *data,
                        const xf_model *m) {
    int64_t bound = 2 * data->n_targets + 2 * data->n_sequences + 1;
    if (m->n_blocks > bound || m->n_blocks > v->report.bound ||
        v->report.bound != xf_published_bound(data->n_sequences, data->n_targets, m->attention))
        return fail(v, XFT_BAD_DEPTH, "%lld blocks are more than the bound %lld",
                    (long long)m->n_blocks, (long long)bound);
    int constant = data->n_targets == 1 && trial->build.writer == NULL;
    if (constant != (strcmp(v->report.writer, "constant") == 0))
        return fail(v, XFT_BAD_DEPTH, "%lld targets, writer %s", (long long)data->n_targets,
                    v->report.writer);
    return 1;
}

static int check_depth(xft_verdict *v, const xft_trial *trial, const xf_dataset *data,
                       const xf_model *m) {
    const xf_build_report *r = &v->report;
    int64_t promised[2], half = (data->n_targets + 1) / 2;
    promised_depth(promised, r, data, m);
    int free_depth = trial->build.optimise == XF_OPTIMISE_NORM;
    if ((m->n_blocks < promised[0] || m->n_blocks > promised[1] || r->extra_blocks < 0) &&
        !free_depth)
        return fail(v, XFT_BAD_DEPTH,
                    "%lld blocks, but the report (%s, %lld folds, %lld extra) means %lld to %lld",
                    (long long)m->n_blocks, r->writer, (long long)r->n_folds,
                    (long long)r->extra_blocks, (long long)promised[0], (long long)promised[1]);
    if (!check_bounds(v, trial, data, m) || !check_front(v, m) || !check_asked(v, &trial->build))
        return 0;
    int64_t most = (trial->on_grid ? half + 2 : 2 * half + 3) + r->n_folds;
    if (trial->regular && m->n_blocks > most)
        return fail(v, XFT_BAD_DEPTH, "%lld blocks, promised are %lld", (long long)m->n_blocks,
                    (long long)most);
    if (trial->on_grid && is_sorted(r))
        return fail(v, XFT_BAD_DEPTH, "writer %s where the grid serves", r->writer);
    return 1;
}

/* The margin proves the front end, and inspecting the model finds it again. */
static int check_margin(xft_verdict *v, const xf_dataset *data, const xf_model *m) {
    const xf_build_report *r = &v->report;
    xf_inspection found;
    xf_error error = {0};
    if (!(r->margin > 1.0) || (m->n_blocks == 1 && r->margin != INFINITY))
        return fail(v, XFT_BAD_MODEL, "margin %g", r->margin);
    for (int i = 0; i < 2; i++)
        if (r->margin_sequence[i] < 0 || r->margin_sequence[i] >= data->n_sequences)
            return fail(v, XFT_BAD_MODEL, "margin in sequence %lld",
                        (long long)r->margin_sequence[i]);
    if (xf_inspect(&found, m, data, &error) != XF_OK)
        return fail(v, XFT_BAD_MODEL, "inspect: %s", error.message);
    int has_margin = strcmp(r->writer, "argmax") != 0;
    if (found.has_margin != has_margin || (has_margin && found.margin != r->margin) ||
        found.blocks != m->n_blocks)
        return fail(v, XFT_BAD_MODEL, "built with margin %g, inspected as %g", r->margin,
                    found.margin);
    return 1;
}

static int verify_on(xft_verdict *v, const xf_model *model, const xf_dataset *data,
                     const xf_run_options *options, xft_stage stage) {
    static const char *const names[] = {"sparse", "dense", "blas"};
    xf_verify_report report;
    xf_error error = {0};
    xf_status status = xf_verify(&report, model, data, options, &error);
    if (status == XF_OK && report.n_exact == data->n_sequences && report.hausdorff_max == 0.0)
        return 1;
    return fail(v, stage,
                "%s engine, %s, tau %g: %s, %lld of %lld exact, first mismatch sequence %lld, "
                "distance %g; %s",
                names[options->engine], options->attention == XF_SOFTMAX ? "softmax" : "hardmax",
                options->tau, xf_status_string(status), (long long)report.n_exact,
                (long long)data->n_sequences, (long long)report.first_mismatch,
                report.hausdorff_max, error.message);
}

static int check_engines(xft_verdict *v, const xf_model *model, const xf_dataset *data) {
    static const double taus[] = {1e-3, 1.0, 1e3};
    for (int engine = XF_ENGINE_SPARSE; engine <= (int)XF_ENGINE_BLAS; engine++) {
        xf_run_options options = {
            .engine = (xf_engine)engine, .override_attention = 1, .threads = 1};
        if (!verify_on(v, model, data, &options, XFT_BAD_ENGINE))
            return 0;
        options.attention = XF_SOFTMAX;
        for (int i = 0; i < 3 && model->tau_max > 0; i++) {
            options.tau = taus[i];
            if (!verify_on(v, model, data, &options, XFT_BAD_ENGINE))
                return 0;
        }
    }
    return 1;
}

static int check_rational(xft_verdict *v, const xf_model *model, const xf_dataset *data) {
    int64_t n_exact = 0;
    xf_error error = {0};
    if (xft_rational_verify(&n_exact, model, data, &error) == XF_OK)
        return 1;
    return fail(v, XFT_BAD_REAL, "%s", error.message);
}

static int same_values(const double *a, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

int xft_orders_agree(char *text, const xf_model *model, const xf_dataset *data,
                     const double *expected, int n_orders, uint64_t seed) {
    double *out = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    int ok = out != NULL;
    xfi_rng rng;
    xfi_rng_seed(&rng, seed, 0);
    for (int i = 0; ok && i < n_orders; i++) {
        xft_shuffle how = {.seed = xfi_rng_bits(&rng),
                           .fma = i % 3,
                           .override_attention = 1,
                           .attention = i / 3 % 2 && model->tau_max > 0 ? XF_SOFTMAX : XF_HARDMAX,
                           .tokens_per_order = i / 2 % 2 ? 1 : 0,
                           .values_first = i % 2};
        how.tau = pow(10.0, 6 * xfi_rng_uniform(&rng) - 3);
        xf_verify_report report = {0};
        xf_error error = {0};
        ok = xft_run_shuffled(out, model, data, &how, &error) == XF_OK &&
             xf_compare(&report, out, data, &error) == XF_OK;
        int same = expected == NULL || same_values(out, expected, data->n_tokens * data->d);
        if (ok && same)
            continue;
        snprintf(text, XFT_TEXT_SIZE,
                 "order %d (seed %llu, %s): %s, sequence %lld, distance %g; %s", i,
                 (unsigned long long)how.seed, i % 3 == 0 ? "no FMA" : "FMA",
                 ok ? "other bits than the dense engine" : "not exact",
                 (long long)report.first_mismatch, report.hausdorff_max, error.message);
        ok = 0;
    }
    xfi_free(out);
    return ok;
}

static int check_orders(xft_verdict *v, const xft_trial *trial, const xf_model *model,
                        const xf_dataset *data) {
    double *dense = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    xf_error error = {0};
    xf_run_options options = {.engine = XF_ENGINE_DENSE, .threads = 1};
    if (dense == NULL || xf_run(dense, model, data, &options, &error) != XF_OK) {
        xfi_free(dense);
        return fail(v, XFT_BAD_ENGINE, "run: %s", error.message);
    }
    int ok = xft_orders_agree(v->text, model, data, dense, trial->n_orders, trial->order_seed);
    xfi_free(dense);
    if (!ok)
        v->stage = XFT_BAD_ORDER;
    return ok;
}

static int same_bits(const double *a, const double *b, int64_t n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static int same_matrix(const xf_low_rank *a, const xf_low_rank *b, int64_t L, int64_t d) {
    return same_bits(a->alpha, b->alpha, L) && same_bits(a->left, b->left, L * d) &&
           same_bits(a->right, b->right, L * d);
}

int xft_same_models(const xf_model *a, const xf_model *b) {
    int64_t L = a->n_blocks, d = a->d, w = a->width;
    if (L != b->n_blocks || d != b->d || w != b->width || a->dtype != b->dtype ||
        a->attention != b->attention || a->tau != b->tau || a->n_phases != b->n_phases)
        return 0;
    for (int64_t i = 0; i < a->n_phases; i++)
        if (strcmp(a->phases[i].name, b->phases[i].name) != 0 ||
            a->phases[i].count != b->phases[i].count)
            return 0;
    return same_bits(a->ff_eta, b->ff_eta, L) && same_bits(a->ff_W, b->ff_W, L * d * w) &&
           same_bits(a->ff_U, b->ff_U, L * d * w) && same_bits(a->ff_b, b->ff_b, L * w) &&
           same_bits(a->sa_rho, b->sa_rho, L) && same_matrix(&a->sa_A, &b->sa_A, L, d) &&
           same_matrix(&a->sa_V, &b->sa_V, L, d);
}

static int check_rebuild(xft_verdict *v, const xft_trial *trial, const xf_model *model,
                         const xf_dataset *data) {
    for (int threads = 1; threads <= 2; threads++) {
        xf_build_options options = trial->build;
        options.threads = threads;
        options.no_self_check = threads == 2;
        xf_model again;
        xf_error error = {0};
        if (xf_build(&again, data, &options, NULL, &error) != XF_OK)
            return fail(v, XFT_BAD_REBUILD, "built once, then not: %s", error.message);
        int same = xft_same_models(model, &again);
        xf_model_clear(&again);
        if (!same)
            return fail(v, XFT_BAD_REBUILD, "built again with %d threads: other weights", threads);
    }
    return 1;
}

static int check_file(xft_verdict *v, const xft_trial *trial, const xf_model *model,
                      const xf_dataset *data) {
    char path[XFT_PATH_SIZE];
    xf_model loaded;
    xf_error error = {0};
    snprintf(path, sizeof path, "%s/trial.safetensors", trial->directory);
    if (xf_model_save(model, path, &error) != XF_OK ||
        xf_model_load(&loaded, path, &error) != XF_OK)
        return fail(v, XFT_BAD_FILE, "save and load: %s", error.message);
    unlink(path);
    xf_run_options options = {.override_attention = 1, .threads = 1};
    int ok = xft_same_models(model, &loaded)
                 ? verify_on(v, &loaded, data, &options, XFT_BAD_FILE)
                 : fail(v, XFT_BAD_FILE, "the loaded model has other weights");
    xf_model_clear(&loaded);
    return ok;
}

void xft_trial_run(xft_verdict *out, const xft_trial *trial, const xf_dataset *data) {
    *out = (xft_verdict){.stage = XFT_EXACT};
    xf_model model;
    xf_error error = {0};
    xf_build_options options = trial->build;
    options.threads = options.threads > 0 ? options.threads : 1;
    xf_status status = xf_build(&model, data, &options, &out->report, &error);
    if (status != XF_OK) {
        check_refusal(out, trial, data, status, &error, &model);
        return;
    }
    out->n_blocks = model.n_blocks;
    int ok = !trial->must_refuse || fail(out, XFT_BAD_REFUSAL, "built, but must be refused");
    ok = ok && check_model(out, trial, data, &model) && check_engines(out, &model, data) &&
         check_rational(out, &model, data) && check_orders(out, trial, &model, data) &&
         check_depth(out, trial, data, &model) && check_margin(out, data, &model) &&
         (!trial->rebuild || check_rebuild(out, trial, &model, data)) &&
         (trial->directory == NULL || check_file(out, trial, &model, data));
    (void)ok;
    xf_model_clear(&model);
}
