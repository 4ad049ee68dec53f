/* The sparse engine where its lemmas are tight (docs/engines.md); tests/property/test_sparse.c has
 * the many random models. */
#include "base/alloc.h"
#include "engine/evaluate.h"
#include "support/toy.h"

#include <exactformer/run.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 40, TOKENS = 8 };

/* Run with an engine; the tokens are one sequence each. */
/* NOLINTNEXTLINE(readability-non-const-parameter): a data set holds it */
static void run(double *out, const xf_model *model, double *x, int64_t n, xf_engine engine) {
    int64_t offsets[TOKENS + 1];
    for (int64_t i = 0; i <= n; i++)
        offsets[i] = i;
    xf_dataset data = {.n_sequences = n,
                       .d = model->d,
                       .n_tokens = n,
                       .x = x,
                       .x_offsets = offsets,
                       .positions = -1};
    xf_run_options options = {.engine = engine, .threads = 1};
    assert_int_equal(xf_run(out, model, &data, &options, NULL), XF_OK);
}

/* Both engines, the same bits. */
static void agree(const xf_model *model, double *x, int64_t n) {
    double dense[TOKENS * 8], sparse[TOKENS * 8];
    run(dense, model, x, n, XF_ENGINE_DENSE);
    run(sparse, model, x, n, XF_ENGINE_SPARSE);
    assert_memory_equal(dense, sparse, (size_t)(n * model->d) * sizeof(double));
}

static void new_model(xf_model *out, int64_t d, int64_t width) {
    assert_int_equal(xf_model_new(out, BLOCKS, d, width, NULL), XF_OK);
}

/* relu(u x + b) with rounded products and sums: u, b and tokens whose exact value has the other
 * sign, or is 0 where the computed one is not. */
static void thresholds_are_those_of_the_computed_neuron(void **state) {
    (void)state;
    const double slopes[] = {1.0 / 3.0, -1.0 / 3.0, 3.0,       0x1.fffffffffffffp-1,
                             0x1p-600,  -0x1p600,   0x1p-1074, 0x1p1023};
    const double biases[] = {-0.1, 0.1, -0.0, 0x1p-1074, -0x1p-1074, -1.0, 0x1.8p-540, -DBL_MAX};
    xf_model model;
    new_model(&model, 2, 1);
    for (int i = 0; i < 64; i++) {
        double u = slopes[i % 8], b = biases[i / 8], x[2 * TOKENS], t = -b / u;
        for (int64_t k = 0; k < BLOCKS; k++) {
            model.ff_U[2 * k] = k % 3 == 0 ? u : k % 3 == 1 ? -u : 0.0;
            model.ff_b[k] = k % 3 == 1 ? -b : b;
            model.ff_W[2 * k + 1] = 0x1p-30;
        }
        t = fmin(fmax(t, -DBL_MAX), DBL_MAX);
        for (int k = 0; k < TOKENS; k++) {
            x[2 * k] = k < 5 ? t : k == 5 ? 0.0 : k == 6 ? 0x1p-1074 : -DBL_MAX;
            for (int s = 0; k < 5 && s < abs(k - 2); s++)
                x[2 * k] = nextafter(x[2 * k], k < 2 ? -DBL_MAX : DBL_MAX);
            x[2 * k + 1] = 0.0;
        }
        agree(&model, x, TOKENS);
    }
    xf_model_clear(&model);
}

/* -0 becomes +0 in a layer that does nothing else, unless all weights of the row are negative. */
static void signs_of_zero_are_kept(void **state) {
    (void)state;
    xf_model model;
    double x[] = {-0.0, 1.0, 0.0, -0.0, -0.0, -0.0}, out[6];
    new_model(&model, 2, 2);
    run(out, &model, x, 3, XF_ENGINE_SPARSE);
    for (int k = 0; k < 6; k++)
        assert_int_equal(signbit(out[k]), 0);
    for (int all = 0; all < 2; all++) {
        for (int64_t i = 0; i < BLOCKS; i++)
            for (int k = 0; k < 2 + 2 * all; k++)
                model.ff_W[4 * i + k] = -0.0;
        agree(&model, x, 3);
    }
    run(out, &model, x, 3, XF_ENGINE_SPARSE);
    assert_true(signbit(out[0]) && !signbit(out[2]) && signbit(out[3]));
    model.ff_eta[3] = -1.0; /* and 0 becomes -0 */
    agree(&model, x, 3);
    model.sa_rho[7] = -0.0;
    agree(&model, x, 3);
    xf_model_clear(&model);
}

