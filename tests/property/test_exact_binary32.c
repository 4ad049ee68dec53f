/* Everything in binary32. Its reach is short, so sets are small and some may be refused.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    EASY = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
    SCALED = XFT_X_OFFSET | XFT_X_TINY | XFT_X_HUGE | XFT_X_CONSTANT,
    COARSE = XFT_Y_INTEGER | XFT_Y_HALF,
    FULL = XFT_Y_FULL | XFT_Y_ZEROS | XFT_Y_NEGATIVE | XFT_Y_POOL
};

static const xft_family families[] = {
    {.name = "m = 1, coarse",
     .inputs = EASY,
     .targets = COARSE,
     .counts = XFT_ONE_EACH,
     .d_min = 2,
     .n_max = 8},
    {.name = "m = 1, full",
     .inputs = EASY,
     .targets = FULL,
     .counts = XFT_ONE_EACH,
     .d_min = 2,
     .n_max = 8},
    {.name = "few targets, coarse",
     .inputs = EASY,
     .targets = COARSE,
     .counts = XFT_FEW_EACH,
     .d_min = 2,
     .n_max = 8,
     .N_max = 12,
     .most_refused = 0.01},
    {.name = "few targets, full",
     .inputs = EASY,
     .targets = FULL,
     .counts = XFT_FEW_EACH,
     .d_min = 2,
     .n_max = 8,
     .N_max = 12,
     .most_refused = 0.01},
    {.name = "m = n",
     .inputs = EASY,
     .targets = COARSE | FULL,
     .counts = XFT_ALL,
     .d_min = 2,
     .n_max = 5,
     .N_max = 6,
     .most_refused = 0.01},
    {.name = "scales and offsets",
     .inputs = SCALED,
     .targets = COARSE | FULL,
     .d_min = 2,
     .n_max = 5,
     .N_max = 6,
     .most_refused = 0.02},
    {.name = "many magnitudes",
     .inputs = EASY,
     .targets = XFT_Y_MIXED | XFT_Y_RANGE,
     .d_min = 2,
     .n_max = 5,
     .N_max = 6,
     .most_refused = 0.05},
    {.name = "odd and powers",
     .inputs = EASY,
     .targets = XFT_Y_ODD | XFT_Y_POWERS,
     .d_min = 2,
     .n_max = 5,
     .N_max = 6,
     .most_refused = 0.01},
    {.name = "extreme targets",
     .inputs = EASY,
     .targets = XFT_Y_BEYOND | XFT_Y_SMALL | XFT_Y_LARGE,
     .d_min = 2,
     .n_max = 5,
     .N_max = 6,
     .most_refused = 0.15},
    {.name = "lattice",
     .inputs = XFT_X_LATTICE | XFT_X_ONE_HOT | XFT_X_VOCABULARY,
     .targets = COARSE | FULL,
     .d_min = 2,
     .n_max = 5,
     .N_max = 10,
     .most_refused = 0.02},
    {.name = "d = 1",
     .inputs = EASY,
     .targets = COARSE,
     .d_min = 1,
     .d_max = 1,
     .n_max = 4,
     .N_max = 4,
     .most_refused = 0.02},
    {.name = "extreme inputs",
     .inputs = XFT_X_CLOSE | XFT_X_SUBNORMAL | XFT_X_LARGEST | XFT_X_MIXED,
     .targets = COARSE | FULL,
     .d_min = 2,
     .n_max = 4,
     .N_max = 5,
     .most_refused = 0.1},
    {.name = "large",
     .inputs = EASY | SCALED,
     .targets = COARSE | FULL,
     .d_min = 2,
     .most_refused = 0.03},
};

static void binary32(void **state) {
    (void)state;
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = 1500,
                             .dtype = XF_F32};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(binary32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
