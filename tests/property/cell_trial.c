/* Writers of cells, driven through their table. */
#include "property/cell_trial.h"

#include "base/alloc.h"
#include "construct/balance.h"
#include "construct/cell_writers.h"
#include "property/campaign.h"
#include "support/rational.h"
#include "support/shuffled.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static int bad(xft_cell_verdict *v, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
    v->stage = XFT_CELL_BAD;
    return 0;
}

static double squared_norm(const xf_model *model) {
    xf_inspection found;
    xf_error error = {0};
    return xf_inspect(&found, model, NULL, &error) == XF_OK ? found.l2_norm_squared : -1.0;
}

/* Exact on the dense engine; the outputs in out [T][d]. */
static int run_dense(xft_cell_verdict *v, double *out, const xf_model *model,
                     const xf_dataset *data, const char *what) {
    xf_error error = {0};
    xf_run_options options = {.engine = XF_ENGINE_DENSE, .threads = 1};
    xf_verify_report report = {0};
    if (xf_run(out, model, data, &options, &error) != XF_OK ||
        xf_compare(&report, out, data, &error) != XF_OK)
        return bad(v, "%s: sequence %lld, distance %g; %s", what, (long long)report.first_mismatch,
                   report.hausdorff_max, error.message);
    return 1;
}

static int check_exact(xft_cell_verdict *v, const xft_cell_trial *trial, const xf_model *model,
                       const xf_dataset *data, const double *dense) {
    int64_t n_exact = 0;
    xf_error error = {0};
    if (xft_rational_verify(&n_exact, model, data, &error) != XF_OK)
        return bad(v, "rational: %s", error.message);
    if (!xft_orders_agree(v->text, model, data, dense, trial->n_orders, trial->order_seed))
        v->stage = XFT_CELL_BAD;
    return v->stage != XFT_CELL_BAD;
}

static int is_ordinary(const double *values, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (values[i] != 0.0 && (fabs(values[i]) < 1e-15 || fabs(values[i]) > 1e15))
            return 0;
    return 1;
}

/* The norm was known before, unless weights near the ends of the exponent range keep some neurons
 * from being balanced. */
static int check_forecast(xft_cell_verdict *v, const xf_dataset *data,
                          const xfi_forecast *forecast) {
    double off = v->norm / forecast->norm - 1;
    if (!is_ordinary(data->x, data->n_tokens * data->d) ||
        !is_ordinary(data->y, data->n_targets * data->d) || fabs(off) <= 1e-9)
        return 1;
    return bad(v, "norm %.17g, but %.17g was forecast", v->norm, forecast->norm);
}

/* Balancing must not change a bit. */
static int check_balanced(xft_cell_verdict *v, const xft_cell_trial *trial, xf_model *model,
                          int64_t n_front, const xf_dataset *data, const xfi_forecast *forecast,
                          const double *before) {
    double *after = xfi_calloc2(data->n_tokens, data->d, sizeof *after);
    double norm = squared_norm(model);
    xf_error error = {0};
    xfi_balance(model, n_front, data);
    v->norm = squared_norm(model);
    int ok = after != NULL && run_dense(v, after, model, data, "balanced");
    if (ok && memcmp(before, after, (size_t)(data->n_tokens * data->d) * sizeof *after) != 0)
        ok = bad(v, "balancing changes bits");
    if (ok && xf_model_check(model, &error) != XF_OK)
        ok = bad(v, "balanced: %s", error.message);
    if (ok && !(v->norm <= norm * (1 + 1e-12)))
        ok = bad(v, "balancing raises the norm from %.17g to %.17g", norm, v->norm);
    ok = ok && check_forecast(v, data, forecast);
    ok = ok && check_exact(v, trial, model, data, after);
    xfi_free(after);
    return ok;
}

static int check_depth(xft_cell_verdict *v, const xft_cell_trial *trial,
                       const xfi_cell_writer *writer, const xfi_cells *cells,
                       const xfi_problem *problem, const xf_model *model,
                       const xfi_forecast *forecast) {
    int64_t depth = writer->depth(cells, problem), more = model->n_blocks - depth;
    const xf_dataset *data = problem->data;
    v->n_blocks = model->n_blocks;
    if (model->n_blocks != forecast->blocks)
        return bad(v, "%lld blocks, but %lld were forecast", (long long)model->n_blocks,
                   (long long)forecast->blocks);
    int may_wait = strncmp(writer->name, "diamond", 7) == 0 && cells->n_multi > 0;
    if (!trial->small_norm && (more < 0 || more > may_wait))
        return bad(v, "%lld blocks, but its depth is %lld", (long long)model->n_blocks,
                   (long long)depth);
    int64_t bound = xf_published_bound(data->n_sequences, data->n_targets, XF_HARDMAX);
    if (trial->small_norm && trial->limited && depth <= bound && model->n_blocks > bound &&
        strcmp(writer->name, "offgrid") != 0 && !may_wait)
        return bad(v, "%lld blocks, but at most %lld were allowed", (long long)model->n_blocks,
                   (long long)bound);
    return 1;
}

