/* The BLAS engine: near the dense one everywhere, equal where sums are exact.
 * Labels: exact */
#include "base/alloc.h"
#include "num/blas.h"
#include "support/toy.h"

#include <exactformer/run.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Largest difference between the engines, over the largest value. */
static double difference(const xft_toy *toy, int64_t n_sequences, int64_t n_max) {
    xf_model model;
    xf_dataset input;
    xft_toy_model(&model, toy);
    xft_toy_inputs(&input, toy, n_sequences, n_max);
    double *dense = xft_toy_output(&input), *blas = xft_toy_output(&input);
    double largest = 0.0, apart = 0.0;
    assert_int_equal(xf_run(dense, &model, &input, NULL, NULL), XF_OK);
    assert_int_equal(xf_run(blas, &model, &input,
                            &(xf_run_options){.engine = XF_ENGINE_BLAS, .threads = 2}, NULL),
                     XF_OK);
    for (int64_t k = 0; k < input.n_tokens * input.d; k++) {
        largest = fmax(largest, fabs(dense[k]));
        apart = fmax(apart, fabs(dense[k] - blas[k]));
        assert_true(isfinite(blas[k]));
    }
    xfi_free(dense);
    xfi_free(blas);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
    return apart / largest;
}

/* Softmax, so that rounding does not decide between tokens. */
static void near_the_dense_engine(void **state) {
    (void)state;
    for (int bits = 0; bits < 16; bits++) {
        xft_toy toy = {.n_blocks = 3,
                       .d = 1 + bits * 2,
                       .width = bits % 6,
                       .dtype = (xf_dtype)(bits & 1),
                       .attention = XF_SOFTMAX,
                       .order = (xf_order)(bits >> 1 & 1),
                       .causal = bits >> 2 & 1,
                       .A = bits & 8 ? XFT_RANK_ONE | XFT_FULL : 0,
                       .V = XFT_ALPHA | XFT_RANK_ONE,
                       .seed = (uint64_t)bits};
        assert_true(difference(&toy, 80, 8) < (toy.dtype == XF_F32 ? 1e-4 : 1e-13));
    }
}

/* Small integers and sequences of one token: no sum rounds. */
static void equal_where_sums_are_exact(void **state) {
    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        xft_toy toy = {.n_blocks = 2,
                       .d = 3,
                       .width = 4,
                       .dtype = (xf_dtype)(bits & 1),
                       .attention = (xf_attention)(bits >> 1 & 1),
                       .A = bits & 4 ? XFT_ALPHA : 0,
                       .V = XFT_RANK_ONE,
                       .integers = 1,
                       .seed = (uint64_t)bits};
        assert_true(difference(&toy, 300, 1) == 0.0);
    }
}

static void threads_of_the_library_are_restored(void **state) {
    (void)state;
    assert_int_equal(xfi_blas_load(1, NULL), XF_OK);
    int before = xfi_blas_set_threads(2);
    xft_toy toy = {.n_blocks = 1, .d = 3, .width = 2, .seed = 1};
    difference(&toy, 2, 2);
    assert_int_equal(xfi_blas_set_threads(before), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_dense_engine),
        cmocka_unit_test(equal_where_sums_are_exact),
        cmocka_unit_test(threads_of_the_library_are_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
