/* The dense engine against the naive one, bit for bit, and its answers to bad calls. */
#include "base/alloc.h"
#include "support/literal.h"
#include "support/toy.h"

#include <exactformer/run.h>

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static const xf_run_options dense = {.engine = XF_ENGINE_DENSE};

static void check_toy(const xft_toy *toy, int64_t n_sequences, int64_t n_max,
                      const xf_run_options *options) {
    xf_model model;
    xf_dataset input;
    xf_error error;
    xft_toy_model(&model, toy);
    xft_toy_inputs(&input, toy, n_sequences, n_max);
    double *expected = xft_toy_output(&input), *out = xft_toy_output(&input);
    assert_true(xft_run_literal(expected, &model, &input));
    assert_int_equal(xf_run(out, &model, &input, options, &error), XF_OK);
    if (!xft_same_values(out, expected, input.n_tokens * input.d))
        fail_msg("seed %llu: d %lld, width %lld, dtype %d, attention %d, order %d, causal %d, "
                 "A %d, V %d",
                 (unsigned long long)toy->seed, (long long)toy->d, (long long)toy->width,
                 (int)toy->dtype, (int)toy->attention, (int)toy->order, toy->causal, toy->A,
                 toy->V);
    xfi_free(expected);
    xfi_free(out);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

static const int64_t widths[] = {0, 1, 4, 7};
static const int64_t dimensions[] = {1, 2, 3, 4, 5, 8, 11};
static const int matrices[] = {0, XFT_ALPHA, XFT_RANK_ONE, XFT_FULL,
                               XFT_ALPHA | XFT_RANK_ONE | XFT_FULL};

static void equals_literal(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int bits = 0; bits < 16; bits++)
        for (int a = 0; a < 5; a++)
            for (int v = 0; v < 5; v++, seed++)
                check_toy(&(xft_toy){.n_blocks = 4,
                                     .d = dimensions[seed % 7],
                                     .width = widths[seed % 4],
                                     .dtype = (xf_dtype)(bits & 1),
                                     .attention = (xf_attention)(bits >> 1 & 1),
                                     .order = (xf_order)(bits >> 2 & 1),
                                     .causal = bits >> 3 & 1,
                                     .A = matrices[a],
                                     .V = matrices[v],
                                     .seed = seed},
                          9, 7, NULL);
}

static void equals_literal_with_ties(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        check_toy(&(xft_toy){.n_blocks = 3,
                             .d = dimensions[seed % 7],
                             .width = 1,
                             .dtype = (xf_dtype)(seed & 1),
                             .order = (xf_order)(seed >> 1 & 1),
                             .causal = seed >> 2 & 1,
                             .A = matrices[1 + seed % 4],
                             .V = XFT_ALPHA | XFT_RANK_ONE,
                             .integers = 1,
                             .seed = seed},
                  10, 12, NULL);
}

static void equals_literal_at_any_temperature(void **state) {
    (void)state;
    static const double taus[] = {1e-300, 1e-3, 1.0, 1e3, 1e300};
    for (uint64_t seed = 0; seed < 20; seed++)
        check_toy(
            &(xft_toy){.n_blocks = 3,
                       .d = 3,
                       .width = 2,
                       .dtype = seed % 4 < 2 || taus[seed % 5] < 1e-30 || taus[seed % 5] > 1e30
                                    ? XF_F64
                                    : XF_F32,
                       .attention = XF_SOFTMAX,
                       .tau = taus[seed % 5],
                       .A = XFT_RANK_ONE,
                       .V = XFT_ALPHA,
                       .seed = seed},
            8, 9, NULL);
}

/* Tile remainders, several tiles, rows of queries that cross sequences; any thread count. */
static void independent_of_threads_and_tiles(void **state) {
    (void)state;
    static const int64_t counts[] = {1, 63, 64, 65, 127, 130};
    for (uint64_t seed = 0; seed < 36; seed++)
        check_toy(&(xft_toy){.n_blocks = 5,
                             .d = dimensions[seed % 5],
                             .width = 4,
                             .dtype = (xf_dtype)(seed & 1),
                             .attention = (xf_attention)(seed >> 1 & 1),
                             .causal = seed % 5 == 0,
                             .A = seed % 3 ? XFT_ALPHA : 0,
                             .V = XFT_RANK_ONE,
                             .seed = seed},
                  counts[seed % 6], seed % 2 ? 1 : 4,
                  &(xf_run_options){.engine = XF_ENGINE_DENSE, .threads = 1 + (int)(seed % 4)});
}

/* One long sequence: queries are shared among threads. */
static void long_sequence(void **state) {
    (void)state;
    for (int bits = 0; bits < 8; bits++)
        check_toy(&(xft_toy){.n_blocks = 3,
                             .d = 2,
                             .width = 2,
                             .dtype = (xf_dtype)(bits & 1),
                             .attention = (xf_attention)(bits >> 1 & 1),
                             .causal = bits >> 2 & 1,
                             .A = XFT_RANK_ONE,
                             .V = XFT_ALPHA,
                             .seed = 77},
                  2, 300, &(xf_run_options){.engine = XF_ENGINE_DENSE, .threads = 3});
}