static void check_model(xft_cell_verdict *v, const xft_cell_trial *trial,
                        const xfi_cell_writer *writer, const xfi_cells *cells,
                        const xfi_problem *problem, xf_model *model, const xfi_forecast *forecast) {
    const xf_dataset *data = problem->data;
    xf_error error = {0};
    double *dense = xfi_calloc2(data->n_tokens, data->d, sizeof *dense);
    strcpy(model->construction, "pooled");
    int ok = dense != NULL;
    if (ok && xf_model_check(model, &error) != XF_OK)
        ok = bad(v, "%s", error.message);
    ok = ok && check_depth(v, trial, writer, cells, problem, model, forecast) &&
         run_dense(v, dense, model, data, "dense") && check_exact(v, trial, model, data, dense) &&
         check_balanced(v, trial, model, xfi_front_blocks(&cells->front), data, forecast, dense);
    (void)ok;
    xfi_free(dense);
}

/* A forecast alone must be that of the model. */
static int same_forecast(xft_cell_verdict *v, const xfi_forecast *a, const xfi_forecast *b) {
    return (a->blocks == b->blocks && a->norm == b->norm) ||
           bad(v, "two forecasts: %lld and %lld blocks, norm %g and %g", (long long)a->blocks,
               (long long)b->blocks, a->norm, b->norm);
}

static void write_cells(xft_cell_verdict *v, const xft_cell_trial *trial,
                        const xfi_cell_writer *writer, const xfi_cells *cells,
                        const xfi_writers *choices, const xfi_problem *problem) {
    const xf_dataset *data = problem->data;
    xf_error error = {0};
    xf_model model;
    xfi_forecast forecast = {0}, before = {0};
    int feasible = 0, planned = 0;
    xfi_writer_options options = {.small_norm = trial->small_norm};
    if (trial->limited)
        options.max_blocks = xf_published_bound(data->n_sequences, data->n_targets, XF_HARDMAX);
    if (xfi_cell_writer_run(writer, NULL, &before, &planned, cells, choices, problem, &options,
                            &error) != XF_OK ||
        xfi_cell_writer_run(writer, &model, &forecast, &feasible, cells, choices, problem, &options,
                            &error) != XF_OK) {
        bad(v, "%s", error.message);
        return;
    }
    if (!feasible) {
        v->stage = XFT_CELL_REFUSED;
        snprintf(v->text, sizeof v->text, "%s", forecast.why);
        if (forecast.why[0] == '\0')
            bad(v, "refused without a word");
        return;
    }
    if (planned && same_forecast(v, &before, &forecast))
        check_model(v, trial, writer, cells, problem, &model, &forecast);
    xf_model_clear(&model);
}

static xf_status find_cells(xfi_cells *cells, int *found, const xfi_problem *problem, int b_min,
                            int kinks, xf_error *error) {
    xfi_search search;
    xf_status status = xfi_search_init(&search, problem, error);
    if (status != XF_OK)
        return status;
    status = xfi_search_plain(&search, 0, error);
    if (status == XF_OK && kinks) {
        xfi_search_drop_pools(&search);
        status = xfi_search_kinks(&search, 0, error);
    }
    if (status == XF_OK)
        status = xfi_cells_search(cells, found, &search, b_min, error);
    xfi_search_clear(&search);
    return status;
}

void xft_cell_trial_run(xft_cell_verdict *out, const xft_cell_trial *trial,
                        const xf_dataset *data) {
    int n = 0, found = 0;
    const xfi_cell_writer *writer = &xfi_cell_writers(&n)[trial->writer];
    xf_build_options options = {.dtype = trial->dtype, .seed = trial->seed, .threads = 1};
    xf_error error = {0};
    xfi_problem problem;
    xfi_writers choices;
    xfi_cells cells;
    *out = (xft_cell_verdict){.stage = XFT_CELL_NONE};
    if (data->d < 2 || xfi_problem_init(&problem, data, &options, &error) != XF_OK)
        return;
    xf_status status = xfi_writers_choose(&choices, &problem, &error);
    if (status == XF_OK)
        status = find_cells(&cells, &found, &problem, writer->b_min, trial->kinks, &error);
    if (status == XF_OK && found) {
        out->stage = XFT_CELL_EXACT;
        write_cells(out, trial, writer, &cells, &choices, &problem);
        xfi_cells_clear(&cells);
    }
    if (status != XF_OK && status != XF_ERR_INFEASIBLE)
        bad(out, "%s", error.message);
    xfi_problem_clear(&problem);
}

