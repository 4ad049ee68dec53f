/* The argmax front end on random inputs on a grid; hardmax only.
 * Labels: exact slow */
#include "construct/argmax.h"
#include "construct/balance.h"
#include "property/campaign.h"
#include "property/cell_trial.h"
#include "construct/writers.h"
#include "support/rational.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A data set with m_j = 1, inputs that are short multiples of a power of two and targets of
 * few bits. */
static void draw_data(xf_dataset *data, xfi_rng *rng, xf_dtype dtype) {
    xf_generate_options options = {.kind = "gaussian",
                                   .n_sequences = 1 + xfi_rng_below(rng, 30),
                                   .d = 2 + xfi_rng_below(rng, 8),
                                   .n_min = 1,
                                   .n_max = 1 + xfi_rng_below(rng, 8),
                                   .m_min = 1,
                                   .m_max = 1,
                                   .seed = xfi_rng_bits(rng)};
    options.grid =
        (xf_grid)(dtype == XF_F32 ? 2 + xfi_rng_below(rng, 2) : 1 + xfi_rng_below(rng, 3));
    options.input_grid = xfi_rng_below(rng, 4) ? XF_GRID_F16 : XF_GRID_INTEGER;
    options.scale = ldexp(1.0, (int)xfi_rng_below(rng, 9) - 4);
    xf_error error;
    assert_int_equal(xf_generate(data, &options, &error), XF_OK);
}

static void check_model(xf_model *model, const xf_dataset *data, const xfi_problem *problem,
                        uint64_t seed) {
    char text[XFT_TEXT_SIZE] = "";
    int64_t n_exact = 0;
    xf_error error = {0};
    assert_int_equal(model->n_blocks, xfi_argmax_depth(problem));
    assert_true(model->tau_max == 0.0);
    strcpy(model->construction, "pooled");
    assert_int_equal(xf_model_check(model, &error), XF_OK);
    for (int balanced = 0; balanced < 2; balanced++) {
        if (balanced)
            xfi_balance(model, 1, data);
        int ok = xft_rational_verify(&n_exact, model, data, &error) == XF_OK &&
                 xft_hardmax_orders_agree(text, model, data, 21, seed);
        if (!ok)
            printf("%s %s\n", error.message, text);
        assert_true(ok);
    }
}

static int run(int64_t n, xf_dtype dtype) {
    int made = 0;
    for (int64_t i = 0; i < n; i++) {
        xfi_rng rng;
        xf_dataset data;
        xfi_problem problem;
        xfi_writers choices;
        xf_model model;
        xf_error error;
        char why[160] = "";
        int feasible = 0;
        xfi_rng_seed(&rng, xft_property_seed() + 99, (uint64_t)i);
        draw_data(&data, &rng, dtype);
        xf_build_options options = {.dtype = dtype, .seed = xfi_rng_bits(&rng), .threads = 1};
        assert_int_equal(xfi_problem_init(&problem, &data, &options, &error), XF_OK);
        assert_int_equal(xfi_writers_choose(&choices, &problem, &error), XF_OK);
        assert_true(xfi_argmax_fits(&problem, why));
        if (choices.grid.usable)
            assert_int_equal(
                xfi_assemble_argmax(&model, &feasible, &problem, choices.grid.axes, why, &error),
                XF_OK);
        assert_true(feasible || !choices.grid.usable || why[0] != '\0');
        if (feasible) {
            check_model(&model, &data, &problem, xfi_rng_bits(&rng));
            xf_model_clear(&model);
            made++;
        }
        xfi_problem_clear(&problem);
        xf_dataset_clear(&data);
    }
    return made;
}

static void argmax_is_exact(void **state) {
    (void)state;
    int64_t n = (int64_t)ceil(300 * xft_multiplier());
    int in_double = run(n, XF_F64), in_single = run(n, XF_F32);
    printf("binary64: %d of %lld, binary32: %d\n", in_double, (long long)n, in_single);
    assert_true(in_double >= n / 2 && in_single >= n / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(argmax_is_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
