/* Every writer of cells, on random data sets in binary64, for little depth and for a small norm.
 * Labels: exact slow */
#include "property/cell_trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const xft_family families[] = {
    {.name = "grid, wide",
     .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
     .targets = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_SINGLE | XFT_Y_DYADIC,
     .d_min = 6,
     .d_max = 16},
    {.name = "grid, m = 1",
     .inputs = XFT_X_GAUSSIAN | XFT_X_OFFSET | XFT_X_ANISOTROPIC,
     .targets = XFT_Y_INTEGER | XFT_Y_SINGLE | XFT_Y_ALL_ZERO | XFT_Y_NEGATIVE,
     .counts = XFT_ONE_EACH,
     .d_min = 3,
     .d_max = 12},
    {.name = "floats, wide",
     .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_VOCABULARY,
     .targets =
         XFT_Y_FULL | XFT_Y_ZEROS | XFT_Y_MIXED | XFT_Y_POWERS | XFT_Y_ODD | XFT_Y_ZERO_COLUMN,
     .d_min = 5,
     .d_max = 16},
    {.name = "floats",
     .inputs = XFT_X_GAUSSIAN | XFT_X_VOCABULARY | XFT_X_LATTICE | XFT_X_CONSTANT,
     .targets = XFT_Y_FULL | XFT_Y_INPUTS | XFT_Y_POOL | XFT_Y_ODD | XFT_Y_ZEROS,
     .d_min = 2,
     .d_max = 8},
    {.name = "the whole range",
     .inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_MIXED | XFT_X_LARGEST | XFT_X_SUBNORMAL,
     .targets = XFT_Y_RANGE | XFT_Y_BEYOND | XFT_Y_SMALL | XFT_Y_LARGE | XFT_Y_SINGLE,
     .d_min = 3,
     .d_max = 10},
    {.name = "one sequence",
     .inputs = XFT_X_GAUSSIAN | XFT_X_BINARY | XFT_X_ONE_HOT,
     .targets = XFT_Y_INTEGER | XFT_Y_FULL | XFT_Y_SINGLE,
     .counts = XFT_ALL,
     .d_min = 4,
     .d_max = 12,
     .N_max = 2},
};

static void every_writer_is_exact(void **state) {
    (void)state;
    assert_int_equal(xft_cell_campaign(families, sizeof families / sizeof *families, 2400, XF_F64),
                     0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_writer_is_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