int xft_hardmax_orders_agree(char *text, const xf_model *model, const xf_dataset *data,
                             int n_orders, uint64_t seed) {
    double *out = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    int ok = out != NULL;
    for (int i = 0; ok && i < n_orders; i++) {
        xft_shuffle how = {.seed = seed + (uint64_t)i,
                           .fma = i % 3,
                           .tokens_per_order = i / 2 % 2 ? 1 : 0,
                           .values_first = i % 2};
        xf_verify_report report = {0};
        xf_error error = {0};
        ok = xft_run_shuffled(out, model, data, &how, &error) == XF_OK &&
             xf_compare(&report, out, data, &error) == XF_OK;
        if (!ok)
            snprintf(text, XFT_TEXT_SIZE, "order %d: sequence %lld, distance %g; %s", i,
                     (long long)report.first_mismatch, report.hausdorff_max, error.message);
    }
    xfi_free(out);
    return ok;
}

static xft_cell_trial draw_trial(xfi_rng *rng, xf_dtype dtype, int n_writers) {
    return (xft_cell_trial){.writer = (int)xfi_rng_below(rng, n_writers),
                            .small_norm = xfi_rng_below(rng, 2) == 0,
                            .limited = xfi_rng_below(rng, 2) == 0,
                            .kinks = xfi_rng_below(rng, 5) == 0,
                            .dtype = dtype,
                            .seed = xfi_rng_bits(rng),
                            .n_orders = 20,
                            .order_seed = xfi_rng_bits(rng)};
}

enum { MOST_WRITERS = 16 };

typedef struct tally {
    int64_t n[4]; /* by stage */
    char refusal[XFT_TEXT_SIZE];
} tally;

static void run_case(tally *tallies, const xfi_cell_writer *table, int n_writers, int64_t i,
                     const xft_family *family, xf_dtype dtype) {
    xfi_rng rng;
    xf_dataset data;
    xfi_rng_seed(&rng, xft_property_seed(), (uint64_t)i);
    double budget = 100 * pow(300, xfi_rng_uniform(&rng));
    xft_random_data(&data, family, dtype, budget, &rng);
    xft_cell_trial trial = draw_trial(&rng, dtype, n_writers);
    xft_cell_verdict verdict;
    xft_cell_trial_run(&verdict, &trial, &data);
    tally *t = &tallies[trial.writer];
    t->n[verdict.stage]++;
    if (verdict.stage == XFT_CELL_REFUSED)
        snprintf(t->refusal, sizeof t->refusal, "%s", verdict.text);
    if (verdict.stage == XFT_CELL_BAD) {
        printf("FAILURE in case %lld (%s, %s%s%s%s): N = %lld, T = %lld, M = %lld, d = %lld: %s\n",
               (long long)i, family->name, table[trial.writer].name,
               trial.small_norm ? ", small norm" : "", trial.limited ? ", limited" : "",
               trial.kinks ? ", kinks" : "", (long long)data.n_sequences, (long long)data.n_tokens,
               (long long)data.n_targets, (long long)data.d, verdict.text);
        fflush(stdout);
    }
    xf_dataset_clear(&data);
}

int xft_cell_campaign(const xft_family *families, int n_families, int64_t n_cases, xf_dtype dtype) {
    int n_writers = 0, failures = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n_writers);
    tally tallies[MOST_WRITERS] = {0};
    const char *only = getenv("XF_PROPERTY_CASE");
    int64_t n = (int64_t)ceil((double)n_cases * xft_multiplier());
    int64_t first = only != NULL ? strtoll(only, NULL, 10) : 0, last = only ? first + 1 : n;
    for (int64_t i = first; i < last; i++)
        run_case(tallies, table, n_writers, i, &families[i % n_families], dtype);
    printf("%-16s %7s %8s %8s %7s\n", "writer", "exact", "no cells", "refused", "failed");
    for (int w = 0; w < n_writers; w++) {
        const int64_t *counts = tallies[w].n;
        printf("%-16s %7lld %8lld %8lld %7lld   %s\n", table[w].name, (long long)counts[0],
               (long long)counts[1], (long long)counts[2], (long long)counts[3],
               tallies[w].refusal);
        failures += (int)counts[XFT_CELL_BAD];
        failures += only == NULL && counts[XFT_CELL_EXACT] < n / 40;
    }
    fflush(stdout);
    return failures;
}