/* Enough layers for several chunks of weights. */
static void many_layers(void **state) {
    (void)state;
    for (int bits = 0; bits < 4; bits++)
        check_toy(&(xft_toy){.n_blocks = 3000,
                             .d = 2 + (bits & 1) * 5,
                             .width = 4,
                             .dtype = (xf_dtype)(bits >> 1),
                             .integers = 0,
                             .seed = 5},
                  3, 4, &(xf_run_options){.engine = XF_ENGINE_DENSE, .threads = 2});
}

/* d = 1, two tokens 1 and 3: FF gives 2x + 5 relu(x - 2) = 2, 11; their mean is 6.5 and
 * SA gives x + 2 mean = 15, 24. */
static void hand_computed(void **state) {
    (void)state;
    xf_model model;
    assert_int_equal(xf_model_new(&model, 1, 1, 1, NULL), XF_OK);
    model.ff_eta[0] = 2.0;
    model.ff_U[0] = 1.0;
    model.ff_b[0] = -2.0;
    model.ff_W[0] = 5.0;
    model.sa_V.alpha[0] = 2.0;
    double x[] = {1.0, 3.0}, out[2];
    int64_t offsets[] = {0, 2};
    xf_dataset input = {.n_sequences = 1, .d = 1, .n_tokens = 2, .x = x, .x_offsets = offsets};
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(out[0] == 15.0 && out[1] == 24.0);

    model.sa_A.alpha[0] = 1.0; /* logits of 2 and 11 are largest at 11 */
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(out[0] == 24.0 && out[1] == 33.0);

    model.causal = 1; /* the first token sees itself only */
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(out[0] == 6.0 && out[1] == 33.0);

    model.causal = 0;
    model.order = XF_SA_FF; /* 1 + 2*3 = 7 and 3 + 2*3 = 9, then 2x + 5(x - 2) */
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(out[0] == 39.0 && out[1] == 53.0);
    xf_model_clear(&model);
}

static void options_override_the_model(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 2, .d = 2, .width = 1, .A = XFT_ALPHA, .V = XFT_ALPHA, .seed = 3};
    xf_model model;
    xf_dataset input;
    xft_toy_model(&model, &toy);
    xft_toy_inputs(&input, &toy, 5, 6);
    double *expected = xft_toy_output(&input), *out = xft_toy_output(&input);
    xf_run_options options = {
        .engine = XF_ENGINE_DENSE, .override_attention = 1, .attention = XF_SOFTMAX, .tau = 0.25};
    assert_int_equal(xf_run(out, &model, &input, &options, NULL), XF_OK);
    model.attention = XF_SOFTMAX;
    model.tau = 0.25;
    assert_true(xft_run_literal(expected, &model, &input));
    assert_true(xft_same_values(out, expected, input.n_tokens * input.d));
    options = (xf_run_options){
        .engine = XF_ENGINE_DENSE, .override_attention = 1, .attention = XF_HARDMAX};
    assert_int_equal(xf_run(out, &model, &input, &options, NULL), XF_OK);
    model.attention = XF_HARDMAX;
    assert_true(xft_run_literal(expected, &model, &input));
    assert_true(xft_same_values(out, expected, input.n_tokens * input.d));
    xfi_free(expected);
    xfi_free(out);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

/* Overflow makes infinities and NaN; neither ReLU nor attention may hide them. */
static void nonfinite_values_stay(void **state) {
    (void)state;
    xf_model model;
    assert_int_equal(xf_model_new(&model, 2, 1, 1, NULL), XF_OK);
    double x[] = {0x1p1000, 1.0}, out[2];
    int64_t offsets[] = {0, 2};
    xf_dataset input = {.n_sequences = 1, .d = 1, .n_tokens = 2, .x = x, .x_offsets = offsets};
    model.ff_U[0] = 0x1p1000;
    model.ff_W[0] = 1.0;
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(isnan(out[0]) && out[1] == 0x1p1000); /* the second block makes it 0 * inf */
    model.n_blocks = 1;
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(isinf(out[0]) && out[1] == 0x1p1000);

    model.n_blocks = 2;
    model.ff_W[0] = 0.0; /* inf * 0 */
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(isnan(out[0]) && out[1] == 1.0);

    model.ff_U[1] = 1.0; /* the next ReLU sees NaN */
    model.ff_W[1] = 1.0;
    assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
    assert_true(isnan(out[0]) && out[1] == 2.0);

    model.sa_V.alpha[0] = 1.0; /* and with attention everybody does */
    for (int attention = 0; attention < 4; attention++) {
        model.attention = (xf_attention)(attention & 1);
        model.sa_A.alpha[0] = attention & 2;
        assert_int_equal(xf_run(out, &model, &input, &dense, NULL), XF_OK);
        assert_true(isnan(out[0]) && isnan(out[1]));
    }
    xf_model_clear(&model);
}

