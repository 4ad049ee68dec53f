/* num/format.h, double_double.h, sort.h: exact questions have exact answers. */
#include "num/double_double.h"
#include "num/format.h"
#include "num/sort.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void lowest_bit_is_the_last_set_bit(void **state) {
    (void)state;
    assert_int_equal(xfi_lowest_bit(1.0), 0);
    assert_int_equal(xfi_lowest_bit(-12.0), 2);
    assert_int_equal(xfi_lowest_bit(0x1.8p-3), -4);
    assert_int_equal(xfi_lowest_bit(0x1p-1074), -1074);
    assert_int_equal(xfi_lowest_bit(0x1.fffffffffffffp+1023), 1023 - 52);
}

static void ulp_is_the_spacing(void **state) {
    (void)state;
    xfi_format wide = xfi_format_of(XF_F64), narrow = xfi_format_of(XF_F32);
    const double samples[] = {1.0, 1.5, 0x1.fffffep0, 3.0, 0x1p100, 0x1p-120, 0x1.8p-126};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        double v = samples[i];
        assert_true(xfi_ulp(&wide, v) == nextafter(v, INFINITY) - v);
        assert_true(xfi_ulp(&narrow, v) == (double)nextafterf((float)v, INFINITY) - v);
    }
    assert_true(xfi_ulp(&wide, 0.0) == 0x1p-1074);
    assert_true(xfi_ulp(&narrow, 0x1p-149) == 0x1p-149);
}

static void power_above_is_strict(void **state) {
    (void)state;
    assert_true(xfi_power_above(0.0) == 1.0);
    assert_true(xfi_power_above(1.0) == 2.0);
    assert_true(xfi_power_above(0.75) == 1.0);
    assert_true(xfi_power_above(nextafter(8.0, 0)) == 8.0);
}

static void round24_keeps_24_bits_anywhere(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 1, 0);
    for (int i = 0; i < 1000; i++) {
        double v = ldexp(xfi_rng_normal(&rng), (int)xfi_rng_below(&rng, 1200) - 600);
        double r = xfi_round24(v);
        assert_true(fabs(r - v) <= fabs(v) * 0x1p-24);
        assert_true(r == 0 || xfi_exponent(r) - xfi_lowest_bit(r) < 24);
    }
}

static void gamma_bounds_the_series(void **state) {
    (void)state;
    xfi_format narrow = xfi_format_of(XF_F32);
    assert_true(xfi_gamma(&narrow, 0) == 0.0);
    assert_true(xfi_gamma(&narrow, 8) >= 8 * 0x1p-24 / (1 - 8 * 0x1p-24));
    assert_true(xfi_gamma(&narrow, 8) < 8.1 * 0x1p-24);
}

static void double_double_is_exact_where_it_says(void **state) {
    (void)state;
    xfi_dd sum = xfi_two_sum(1.0, 0x1p-80);
    assert_true(sum.hi == 1.0 && sum.lo == 0x1p-80);
    xfi_dd product = xfi_two_product(1.0 + 0x1p-30, 1.0 - 0x1p-30);
    assert_true(product.hi == 1.0 && product.lo == -0x1p-60);
    xfi_dd third = xfi_dd_divide((xfi_dd){1.0, 0.0}, 3.0);
    xfi_dd back = xfi_dd_add_double(xfi_dd_scale(third, 3.0), -1.0);
    assert_true(fabs(xfi_dd_value(back)) < 0x1p-100);
}

static void sorting_handles_every_length(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 2, 0);
    double values[200], keys[200];
    int64_t order[200];
    for (int64_t n = 0; n <= 200; n += n < 40 ? 1 : 40) {
        for (int64_t i = 0; i < n; i++)
            values[i] = keys[i] = (double)xfi_rng_below(&rng, 50);
        xfi_sort_doubles(values, n);
        assert_true(xfi_sort_index(order, keys, n));
        for (int64_t i = 1; i < n; i++) {
            assert_true(values[i - 1] <= values[i]);
            assert_true(keys[order[i - 1]] < keys[order[i]] ||
                        (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]));
        }
    }
}

/* Long runs are sorted by their bits: signs, zeros of both signs, subnormals, infinities. */
static void long_runs_are_sorted_too(void **state) {
    (void)state;
    enum { N = 3000 };
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, 0x1p-1074, -0x1p-1074, 1.0};
    static double keys[N];
    static uint64_t bits[N];
    static int64_t order[N];
    xfi_rng rng;
    xfi_rng_seed(&rng, 3, 0);
    for (int i = 0; i < N; i++) {
        keys[i] = i % 3 ? xfi_rng_normal(&rng) : special[xfi_rng_below(&rng, 7)];
        bits[i] = xfi_rng_bits(&rng) >> xfi_rng_below(&rng, 60);
    }
    assert_true(xfi_sort_index(order, keys, N));
    for (int i = 1; i < N; i++)
        assert_true(keys[order[i - 1]] < keys[order[i]] ||
                    (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]));
    assert_true(xfi_sort_index_bits(order, bits, N));
    for (int i = 1; i < N; i++)
        assert_true(bits[order[i - 1]] < bits[order[i]] ||
                    (bits[order[i - 1]] == bits[order[i]] && order[i - 1] < order[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lowest_bit_is_the_last_set_bit),
        cmocka_unit_test(ulp_is_the_spacing),
        cmocka_unit_test(power_above_is_strict),
        cmocka_unit_test(round24_keeps_24_bits_anywhere),
        cmocka_unit_test(gamma_bounds_the_series),
        cmocka_unit_test(double_double_is_exact_where_it_says),
        cmocka_unit_test(sorting_handles_every_length),
        cmocka_unit_test(long_runs_are_sorted_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
