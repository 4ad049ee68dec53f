/* xf_build: reports, refusals, memory failures. Exactness itself is in tests/property.
 * Labels: exact */
#include <exactformer/exactformer.h>

#include "base/alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static xf_dataset generate(const char *kind, int64_t n, int64_t d, int64_t m, xf_grid grid) {
    xf_dataset data;
    xf_error error;
    xf_generate_options options = {.kind = kind,
                                   .n_sequences = n,
                                   .d = d,
                                   .n_min = 8,
                                   .n_max = 8,
                                   .m_min = m,
                                   .m_max = m,
                                   .grid = grid,
                                   .seed = 3};
    if (xf_generate(&data, &options, &error) != XF_OK)
        fail_msg("%s", error.message);
    return data;
}

static void grid_targets_take_at_most_half_a_block_each(void **state) {
    (void)state;
    xf_dataset data = generate("gaussian", 50, 4, 2, XF_GRID_INTEGER);
    xf_model model;
    xf_build_report report;
    assert_int_equal(xf_build(&model, &data, NULL, &report, NULL), XF_OK);
    assert_in_range(model.n_blocks, 25 + 3, 50 + 2);
    assert_int_equal(report.bound, 2 * 100 + 2 * 50 + 1);
    assert_true(report.margin > 1);
    assert_string_equal(model.phases[0].name, "pooling");
    assert_string_equal(model.phases[model.n_phases - 1].name, "write");
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void full_targets_take_at_most_a_block_each(void **state) {
    (void)state;
    xf_dataset data = generate("gaussian", 50, 4, 2, XF_GRID_FULL);
    xf_model model;
    xf_build_report report;
    assert_int_equal(xf_build(&model, &data, NULL, &report, NULL), XF_OK);
    assert_in_range(model.n_blocks, 50 + 3, 103);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void one_target_is_a_constant(void **state) {
    (void)state;
    double x[4] = {1, 2, 3, 4}, y[2] = {0.1, -7e300};
    int64_t offsets[2] = {0, 2}, ends[2] = {0, 1};
    xf_dataset data = {.n_sequences = 1,
                       .d = 2,
                       .n_tokens = 2,
                       .n_targets = 1,
                       .positions = -1,
                       .x = x,
                       .x_offsets = offsets,
                       .y = y,
                       .y_offsets = ends};
    xf_model model;
    xf_build_report report;
    assert_int_equal(xf_build(&model, &data, NULL, &report, NULL), XF_OK);
    assert_int_equal(model.n_blocks, 1);
    assert_string_equal(report.writer, "constant");
    assert_true(isinf(report.margin));
    xf_model_clear(&model);
}

static void full_targets_in_one_dimension_are_refused(void **state) {
    (void)state;
    xf_dataset data = generate("gaussian", 10, 1, 1, XF_GRID_FULL);
    xf_model model;
    xf_error error;
    assert_int_equal(xf_build(&model, &data, NULL, NULL, &error), XF_ERR_INFEASIBLE);
    assert_non_null(strstr(error.message, "d = 1"));
    assert_null(model.ff_W);
    xf_dataset_clear(&data);
}

static void binary32_refuses_wide_targets(void **state) {
    (void)state;
    xf_dataset data = generate("gaussian", 10, 2, 1, XF_GRID_FULL);
    xf_build_options options = {.dtype = XF_F32};
    xf_model model;
    xf_error error;
    assert_int_equal(xf_build(&model, &data, &options, NULL, &error), XF_ERR_INFEASIBLE);
    assert_non_null(strstr(error.message, "binary32"));
    assert_int_equal(error.sequence, 0);
    xf_dataset_clear(&data);
}

static void close_sequences_are_named(void **state) {
    (void)state;
    double x[3] = {1.0, 2.0, nextafter(2.0, 3.0)}, y[3] = {1, 2, 3};
    int64_t offsets[4] = {0, 1, 2, 3};
    xf_dataset data = {.n_sequences = 3,
                       .d = 1,
                       .n_tokens = 3,
                       .n_targets = 3,
                       .positions = -1,
                       .x = x,
                       .x_offsets = offsets,
                       .y = y,
                       .y_offsets = offsets};
    xf_model model;
    xf_error error;
    assert_int_equal(xf_build(&model, &data, NULL, NULL, &error), XF_ERR_INFEASIBLE);
    assert_non_null(strstr(error.message, "sequences 1 and 2"));
}

static void extreme_targets_get_a_scaling_block(void **state) {
    (void)state;
    double x[4] = {1, 2, 3, 5},
           y[4] = {0x1.23456789abcdep1015, 0x1.3p1014, -0x1.5p1013, 0x1.7p1016};
    int64_t offsets[3] = {0, 1, 2};
    xf_dataset data = {.n_sequences = 2,
                       .d = 2,
                       .n_tokens = 2,
                       .n_targets = 2,
                       .positions = -1,
                       .x = x,
                       .x_offsets = offsets,
                       .y = y,
                       .y_offsets = offsets};
    xf_model model;
    xf_build_report report;
    assert_int_equal(xf_build(&model, &data, NULL, &report, NULL), XF_OK);
    assert_true(model.n_blocks <= report.bound);
    xf_model_clear(&model);
}

static int cancel(void *context, const char *phase, double done) {
    (void)phase;
    (void)done;
    ++*(int *)context;
    return 1;
}

static void progress_can_cancel(void **state) {
    (void)state;
    xf_dataset data = generate("gaussian", 10, 2, 1, XF_GRID_F32);
    int calls = 0;
    xf_build_options options = {.progress = cancel, .progress_context = &calls};
    xf_model model;
    assert_int_equal(xf_build(&model, &data, &options, NULL, NULL), XF_ERR_CANCELLED);
    assert_int_equal(calls, 1);
    xf_dataset_clear(&data);
}

static void the_same_weights_for_every_number_of_threads(void **state) {
    (void)state;
    xf_dataset data = generate("gaussian", 200, 4, 2, XF_GRID_FULL);
    xf_model one, two;
    xf_build_options options = {.threads = 1};
    assert_int_equal(xf_build(&one, &data, &options, NULL, NULL), XF_OK);
    options.threads = 3;
    assert_int_equal(xf_build(&two, &data, &options, NULL, NULL), XF_OK);
    assert_int_equal(one.n_blocks, two.n_blocks);
    size_t size = (size_t)(one.n_blocks * one.width * one.d) * sizeof(double);
    assert_memory_equal(one.ff_W, two.ff_W, size);
    assert_memory_equal(one.ff_U, two.ff_U, size);
    xf_model_clear(&one);
    xf_model_clear(&two);
    xf_dataset_clear(&data);
}

/* Fail every allocation in turn until the build succeeds; nothing may leak or crash. */
static void sweep(const xf_dataset *data) {
    xf_build_options options = {.threads = 1};
    xf_model model;
    xf_status status = XF_ERR_MEMORY;
    int64_t allowed = 0;
    for (; status == XF_ERR_MEMORY; allowed++) {
        xfi_alloc_limit(allowed);
        status = xf_build(&model, data, &options, NULL, NULL);
        xfi_alloc_limit(-1);
    }
    assert_int_equal(status, XF_OK);
    assert_true(allowed > 20);
    xf_model_clear(&model);
}

static void memory_failures_are_clean(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        xf_grid grid;
    } cases[] = {
        {"gaussian", XF_GRID_FULL}, {"gaussian", XF_GRID_INTEGER}, {"lattice", XF_GRID_FULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        xf_dataset data = generate(cases[i].kind, 4, 2, 2, cases[i].grid);
        sweep(&data);
        xf_dataset_clear(&data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_targets_take_at_most_half_a_block_each),
        cmocka_unit_test(full_targets_take_at_most_a_block_each),
        cmocka_unit_test(one_target_is_a_constant),
        cmocka_unit_test(full_targets_in_one_dimension_are_refused),
        cmocka_unit_test(binary32_refuses_wide_targets),
        cmocka_unit_test(close_sequences_are_named),
        cmocka_unit_test(extreme_targets_get_a_scaling_block),
        cmocka_unit_test(progress_can_cancel),
        cmocka_unit_test(the_same_weights_for_every_number_of_threads),
        cmocka_unit_test(memory_failures_are_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
