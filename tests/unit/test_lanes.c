/* construct/lanes.h and split.h: codes, thresholds and steps keep what T-clamp, T-gate, T-write
 * and T-park need, and the blocks write the targets. */
#include "construct/lanes.h"
#include "construct/split.h"

#include "base/rng.h"
#include "num/double_double.h"

#include <exactformer/run.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FEW_GROUPS = 30, MAX_GROUPS = 120 };

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

/* Slots are a power of two apart, below all groups and above everything finished; each is the place
 * of one group, with the same target. */
static void check_slots(const xfi_lane *lane, double reach, const xfi_format *format) {
    int64_t parked = 0;
    for (int64_t i = 0; i < lane->n; i++) {
        const xfi_item *item = &lane->items[i];
        double out = item->slot < 0 ? item->y1 : lane->sign * lane->items[item->slot].code;
        assert_true(xfi_two_sum(out, -lane->sign * item->code).lo == 0.0); /* the weight */
        if (item->slot < 0)
            continue;
        assert_int_equal(item->slot, lane->n + parked++);
        const xfi_item *slot = &lane->items[item->slot];
        double below = parked < lane->n_slots ? slot[1].code : reach;
        assert_true(slot->theta == below && slot->code - slot->theta == ldexp(1.0, slot->k));
        assert_true(slot->code <= 1.5 * reach && lane->items[lane->n - 1].theta >= 1.5 * reach);
        assert_true(slot->target == item->target && slot->y1 == item->y1 && slot->slot == -1);
        assert_true(xfi_representable(format, slot->code));
        assert_true(xfi_two_sum(slot->y1, -lane->sign * slot->code).lo == 0.0);
    }
    assert_int_equal(parked, lane->n_slots);
}

/* Every item is clamped once, written once, later, and alone or with the next clamp; slots are
 * written last. */
static void check_steps(const xfi_lane *lane) {
    int64_t clamped = 0, written = 0;
    for (int64_t b = 0; b < lane->n_steps; b++) {
        if (lane->steps[b].write >= 0) {
            assert_int_equal(lane->steps[b].write, written);
            assert_int_equal(clamped, written < lane->n ? written + 1 : lane->n);
            written++;
        }
        if (lane->steps[b].clamp >= 0) {
            assert_int_equal(lane->steps[b].clamp, clamped);
            assert_int_equal(clamped, written);
            clamped++;
        }
    }
    assert_int_equal(clamped, lane->n);
    assert_int_equal(written, lane->n > 0 ? lane->n + lane->n_slots : 0);
}

