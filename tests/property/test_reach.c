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

static void generate(xf_dataset *out, int64_t n_sequences, uint64_t seed) {
    xf_generate_options options = {.kind = "gaussian",
                                   .n_sequences = n_sequences,
                                   .d = 16,
                                   .n_min = 8,
                                   .n_max = 8,
                                   .m_min = 1,
                                   .m_max = 1,
                                   .grid = XF_GRID_F32,
                                   .seed = seed};
    assert_int_equal(xf_generate(out, &options, NULL), XF_OK);
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

/* Left to choose, the library builds what it can prove, or refuses with reasons. */
static void twenty_thousand(void **state) {
    (void)state;
    int64_t n = xft_is_sanitized() ? 1000 : 20000; /* sanitizers make it too slow */
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    xf_error error = {0};
    xf_build_options options = {.dtype = XF_F32, .threads = 2};
    generate(&data, n, 0);
    xf_status status = xf_build(&model, &data, &options, &report, &error);
    if (status == XF_OK) {
        printf("front end %s, %lld blocks, margin %.3g\n", report.front, (long long)model.n_blocks,
               report.margin);
        assert_true(report.margin > 1.0 && model.n_blocks <= report.bound);
    } else {
        printf("%s\n", error.message);
        check_refusal(&error, data.n_sequences);
    }
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_hundred_sequences_in_binary32),
                                       cmocka_unit_test(twenty_thousand_on_a_line_are_refused),
                                       cmocka_unit_test(twenty_thousand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
