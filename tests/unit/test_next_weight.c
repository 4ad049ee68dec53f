/* core/model_shape.h: the way from one stored weight to the next, against looking at each. */
#include "core/model_shape.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 150 };

/* Numbers that are easily taken for 0, or are skipped with their neighbours. */
static double draw(xfi_rng *rng) {
    static const double values[] = {1.0, -0.0, 0x1p-1074, -0x1p-1074, INFINITY, NAN};
    return values[xfi_rng_below(rng, 6)];
}

static void finds_all_and_nothing_else(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 1, 1);
    for (int trial = 0; trial < 2000; trial++) {
        double values[MOST] = {0};
        int64_t n = xfi_rng_below(&rng, MOST + 1), stored = xfi_rng_below(&rng, 6);
        for (int64_t k = 0; k < stored && n > 0; k++)
            values[xfi_rng_below(&rng, n)] = draw(&rng);
        for (int64_t first = 0; first <= n; first++) {
            int64_t next = first;
            while (next < n && values[next] == 0.0 && !signbit(values[next]))
                next++;
            assert_int_equal(xfi_next_weight(values, first, n), next);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_all_and_nothing_else)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