static void check_lanes(const xfi_lanes *lanes, double reach, const xfi_format *format) {
    for (int s = 0; s < 2; s++) {
        const xfi_lane *lane = &lanes->side[s];
        for (int64_t i = 0; i < lane->n; i++)
            check_item(&lane->items[i], i + 1 < lane->n ? &lane->items[i + 1] : NULL, reach,
                       format);
        check_slots(lane, reach, format);
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
        int64_t n = 1 + xfi_rng_below(&rng, FEW_GROUPS);
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

/* Targets in R^2 on a grid as fine as leaves room on k1 for small codes only. */
static void draw_targets(double *y, int64_t n, const xfi_format *format, xfi_rng *rng) {
    double fine = ldexp(1.0, 8 - format->p);
    for (int64_t i = 0; i < 2 * n; i++) {
        y[i] = (double)(xfi_rng_below(rng, 21) - 10);
        if (i % 2 == 0 && xfi_rng_below(rng, 3) == 0)
            y[i] += fine * (double)(2 * xfi_rng_below(rng, 8) + 1);
    }
}

/* Scale the groups as the split says and round them to the format; returns 0 if they are no longer
 * apart. */
static int rescale(xfi_groups *groups, const xfi_split *split, const xfi_format *format) {
    for (int64_t g = 0; g < groups->n; g++) {
        xfi_group *at = &groups->at[g];
        at->low = xfi_round(format, split->sigma * (at->low - split->shift));
        at->high = xfi_round(format, split->sigma * (at->high - split->shift));
        if (g > 0 && at->low <= at[-1].high)
            return 0;
    }
    return 1;
}

/* Run the writer's blocks on both ends of every group; does every engine give the targets? */
static void check_outputs(const xfi_lanes *lanes, const xfi_groups *groups,
                          const xfi_written *written, const xfi_format *format) {
    int64_t n = groups->n, offsets[2 * MAX_GROUPS + 1];
    double x[4 * MAX_GROUPS] = {0}, out[4 * MAX_GROUPS];
    xf_model model;
    assert_int_equal(xf_model_new(&model, lanes->n_steps, 2, 4, NULL), XF_OK);
    model.dtype = format->p == 24 ? XF_F32 : XF_F64;
    xfi_lanes_emit(lanes, written, &model, 0);
    for (int64_t g = 0; g < n; g++) {
        x[4 * g] = groups->at[g].low;
        x[4 * g + 2] = groups->at[g].high;
        x[4 * g + 1] = x[4 * g + 3] = 7.0; /* deleted by the first block */
    }
    for (int64_t i = 0; i <= 2 * n; i++)
        offsets[i] = i;
    xf_dataset data = {
        .n_sequences = 2 * n, .d = 2, .n_tokens = 2 * n, .x = x, .x_offsets = offsets};
    for (int engine = XF_ENGINE_SPARSE; engine <= XF_ENGINE_BLAS; engine++) {
        xf_run_options options = {.engine = (xf_engine)engine};
        assert_int_equal(xf_run(out, &model, &data, &options, NULL), XF_OK);
        for (int64_t i = 0; i < 4 * n; i++)
            assert_true(out[i] == written->y[2 * (i / 4) + i % 2]);
    }
    xf_model_clear(&model);
}

/* Far out the codes are too large for the fine targets, which are parked. */
static void parked_targets_are_written(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 12, 0);
    int parked = 0, infeasible = 0;
    for (int round = 0; round < 300; round++) {
        xfi_format format = xfi_format_of(round % 2 ? XF_F32 : XF_F64);
        xfi_group at[MAX_GROUPS];
        double y[2 * MAX_GROUPS];
        int64_t n = 100 + xfi_rng_below(&rng, MAX_GROUPS - 100);
        draw_groups(at, n, &rng);
        draw_targets(y, n, &format, &rng);
        xfi_groups groups = {.n = n, .at = at, .margin = 2};
        xfi_written written = {.y = y, .d = 2, .axes = {0, 1}};
        double reach = xfi_target_reach(&groups, &written);
        xfi_split splits[XFI_SPLITS];
        int n_splits = 0, feasible = 0;
        assert_int_equal(xfi_split_list(splits, &n_splits, &groups, &written, &format, NULL),
                         XF_OK);
        if (n_splits == 0 || !rescale(&groups, &splits[0], &format)) {
            infeasible++;
            continue;
        }
        xfi_lanes lanes;
        xfi_placing placing = {splits[0].below, 0.0, 1.0, reach};
        assert_int_equal(
            xfi_lanes_make(&lanes, &feasible, &groups, &placing, &written, &format, NULL), XF_OK);
        infeasible += !feasible;
        if (!feasible)
            continue;
        check_lanes(&lanes, reach, &format);
        check_outputs(&lanes, &groups, &written, &format);
        parked += lanes.side[0].n_slots + lanes.side[1].n_slots > 0;
        xfi_lanes_clear(&lanes);
    }
    assert_true(parked > 100);
    assert_true(infeasible < 30);
}

/* Many groups: the widest gap is close to the middle, but not next to it. */
static void a_wide_gap_off_the_middle_is_found(void **state) {
    (void)state;
    enum { N = 4000, WIDE = N / 2 + 90 };
    xfi_format format = xfi_format_of(XF_F64);
    static xfi_group at[N];
    static double y[N];
    double t = 0;
    for (int64_t g = 0; g < N; g++) {
        t += g == WIDE ? 0x1p-6 : 0x1p-20;
        at[g] = (xfi_group){.low = t, .high = t, .sequence = g, .target = g};
        y[g] = 1 + 0x1p-41; /* fits beside codes up to 2^12 */
    }
    xfi_groups groups = {.n = N, .at = at, .margin = 2};
    xfi_written written = {.y = y, .d = 1, .axes = {0, -1}};
    xfi_split splits[XFI_SPLITS];
    int n = 0;
    assert_int_equal(xfi_split_list(splits, &n, &groups, &written, &format, NULL), XF_OK);
    int found = 0;
    for (int i = 0; i < n; i++)
        found |= splits[i].below == WIDE && splits[i].n_steps == WIDE + 1;
    assert_true(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_fit_their_gaps),
        cmocka_unit_test(parked_targets_are_written),
        cmocka_unit_test(a_wide_gap_off_the_middle_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
