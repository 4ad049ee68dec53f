/* Softmax on the published construction: exact up to tau_max in binary64 and with 80 digits, and
 * wrong somewhere above. Labels: exact slow */
#include "base/alloc.h"
#include "core/model_shape.h"
#include "property/published_trial.h"
#include "support/adversarial.h"
#include "support/ball_engine.h"
#include "support/rational.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TEMPERATURES = 17, DIGITS = 80 };

static int build(xf_model *model, const xf_dataset *data, const xf_build_options *options) {
    xf_error error = {0};
    xf_build_report report;
    if (xf_build(model, data, options, &report, &error) != XF_OK)
        fail_msg("%s", error.message);
    return strcmp(report.front, "leaders") == 0 && isfinite(model->tau_max);
}

/* Run `check` on every data set whose model has a finite tau_max. */
static void for_each(void (*check)(const xf_model *, const xf_dataset *, const char *name)) {
    int n = 0;
    const xft_adversary *list = xft_adversaries(&n);
    xf_build_options options = {.construction = XF_PUBLISHED, .threads = 1};
    for (int i = 0; i < n; i++) {
        xf_dataset data;
        xf_model model;
        xft_adversary_make(&data, i);
        if (build(&model, &data, &options))
            check(&model, &data, list[i].name);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

static double temperature(const xf_model *model, int i) {
    return i == TEMPERATURES - 1 ? model->tau_max
                                 : model->tau_max * pow(10.0, -8.0 + 8.0 * i / (TEMPERATURES - 1));
}

/* The clamps cut the irrational parts away: what comes out are single numbers, the targets. */
static void check_balls(const xf_model *model, const xf_dataset *data, const char *name) {
    for (int i = 0; i < TEMPERATURES; i++) {
        xft_ball_options options = {.tau = temperature(model, i), .digits = DIGITS};
        xf_error error = {0};
        double radius = INFINITY;
        xf_status status = xft_ball_verify(&radius, model, data, &options, &error);
        if (status != XF_OK || radius != 0.0)
            fail_msg("%s, tau = %g: %s, radius %g", name, options.tau, error.message, radius);
    }
}

static void exact_in_ball_arithmetic(void **state) {
    (void)state;
    for_each(check_balls);
}

static int64_t front_blocks(const xf_model *model) {
    for (int64_t i = 0; i < model->n_phases; i++)
        if (strcmp(model->phases[i].name, "project") == 0)
            return model->phases[i].first + 1;
    return 0;
}

/* The writer alone. */
static void cut(xf_model *out, const xf_model *model, int64_t first) {
    assert_int_equal(xf_model_new(out, model->n_blocks - first, model->d, model->width, NULL),
                     XF_OK);
    xfi_weight_array to[XFI_N_WEIGHT_ARRAYS], from[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(model, from);
    xfi_model_arrays(out, to);
    for (int i = 0; i < n; i++) {
        int64_t size = from[i].shape[0] * from[i].shape[1];
        memcpy(to[i].values, from[i].values + first * size,
               (size_t)(out->n_blocks * size) * sizeof(double));
    }
}

/* At tau_max, where the tokens are farthest from their leaders: the numbers on either side of the
 * balls in front of the writer, in rational arithmetic. */
static void check_zones(const xf_model *model, const xf_dataset *data, const char *name) {
    int64_t first = front_blocks(model), size = data->n_tokens * data->d;
    double *ends = xfi_calloc2(2, size, sizeof(double)), *x = xfi_calloc2(2, size, sizeof(double));
    int64_t *offsets = xfi_calloc(data->n_sequences + 1, sizeof *offsets), n_exact = 0;
    assert_true(ends && x && offsets);
    xft_ball_options options = {.tau = model->tau_max, .digits = DIGITS, .blocks = first};
    assert_int_equal(xft_ball_enclose(ends, ends + size, model, data, &options, NULL), XF_OK);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t from = data->x_offsets[j] * data->d, to = data->x_offsets[j + 1] * data->d;
        size_t bytes = (size_t)(to - from) * sizeof(double);
        memcpy(x + 2 * from, ends + from, bytes);
        memcpy(x + from + to, ends + size + from, bytes);
        offsets[j + 1] = 2 * data->x_offsets[j + 1];
    }
    xf_dataset both = *data;
    both.x = x;
    both.x_offsets = offsets;
    both.n_tokens = 2 * data->n_tokens;
    xf_model writer;
    xf_error error = {0};
    cut(&writer, model, first);
    if (xft_rational_verify(&n_exact, &writer, &both, &error) != XF_OK)
        fail_msg("%s: %s", name, error.message);
    xf_model_clear(&writer);
    xfi_free(ends);
    xfi_free(x);
    xfi_free(offsets);
}

static void writers_do_not_notice(void **state) {
    (void)state;
    for_each(check_zones);
}

static int is_exact(const xf_model *model, const xf_dataset *data, double tau) {
    xf_verify_report report;
    xf_run_options options = {
        .override_attention = 1, .attention = XF_SOFTMAX, .tau = tau, .threads = 1};
    return xf_verify(&report, model, data, &options, NULL) == XF_OK;
}

/* Far above tau_max the attention is a plain mean. */
static void check_tightness(const xf_model *model, const xf_dataset *data, const char *name) {
    double factor = 2;
    while (factor < 0x1p20 && is_exact(model, data, factor * model->tau_max))
        factor *= 1.25;
    printf("%-32s tau_max %.4g, wrong at %.3g tau_max\n", name, model->tau_max, factor);
    assert_true(factor < 64);
}

static void wrong_above(void **state) {
    (void)state;
    for_each(check_tightness);
}

/* build --tau: the logits are scaled so that the temperature is allowed, and not more than needed.
 */
static void any_temperature_can_be_asked_for(void **state) {
    (void)state;
    static const double asked[] = {0, 1e-30, 1e-3, 1, 37.5, 1e6, 1e100};
    for (int i = 0; i < 7; i++) {
        xf_dataset data;
        xf_model model;
        xf_build_options options = {
            .construction = XF_PUBLISHED, .attention = XF_SOFTMAX, .tau = asked[i], .threads = 1};
        xft_adversary_make(&data, 4);
        assert_true(build(&model, &data, &options));
        double tau = asked[i] > 0 ? asked[i] : 1.0;
        assert_true(model.tau == tau && model.attention == XF_SOFTMAX);
        assert_true(tau <= model.tau_max && model.tau_max < 2 * tau);
        assert_true(is_exact(&model, &data, model.tau_max));
        xf_inspection found;
        assert_int_equal(xf_inspect(&found, &model, &data, NULL), XF_OK);
        assert_true(found.tau_max == model.tau_max && found.has_collapse);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

static void hardmax_and_softmax_weights_differ_in_the_scale_of_A_only(void **state) {
    (void)state;
    xf_dataset data;
    xf_model hard, soft;
    xf_build_options options = {.construction = XF_PUBLISHED, .threads = 1};
    xft_adversary_make(&data, 2);
    assert_true(build(&hard, &data, &options));
    options.attention = XF_SOFTMAX;
    assert_true(build(&soft, &data, &options));
    xfi_weight_array a[XFI_N_WEIGHT_ARRAYS], b[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(&hard, a);
    assert_int_equal(xfi_model_arrays(&soft, b), n);
    assert_int_equal(hard.n_blocks, soft.n_blocks);
    for (int i = 0; i < n; i++) {
        size_t bytes = (size_t)(a[i].n_blocks * a[i].shape[0] * a[i].shape[1]) * sizeof(double);
        int same = memcmp(a[i].values, b[i].values, bytes) == 0;
        assert_true(same || strcmp(a[i].name, "sa.A.alpha") == 0);
    }
    xf_model_clear(&hard);
    xf_model_clear(&soft);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_in_ball_arithmetic),
        cmocka_unit_test(writers_do_not_notice),
        cmocka_unit_test(wrong_above),
        cmocka_unit_test(any_temperature_can_be_asked_for),
        cmocka_unit_test(hardmax_and_softmax_weights_differ_in_the_scale_of_A_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
