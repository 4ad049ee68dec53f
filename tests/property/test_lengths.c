/* Nothing depends on n: the depth is the same for short and for very long sequences.
 * Labels: slow */
#include "base/alloc.h"
#include "property/campaign.h"

#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { N_SEQUENCES = 20, D = 4, SHORT = 10, LONG = 5000 };

/* N sequences of n Gaussian tokens; m of them (0: 1 + j mod 4) have targets. */
static void make(xf_dataset *out, int64_t n, int64_t m, int coarse) {
    xfi_rng tokens, targets;
    xfi_rng_seed(&tokens, xft_property_seed(), 1);
    xfi_rng_seed(&targets, xft_property_seed(), 2); /* the same targets for every n */
    double *x = xfi_calloc2(N_SEQUENCES * n, D, sizeof(double));
    double *y = xfi_calloc(N_SEQUENCES * 4 * D, sizeof(double));
    int64_t x_offsets[N_SEQUENCES + 1] = {0}, y_offsets[N_SEQUENCES + 1] = {0};
    assert_non_null(x);
    assert_non_null(y);
    for (int64_t j = 0; j < N_SEQUENCES; j++) {
        x_offsets[j + 1] = x_offsets[j] + n;
        y_offsets[j + 1] = y_offsets[j] + (m > 0 ? m : 1 + j % 4);
    }
    for (int64_t i = 0; i < N_SEQUENCES * n * D; i++)
        x[i] = xfi_rng_normal(&tokens);
    for (int64_t i = 0; i < y_offsets[N_SEQUENCES] * D; i++)
        y[i] = coarse ? (double)xfi_rng_below(&targets, 1000) : xfi_rng_normal(&targets);
    assert_int_equal(
        xf_dataset_from_arrays(out, N_SEQUENCES, D, x, x_offsets, y, y_offsets, NULL, NULL), XF_OK);
    xfi_free(x);
    xfi_free(y);
}

/* Build, with its self-check, and verify on the other engine. Returns the depth. */
static int64_t depth(int64_t n, int64_t m, int coarse, const char *writer) {
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    xf_verify_report verified;
    xf_error error = {0};
    make(&data, n, m, coarse);
    xf_build_options options = {.writer = writer, .threads = 2};
    if (xf_build(&model, &data, &options, &report, &error) != XF_OK)
        fail_msg("n = %lld, m = %lld: %s", (long long)n, (long long)m, error.message);
    xf_run_options run = {.engine = XF_ENGINE_BLAS,
                          .override_attention = 1,
                          .attention = XF_SOFTMAX,
                          .tau = 1,
                          .threads = 2};
    assert_int_equal(xf_verify(&verified, &model, &data, &run, &error), XF_OK);
    int64_t blocks = model.n_blocks;
    printf("n = %5lld, m = %s%lld, %s targets: M = %lld, %lld blocks, margin %.3g\n", (long long)n,
           m > 0 ? "" : "1..", (long long)(m > 0 ? m : 4), coarse ? "coarse" : "full",
           (long long)data.n_targets, (long long)blocks, report.margin);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
    return blocks;
}

/* The lanes' depth is a function of M alone, and for so few targets they are what is chosen. */
static void depth_does_not_depend_on_length(void **state) {
    (void)state;
    for (int64_t m = 0; m <= 4; m++)
        for (int coarse = 0; coarse < 2; coarse++) {
            const char *writer = coarse ? "grid" : "sorted";
            int64_t expected = depth(SHORT, m, coarse, writer);
            assert_int_equal(depth(LONG, m, coarse, writer), expected);
            int64_t chosen = depth(SHORT, m, coarse, NULL);
            assert_int_equal(depth(LONG, m, coarse, NULL), chosen);
            assert_true(chosen <= expected);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(depth_does_not_depend_on_length)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