static void bad_calls(void **state) {
    (void)state;
    xf_model model;
    xf_error error;
    assert_int_equal(xf_model_new(&model, 1, 2, 1, NULL), XF_OK);
    double x[] = {1.0, 2.0, 3.0, 1e300}, out[4];
    int64_t offsets[] = {0, 1, 2};
    xf_dataset input = {.n_sequences = 2, .d = 2, .n_tokens = 2, .x = x, .x_offsets = offsets};
    assert_int_equal(xf_run(out, &model, &input, &(xf_run_options){.threads = -1}, &error),
                     XF_ERR_ARGUMENT);
    assert_int_equal(xf_run(out, &model, &input, &(xf_run_options){.tau = NAN}, &error),
                     XF_ERR_ARGUMENT);
    assert_int_equal(xf_run(out, &model, &input, &(xf_run_options){.engine = (xf_engine)9}, &error),
                     XF_ERR_ARGUMENT);
    model.dtype = XF_F32;
    assert_int_equal(xf_run(out, &model, &input, &dense, &error), XF_ERR_DATA);
    assert_int_equal(error.sequence, 1);
    assert_int_equal(error.token, 0);
    assert_string_equal(
        error.message,
        "sequence 1, token 0: 1.0000000000000001e+300 is beyond the range of binary32");
    input.d = 1;
    assert_int_equal(xf_run(out, &model, &input, &dense, &error), XF_ERR_ARGUMENT);
    assert_string_equal(error.message, "the model has dimension 2, the data set has dimension 1");
    xf_model_clear(&model);
}

static void wrong_rounding_is_refused(void **state) {
    (void)state;
    if (getenv("XF_UNDER_VALGRIND") != NULL) /* which has no rounding modes */
        skip();
    xf_model model;
    assert_int_equal(xf_model_new(&model, 1, 1, 1, NULL), XF_OK);
    double x[] = {1.0}, out[1];
    int64_t offsets[] = {0, 1};
    xf_dataset input = {.n_sequences = 1, .d = 1, .n_tokens = 1, .x = x, .x_offsets = offsets};
    fesetround(FE_UPWARD);
    xf_status status = xf_run(out, &model, &input, &dense, NULL);
    fesetround(FE_TONEAREST);
    assert_int_equal(status, XF_ERR_ARGUMENT);
    xf_model_clear(&model);
}

typedef struct watch {
    int calls;
    int stop_at;
    double last;
} watch;

static int watch_progress(void *context, const char *phase, double done) {
    watch *w = context;
    assert_string_equal(phase, "run");
    assert_true(done >= w->last && done <= 1.0);
    w->last = done;
    return ++w->calls == w->stop_at;
}

static void progress_and_cancelling(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 9, .d = 2, .width = 1, .A = XFT_ALPHA, .V = XFT_ALPHA, .seed = 4};
    xf_model model;
    xf_dataset input;
    xf_error error;
    watch w = {0};
    xf_run_options options = {
        .engine = XF_ENGINE_DENSE, .progress = watch_progress, .progress_context = &w};
    xft_toy_model(&model, &toy);
    xft_toy_inputs(&input, &toy, 5, 6);
    double *out = xft_toy_output(&input);
    assert_int_equal(xf_run(out, &model, &input, &options, &error), XF_OK);
    assert_true(w.calls > 5 && w.last == 1.0);
    w = (watch){.stop_at = 3};
    assert_int_equal(xf_run(out, &model, &input, &options, &error), XF_ERR_CANCELLED);
    assert_int_equal(w.calls, 3);
    assert_int_equal(error.status, XF_ERR_CANCELLED);
    xfi_free(out);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

/* Every allocation fails once. */
static void allocation_failures(void **state) {
    (void)state;
    for (int dtype = 0; dtype < 2; dtype++) {
        xft_toy toy = {.n_blocks = 2,
                       .d = 2,
                       .width = 1,
                       .dtype = (xf_dtype)dtype,
                       .V = XFT_ALPHA | XFT_FULL,
                       .seed = 4};
        xf_model model;
        xf_dataset input;
        xf_error error;
        xft_toy_model(&model, &toy);
        xft_toy_inputs(&input, &toy, 3, 3);
        double *out = xft_toy_output(&input);
        xf_status status = XF_ERR_MEMORY;
        int allowed = 0;
        while (status == XF_ERR_MEMORY) {
            xfi_alloc_limit(allowed++);
            status = xf_run(out, &model, &input, &dense, &error);
            xfi_alloc_limit(-1);
        }
        assert_int_equal(status, XF_OK);
        assert_true(allowed >= 4);
        xfi_free(out);
        xft_toy_dataset_clear(&input);
        xf_model_clear(&model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_literal),
        cmocka_unit_test(equals_literal_with_ties),
        cmocka_unit_test(equals_literal_at_any_temperature),
        cmocka_unit_test(independent_of_threads_and_tiles),
        cmocka_unit_test(long_sequence),
        cmocka_unit_test(many_layers),
        cmocka_unit_test(hand_computed),
        cmocka_unit_test(options_override_the_model),
        cmocka_unit_test(nonfinite_values_stay),
        cmocka_unit_test(bad_calls),
        cmocka_unit_test(wrong_rounding_is_refused),
        cmocka_unit_test(progress_and_cancelling),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
