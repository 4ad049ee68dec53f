/* construct/balance.h and stream.h: powers of two between weights, without a change of bits. */
#include "construct/balance.h"
#include "construct/stream.h"

#include "base/rng.h"

#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N_TOKENS = 12, D = 3, L = 5 };

static double draw(xfi_rng *rng, int range) {
    return ldexp(xfi_rng_normal(rng), (int)xfi_rng_below(rng, 2 * range + 1) - range);
}

/* A model whose neurons are far from balanced, with one pooling block. */
static void draw_model(xf_model *model, xfi_rng *rng, int range) {
    assert_int_equal(xf_model_new(model, L, D, 4, NULL), XF_OK);
    for (int64_t i = 0; i < L * D * 4; i++) {
        model->ff_U[i] = draw(rng, 1);
        model->ff_W[i] = draw(rng, 1);
    }
    for (int64_t block = 0; block < L; block++)
        for (int64_t i = 0; i < 4; i++) {
            int up = (int)xfi_rng_below(rng, (int64_t)(2 * range + 1)) - range;
            model->ff_b[block * 4 + i] = ldexp(draw(rng, 1), up);
            for (int64_t k = 0; k < D; k++) {
                model->ff_U[(block * 4 + i) * D + k] *= ldexp(1.0, up);
                model->ff_W[(block * D + k) * 4 + i] *= ldexp(1.0, -up);
            }
        }
    model->sa_V.left[1] = 1024.0;
    model->sa_V.right[0] = 1.0;
}

static void draw_data(xf_dataset *data, xfi_rng *rng) {
    static const int64_t offsets[] = {0, 5, N_TOKENS}, y_offsets[] = {0, 1, 2};
    double x[N_TOKENS * D], y[2 * D];
    for (int i = 0; i < N_TOKENS * D; i++)
        x[i] = xfi_rng_normal(rng);
    for (int i = 0; i < 2 * D; i++)
        y[i] = xfi_rng_normal(rng);
    assert_int_equal(xf_dataset_from_arrays(data, 2, D, x, offsets, y, y_offsets, NULL, NULL),
                     XF_OK);
}

static double norm_of(const xf_model *model) {
    xf_inspection found;
    assert_int_equal(xf_inspect(&found, model, NULL, NULL), XF_OK);
    return found.l2_norm_squared;
}

static void cost_is_within_a_quarter(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 3, 0);
    for (int round = 0; round < 20000; round++) {
        double in = ldexp(1 + xfi_rng_uniform(&rng), (int)xfi_rng_below(&rng, 600) - 300);
        double out = ldexp(1 + xfi_rng_uniform(&rng), (int)xfi_rng_below(&rng, 600) - 300);
        double best = 2 * sqrt(in) * sqrt(out), cost = xfi_balanced_cost(in, out);
        assert_true(cost >= best * (1 - 1e-15) && cost <= 1.25 * best);
        assert_true(cost <= in + out);
    }
    assert_true(xfi_balanced_cost(0.0, 3.0) == 3.0);
    assert_true(xfi_balanced_cost(2.0, 0.0) == 2.0);
    assert_true(xfi_balanced_cost(INFINITY, 1.0) == INFINITY);
}

