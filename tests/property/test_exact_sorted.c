/* Arbitrary targets: a block a target.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    EASY = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
    SCALED = XFT_X_OFFSET | XFT_X_TINY | XFT_X_HUGE | XFT_X_CONSTANT | XFT_X_ANISOTROPIC,
    FULL = XFT_Y_FULL | XFT_Y_ZEROS | XFT_Y_NEGATIVE
};

static const xft_family families[] = {
    {.name = "full significands", .inputs = EASY, .targets = FULL, .d_min = 2},
    {.name = "scales and offsets", .inputs = SCALED, .targets = FULL, .d_min = 2},
    {.name = "many magnitudes",
     .inputs = EASY | XFT_X_MIXED,
     .targets = XFT_Y_MIXED,
     .d_min = 2,
     .most_refused = 0.02},
    {.name = "powers of two", .inputs = EASY, .targets = XFT_Y_POWERS, .d_min = 2},
    {.name = "odd last bits", .inputs = EASY, .targets = XFT_Y_ODD, .d_min = 2},
    {.name = "shared targets", .inputs = EASY, .targets = XFT_Y_POOL, .d_min = 2},
    {.name = "shared tokens",
     .inputs = XFT_X_VOCABULARY,
     .targets = FULL | XFT_Y_MIXED,
     .d_min = 2},
    {.name = "targets are inputs",
     .inputs = EASY | SCALED | XFT_X_MIXED,
     .targets = XFT_Y_INPUTS,
     .d_min = 2,
     .most_refused = 0.02},
    {.name = "exponents to 1000", .inputs = EASY, .targets = XFT_Y_RANGE, .d_min = 2},
    {.name = "lattice",
     .inputs = XFT_X_LATTICE | XFT_X_ONE_HOT,
     .targets = FULL | XFT_Y_MIXED,
     .d_min = 2},
    {.name = "many sequences",
     .inputs = EASY,
     .targets = FULL | XFT_Y_MIXED | XFT_Y_ODD,
     .d_min = 2,
     .d_max = 4,
     .n_max = 4,
     .N_min = 60,
     .N_max = 140,
     .budget = 200e3},
    {.name = "one sequence", .inputs = EASY, .targets = FULL | XFT_Y_MIXED, .d_min = 2, .N_max = 1},
    {.name = "m = n", .inputs = EASY, .targets = FULL | XFT_Y_ODD, .d_min = 2, .counts = XFT_ALL},
    {.name = "d = 1, off the grid",
     .inputs = EASY,
     .targets = XFT_Y_FULL | XFT_Y_ODD,
     .d_min = 1,
     .d_max = 1,
     .N_min = 2,
     .most_refused = 1,
     .always_refused = 1},
};

static void arbitrary_targets(void **state) {
    (void)state;
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = 900,
                             .dtype = XF_F64};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arbitrary_targets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
