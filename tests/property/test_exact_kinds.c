/* Every kind of synthetic data that the library makes itself.
 * Labels: exact slow */
#include "property/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const xft_family families[] = {
    {.name = "gaussian", .kind = "gaussian", .d_min = 2},
    {.name = "uniform", .kind = "uniform", .d_min = 2},
    {.name = "vocabulary", .kind = "vocabulary", .d_min = 2},
    {.name = "nested", .kind = "nested", .d_min = 2},
    {.name = "equal-means", .kind = "equal-means", .d_min = 2},
    {.name = "lattice", .kind = "lattice", .d_min = 2},
    {.name = "permutation", .kind = "permutation", .d_min = 2, .counts = XFT_ALL},
    {.name = "hard-floats", .kind = "hard-floats", .d_min = 2},
    {.name = "mirrored", .kind = "mirrored", .d_min = 2},
    {.name = "pairs", .kind = "pairs", .d_min = 2},
    {.name = "subsets", .kind = "subsets", .d_min = 2},
    {.name = "anisotropic", .kind = "anisotropic", .d_min = 2},
    {.name = "gaussian, d = 1", .kind = "gaussian", .d_min = 1, .d_max = 1, .most_refused = 1},
    {.name = "long", .kind = "long", .d_min = 2, .n_max = 300, .N_max = 6},
};

static void generated_kinds(void **state) {
    (void)state;
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = 700,
                             .dtype = XF_F64};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(generated_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
