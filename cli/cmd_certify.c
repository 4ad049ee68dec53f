/* exactformer certify: a proof for these weights and these data. */
#include "commands.h"
#include "evaluation.h"
#include "files.h"
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const cli_option_id option_ids[] = {CLI_OUTPUT_CERTIFICATE,
                                           CLI_ATTENTION_OVERRIDE,
                                           CLI_TAU_OVERRIDE,
                                           CLI_EXP_ULP,
                                           CLI_THREADS,
                                           CLI_JSON,
                                           CLI_QUIET,
                                           CLI_HELP,
                                           CLI_NONE};

static const char *const answers[] = {"unknown", "yes", "no"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For which temperatures a claim holds. */
static void temperatures(char *out, size_t size, const xf_claim *claim) {
    out[0] = '\0';
    if (!isfinite(claim->tau_max))
        return;
    if (claim->tau_min == claim->tau_max)
        snprintf(out, size, ", tau = %.17g", claim->tau_max);
    else
        snprintf(out, size, ", 0 < tau <= %.17g", claim->tau_max);
}

static void print_claim(const cli_options *options, const char *label, const char *what,
                        const xf_claim *claim) {
    char heat[64];
    temperatures(heat, sizeof heat, claim);
    cli_line(options, label, "%s: %s%s, %lld sequences proved, %lld disproved",
             answers[claim->answer], what, heat, (long long)claim->n_proved,
             (long long)claim->n_disproved);
    if (claim->reason[0] != '\0')
        cli_line(options, "", "%s", claim->reason);
}

/* The smallest margin of a claim over all phases; INFINITY if there is none. */
static double least_margin(const xf_phase_margin *margins, int64_t n) {
    double least = INFINITY;
    for (int64_t i = 0; i < n; i++)
        least = fmin(least, margins[i].margin);
    return least;
}

static void print_certificate(const cli_options *options, const xf_certificate *c, double seconds) {
    double margin = least_margin(c->ieee_margins, c->n_phases);
    print_claim(options, "real", "exact in real arithmetic", &c->real);
    print_claim(options, "ieee", "exact in every order of summation, with and without FMA",
                &c->ieee);
    if (c->ieee.answer == XF_YES)
        cli_line(options, "conditions", "%s%s",
                 c->ieee.is_subnormal_free ? "none on subnormal numbers"
                                           : "subnormal numbers are not flushed",
                 c->ieee.uses_exp ? ", exp within the stated error" : "");
    if (isfinite(margin))
        cli_line(options, "margin", "%.6g", margin);
    cli_line(options, "time", "%.2f s", seconds);
    cli_line(options, "written", "%s", options->output);
}

static json_t *claim_json(const xf_claim *claim) {
    return json_pack("{s:s,s:o,s:o,s:I,s:I,s:o,s:o,s:o,s:o}", "answer", answers[claim->answer],
                     "tau_min", cli_json_real(claim->tau_min), "tau_max",
                     cli_json_real(claim->tau_max), "proved", (json_int_t)claim->n_proved,
                     "disproved", (json_int_t)claim->n_disproved, "sequence",
                     cli_json_position(claim->sequence), "token", cli_json_position(claim->token),
                     "block", cli_json_position(claim->block), "reason",
                     claim->reason[0] != '\0' ? cli_json_text(claim->reason) : json_null());
}

static json_t *certificate_json(const cli_options *options, const xf_certificate *c,
                                double seconds) {
    return json_pack("{s:o,s:o,s:b,s:o,s:o,s:o,s:o}", "real", claim_json(&c->real), "ieee",
                     claim_json(&c->ieee), "subnormals_absent", c->ieee.is_subnormal_free,
                     "exp_ulp", c->ieee.uses_exp ? json_integer(c->exp_ulp) : json_null(), "margin",
                     cli_json_real(least_margin(c->ieee_margins, c->n_phases)), "seconds",
                     cli_json_real(seconds), "output", cli_json_text(options->output));
}

/* The digests are those of the files that were loaded: they are taken before and after. */
static int digest(xf_file_digest files[2], const cli_options *options) {
    xf_error error;
    for (int i = 0; i < 2; i++)
        if (xf_digest_file(&files[i], options->arguments[i], &error) != XF_OK)
            return cli_fail(options, NULL, &error);
    return 0;
}

static int is_changed(const xf_file_digest before[2], const xf_file_digest after[2],
                      const cli_options *options) {
    for (int i = 0; i < 2; i++) {
        if (strcmp(before[i].sha256, after[i].sha256) == 0)
            continue;
        xf_error error = {.status = XF_ERR_IO, .sequence = -1, .token = -1};
        snprintf(error.message, sizeof error.message, "the file changed while it was certified");
        return cli_fail(options, options->arguments[i], &error);
    }
    return 0;
}

static int certify(xf_certificate *c, const xf_model *model, const xf_dataset *data,
                   const xf_file_digest before[2], const cli_options *options) {
    cli_progress progress;
    cli_evaluation evaluation;
    int status = cli_evaluation_init(&evaluation, options, model, &progress);
    if (status != 0)
        return status;
    const xf_certify_options how = {.override_attention = evaluation.run.override_attention,
                                    .attention = evaluation.run.attention,
                                    .tau = evaluation.run.tau,
                                    .exp_ulp = (int)options->exp_ulp,
                                    .threads = evaluation.run.threads,
                                    .progress = evaluation.run.progress,
                                    .progress_context = evaluation.run.progress_context};
    xf_error error;
    double start = now();
    cli_progress_begin(&progress, options);
    xf_status outcome = xf_certify(c, model, data, &how, &error);
    cli_progress_end(&progress);
    double seconds = now() - start;
    if (outcome != XF_OK && outcome != XF_NOT_EXACT)
        return cli_fail(options, options->arguments[0], &error);
    xf_file_digest after[2];
    status = digest(after, options);
    if (status == 0)
        status = is_changed(before, after, options);
    c->model_file = before[0];
    c->data_file = before[1];
    if (status == 0)
        status = cli_save_certificate(c, options);
    if (status != 0)
        return status;
    print_certificate(options, c, seconds);
    json_t *json = options->json ? certificate_json(options, c, seconds) : NULL;
    return cli_finish(options, json, xf_status_exit_code(outcome));
}

static int run(const cli_options *options) {
    int status = cli_check_output(options);
    if (status != 0)
        return status;
    xf_model model;
    xf_dataset data;
    xf_certificate certificate;
    xf_file_digest before[2];
    xf_model_init(&model);
    xf_dataset_init(&data);
    xf_certificate_init(&certificate);
    status = digest(before, options);
    if (status == 0)
        status = cli_load_model(&model, options, options->arguments[0]);
    if (status == 0)
        status = cli_load_data(&data, options, options->arguments[1], &model, 0);
    if (status == 0)
        status = certify(&certificate, &model, &data, before, options);
    xf_certificate_clear(&certificate);
    xf_dataset_clear(&data);
    xf_model_clear(&model);
    return status;
}

const cli_command cli_certify = {
    .name = "certify",
    .summary = "prove that a model is exact on a data set",
    .usage = "MODEL DATASET -o CERT",
    .description = "Prove from the stored weights that MODEL maps every input of DATASET exactly "
                   "to its targets, in real arithmetic and in floating-point arithmetic for every "
                   "order of summation, and write what was proved to CERT (JSON). Exit status 0 "
                   "if both are proved, 1 if not.",
    .option_ids = option_ids,
    .n_required = 2,
    .n_allowed = 2,
    .argument_names = {"MODEL", "DATASET"},
    .run = run,
};