static void balancing_changes_no_bit(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 4, 0);
    for (int round = 0; round < 200; round++) {
        xf_model model;
        xf_dataset data;
        double before[N_TOKENS * D], after[N_TOKENS * D];
        draw_model(&model, &rng, 30);
        draw_data(&data, &rng);
        double norm = norm_of(&model), forecast = xfi_balanced_norm(&model, 0, L);
        assert_int_equal(xf_run(before, &model, &data, NULL, NULL), XF_OK);
        xfi_balance(&model, 1, &data);
        assert_int_equal(xf_run(after, &model, &data, NULL, NULL), XF_OK);
        assert_memory_equal(before, after, sizeof before);
        assert_true(norm_of(&model) <= norm);
        assert_true(fabs(norm_of(&model) / forecast - 1) < 1e-12);
        assert_true(fabs(xfi_balanced_norm(&model, 0, L) / forecast - 1) < 1e-12);
        assert_true(model.sa_V.left[1] == 32.0 && model.sa_V.right[0] == 32.0);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

/* Where a weight would leave the normal numbers, or products with the data would come near the
 * ends of the range, nothing happens. */
static void the_ends_of_the_range_are_left_alone(void **state) {
    (void)state;
    const double x[] = {0x1p-1000, 0, 0, 1, 1, 1}, y[] = {1, 2, 3};
    const int64_t offsets[] = {0, 2}, y_offsets[] = {0, 1};
    xf_dataset data;
    xf_model model;
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 3, x, offsets, y, y_offsets, NULL, NULL),
                     XF_OK);
    assert_int_equal(xf_model_new(&model, 2, 3, 4, NULL), XF_OK);
    model.ff_U[0] = 0x1p40; /* block 0: products down to 2^-960 */
    model.ff_W[0] = 1.0;
    model.ff_U[12] = 0x1p600;
    model.ff_W[12] = 0x1p-1030; /* subnormal */
    xfi_balance(&model, 1, &data);
    assert_true(model.ff_U[0] == 0x1p40 && model.ff_W[0] == 1.0);
    assert_true(model.ff_U[12] == 0x1p600 && model.ff_W[12] == 0x1p-1030);
    xfi_balance(&model, 0, &data); /* no front end: block 0 is like any other */
    assert_true(model.ff_U[0] == 0x1p20 && model.ff_W[0] == 0x1p20);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void the_stream_grows_at_the_end(void **state) {
    (void)state;
    const int expected[] = {-3, -3, -3, -2, -1, 0};
    for (int i = 0; i <= 5; i++)
        assert_int_equal(xfi_stream_exponent(i, 5, 3), expected[i]);
    assert_int_equal(xfi_stream_exponent(0, 2, 5), -5); /* the first block takes the surplus */
    assert_int_equal(xfi_stream_exponent(1, 2, 5), -1);
    assert_int_equal(xfi_stream_exponent(2, 2, 5), 0);
    assert_int_equal(xfi_stream_exponent(7, 7, 0), 0);
}

static void scaling_the_stream_changes_no_bit(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 5, 0);
    for (int round = 0; round < 200; round++) {
        xf_model model;
        xf_dataset data;
        double before[N_TOKENS * D], after[N_TOKENS * D];
        xfi_format format = xfi_format_of(XF_F64);
        int r = (int)xfi_rng_below(&rng, 9);
        draw_model(&model, &rng, 3);
        draw_data(&data, &rng);
        model.ff_eta[1] = 0.0;
        assert_int_equal(xf_run(before, &model, &data, NULL, NULL), XF_OK);
        assert_true(xfi_stream_grow(&model, &format, 1, L - 1, 0, r));
        assert_true(model.ff_eta[1] == 0.0);
        assert_int_equal(xf_run(after, &model, &data, NULL, NULL), XF_OK);
        assert_memory_equal(before, after, sizeof before);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

static void inexact_scales_are_noticed(void **state) {
    (void)state;
    xf_model model;
    xfi_format format = xfi_format_of(XF_F32);
    assert_int_equal(xf_model_new(&model, 1, 2, 4, NULL), XF_OK);
    model.ff_eta[0] = 0.0;
    assert_true(xfi_stream_grow(&model, &format, 0, 1, 1, 0));
    model.ff_U[0] = 0x1p127;
    assert_false(xfi_stream_grow(&model, &format, 0, 1, -1, 0));
    model.ff_U[0] = 0x1.000002p-126; /* loses a bit when halved in binary32 */
    assert_false(xfi_stream_grow(&model, &format, 0, 1, 1, 0));
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost_is_within_a_quarter),
        cmocka_unit_test(balancing_changes_no_bit),
        cmocka_unit_test(the_ends_of_the_range_are_left_alone),
        cmocka_unit_test(the_stream_grows_at_the_end),
        cmocka_unit_test(scaling_the_stream_changes_no_bit),
        cmocka_unit_test(inexact_scales_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
