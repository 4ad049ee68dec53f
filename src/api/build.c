/* xf_build: check, construct, describe, and evaluate everything once before saying yes. */
#include <exactformer/build.h>

#include "base/error.h"
#include "base/fpenv.h"
#include "construct/pooled.h"
#include "construct/published.h"
#include "construct/resnet.h"
#include "core/agreement.h"
#include "core/dataset_check.h"

#include <exactformer/run.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

const char *const *xf_build_fronts(void) {
    static const char *const names[] = {"plain", "kinks", "folds", "displacement", "tree", NULL};
    return names;
}

const char *const *xf_build_writers(void) {
    static const char *const names[] = {"grid",           "sorted", "diamond",
                                        "diamond-sorted", "cube",   "cubeoff",
                                        "offgrid",        "argmax", NULL};
    return names;
}

static int is_one_of(const char *name, const char *const *names) {
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return 1;
    return 0;
}

static xf_status check_options(const xf_build_options *options, xf_error *error) {
    if (options->construction != XF_POOLED && options->construction != XF_PUBLISHED &&
        options->construction != XF_RESNET)
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown construction %d",
                        (int)options->construction);
    if (options->tau != 0.0 && !(options->tau > 0.0 && isfinite(options->tau)))
        return xfi_fail(error, XF_ERR_ARGUMENT, "tau must be positive and finite, got %g",
                        options->tau);
    if (options->front != NULL && !is_one_of(options->front, xf_build_fronts()))
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown front end '%s'", options->front);
    if (options->writer != NULL && !is_one_of(options->writer, xf_build_writers()))
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown writer '%s'", options->writer);
    if (options->threads < 0)
        return xfi_fail(error, XF_ERR_ARGUMENT, "threads must not be negative, got %d",
                        options->threads);
    return XF_OK;
}

/* All that decides the model must be the same for everyone. */
static xf_status agree_options(const xf_build_options *options, xf_error *error) {
    const int64_t choices[] = {(int64_t)options->construction, (int64_t)options->attention,
                               (int64_t)options->dtype,        (int64_t)options->seed,
                               (int64_t)options->optimise,     options->hardmax_only != 0,
                               options->balanced != 0,         options->no_self_check != 0};
    uint64_t hash = xfi_digest(0, choices, sizeof choices);
    hash = xfi_digest(hash, &options->tau, sizeof options->tau);
    hash = xfi_digest_text(hash, options->front);
    hash = xfi_digest_text(hash, options->writer);
    return xfi_agree(options->peers, "options", hash, error);
}

static void describe(xf_model *model, const xf_dataset *data, const xf_build_options *options,
                     const xf_build_report *report) {
    static const char *const names[] = {"pooled", "published", "resnet"};
    snprintf(model->construction, sizeof model->construction, "%s", names[options->construction]);
    memcpy(model->front, report->front, sizeof model->front);
    memcpy(model->writer, report->writer, sizeof model->writer);
    model->attention = options->attention;
    model->tau = options->tau > 0.0 ? options->tau : 1.0;
    model->tau_max = report->tau_max;
    model->n_sequences = data->n_sequences;
    model->n_targets = data->n_targets;
    model->n_tokens = data->n_tokens;
    model->positions = data->positions;
}

static xf_status construct(xf_model *out, const xf_dataset *data, const xf_build_options *options,
                           xf_build_report *report, xf_error *error) {
    xfi_problem problem;
    XFI_TRY(xfi_problem_init(&problem, data, options, error));
    int published = options->construction == XF_PUBLISHED;
    xf_status status = XF_OK;
    if (published)
        status = xfi_build_published(out, &problem, report, XFI_STAGE_NONE, error);
    else if (options->construction == XF_RESNET)
        status = xfi_build_resnet(out, &problem, report, error);
    else
        status = xfi_build_pooled(out, &problem, report, error);
    if (!published && status == XF_OK) {
        report->collapse_margin = INFINITY; /* all logits are 0, but those of argmax */
        report->tau_max = out->tau_max;
    }
    xfi_problem_clear(&problem);
    if (status != XF_OK)
        return status;
    describe(out, data, options, report);
    return xf_model_check(out, error);
}

/* A mismatch here would be a defect of this library; the caller never sees the model. */
static xf_status self_check(const xf_model *model, const xf_dataset *data,
                            const xf_build_options *options, xf_error *error) {
    xf_run_options run = {.threads = options->threads,
                          .progress = options->progress,
                          .progress_context = options->progress_context,
                          .peers = options->peers};
    xf_verify_report verified;
    xf_status status = xf_verify(&verified, model, data, &run, error);
    if (status != XF_NOT_EXACT)
        return status;
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, verified.first_mismatch, -1,
                       "the self-check failed: sequence %lld is not mapped exactly (distance %g); "
                       "no model was made; please report this data set",
                       (long long)verified.first_mismatch, verified.hausdorff_max);
}

xf_status xf_build(xf_model *out, const xf_dataset *data, const xf_build_options *options,
                   xf_build_report *report, xf_error *error) {
    static const xf_build_options defaults = {0};
    xf_build_report local = {0};
    xf_model_init(out);
    xfi_error_clear(error);
    options = options != NULL ? options : &defaults;
    XFI_TRY(check_options(options, error));
    XFI_TRY(xfi_fpenv_check(error));
    XFI_TRY(agree_options(options, error));
    XFI_TRY(xfi_dataset_check_shared(data, options->peers, options->threads, error));
    double start = now();
    xf_status status = construct(out, data, options, &local, error);
    double built = now();
    if (status == XF_OK && !options->no_self_check)
        status = self_check(out, data, options, error);
    if (status != XF_OK) {
        xf_model_clear(out);
        return status;
    }
    local.bound = xf_published_bound(data->n_sequences, data->n_targets, options->attention);
    local.seconds_construct = built - start;
    local.seconds_check = now() - built;
    if (report != NULL)
        *report = local;
    return XF_OK;
}
