/* Data whose plain means collide: small lattices, cubes and vocabularies with many sets. The
 * pooled feature needs kinks, or folds.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    LATTICES = XFT_X_LATTICE | XFT_X_BINARY | XFT_X_ONE_HOT,
    COARSE = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_SINGLE,
    FULL = XFT_Y_FULL | XFT_Y_MIXED
};

static const xft_family families[] = {
    {.name = "line, m = 1",
     .inputs = XFT_X_LATTICE,
     .targets = COARSE,
     .counts = XFT_ONE_EACH,
     .d_max = 1,
     .n_max = 9,
     .N_min = 10,
     .N_max = 150,
     .most_refused = 0.02},
    {.name = "line",
     .inputs = XFT_X_LATTICE,
     .targets = COARSE,
     .d_max = 1,
     .n_max = 9,
     .N_min = 10,
     .N_max = 80,
     .most_refused = 0.1},
    {.name = "lattices, m = 1",
     .inputs = LATTICES,
     .targets = COARSE | FULL,
     .counts = XFT_ONE_EACH,
     .d_min = 2,
     .d_max = 4,
     .n_max = 9,
     .N_min = 40,
     .N_max = 200,
     .budget = 300e3},
    {.name = "lattices",
     .inputs = LATTICES,
     .targets = COARSE | FULL,
     .d_min = 2,
     .d_max = 4,
     .n_max = 9,
     .N_min = 20,
     .N_max = 120,
     .budget = 300e3},
    {.name = "lattices to themselves",
     .inputs = LATTICES,
     .targets = XFT_Y_INPUTS,
     .d_min = 2,
     .d_max = 4,
     .n_max = 9,
     .N_min = 20,
     .N_max = 120,
     .budget = 300e3},
    {.name = "cubes",
     .inputs = XFT_X_BINARY,
     .targets = COARSE | FULL,
     .d_min = 3,
     .d_max = 16,
     .n_max = 12,
     .N_min = 10,
     .N_max = 100},
    {.name = "equal-means", .kind = "equal-means", .d_min = 2, .d_max = 8, .budget = 200e3},
    {.name = "mirrored", .kind = "mirrored", .d_min = 2, .d_max = 8},
    {.name = "subsets", .kind = "subsets", .d_min = 2, .d_max = 8, .budget = 200e3},
};

static void colliding_means(void **state) {
    (void)state;
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = 350,
                             .dtype = XF_F64};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(colliding_means)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
