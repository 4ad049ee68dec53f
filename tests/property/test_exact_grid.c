/* Targets on a common grid: half a block a target, and never an extra one where the bits
 * suffice.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    EASY = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
    SCALED = XFT_X_OFFSET | XFT_X_TINY | XFT_X_HUGE,
    COARSE = XFT_Y_INTEGER | XFT_Y_HALF
};

static const xft_family families[] = {
    {.name = "coarse", .inputs = EASY, .targets = COARSE, .d_min = 2, .regular = 1, .on_grid = 1},
    {.name = "binary32 targets", .inputs = EASY, .targets = XFT_Y_SINGLE, .d_min = 2, .on_grid = 1},
    {.name = "shared tokens",
     .inputs = XFT_X_VOCABULARY,
     .targets = COARSE | XFT_Y_SINGLE,
     .d_min = 2},
    {.name = "scales and offsets",
     .inputs = SCALED,
     .targets = COARSE,
     .d_min = 2,
     .regular = 1,
     .on_grid = 1},
    {.name = "constant coordinates",
     .inputs = XFT_X_CONSTANT,
     .targets = COARSE,
     .d_min = 2,
     .regular = 1},
    {.name = "anisotropic",
     .inputs = XFT_X_ANISOTROPIC,
     .targets = COARSE,
     .d_min = 2,
     .regular = 1},
    {.name = "many magnitudes",
     .inputs = XFT_X_MIXED,
     .targets = COARSE,
     .d_min = 2,
     .most_refused = 0.02},
    {.name = "lattice", .inputs = XFT_X_LATTICE | XFT_X_ONE_HOT, .targets = COARSE, .d_min = 2},
    {.name = "lattice to itself", .inputs = XFT_X_LATTICE, .targets = XFT_Y_INPUTS, .d_min = 2},
    {.name = "a column of zeros",
     .inputs = EASY,
     .targets = XFT_Y_ZERO_COLUMN,
     .d_min = 2,
     .regular = 1,
     .on_grid = 1},
    {.name = "all zero",
     .inputs = EASY | SCALED,
     .targets = XFT_Y_ALL_ZERO,
     .d_min = 2,
     .regular = 1,
     .on_grid = 1},
    {.name = "many bits", .inputs = EASY, .targets = XFT_Y_DYADIC, .d_min = 2},
    {.name = "d = 1", .inputs = EASY | SCALED, .targets = COARSE, .d_min = 1, .d_max = 1},
    {.name = "d = 1, m = 1",
     .inputs = EASY | SCALED,
     .targets = COARSE | XFT_Y_SINGLE,
     .d_min = 1,
     .d_max = 1,
     .counts = XFT_ONE_EACH},
    {.name = "many sequences",
     .inputs = EASY,
     .targets = COARSE | XFT_Y_SINGLE,
     .d_min = 2,
     .d_max = 4,
     .n_max = 4,
     .N_min = 100,
     .N_max = 300,
     .budget = 700e3},
    {.name = "one sequence",
     .inputs = EASY,
     .targets = COARSE,
     .d_min = 2,
     .N_max = 1,
     .regular = 1,
     .on_grid = 1},
};

static void grid_targets(void **state) {
    (void)state;
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = 900,
                             .dtype = XF_F64};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(grid_targets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
