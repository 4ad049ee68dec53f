/* num/sort.h: columns sorted side by side, for all small lengths and some odd ones. */
#include "base/rng.h"
#include "num/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COLUMNS = XFI_SORT_COLUMNS, MOST = 1030 };

/* Few different values, so that there are ties. */
static void every_column_is_sorted(void **state) {
    static double values[MOST * COLUMNS], column[COLUMNS][MOST];
    xfi_rng rng;
    (void)state;
    xfi_rng_seed(&rng, 1, 0);
    for (int64_t n = 1; n <= MOST; n += n < 70 ? 1 : 137) {
        for (int64_t i = 0; i < n; i++)
            for (int c = 0; c < COLUMNS; c++) {
                double v = (double)xfi_rng_below(&rng, c % 2 ? 5 : 1 << 30) - 2;
                values[i * COLUMNS + c] = column[c][i] = v;
            }
        xfi_sort_columns(values, n);
        for (int c = 0; c < COLUMNS; c++) {
            xfi_sort_doubles(column[c], n);
            for (int64_t i = 0; i < n; i++)
                assert_true(values[i * COLUMNS + c] == column[c][i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_column_is_sorted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
