/* How far binary32 reaches, and what is said beyond.
 * Labels: slow */
#include "base/alloc.h"
#include "property/campaign.h"
#include "property/trial.h"

#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct sizes {
    const char *kind;
    int64_t n_sequences;
    int64_t m_min, m_max;
} sizes;

/* Sequences of eight tokens, d = 16. */
static void generate_kind(xf_dataset *out, const sizes *s, uint64_t seed) {
    xf_generate_options options = {.kind = s->kind,
                                   .n_sequences = s->n_sequences,
                                   .d = 16,
                                   .n_min = 8,
                                   .n_max = 8,
                                   .m_min = s->m_min,
                                   .m_max = s->m_max,
                                   .vocabulary = 200,
                                   .grid = XF_GRID_F32,
                                   .seed = seed};
    assert_int_equal(xf_generate(out, &options, NULL), XF_OK);
}

static void generate(xf_dataset *out, int64_t n_sequences, uint64_t seed) {
    sizes s = {"gaussian", n_sequences, 1, 1};
    generate_kind(out, &s, seed);
}

static void four_hundred_sequences_in_binary32(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        xf_dataset data;
        xf_model model;
        xf_build_report report;
        xf_error error = {0};
        xf_build_options options = {.dtype = XF_F32, .threads = 2};
        char text[XFT_TEXT_SIZE];
        generate(&data, 400, seed);
        if (xf_build(&model, &data, &options, &report, &error) != XF_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        printf("seed %llu: %lld blocks, writer %s, margin %.3g\n", (unsigned long long)seed,
               (long long)model.n_blocks, report.writer, report.margin);
        assert_true(model.n_blocks <= 403);
        if (!xft_orders_agree(text, &model, &data, NULL, seed == 0 ? 6 : 1, seed))
            fail_msg("%s", text);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

/* Two different sequences are named in the text, and a way out. */
static void check_refusal(const xf_error *error, int64_t n_sequences) {
    static const char before[] = "sequences ", between[] = " and ";
    assert_int_equal(error->status, XF_ERR_INFEASIBLE);
    assert_int_equal(xf_status_exit_code(error->status), 5);
    const char *place = strstr(error->message, before);
    assert_non_null(place);
    char *end = NULL;
    long long a = strtoll(place + strlen(before), &end, 10);
    assert_memory_equal(end, between, strlen(between));
    long long b = strtoll(end + strlen(between), &end, 10);
    assert_true(a >= 0 && a < n_sequences && b >= 0 && b < n_sequences && a != b);
    assert_true(error->sequence == a || error->sequence == b);
    assert_non_null(strstr(error->message, "--dtype f64"));
}

/* Beyond what one line of numbers can tell apart. */
static void twenty_thousand_on_a_line_are_refused(void **state) {
    (void)state;
    xf_dataset data;
    xf_model model;
    xf_error error = {0};
    xf_build_options options = {.dtype = XF_F32, .threads = 2, .front = "plain"};
    generate(&data, 20000, 0);
    assert_int_equal(xf_build(&model, &data, &options, NULL, &error), XF_ERR_INFEASIBLE);
    printf("%s\n", error.message);
    check_refusal(&error, data.n_sequences);
    assert_int_equal(model.n_blocks, 0);
    xf_dataset_clear(&data);
}

/* Left to choose, the library displaces, with a margin of 4 and more; `evaluated`: and every
 * sequence is exact. */
static void check_reach(const sizes *asked, int evaluated) {
    sizes s = *asked;
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    xf_error error = {0};
    xf_build_options options = {.dtype = XF_F32, .threads = 2, .no_self_check = !evaluated};
    if (xft_is_sanitized()) /* too slow otherwise; pooled front ends reach as far */
        s.n_sequences /= 20;
    generate_kind(&data, &s, 0);
    if (xf_build(&model, &data, &options, &report, &error) != XF_OK)
        fail_msg("%s, N = %lld: %s", s.kind, (long long)s.n_sequences, error.message);
    printf("%s, N = %lld, M = %lld: front end %s, %lld blocks, margin %.3g\n", s.kind,
           (long long)data.n_sequences, (long long)data.n_targets, report.front,
           (long long)model.n_blocks, report.margin);
    assert_true(model.n_blocks <= report.bound);
    assert_true(report.margin >= (xft_is_sanitized() ? 1.0 : 4.0));
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void thousands_in_binary32(void **state) {
    static const sizes all[] = {{"uniform", 5000, 1, 1},
                                {"vocabulary", 5000, 8, 8},
                                {"gaussian", 5000, 1, 8},
                                {"gaussian", 20000, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_reach(&all[i], 1);
}

static void fifty_thousand_are_certified(void **state) {
    static const sizes s = {"gaussian", 50000, 1, 1};
    (void)state;
    check_reach(&s, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_hundred_sequences_in_binary32),
                                       cmocka_unit_test(twenty_thousand_on_a_line_are_refused),
                                       cmocka_unit_test(thousands_in_binary32),
                                       cmocka_unit_test(fifty_thousand_are_certified)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
