/* The published construction: phases, corners, refusals, memory failures. Exactness itself is in
 * tests/property. */
#include <exactformer/exactformer.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "construct/published_front.h"
#include "support/adversarial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const xf_build_options published = {.construction = XF_PUBLISHED, .threads = 1};

static int find(const char *name) {
    int n = 0;
    const xft_adversary *list = xft_adversaries(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    fail_msg("no data set %s", name);
    return -1;
}

/* One random sequence, or several, of n tokens and m targets in the plane. */
static void random_data(xf_dataset *out, int64_t N, int64_t n, int64_t m, double width) {
    double *x = xfi_calloc(N * n * 2, sizeof *x), *y = xfi_calloc(N * m * 2, sizeof *y);
    int64_t *x_offsets = xfi_calloc(N + 1, sizeof *x_offsets);
    int64_t *y_offsets = xfi_calloc(N + 1, sizeof *y_offsets);
    xfi_rng rng;
    xfi_rng_seed(&rng, 3, 1);
    for (int64_t i = 0; i < N * n * 2; i++) /* the last two tokens are a cluster of that width */
        x[i] = xfi_rng_normal(&rng);
    for (int64_t k = 0; k < 2; k++)
        x[(N * n - 1) * 2 + k] = x[(N * n - 2) * 2 + k] + width * (1.0 + (double)k);
    for (int64_t i = 0; i < N * m * 2; i++)
        y[i] = xfi_rng_normal(&rng);
    for (int64_t j = 0; j <= N; j++) {
        x_offsets[j] = j * n;
        y_offsets[j] = j * m;
    }
    assert_int_equal(xf_dataset_from_arrays(out, N, 2, x, x_offsets, y, y_offsets, NULL, NULL),
                     XF_OK);
    xfi_free(x);
    xfi_free(y);
    xfi_free(x_offsets);
    xfi_free(y_offsets);
}

static void phases_follow_the_paper(void **state) {
    (void)state;
    static const char *const names[] = {"separation", "quantise", "leaders", "collapse",
                                        "project",    "code",     "write"};
    static const int64_t counts[] = {1, 1, 5, 1, 1, 4, 4};
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    xft_adversary_make(&data, find("triangle"));
    assert_int_equal(xf_build(&model, &data, &published, &report, NULL), XF_OK);
    assert_string_equal(model.construction, "published");
    assert_int_equal(model.n_phases, 7);
    for (int i = 0; i < 7; i++) {
        assert_string_equal(model.phases[i].name, names[i]);
        assert_int_equal(model.phases[i].count, counts[i]);
    }
    assert_int_equal(report.n_separations, 1);
    assert_true(report.collapse_margin > 0 && report.tau_max == model.tau_max);
    assert_string_equal(report.front, "leaders");
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

/* Sequences of one token have nothing to collapse: every temperature will do. */
static void single_tokens_are_exact_at_every_temperature(void **state) {
    (void)state;
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    xft_adversary_make(&data, find("40 sequences of one token"));
    assert_int_equal(xf_build(&model, &data, &published, &report, NULL), XF_OK);
    assert_true(model.tau_max == INFINITY && report.collapse_margin == INFINITY);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void corners_stay_within_the_bound(void **state) {
    (void)state;
    for (int64_t N = 1; N <= 3; N++)
        for (int64_t m = 1; m <= 9; m++)
            for (int64_t n = m; n <= m + 1; n++) {
                xf_dataset data;
                xf_model model;
                xf_build_report report;
                random_data(&data, N, n + (n < 2), m, 1.0);
                assert_int_equal(xf_build(&model, &data, &published, &report, NULL), XF_OK);
                int64_t M = data.n_targets;
                assert_true(model.n_blocks <= 2 * M + 2 * N + 1);
                assert_true(model.n_blocks <= 2 * M + N + 4);
                int replaced = strcmp(report.front, "leaders") != 0;
                assert_true(!replaced || (N == 1 && (m % 2 == 1 || m == 2)));
                if (replaced)
                    assert_true(model.tau_max == INFINITY);
                xf_model_clear(&model);
                xf_dataset_clear(&data);
            }
}

/* Tokens on a grid need no rounding block. */
static void grids_save_a_block(void **state) {
    (void)state;
    xf_dataset data;
    xf_model model;
    xf_build_report report;
    double x[] = {0, 0, 5, 1, 2, 7, 9, 3}, y[8];
    int64_t offsets[] = {0, 4};
    for (int i = 0; i < 8; i++)
        y[i] = sqrt(i + 2.0);
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 2, x, offsets, y, offsets, NULL, NULL),
                     XF_OK);
    assert_int_equal(xf_build(&model, &data, &published, &report, NULL), XF_OK);
    assert_string_equal(model.phases[0].name, "leaders");
    assert_int_equal(model.n_blocks, 2 * 4 + 2);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void refuse(const xf_dataset *data, const xf_build_options *options, xf_status expected,
                   const char *text) {
    xf_model model;
    xf_error error;
    assert_int_equal(xf_build(&model, data, options, NULL, &error), expected);
    if (strstr(error.message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, error.message);
    assert_true(error.sequence < data->n_sequences);
    assert_int_equal(model.n_blocks, 0);
}

static void clusters_are_refused(void **state) {
    (void)state;
    xf_dataset data;
    random_data(&data, 1, 6, 6, 1e-8);
    refuse(&data, &published, XF_ERR_INFEASIBLE, "of sequence 0 to be moved alone: isolation");
    xf_dataset_clear(&data);
    random_data(&data, 3, 6, 6, 1e-9);
    refuse(&data, &published, XF_ERR_INFEASIBLE, "of sequence 2 to be moved alone: isolation");
    xf_dataset_clear(&data);
    random_data(&data, 3, 6, 4, 1e-8); /* nobody needs the cluster */
    xf_model model;
    assert_int_equal(xf_build(&model, &data, &published, NULL, NULL), XF_OK);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void crowds_are_refused(void **state) {
    (void)state;
    xf_dataset data;
    random_data(&data, 1, 1600, 1600, 0.5);
    refuse(&data, &published, XF_ERR_INFEASIBLE, "use fewer targets a sequence");
    xf_dataset_clear(&data);
}

static void what_it_cannot_do_is_said(void **state) {
    (void)state;
    xf_dataset data;
    xf_build_options options = published;
    xft_adversary_make(&data, find("triangle"));
    for (int64_t i = 0; i < data.n_targets * data.d; i++)
        data.y[i] = (double)(float)data.y[i];
    options.dtype = XF_F32;
    refuse(&data, &options, XF_ERR_INFEASIBLE, "needs binary64");
    options = published;
    options.front = "plain";
    refuse(&data, &options, XF_ERR_ARGUMENT, "--front");
    options = published;
    options.writer = "diamond";
    refuse(&data, &options, XF_ERR_ARGUMENT, "diamond");
    options = published;
    options.attention = XF_SOFTMAX;
    options.tau = 1e305;
    refuse(&data, &options, XF_ERR_INFEASIBLE, "too large");
    xf_dataset_clear(&data);
    double x[] = {1, 2, 3}, y[] = {4, 5, 6};
    int64_t offsets[] = {0, 2, 3};
    assert_int_equal(xf_dataset_from_arrays(&data, 2, 1, x, offsets, y, offsets, NULL, NULL),
                     XF_OK);
    refuse(&data, &published, XF_ERR_INFEASIBLE, "needs d >= 2");
    xf_dataset_clear(&data);
}

static int cancel(void *context, const char *phase, double done) {
    (void)done;
    return strcmp(phase, context) == 0;
}

static void it_can_be_cancelled(void **state) {
    (void)state;
    xf_dataset data;
    xf_model model;
    static char phases[2][12] = {"separation", "leaders"};
    xft_adversary_make(&data, find("all pairs of 6"));
    for (int i = 0; i < 2; i++) {
        xf_build_options options = published;
        options.progress = cancel;
        options.progress_context = phases[i];
        assert_int_equal(xf_build(&model, &data, &options, NULL, NULL), XF_ERR_CANCELLED);
    }
    xf_dataset_clear(&data);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    static const char *const names[] = {"equal means 2", "one sequence of 8"};
    for (int i = 0; i < 2; i++) {
        xf_dataset data;
        xf_model model;
        xf_status status = XF_ERR_MEMORY;
        xft_adversary_make(&data, find(names[i]));
        for (int64_t allowed = 0; status == XF_ERR_MEMORY; allowed++) {
            xfi_alloc_limit(allowed);
            status = xf_build(&model, &data, &published, NULL, NULL);
            xfi_alloc_limit(-1);
            assert_true(status == XF_OK || status == XF_ERR_MEMORY);
            xf_model_clear(&model);
        }
        assert_int_equal(xf_build(&model, &data, &published, NULL, NULL), XF_OK);
        status = XF_ERR_MEMORY;
        for (int64_t allowed = 0; status == XF_ERR_MEMORY; allowed++) {
            xf_inspection found;
            xfi_alloc_limit(allowed);
            status = xf_inspect(&found, &model, &data, NULL);
            xfi_alloc_limit(-1);
        }
        assert_int_equal(status, XF_OK);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

/* The certificate reads the weights, not the plan: spoil them and it says so. */
static void spoiled_weights_are_noticed(void **state) {
    (void)state;
    xf_dataset data;
    xf_model model;
    xfi_published_facts facts;
    xft_adversary_make(&data, find("one sequence of 8"));
    assert_int_equal(xf_build(&model, &data, &published, NULL, NULL), XF_OK);
    assert_int_equal(xfi_published_measure(&facts, &model, &data, NULL), XF_OK);
    assert_true(facts.margin > 1 && facts.tau_max > 0);
    int64_t slab = 4, w = model.width;
    double kept = model.ff_b[slab * w];
    model.ff_b[slab * w] += 0x1p-3; /* one edge of a slab */
    assert_int_equal(xfi_published_measure(&facts, &model, &data, NULL), XF_OK);
    assert_true(facts.tau_max == 0);
    model.ff_b[slab * w] = kept;
    double *target = &model.sa_A.alpha[8]; /* the collapse */
    assert_true(*target == 1.0);
    *target = 3.0;
    assert_int_equal(xfi_published_measure(&facts, &model, &data, NULL), XF_ERR_ARGUMENT);
    *target = -1.0;
    assert_int_equal(xfi_published_measure(&facts, &model, &data, NULL), XF_ERR_ARGUMENT);
    *target = 1.0;
    assert_int_equal(xfi_published_measure(&facts, &model, &data, NULL), XF_OK);
    assert_true(facts.tau_max > 0);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_follow_the_paper),
        cmocka_unit_test(single_tokens_are_exact_at_every_temperature),
        cmocka_unit_test(corners_stay_within_the_bound),
        cmocka_unit_test(grids_save_a_block),
        cmocka_unit_test(clusters_are_refused),
        cmocka_unit_test(crowds_are_refused),
        cmocka_unit_test(what_it_cannot_do_is_said),
        cmocka_unit_test(it_can_be_cancelled),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(spoiled_weights_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
