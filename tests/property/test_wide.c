/* Many tokens in binary64: the search goes in small steps, and splits are chosen by numbers that
 * nothing is proved of yet.
 * Labels: slow */
#include "property/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct wide_case {
    const char *kind;
    int64_t m_max;
    const char *front; /* the only one that can serve, or NULL */
} wide_case;

/* 10 sequences of 6,600 tokens in R^64. */
static void make(xf_dataset *data, const wide_case *c) {
    xf_generate_options options = {.kind = c->kind,
                                   .n_sequences = 10,
                                   .n_min = 6600,
                                   .n_max = 6600,
                                   .m_min = 1,
                                   .m_max = c->m_max,
                                   .d = 64,
                                   .grid = XF_GRID_F32,
                                   .seed = 3};
    xf_error error;
    assert_int_equal(xf_generate(data, &options, &error), XF_OK);
    assert_true(data->n_tokens * data->d > 4000000);
}

static void check(const wide_case *c) {
    xf_dataset data;
    xf_model model, again;
    xf_build_report report;
    xf_error error = {0};
    make(&data, c);
    xf_build_options options = {.writer = "grid", .threads = 1};
    assert_int_equal(xf_build(&model, &data, &options, &report, &error), XF_OK);
    assert_true(report.margin > 1.0);
    if (c->front != NULL)
        assert_string_equal(report.front, c->front);
    else
        assert_true(model.n_blocks <= (data.n_targets + 1) / 2 + 2 + report.extra_blocks);
    options.threads = 2;
    assert_int_equal(xf_build(&again, &data, &options, &report, &error), XF_OK);
    assert_true(xft_same_models(&model, &again));
    for (int engine = XF_ENGINE_SPARSE; engine <= XF_ENGINE_BLAS; engine++) {
        xf_run_options run = {.engine = (xf_engine)engine};
        xf_verify_report verified;
        assert_int_equal(xf_verify(&verified, &model, &data, &run, &error), XF_OK);
        assert_int_equal(verified.n_exact, data.n_sequences);
    }
    xf_model_clear(&model);
    xf_model_clear(&again);
    xf_dataset_clear(&data);
}

static void wide_searches_are_exact(void **state) {
    static const wide_case cases[] = {{"gaussian", 1, NULL},
                                      {"gaussian", 3, NULL},
                                      {"lattice", 1, NULL},
                                      {"equal-means", 1, "kinks"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wide_searches_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
