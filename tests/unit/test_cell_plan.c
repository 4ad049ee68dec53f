/* construct/cell_plan.h: cells are runs along line a with certain cuts, and with their offsets all
 * groups are apart on line b. */
#include "construct/cell_plan.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* n sequences of up to `most` groups each. */
static void draw_lines(xfi_two_lines *lines, int64_t n, int64_t most, double error, xfi_rng *rng) {
    int64_t counts[4096], total = 0;
    for (int64_t j = 0; j < n; j++)
        total += counts[j] = 1 + xfi_rng_below(rng, most);
    assert_true(xfi_two_lines_init(lines, n, total));
    for (int64_t j = 0; j < n; j++) {
        lines->a[j] = xfi_rng_normal(rng);
        lines->a_error[j] = error * (0.5 + xfi_rng_uniform(rng));
        lines->first[j + 1] = lines->first[j] + counts[j];
        for (int64_t g = lines->first[j]; g < lines->first[j + 1]; g++) {
            lines->b[g] = xfi_rng_normal(rng);
            lines->b_error[g] = error * (0.5 + xfi_rng_uniform(rng));
        }
        qsort(lines->b + lines->first[j], (size_t)counts[j], sizeof(double), compare);
    }
    /* 0 has to lie between two sequences, or outside all of them */
    double middle = lines->a[0];
    for (int64_t j = 1; j < n; j++)
        if (fabs(lines->a[j]) < fabs(middle))
            middle = lines->a[j];
    for (int64_t j = 0; j < n; j++)
        lines->a[j] += middle > 0 ? 1e-3 : -1e-3;
}

typedef struct place {
    double t;
    double error;
    int64_t cell;
} place;

static int compare_places(const void *left, const void *right) {
    return compare(&((const place *)left)->t, &((const place *)right)->t);
}

static void check_groups(const xfi_cell_plan *plan, const xfi_two_lines *lines,
                         const xfi_cell_plan_options *options) {
    int64_t n = lines->first[lines->n], above = 0;
    place *places = calloc((size_t)n, sizeof *places);
    assert_non_null(places);
    for (int64_t j = 0; j < lines->n; j++)
        for (int64_t g = lines->first[j]; g < lines->first[j + 1]; g++) {
            double t = lines->b[g] + plan->offset[plan->cell[j]], e = lines->b_error[g];
            places[g] = (place){t, e + options->format->u * (fabs(t) + e), plan->cell[j]};
            assert_true(fabs(t) <= plan->span / 2);
            assert_true(fabs(t) >= options->reserve * plan->span);
            above += t > 0;
        }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t g = 0; g + 1 < n; g++)
        assert_true(places[g + 1].t - places[g].t >=
                    options->margin * (places[g].error + places[g + 1].error));
    assert_true(plan->longer == (above > n - above ? above : n - above));
    free(places);
}

static void check_cells(const xfi_cell_plan *plan, const xfi_two_lines *lines, double margin) {
    double *low = calloc((size_t)plan->n_cells, sizeof *low);
    double *high = calloc((size_t)plan->n_cells, sizeof *high);
    for (int64_t c = 0; c < plan->n_cells; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
        assert_true(plan->offset[c] != 0.0 && fmod(plan->offset[c], plan->unit) == 0.0);
    }
    for (int64_t j = 0; j < lines->n; j++) {
        int64_t c = plan->cell[j];
        assert_in_range(c, 0, plan->n_cells - 1);
        low[c] = fmin(low[c], lines->a[j] - margin * lines->a_error[j]);
        high[c] = fmax(high[c], lines->a[j] + margin * lines->a_error[j]);
    }
    for (int64_t c = 0; c < plan->n_cells; c++) {
        assert_true(low[c] > 0 || high[c] < 0);
        assert_true(c == 0 || high[c - 1] < low[c]);
    }
    free(low);
    free(high);
}

static int plan_lines(const xfi_two_lines *lines, const xfi_cell_plan_options *options) {
    xfi_cell_plan plan;
    int found = 0;
    assert_int_equal(xfi_cell_plan_make(&plan, &found, lines, options, NULL), XF_OK);
    if (found) {
        check_groups(&plan, lines, options);
        check_cells(&plan, lines, options->margin);
    }
    xfi_cell_plan_clear(&plan);
    return found;
}

