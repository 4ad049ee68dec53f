/* Comparing output sets with targets.
 * Labels: exact */
#include "base/alloc.h"
#include "engine/set_compare.h"
#include "support/toy.h"

#include <exactformer/run.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Two sequences in the plane, of 3 tokens with 2 targets and 2 tokens with 2 targets. */
static double x[10];
static double y[] = {1, 2, 0, 5, 3, 3, -1, 0};
static int64_t x_offsets[] = {0, 3, 5};
static int64_t y_offsets[] = {0, 2, 4};
static const xf_dataset data = {.n_sequences = 2,
                                .d = 2,
                                .n_tokens = 5,
                                .n_targets = 4,
                                .x = x,
                                .x_offsets = x_offsets,
                                .y = y,
                                .y_offsets = y_offsets};

static void equal_sets(void **state) {
    (void)state;
    const double out[] = {-0.0, 5, 1, 2, 0, 5, -1, -0.0, 3, 3};
    xf_verify_report report;
    xf_error error;
    assert_int_equal(xf_compare(&report, out, &data, &error), XF_OK);
    assert_int_equal(report.n_sequences, 2);
    assert_int_equal(report.n_exact, 2);
    assert_int_equal(report.first_mismatch, -1);
    assert_int_equal(report.worst_sequence, -1);
    assert_true(report.hausdorff_max == 0.0);
}

/* A target that no output attains, and an output that is no target. */
static void mismatches(void **state) {
    (void)state;
    const double missing[] = {1, 2, 1, 2, 1, 2, -1, 0, 3, 3};
    const double foreign[] = {1, 2, 0, 5, 1, 2, 3, 3, -1, 0x1p-1074};
    const double both[] = {1, 2, 1, 2, 1, 2, -1, 0, 3, 13};
    xf_verify_report report;
    xf_error error;
    assert_int_equal(xf_compare(&report, missing, &data, &error), XF_NOT_EXACT);
    assert_int_equal(report.first_mismatch, 0);
    assert_int_equal(error.sequence, 0);
    assert_true(fabs(report.hausdorff_max - sqrt(10.0)) < 1e-12);
    assert_string_equal(error.message,
                        "sequence 0: the output differs from the target, Hausdorff distance "
                        "3.16228 (1 of 2 sequences are exact)");

    assert_int_equal(xf_compare(&report, foreign, &data, &error), XF_NOT_EXACT);
    assert_int_equal(report.n_exact, 1);
    assert_int_equal(report.first_mismatch, 1);
    assert_true(report.hausdorff_max == 0x1p-1074);

    assert_int_equal(xf_compare(&report, both, &data, &error), XF_NOT_EXACT);
    assert_int_equal(report.n_exact, 0);
    assert_int_equal(report.first_mismatch, 0);
    assert_int_equal(report.worst_sequence, 1);
    assert_true(report.hausdorff_max == 10.0);
}

static void outputs_that_are_not_finite(void **state) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        double out[] = {1, 2, 0, 5, 1, 2, 3, 3, -1, 0};
        xf_verify_report report;
        out[9] = bad[i];
        assert_int_equal(xf_compare(&report, out, &data, NULL), XF_NOT_EXACT);
        assert_int_equal(report.n_exact, 1);
        assert_int_equal(report.first_mismatch, 1);
        assert_int_equal(report.worst_sequence, 1);
        assert_true(isinf(report.hausdorff_max));
    }
}

static void distances(void **state) {
    (void)state;
    const double zero[] = {0, 0}, tiny[] = {3e-320, 4e-320}, huge[] = {3e307, 4e307};
    const double above[] = {1.5e308, 0}, below[] = {-1.5e308, 0};
    assert_true(xfi_distance(zero, zero, 2) == 0.0);
    assert_true(fabs(xfi_distance(zero, tiny, 2) / 5e-320 - 1.0) < 1e-3);
    assert_true(fabs(xfi_distance(zero, huge, 2) / 5e307 - 1.0) < 1e-14);
    assert_true(isinf(xfi_distance(above, below, 2)));
    const double a[] = {0, 1, 2}, b[] = {0, 7};
    assert_true(xfi_hausdorff(a, 3, b, 2, 1) == 5.0);
    assert_true(xfi_hausdorff(b, 2, a, 3, 1) == 5.0);
}

static void no_targets(void **state) {
    (void)state;
    xf_dataset inputs = data;
    xf_model model;
    xf_verify_report report;
    inputs.y = NULL;
    inputs.y_offsets = NULL;
    inputs.n_targets = 0;
    assert_int_equal(xf_compare(&report, x, &inputs, NULL), XF_ERR_DATA);
    assert_int_equal(xf_model_new(&model, 1, 2, 1, NULL), XF_OK);
    assert_int_equal(xf_verify(&report, &model, &inputs, NULL, NULL), XF_ERR_DATA);
    xf_model_clear(&model);
}

/* Outputs of a model as its own targets, then one target moved; every allocation fails once. */
static void verify(void **state) {
    (void)state;
    xft_toy toy = {.n_blocks = 2, .d = 3, .width = 2, .V = XFT_ALPHA, .seed = 8};
    xf_model model;
    xf_dataset own;
    xf_verify_report report;
    xf_error error;
    xft_toy_model(&model, &toy);
    xft_toy_inputs(&own, &toy, 30, 9);
    double *out = xft_toy_output(&own);
    assert_int_equal(xf_run(out, &model, &own, NULL, NULL), XF_OK);
    xft_toy_targets(&own, out);
    int allowed = 0;
    xf_status status = XF_ERR_MEMORY;
    while (status == XF_ERR_MEMORY) {
        xfi_alloc_limit(allowed++);
        status = xf_verify(&report, &model, &own, NULL, &error);
        xfi_alloc_limit(-1);
    }
    assert_int_equal(status, XF_OK);
    assert_int_equal(report.n_exact, 30);
    assert_true(allowed > 5);

    own.y[own.y_offsets[12] * 3 + 1] += 0.125;
    assert_int_equal(xf_verify(&report, &model, &own, NULL, &error), XF_NOT_EXACT);
    assert_int_equal(report.n_exact, 29);
    assert_int_equal(report.first_mismatch, 12);
    assert_int_equal(error.sequence, 12);
    assert_true(report.hausdorff_max > 0.0 && report.hausdorff_max < 0.13);
    own.d = 2;
    assert_int_equal(xf_verify(&report, &model, &own, NULL, &error), XF_ERR_ARGUMENT);
    xfi_free(out);
    xft_toy_dataset_clear(&own);
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sets),
        cmocka_unit_test(mismatches),
        cmocka_unit_test(outputs_that_are_not_finite),
        cmocka_unit_test(distances),
        cmocka_unit_test(no_targets),
        cmocka_unit_test(verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
