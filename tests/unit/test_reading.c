/* construct/reading.h: every ramp is 0 below and 1 above its threshold, and no flatter one is. */
#include "construct/reading.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 40, STEPS = 16 };

/* The ramp's two ends, exactly, for the part rho of one token. */
static int reads(const xfi_ramp *ramp, double rho, double error) {
    double slope = ldexp(1.0, ramp->k);
    if (rho > 0.5)
        return slope * (rho - error - 0.5) + ramp->offset >= 1.0;
    return slope * (rho + error - 0.5) + ramp->offset <= 0.0;
}

static int reads_all(const xfi_ramp *ramp, int i, const double *t, const double *E) {
    for (int l = 0; l < N; l++) {
        double scaled = ldexp(t[l], i - 1);
        if (!reads(ramp, scaled - floor(scaled), ldexp(E[l], i - 1)))
            return 0;
    }
    return 1;
}

static int any_offset_reads(int k, int i, const double *t, const double *E) {
    for (int step = 0; step <= STEPS; step++) {
        xfi_ramp ramp = {k, (double)step / STEPS};
        if (reads_all(&ramp, i, t, E))
            return 1;
    }
    return 0;
}

/* Numbers in different cells, away from their edges. */
static void draw(double *t, double *E, int b, xfi_rng *rng) {
    for (int l = 0; l < N; l++) {
        double cell = (double)xfi_rng_below(rng, (int64_t)1 << b);
        t[l] = ldexp(cell + 0.05 + 0.9 * xfi_rng_uniform(rng), -b);
        E[l] = ldexp(0.04 * xfi_rng_uniform(rng), -b);
    }
}

static void ramps_are_right_and_flat(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_format format = xfi_format_of(XF_F64);
    xfi_rng_seed(&rng, 8, 0);
    for (int round = 0; round < 2000; round++) {
        double t[N], E[N];
        xfi_ramp ramp[XFI_B_MAX];
        int b = 1 + (int)xfi_rng_below(&rng, 14);
        draw(t, E, b, &rng);
        assert_true(xfi_ramps_fit(ramp, b, t, E, N, &format));
        for (int i = 1; i <= b; i++) {
            assert_true(ramp[i - 1].k >= 1 && ramp[i - 1].k + i + 3 <= format.p);
            assert_true(reads_all(&ramp[i - 1], i, t, E));
            if (ramp[i - 1].k > 1)
                assert_false(any_offset_reads(ramp[i - 1].k - 1, i, t, E));
        }
    }
}

static void uncertain_bits_are_refused(void **state) {
    (void)state;
    xfi_format format = xfi_format_of(XF_F64);
    xfi_ramp ramp[2];
    const double t[] = {0.3, 0.6}, wide[] = {0.01, 0.2}, E[] = {0.01, 0.01};
    assert_true(xfi_ramps_fit(ramp, 2, t, E, 2, &format));
    assert_false(xfi_ramps_fit(ramp, 2, t, wide, 2, &format));
    const double infinite[] = {0.01, INFINITY};
    assert_false(xfi_ramps_fit(ramp, 2, t, infinite, 2, &format));
}

/* A narrow passage in binary32 leaves no bits for an offset. */
static void steep_ramps_begin_at_the_threshold(void **state) {
    (void)state;
    xfi_format format = xfi_format_of(XF_F32);
    xfi_ramp ramp[1];
    const double t[] = {0.5 - 0x1p-22, 0.5 + 0x1.8p-22}, E[] = {0x1p-30, 0x1p-30};
    assert_true(xfi_ramps_fit(ramp, 1, t, E, 2, &format));
    assert_true(ramp[0].offset == 0.0 && ramp[0].k == 22);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ramps_are_right_and_flat),
        cmocka_unit_test(uncertain_bits_are_refused),
        cmocka_unit_test(steep_ramps_begin_at_the_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
