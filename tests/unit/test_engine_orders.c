/* The test-only engines themselves: where sums are exact, random orders change nothing and
 * rationals agree; where they are not, random orders must show it.
 * Labels: exact */
#include "base/alloc.h"
#include "support/rational.h"
#include "support/shuffled.h"
#include "support/toy.h"

#include <exactformer/run.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

typedef struct fixture {
    xf_model model;
    xf_dataset data;
    double *dense;
    double *out;
} fixture;

static void set_up(fixture *f, const xft_toy *toy, int64_t n_sequences, int64_t n_max) {
    xft_toy_model(&f->model, toy);
    xft_toy_inputs(&f->data, toy, n_sequences, n_max);
    f->dense = xft_toy_output(&f->data);
    f->out = xft_toy_output(&f->data);
    assert_int_equal(xf_run(f->dense, &f->model, &f->data, NULL, NULL), XF_OK);
}

static void tear_down(fixture *f) {
    xfi_free(f->dense);
    xfi_free(f->out);
    xft_toy_dataset_clear(&f->data);
    xf_model_clear(&f->model);
}

/* How many of `runs` seeds give the bits of the dense engine. */
static int n_equal(fixture *f, xft_shuffle options, int runs) {
    int count = 0;
    for (int seed = 0; seed < runs; seed++) {
        options.seed = (uint64_t)seed;
        options.fma = seed % 3;
        options.tokens_per_order = seed % 2 ? 1 : 0;
        assert_int_equal(xft_run_shuffled(f->out, &f->model, &f->data, &options, NULL), XF_OK);
        count += xft_same_values(f->out, f->dense, f->data.n_tokens * f->data.d);
    }
    return count;
}

static xft_toy integer_toy(int bits) {
    return (xft_toy){.n_blocks = 2,
                     .d = 1 + bits % 5,
                     .width = 1 + bits % 3,
                     .dtype = (xf_dtype)(bits & 1),
                     .attention = XF_HARDMAX,
                     .order = (xf_order)(bits >> 1 & 1),
                     .causal = bits >> 2 & 1,
                     .A = bits & 8 ? XFT_ALPHA | XFT_RANK_ONE : 0,
                     .V = XFT_ALPHA | XFT_RANK_ONE | (bits & 16 ? XFT_FULL : 0),
                     .integers = 1,
                     .seed = (uint64_t)bits};
}

/* Sequences of up to two tokens: means are multiples of 1/2. */
static void exact_sums_survive_every_order(void **state) {
    (void)state;
    for (int bits = 0; bits < 32; bits++) {
        fixture f;
        xft_toy toy = integer_toy(bits);
        set_up(&f, &toy, 40, 2);
        assert_int_equal(n_equal(&f, (xft_shuffle){.values_first = bits & 1}, 12), 12);
        tear_down(&f);
    }
}

static void inexact_sums_are_found_out(void **state) {
    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        fixture f;
        xft_toy toy = {.n_blocks = 2,
                       .d = 5,
                       .width = 4,
                       .dtype = (xf_dtype)(bits & 1),
                       .attention = (xf_attention)(bits >> 1 & 1),
                       .A = bits & 4 ? XFT_ALPHA : 0,
                       .V = XFT_ALPHA,
                       .seed = (uint64_t)bits};
        set_up(&f, &toy, 10, 4);
        assert_int_equal(n_equal(&f, (xft_shuffle){0}, 6), 0);
        double tolerance = toy.dtype == XF_F32 ? 1e-4 : 1e-13;
        for (int64_t k = 0; k < f.data.n_tokens * f.data.d; k++)
            assert_true(fabs(f.out[k] - f.dense[k]) < tolerance);
        tear_down(&f);
    }
}

/* One sum apiece: 3 tokens whose float sum depends on the order. */
static void same_seed_same_bits(void **state) {
    (void)state;
    fixture f;
    xft_toy toy = {.n_blocks = 2, .d = 4, .width = 4, .V = XFT_ALPHA, .seed = 9};
    set_up(&f, &toy, 10, 4);
    xft_shuffle options = {.seed = 5, .fma = XFT_MIXED};
    assert_int_equal(xft_run_shuffled(f.out, &f.model, &f.data, &options, NULL), XF_OK);
    assert_int_equal(xft_run_shuffled(f.dense, &f.model, &f.data, &options, NULL), XF_OK);
    assert_true(xft_same_values(f.out, f.dense, f.data.n_tokens * f.data.d));
    tear_down(&f);
}

static void rationals_agree_where_sums_are_exact(void **state) {
    (void)state;
    for (int bits = 0; bits < 32; bits++) {
        fixture f;
        xf_error error;
        int64_t n_exact = 0;
        xft_toy toy = integer_toy(bits);
        set_up(&f, &toy, 20, 2);
        xft_toy_targets(&f.data, f.dense);
        assert_int_equal(xft_rational_verify(&n_exact, &f.model, &f.data, &error), XF_OK);
        assert_int_equal(n_exact, 20);

        f.data.y[f.data.y_offsets[7] * f.data.d] += 0x1p-20;
        assert_int_equal(xft_rational_verify(&n_exact, &f.model, &f.data, &error), XF_NOT_EXACT);
        assert_int_equal(n_exact, 19);
        assert_int_equal(error.sequence, 7);
        tear_down(&f);
    }
}

/* The mean of three ones and a two is dyadic, that of two ones and a two is not; a clamp
 * x - relu(x - 1) makes it exact again. */
static void rationals_see_rounding(void **state) {
    (void)state;
    xf_model model;
    int64_t n_exact = 0, x_offsets[] = {0, 3, 7}, y_offsets[] = {0, 1, 2};
    double x[] = {1, 1, 2, 1, 1, 1, 2}, y[] = {4.0 / 3.0, 1.25}, ones[] = {1.0, 1.0};
    xf_dataset data = {.n_sequences = 2,
                       .d = 1,
                       .n_tokens = 7,
                       .n_targets = 2,
                       .x = x,
                       .x_offsets = x_offsets,
                       .y = y,
                       .y_offsets = y_offsets};
    xf_verify_report report;
    assert_int_equal(xf_model_new(&model, 2, 1, 1, NULL), XF_OK);
    model.sa_rho[0] = 0.0;
    model.sa_V.alpha[0] = 1.0;
    assert_int_equal(xf_verify(&report, &model, &data, NULL, NULL), XF_OK);
    assert_int_equal(xft_rational_verify(&n_exact, &model, &data, NULL), XF_NOT_EXACT);
    assert_int_equal(n_exact, 1);
    model.ff_U[1] = 1.0;
    model.ff_b[1] = -1.0;
    model.ff_W[1] = -1.0;
    data.y = ones;
    assert_int_equal(xft_rational_verify(&n_exact, &model, &data, NULL), XF_OK);
    model.attention = XF_SOFTMAX;
    assert_int_equal(xft_rational_verify(&n_exact, &model, &data, NULL), XF_OK);
    model.sa_A.alpha[1] = 1.0; /* V = 0 there: of no consequence */
    assert_int_equal(xft_rational_verify(&n_exact, &model, &data, NULL), XF_OK);
    model.sa_A.alpha[0] = 1.0;
    assert_int_equal(xft_rational_verify(&n_exact, &model, &data, NULL), XF_ERR_ARGUMENT);
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_sums_survive_every_order),
        cmocka_unit_test(inexact_sums_are_found_out),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(rationals_agree_where_sums_are_exact),
        cmocka_unit_test(rationals_see_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
