/* Front ends and writers asked for by name, in both formats: each is exact wherever it builds.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    EASY = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_VOCABULARY,
    LATTICES = XFT_X_LATTICE | XFT_X_BINARY | XFT_X_ONE_HOT,
    COARSE = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_SINGLE,
    FULL = XFT_Y_FULL | XFT_Y_MIXED | XFT_Y_ODD | XFT_Y_POWERS | XFT_Y_ZEROS
};

static const xft_family families[] = {
    {.name = "coarse", .inputs = EASY, .targets = COARSE, .d_min = 2, .most_refused = 1},
    {.name = "full", .inputs = EASY, .targets = FULL, .d_min = 2, .most_refused = 1},
    {.name = "m = 1",
     .inputs = EASY,
     .targets = COARSE | FULL,
     .counts = XFT_ONE_EACH,
     .d_min = 2,
     .most_refused = 1},
    {.name = "one sequence",
     .inputs = EASY,
     .targets = COARSE | FULL,
     .N_max = 1,
     .d_min = 2,
     .most_refused = 1},
    {.name = "small",
     .inputs = EASY | LATTICES,
     .targets = COARSE | FULL,
     .n_max = 4,
     .N_max = 4,
     .d_min = 1,
     .d_max = 4,
     .most_refused = 1},
    {.name = "lattices",
     .inputs = LATTICES,
     .targets = COARSE | FULL,
     .d_min = 2,
     .d_max = 5,
     .n_max = 9,
     .N_max = 60,
     .most_refused = 1},
    {.name = "scales",
     .inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_OFFSET | XFT_X_ANISOTROPIC | XFT_X_CONSTANT,
     .targets = COARSE | FULL,
     .d_min = 2,
     .most_refused = 1},
    {.name = "extreme",
     .inputs = EASY | XFT_X_CLOSE | XFT_X_LARGEST | XFT_X_SUBNORMAL | XFT_X_MIXED,
     .targets = XFT_Y_RANGE | XFT_Y_BEYOND | XFT_Y_SMALL | XFT_Y_LARGE | XFT_Y_INTEGER,
     .d_min = 2,
     .most_refused = 1},
};

static void run(xf_dtype dtype, int64_t n_cases) {
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = n_cases,
                             .dtype = dtype,
                             .choices = 1};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

static void in_binary64(void **state) {
    (void)state;
    run(XF_F64, 400);
}

static void in_binary32(void **state) {
    (void)state;
    run(XF_F32, 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_binary64),
                                       cmocka_unit_test(in_binary32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
