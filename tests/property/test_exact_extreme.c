/* Numbers at the ends of the format, and tokens that lie close together.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    EASY = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
    FULL = XFT_Y_FULL | XFT_Y_ZEROS | XFT_Y_MIXED
};

static const xft_family families[] = {
    {.name = "the whole range",
     .inputs = EASY,
     .targets = XFT_Y_BEYOND,
     .d_min = 2,
     .most_refused = 0.4},
    {.name = "subnormal targets", .inputs = EASY, .targets = XFT_Y_SMALL, .d_min = 2},
    {.name = "large targets",
     .inputs = EASY,
     .targets = XFT_Y_LARGE,
     .d_min = 2,
     .most_refused = 0.01},
    {.name = "a few ulps apart",
     .inputs = XFT_X_CLOSE,
     .targets = FULL | XFT_Y_INTEGER,
     .d_min = 2,
     .most_refused = 0.7},
    {.name = "subnormal inputs",
     .inputs = XFT_X_SUBNORMAL,
     .targets = FULL | XFT_Y_INTEGER,
     .d_min = 2,
     .most_refused = 0.01},
    {.name = "largest inputs",
     .inputs = XFT_X_LARGEST,
     .targets = FULL | XFT_Y_INTEGER,
     .d_min = 2,
     .most_refused = 0.01},
    {.name = "largest to itself",
     .inputs = XFT_X_LARGEST | XFT_X_SUBNORMAL,
     .targets = XFT_Y_INPUTS,
     .d_min = 2,
     .most_refused = 0.01},
    {.name = "d = 1",
     .inputs = XFT_X_MIXED | XFT_X_LATTICE | XFT_X_LARGEST | XFT_X_SUBNORMAL,
     .targets = XFT_Y_INTEGER | XFT_Y_SINGLE,
     .d_min = 1,
     .d_max = 1,
     .most_refused = 0.15},
};

static void extreme_values(void **state) {
    (void)state;
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = 600,
                             .dtype = XF_F64};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(extreme_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