static void groups_are_apart(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 21, 0);
    int found = 0, tried = 0;
    for (int round = 0; round < 120; round++) {
        xfi_format format = xfi_format_of(round % 2 ? XF_F32 : XF_F64);
        xfi_cell_plan_options options = {.format = &format,
                                         .reserve = round % 3 ? 0x1p-5 : 0.1,
                                         .margin = 4,
                                         .seed = (uint64_t)round,
                                         .threads = 1 + round % 2};
        int64_t n = 1 + xfi_rng_below(&rng, round % 10 ? 100 : 3000);
        xfi_two_lines lines;
        draw_lines(&lines, n, round % 4 ? 1 : 6, round % 5 ? 4 * format.u : 0.0, &rng);
        found += plan_lines(&lines, &options);
        tried++;
        xfi_two_lines_clear(&lines);
    }
    assert_true(found > tried * 9 / 10);
}

/* Two sequences, close on a, on b, or on both. */
static int plan_pair(double da, double db) {
    xfi_format format = xfi_format_of(XF_F32);
    xfi_cell_plan_options options = {.format = &format, .margin = 4, .threads = 1};
    xfi_two_lines lines;
    assert_true(xfi_two_lines_init(&lines, 3, 3));
    for (int j = 0; j < 3; j++) {
        lines.first[j + 1] = j + 1;
        lines.a_error[j] = lines.b_error[j] = 1e-6;
    }
    lines.a[0] = -1;
    lines.a[1] = 1;
    lines.a[2] = 1 + da;
    lines.b[1] = 0.5;
    lines.b[2] = 0.5 + db;
    int found = plan_lines(&lines, &options);
    xfi_two_lines_clear(&lines);
    return found;
}

static void close_on_both_is_refused(void **state) {
    (void)state;
    assert_true(plan_pair(0.1, 0.1));
    assert_true(plan_pair(0.0, 0.1));
    assert_true(plan_pair(0.1, 0.0));
    assert_false(plan_pair(1e-7, 1e-7));
    assert_false(plan_pair(0.0, 0.0));
}

static void groups_of_one_sequence_must_be_apart(void **state) {
    (void)state;
    xfi_format format = xfi_format_of(XF_F32);
    xfi_cell_plan_options options = {.format = &format, .margin = 4, .threads = 1};
    xfi_two_lines lines;
    assert_true(xfi_two_lines_init(&lines, 1, 2));
    lines.a[0] = 1;
    lines.first[1] = 2;
    lines.b[1] = 1;
    assert_true(plan_lines(&lines, &options));
    lines.b[1] = 1e-9;
    lines.b_error[1] = 1e-9;
    assert_false(plan_lines(&lines, &options));
    xfi_two_lines_clear(&lines);
}

/* The same plan for every number of threads. */
static void threads_do_not_matter(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 22, 0);
    xfi_format format = xfi_format_of(XF_F32);
    xfi_two_lines lines;
    draw_lines(&lines, 2000, 1, 4 * format.u, &rng);
    xfi_cell_plan plans[2];
    for (int i = 0; i < 2; i++) {
        int found = 0;
        xfi_cell_plan_options options = {
            .format = &format, .reserve = 0x1p-5, .margin = 4, .seed = 3, .threads = 1 + i};
        assert_int_equal(xfi_cell_plan_make(&plans[i], &found, &lines, &options, NULL), XF_OK);
        assert_true(found);
    }
    assert_int_equal(plans[0].n_cells, plans[1].n_cells);
    assert_memory_equal(plans[0].offset, plans[1].offset,
                        (size_t)plans[0].n_cells * sizeof(double));
    assert_memory_equal(plans[0].cell, plans[1].cell, (size_t)lines.n * sizeof(int64_t));
    xfi_cell_plan_clear(&plans[0]);
    xfi_cell_plan_clear(&plans[1]);
    xfi_two_lines_clear(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_apart),
        cmocka_unit_test(close_on_both_is_refused),
        cmocka_unit_test(groups_of_one_sequence_must_be_apart),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
