/* The shrinker finds small, round data sets, and what it hands back still fails. */
#include "property/random_data.h"
#include "property/shrink.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static int has_large_target(void *context, const xf_dataset *data) {
    double limit = *(double *)context;
    for (int64_t i = 0; i < data->n_targets * data->d; i++)
        if (data->y[i] > limit)
            return 1;
    return 0;
}

/* Some sequence has two targets whose first coordinates differ in sign. */
static int has_both_signs(void *context, const xf_dataset *data) {
    (void)context;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int plus = 0, minus = 0;
        for (int64_t g = data->y_offsets[j]; g < data->y_offsets[j + 1]; g++) {
            plus |= data->y[g * data->d] > 0;
            minus |= data->y[g * data->d] < 0;
        }
        if (plus && minus)
            return 1;
    }
    return 0;
}

static void draw(xf_dataset *data, uint64_t seed) {
    const xft_family family = {.inputs = XFT_X_GAUSSIAN,
                               .targets = XFT_Y_FULL,
                               .counts = XFT_ALL,
                               .d_min = 5,
                               .d_max = 9,
                               .n_max = 12,
                               .N_min = 10};
    xfi_rng rng;
    xfi_rng_seed(&rng, seed, 0);
    xft_random_data(data, &family, XF_F64, 1e6, &rng);
}

static void one_target_is_left(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        double limit = 0.5;
        xf_dataset data;
        draw(&data, seed);
        assert_true(has_large_target(&limit, &data));
        xft_shrink how = {.fails = has_large_target, .context = &limit};
        xft_shrink_data(&data, &how);
        assert_int_equal(xf_dataset_check(&data, NULL), XF_OK);
        assert_true(data.n_sequences == 1 && data.n_tokens == 1 && data.n_targets == 1);
        assert_true(data.d == 1 && data.x[0] == 0.0 && data.y[0] == 1.0);
        xf_dataset_clear(&data);
    }
}

static void two_targets_are_left(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        xf_dataset data;
        draw(&data, seed);
        if (has_both_signs(NULL, &data)) {
            xft_shrink how = {.fails = has_both_signs};
            xft_shrink_data(&data, &how);
            assert_true(has_both_signs(NULL, &data));
            assert_int_equal(xf_dataset_check(&data, NULL), XF_OK);
            assert_true(data.n_sequences == 1 && data.n_tokens == 2 && data.n_targets == 2);
            assert_true(data.d == 1 && fabs(data.y[0]) == 1.0 && data.y[1] == -data.y[0]);
        }
        xf_dataset_clear(&data);
    }
}

static void what_must_stay_stays(void **state) {
    (void)state;
    double limit = 0.5;
    xf_dataset data;
    draw(&data, 9);
    int64_t d = data.d;
    xft_shrink how = {
        .fails = has_large_target, .context = &limit, .keep_coordinates = 1, .keep_values = 1};
    assert_true(xft_shrink_data(&data, &how) > 0);
    assert_true(data.d == d && data.n_targets == 1 && data.y[0] != rint(data.y[0]));
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_target_is_left),
                                       cmocka_unit_test(two_targets_are_left),
                                       cmocka_unit_test(what_must_stay_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
