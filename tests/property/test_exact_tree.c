/* The pooled construction behind lifts, on data whose means collide.
 * Labels: exact slow */
#include "property/campaign.h"
#include "property/trial.h"
#include "support/adversarial.h"
#include "support/rational.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ORDERS = 12 };

/* X_j = {-k v, k v} for N small integers k: all means are 0, whatever v. */
static void balanced(xf_dataset *out, int64_t N, int64_t d, xf_grid grid) {
    xf_error error;
    xf_generate_options options = {.kind = "equal-means",
                                   .n_sequences = N,
                                   .d = d,
                                   .n_min = 2,
                                   .n_max = 4,
                                   .grid = grid,
                                   .seed = (uint64_t)(N + d)};
    if (xf_generate(out, &options, &error) != XF_OK)
        fail_msg("%s", error.message);
}

static void check(const xf_dataset *data, xf_dtype dtype, const char *name, int may_refuse) {
    xf_model model;
    xf_build_report report;
    xf_inspection found;
    xf_error error = {0};
    char text[XFT_TEXT_SIZE] = "";
    xf_build_options options = {.front = "tree", .dtype = dtype, .threads = 1};
    xf_status status = xf_build(&model, data, &options, &report, &error);
    if (may_refuse && status == XF_ERR_INFEASIBLE)
        return;
    if (status != XF_OK)
        fail_msg("%s: %s", name, error.message);
    int64_t N = data->n_sequences, M = data->n_targets, n_exact = 0;
    printf("%-24s N %3lld M %3lld: %lld lifts, %lld blocks, margin %.3g\n", name, (long long)N,
           (long long)M, (long long)report.n_separations, (long long)model.n_blocks, report.margin);
    assert_string_equal(report.front, "tree");
    assert_true(report.n_separations >= 1 && report.n_separations <= N - 1);
    assert_true(model.n_blocks <= 2 * M + 2 * N + 1);
    assert_string_equal(model.phases[0].name, "separation");
    assert_int_equal(xf_inspect(&found, &model, data, NULL), XF_OK);
    assert_true(found.has_margin && found.margin == report.margin);
    if (dtype == XF_F64)
        assert_int_equal(xft_rational_verify(&n_exact, &model, data, NULL), XF_OK);
    if (!xft_orders_agree(text, &model, data, NULL, ORDERS, 7))
        fail_msg("%s: %s", name, text);
    xf_model_clear(&model);
}

static void equal_means_are_told_apart(void **state) {
    (void)state;
    static const int64_t sizes[] = {2, 5, 12, 40}, dimensions[] = {2, 3, 8};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            xf_dataset data;
            balanced(&data, sizes[i], dimensions[k], k == 1 ? XF_GRID_FULL : XF_GRID_F32);
            check(&data, XF_F64, "equal means", 0);
            check(&data, XF_F32, "equal means, binary32", k == 1 || i == 3);
            xf_dataset_clear(&data);
        }
}

/* One coordinate, targets on a grid. */
static void on_a_line(void **state) {
    (void)state;
    xf_dataset data;
    balanced(&data, 8, 1, XF_GRID_INTEGER);
    check(&data, XF_F64, "on a line", 0);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_means_are_told_apart),
        cmocka_unit_test(on_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