/* Products that underflow: 3/4 of the least number becomes 1, each half 0; and a bias that scaling
 * would lose. The first blocks are idle, so that boxes are looked at. */
static void boxes_do_not_exclude_what_underflows(void **state) {
    (void)state;
    xf_model model;
    double x[TOKENS * 8];
    new_model(&model, 8, 1);
    for (int64_t i = 0; i < BLOCKS; i++) {
        for (int64_t k = 0; k < 4; k++)
            model.ff_U[8 * i + k] = k == 0 ? 0x1.8p-901 : -0x1p-901;
        model.ff_b[i] = i < 10 ? -1.0 : 0.0;
        model.ff_W[8 * i + 7] = 0x1p1000;
    }
    for (int i = 0; i < TOKENS * 8; i++)
        x[i] = ldexp(1.0, -176 + i / 8);
    agree(&model, x, TOKENS);
    for (int64_t i = 0; i < BLOCKS; i++) {
        for (int64_t k = 0; k < 4; k++)
            model.ff_U[8 * i + k] = -0x1p600;
        model.ff_b[i] = i < 10 ? -1.0 : 0x1p-500;
    }
    memset(x, 0, sizeof x);
    agree(&model, x, TOKENS);
    xf_model_clear(&model);
}

/* The bound of a box is reached by a neuron in it. */
static void boxes_hold_their_neurons(void **state) {
    (void)state;
    xf_model model;
    double x[2 * TOKENS];
    new_model(&model, 2, 1);
    for (int64_t i = 0; i < BLOCKS; i++) {
        double scale = ldexp(1.0, (int)(i % 7) - 3);
        model.ff_U[2 * i] = scale;
        model.ff_U[2 * i + 1] = -scale;
        model.ff_b[i] = -scale * (double)(i * 37 % BLOCKS + 1);
        model.ff_W[2 * i + 1] = 0x1p-300; /* lost beside any number of usual size */
    }
    for (int k = 0; k < TOKENS; k++) {
        x[2 * k + 1] = 1.0;
        x[2 * k] = k % 2 ? nextafter((double)(4 * k), 0.0) : nextafter((double)(4 * k), 99.0);
    }
    agree(&model, x, TOKENS);
    for (int k = 0; k < TOKENS; k++)
        x[2 * k + 1] = 0.0;
    agree(&model, x, TOKENS);
    xf_model_clear(&model);
}

/* Layers that change every token at every step: the dense kernel takes over. */
static void busy_stretches_are_given_back(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 60, .d = 16, .width = 4, .seed = 3};
    xf_model model;
    xf_dataset data;
    xfi_prepared prepared;
    xf_run_options options = {.threads = 2};
    xft_toy_model(&model, &toy);
    xft_toy_inputs(&data, &toy, 500, 4);
    double *dense = xft_toy_output(&data), *sparse = xft_toy_output(&data);
    assert_int_equal(xfi_prepared_new(&prepared, &model, &options, NULL), XF_OK);
    assert_int_equal(prepared.n_stretches, 1);
    assert_int_equal(xfi_evaluate(sparse, &prepared, &data, NULL), XF_OK);
    assert_true(prepared.stretches[0].given_up);
    xfi_prepared_clear(&prepared);
    options.engine = XF_ENGINE_DENSE;
    assert_int_equal(xf_run(dense, &model, &data, &options, NULL), XF_OK);
    assert_memory_equal(dense, sparse, (size_t)(data.n_tokens * data.d) * sizeof(double));
    xfi_free(dense);
    xfi_free(sparse);
    xft_toy_dataset_clear(&data);
    xf_model_clear(&model);
}

/* Twenty layers that change every token, then many that change none: the dense kernel takes the
 * first, whatever the number of threads. */
