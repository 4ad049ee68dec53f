/* construct/lanes.h and split.h: codes, thresholds and steps keep what T-clamp, T-gate and
 * T-write need. */
#include "construct/lanes.h"
#include "construct/split.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_GROUPS = 30 };

/* Disjoint intervals with gaps of very different sizes. */
static void draw_groups(xfi_group *at, int64_t n, xfi_rng *rng) {
    double t = -10 * xfi_rng_uniform(rng);
    for (int64_t g = 0; g < n; g++) {
        double width = xfi_rng_below(rng, 3) ? ldexp(xfi_rng_uniform(rng), -10) : 0.0;
        at[g] = (xfi_group){.low = t,
                            .high = t + width,
                            .t_low = t,
                            .t_high = t + width,
                            .sequence = g,
                            .target = g};
        t += width + ldexp(0.5 + xfi_rng_uniform(rng), -(int)xfi_rng_below(rng, 12));
    }
}

static void check_item(const xfi_item *item, const xfi_item *next, double reach,
                       const xfi_format *format) {
    double step = ldexp(1.0, item->k), ulp = xfi_ulp(format, item->high);
    assert_true(item->code <= item->low);
    assert_true(item->theta == item->code - step);
    assert_true(item->theta >= reach && (next == NULL || item->theta >= next->high));
    assert_true(fmod(item->code, ulp) == 0.0); /* T-clamp: z - code is exact */
    assert_true(xfi_representable(format, item->code));
    assert_true(ldexp(item->code, -item->k) - ldexp(item->theta, -item->k) == 1.0);
}

/* Every item is clamped once, written once, later, and alone or with the next clamp. */
static void check_steps(const xfi_lane *lane) {
    int64_t clamped = 0, written = 0;
    for (int64_t b = 0; b < lane->n_steps; b++) {
        if (lane->steps[b].write >= 0) {
            assert_int_equal(lane->steps[b].write, written);
            assert_int_equal(clamped, written + 1);
            written++;
        }
        if (lane->steps[b].clamp >= 0) {
            assert_int_equal(lane->steps[b].clamp, clamped);
            assert_int_equal(clamped, written);
            clamped++;
        }
    }
    assert_int_equal(clamped, lane->n);
    assert_int_equal(written, lane->n);
}

static void check_lanes(const xfi_lanes *lanes, double reach, const xfi_format *format) {
    for (int s = 0; s < 2; s++) {
        const xfi_lane *lane = &lanes->side[s];
        for (int64_t i = 0; i < lane->n; i++)
            check_item(&lane->items[i], i + 1 < lane->n ? &lane->items[i + 1] : NULL, reach,
                       format);
        check_steps(lane);
    }
}

static void codes_fit_their_gaps(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 11, 0);
    int made = 0;
    for (int round = 0; round < 2000; round++) {
        xfi_format format = xfi_format_of(round % 2 ? XF_F32 : XF_F64);
        xfi_group at[MAX_GROUPS];
        double y[MAX_GROUPS];
        int64_t n = 1 + xfi_rng_below(&rng, MAX_GROUPS);
        draw_groups(at, n, &rng);
        for (int64_t g = 0; g < n; g++)
            y[g] = round % 3 ? (double)(xfi_rng_below(&rng, 21) - 10) : 0.0;
        xfi_groups groups = {.n = n, .at = at, .margin = 2};
        xfi_written written = {.y = y, .d = 1, .axes = {0, -1}};
        double reach = xfi_target_reach(&groups, &written);
        xfi_split splits[XFI_SPLITS];
        int n_splits = 0;
        assert_int_equal(xfi_split_list(splits, &n_splits, &groups, &written, &format, NULL),
                         XF_OK);
        for (int i = 0; i < n_splits; i++) {
            xfi_lanes lanes;
            int feasible = 0;
            xfi_placing placing = {splits[i].below, splits[i].shift, splits[i].sigma, reach};
            assert_int_equal(
                xfi_lanes_make(&lanes, &feasible, &groups, &placing, &written, &format, NULL),
                XF_OK);
            assert_true(feasible);
            assert_int_equal(lanes.n_steps, splits[i].n_steps);
            assert_true(i == 0 || splits[i - 1].n_steps <= splits[i].n_steps);
            check_lanes(&lanes, reach, &format);
            made++;
            xfi_lanes_clear(&lanes);
        }
    }
    assert_true(made > 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_fit_their_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
