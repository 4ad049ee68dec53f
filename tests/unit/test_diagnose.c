/* Diagnosing from C: a training's own log, memory failures. Verdicts are in tests/cli/diagnose.sh.
 */
#include <exactformer/exactformer.h>

#include "base/alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A small problem, its interpolant, and a training that starts from it. */
typedef struct fixture {
    xf_dataset data;
    xf_model exact;
    xf_family family;
    char csv[64], json[64];
} fixture;

static fixture made;

static int set_up(void **state) {
    (void)state;
    const xf_generate_options how = {
        .kind = "gaussian", .n_sequences = 3, .d = 2, .grid = XF_GRID_F16, .m_max = 1, .seed = 4};
    const xf_build_options small = {.optimise = XF_OPTIMISE_NORM, .threads = 1};
    xf_stage stages[] = {{0.1, 3}, {0.01, 3}};
    double theta[4096];
    xf_training training;
    assert_int_equal(xf_generate(&made.data, &how, NULL), XF_OK);
    assert_int_equal(xf_build(&made.exact, &made.data, &small, NULL, NULL), XF_OK);
    xf_family_of_model(&made.family, &made.exact, 1.0);
    assert_true(xf_family_parameters(&made.family) <= 4096);
    assert_int_equal(xf_family_embed(theta, &made.family, &made.exact, NULL), XF_OK);
    const xf_train_options options = {.optimiser = XF_LBFGS,
                                      .stages = stages,
                                      .n_stages = 2,
                                      .cold = 1,
                                      .initial = theta,
                                      .threads = 1};
    assert_int_equal(xf_train(&training, &made.family, &made.data, &options, NULL), XF_OK);
    snprintf(made.csv, sizeof made.csv, "/tmp/xf_diagnose_%ld.csv", (long)getpid());
    snprintf(made.json, sizeof made.json, "/tmp/xf_diagnose_%ld.json", (long)getpid());
    assert_int_equal(xf_training_save_log(&training, &made.family, &options, made.csv, NULL),
                     XF_OK);
    assert_int_equal(xf_training_save_log(&training, &made.family, &options, made.json, NULL),
                     XF_OK);
    xf_training_clear(&training);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(made.csv);
    unlink(made.json);
    xf_dataset_clear(&made.data);
    xf_model_clear(&made.exact);
    return 0;
}

/* At the start the loss is exactly 0 and J is the threshold. */
static void from_the_interpolant(void **state) {
    (void)state;
    xf_training_log log;
    xf_diagnosis diagnosis;
    assert_int_equal(xf_training_log_load(&log, made.csv, NULL), XF_OK);
    assert_int_equal(log.n_stages, 2);
    assert_true(log.stages[0].min_loss == 0.0 && log.stages[1].weight_decay == 0.01);
    assert_int_equal(xf_diagnose(&diagnosis, &log, &made.exact, NULL), XF_OK);
    assert_true(diagnosis.comparable);
    for (int i = 0; i < 2; i++) {
        const xf_train_record *first = &log.records[log.stages[i].first];
        const xf_stage_diagnosis *stage = &diagnosis.stages[i];
        assert_true(first->loss == 0.0);
        assert_true(fabs(first->objective / stage->threshold - 1.0) < 1e-12);
        assert_false(stage->objective_above || stage->loss_above);
        assert_true(log.stages[i].last.objective <= stage->threshold);
    }
    xf_diagnosis_clear(&diagnosis);
    xf_training_log_clear(&log);
}

static void both_formats_say_the_same(void **state) {
    (void)state;
    xf_training_log a, b;
    assert_int_equal(xf_training_log_load(&a, made.csv, NULL), XF_OK);
    assert_int_equal(xf_training_log_load(&b, made.json, NULL), XF_OK);
    assert_int_equal(a.n_records, b.n_records);
    assert_int_equal(a.n_stages, b.n_stages);
    for (int64_t i = 0; i < a.n_records; i++) {
        assert_true(a.records[i].loss == b.records[i].loss);
        assert_true(a.records[i].objective == b.records[i].objective);
        assert_int_equal(a.records[i].epoch, b.records[i].epoch);
    }
    xf_training_log_clear(&a);
    xf_training_log_clear(&b);
}

static void norms_add_up(void **state) {
    (void)state;
    xf_inspection all;
    double sum = 0.0;
    assert_int_equal(xf_inspect(&all, &made.exact, NULL, NULL), XF_OK);
    for (int64_t i = 0; i < made.exact.n_phases; i++)
        sum += xf_norm_squared(&made.exact, made.exact.phases[i].first, made.exact.phases[i].count);
    assert_true(fabs(sum / all.l2_norm_squared - 1.0) < 1e-12);
}

static xf_status load_and_diagnose(const char *path) {
    xf_training_log log;
    xf_diagnosis diagnosis;
    xf_error error = {0};
    xf_status status = xf_training_log_load(&log, path, &error);
    if (status == XF_OK)
        status = xf_diagnose(&diagnosis, &log, &made.exact, &error);
    if (status == XF_OK)
        xf_diagnosis_clear(&diagnosis);
    xf_training_log_clear(&log);
    return status;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    xf_status status = XF_ERR_MEMORY;
    int64_t allowed = 0;
    for (; status == XF_ERR_MEMORY && allowed < 1000; allowed++) {
        xfi_alloc_limit(allowed);
        status = load_and_diagnose(allowed % 2 ? made.csv : made.json);
        xfi_alloc_limit(-1);
    }
    assert_int_equal(status, XF_OK);
    assert_true(allowed > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_interpolant),
        cmocka_unit_test(both_formats_say_the_same),
        cmocka_unit_test(norms_add_up),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