static void busy_beginnings_are_found(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 400, .d = 4, .width = 4, .seed = 6};
    xf_model model;
    xf_dataset data;
    xft_toy_model(&model, &toy);
    for (int64_t b = 20; b < toy.n_blocks; b++) {
        model.ff_eta[b] = model.sa_rho[b] = 1.0;
        memset(model.ff_U + b * 16, 0, 16 * sizeof(double));
        model.ff_U[b * 16] = 1.0;
        for (int i = 0; i < 4; i++)
            model.ff_b[b * 4 + i] = -100.0;
    }
    xft_toy_inputs(&data, &toy, 1000, 4);
    double *dense = xft_toy_output(&data), *sparse = xft_toy_output(&data);
    xf_run_options options = {.engine = XF_ENGINE_DENSE};
    assert_int_equal(xf_run(dense, &model, &data, &options, NULL), XF_OK);
    options.engine = XF_ENGINE_SPARSE;
    for (options.threads = 1; options.threads <= 4; options.threads++) {
        xfi_prepared prepared;
        assert_int_equal(xfi_prepared_new(&prepared, &model, &options, NULL), XF_OK);
        assert_int_equal(prepared.n_stretches, 1);
        assert_int_equal(xfi_evaluate(sparse, &prepared, &data, NULL), XF_OK);
        assert_int_equal(xfi_sparse_start(&prepared.stretches[0]), 40);
        assert_int_equal(prepared.stretches[0].given_up, 0);
        xfi_prepared_clear(&prepared);
        assert_memory_equal(dense, sparse, (size_t)(data.n_tokens * data.d) * sizeof(double));
    }
    xfi_free(dense);
    xfi_free(sparse);
    xft_toy_dataset_clear(&data);
    xf_model_clear(&model);
}

/* One runner, several inputs; wrong ones are refused. */
static void a_runner_runs_again(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 12, .d = 3, .width = 2, .V = XFT_RANK_ONE, .seed = 4};
    xf_model model;
    xf_runner *runner = NULL;
    xf_error error;
    xft_toy_model(&model, &toy);
    assert_int_equal(xf_runner_new(&runner, &model, NULL, &error), XF_OK);
    for (uint64_t seed = 0; seed < 3; seed++) {
        xf_dataset data;
        toy.seed = seed;
        xft_toy_inputs(&data, &toy, 10 + (int64_t)(40 * seed), 5);
        double *once = xft_toy_output(&data), *again = xft_toy_output(&data);
        assert_int_equal(xf_run(once, &model, &data, NULL, NULL), XF_OK);
        assert_int_equal(xf_runner_run(again, runner, &data, &error), XF_OK);
        assert_memory_equal(once, again, (size_t)(data.n_tokens * data.d) * sizeof(double));
        data.d = 4;
        assert_int_equal(xf_runner_run(again, runner, &data, &error), XF_ERR_ARGUMENT);
        xfi_free(once);
        xfi_free(again);
        xft_toy_dataset_clear(&data);
    }
    xf_runner_free(runner);
    xf_runner_free(NULL);
    xf_run_options bad = {.threads = -1};
    assert_int_equal(xf_runner_new(&runner, &model, &bad, &error), XF_ERR_ARGUMENT);
    assert_null(runner);
    xf_model_clear(&model);
}

static void memory_may_run_out(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 30, .d = 3, .width = 3, .seed = 5};
    xf_model model;
    xft_toy_model(&model, &toy);
    model.ff_U[1] = model.ff_U[2] = 0.0;
    xf_runner *runner = NULL;
    int failures = 0;
    for (int64_t allowed = 0; runner == NULL; allowed++) {
        xfi_alloc_limit(allowed);
        xf_status status = xf_runner_new(&runner, &model, NULL, NULL);
        xfi_alloc_limit(-1);
        assert_int_equal(status, runner != NULL ? XF_OK : XF_ERR_MEMORY);
        failures += runner == NULL;
    }
    assert_true(failures > 10);
    xf_runner_free(runner);
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_are_those_of_the_computed_neuron),
        cmocka_unit_test(signs_of_zero_are_kept),
        cmocka_unit_test(boxes_do_not_exclude_what_underflows),
        cmocka_unit_test(boxes_hold_their_neurons),
        cmocka_unit_test(busy_stretches_are_given_back),
        cmocka_unit_test(busy_beginnings_are_found),
        cmocka_unit_test(a_runner_runs_again),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
