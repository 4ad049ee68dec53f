/* Digits of printed columns, and the bounds that follow for a state's J. */
#include <exactformer/exactformer.h>

#include "api/log_digits.h"
#include "api/state_bounds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A number in [0, 10^3) whose size varies over many decades. */
static double draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    double unit = (double)(*state >> 11) * 0x1p-53;
    return unit * pow(10.0, (double)(*state % 13) - 9.0);
}

/* Whatever format prints a column, and whether it rounds or cuts off: no number is further from
 * what was printed than its precision says. */
static void printed_numbers_are_within_their_precision(void **state) {
    (void)state;
    static const char *const formats[] = {"%.1g", "%.3g", "%.6g",  "%.9g", "%.16g", "%.17g",
                                          "%.0f", "%.4f", "%.12f", "%.2e", "%.5e",  "%.15e"};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        for (int n = 1; n <= 64; n *= 4) {
            xfi_digits digits = {0};
            uint64_t seed = f;
            double exact[64], printed[64];
            for (int i = 0; i < n; i++) {
                char text[64];
                exact[i] = draw(&seed);
                snprintf(text, sizeof text, formats[f], exact[i]);
                printed[i] = strtod(text, NULL);
                xfi_digits_see(&digits, printed[i]);
            }
            xf_precision p = xfi_digits_precision(&digits);
            for (int i = 0; i < n; i++)
                assert_true(fabs(exact[i] - printed[i]) <=
                            fmax(p.relative * printed[i], p.absolute));
        }
}

static void digits_are_those_that_were_printed(void **state) {
    (void)state;
    xfi_digits digits = {0};
    assert_true(xfi_digits_precision(&digits).absolute == 1.0);
    xfi_digits_see(&digits, 0.0);
    xfi_digits_see(&digits, 210.883);
    xfi_digits_see(&digits, 0.5);
    assert_int_equal(digits.significant, 6);
    assert_int_equal(digits.decimals, 3);
    xfi_digits_see(&digits, 1.25e-7);
    assert_int_equal(digits.decimals, 9);
    xfi_digits_see(&digits, 0.1 + 0.2);
    assert_true(xfi_digits_precision(&digits).relative == 0x1p-52);
}

static xfi_bounds bounds_of(double loss, double norm2, xf_dtype dtype, double scale) {
    xf_training_log log;
    xf_training_log_init(&log);
    log.family =
        (xf_family){.n_blocks = 2, .d = 3, .width = 4, .rank = 1, .order = XF_FF_SA, .tau = 1.0};
    log.dtype = dtype;
    const xf_train_record record = {.loss = loss, .norm2 = norm2};
    return xfi_state_bounds(&log, &record, scale);
}

/* sqrt(u) (Y + D) on the distance D. */
static void a_small_loss_may_be_none(void **state) {
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        double u = f32 ? 0x1p-24 : 0x1p-53, scale = 3.0;
        xf_dtype dtype = f32 ? XF_F32 : XF_F64;
        assert_true(bounds_of(0.99 * u * scale * scale, 1.0, dtype, scale).loss[0] == 0.0);
        assert_true(bounds_of(1.02 * u * scale * scale, 1.0, dtype, scale).loss[0] > 0.0);
        xfi_bounds large = bounds_of(1e12, 7.0, dtype, scale);
        assert_true(fabs(1.0 - large.loss[0] / 1e12) < 2.1 * sqrt(u));
        assert_true(fabs(large.loss[1] / 1e12 - 1.0) > 1.9 * sqrt(u));
        assert_true(large.norm2[0] < 7.0 && 7.0 < large.norm2[1]);
        assert_true(large.norm2[1] - large.norm2[0] < 7.0 * 300.0 * u);
        assert_true(xfi_objective_low(&large, 0.5) == large.loss[0] + 0.25 * large.norm2[0]);
        assert_true(xfi_objective_high(&large, 0.5) == large.loss[1] + 0.25 * large.norm2[1]);
    }
    assert_true(xfi_norm2_high(100.0, 1000) > 100.0 * (1.0 + 1000 * 0x1p-53));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_numbers_are_within_their_precision),
        cmocka_unit_test(digits_are_those_that_were_printed),
        cmocka_unit_test(a_small_loss_may_be_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
