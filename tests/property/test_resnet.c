/* The ResNet baseline on random data: exact in both senses without any attention, and refusals
 * that are true, as trying every assignment shows.
 * Labels: exact slow */
#include "property/campaign.h"
#include "property/trial.h"
#include "support/rational.h"

#include "construct/distinct_rows.h"
#include "construct/sequences.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 500, SHARED_CASES = 900, MOST_CHOICES = 20000 };

static const xft_family families[] = {
    {.name = "easy",
     .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
     .targets = XFT_Y_FULL | XFT_Y_SINGLE | XFT_Y_INTEGER,
     .d_min = 2,
     .d_max = 6,
     .n_max = 6,
     .N_max = 10},
    {.name = "nasty targets",
     .inputs = XFT_X_GAUSSIAN,
     .targets = XFT_Y_ZEROS | XFT_Y_MIXED | XFT_Y_RANGE | XFT_Y_BEYOND | XFT_Y_POWERS | XFT_Y_ODD,
     .d_min = 2,
     .d_max = 5,
     .n_max = 6,
     .N_max = 8,
     .most_refused = 0.1},
    {.name = "scaled",
     .inputs = XFT_X_OFFSET | XFT_X_TINY | XFT_X_HUGE | XFT_X_CONSTANT | XFT_X_ANISOTROPIC,
     .targets = XFT_Y_FULL | XFT_Y_DYADIC,
     .d_min = 2,
     .d_max = 5,
     .n_max = 6,
     .N_max = 8,
     .most_refused = 0.1},
    {.name = "line",
     .inputs = XFT_X_GAUSSIAN | XFT_X_LATTICE,
     .targets = XFT_Y_INTEGER,
     .d_min = 1,
     .d_max = 1,
     .n_max = 5,
     .N_max = 5,
     .most_refused = 1},
};

/* Shared tokens and shared targets: some can be done, some cannot, or the test says nothing. */
static const xft_family shared = {.name = "shared",
                                  .inputs = XFT_X_BINARY | XFT_X_LATTICE | XFT_X_VOCABULARY,
                                  .targets = XFT_Y_POOL | XFT_Y_INPUTS,
                                  .d_min = 2,
                                  .d_max = 3,
                                  .n_max = 4,
                                  .N_min = 2,
                                  .N_max = 4};

/* --- an oracle --------------------------------------------------------------------------- */

typedef struct oracle {
    const xf_dataset *data;
    xfi_distinct_rows tokens;
    xfi_distinct_rows targets;
    int64_t *choice; /* [tokens.n] */
    int64_t steps;
} oracle;

static int allows(const oracle *o, int64_t v, int64_t target) {
    for (int64_t i = o->tokens.offsets[v]; i < o->tokens.offsets[v + 1]; i++) {
        int64_t j = xfi_sequence_of(o->data, o->tokens.occurring[i]);
        int found = 0;
        for (int64_t r = o->data->y_offsets[j]; r < o->data->y_offsets[j + 1]; r++)
            found |= o->targets.value[r] == target;
        if (!found)
            return 0;
    }
    return 1;
}

static int covers(const oracle *o) {
    for (int64_t j = 0; j < o->data->n_sequences; j++)
        for (int64_t r = o->data->y_offsets[j]; r < o->data->y_offsets[j + 1]; r++) {
            int found = 0;
            for (int64_t i = o->data->x_offsets[j]; i < o->data->x_offsets[j + 1]; i++)
                found |= o->choice[o->tokens.value[i]] == o->targets.value[r];
            if (!found)
                return 0;
        }
    return 1;
}

/* 1: some assignment exists, 0: none, -1: too many to try. */
static int try_all(oracle *o, int64_t v) {
    if (++o->steps > MOST_CHOICES)
        return -1;
    if (v == o->tokens.n)
        return covers(o);
    for (int64_t t = 0; t < o->targets.n; t++) {
        o->choice[v] = t;
        int answer = allows(o, v, t) ? try_all(o, v + 1) : 0;
        if (answer != 0)
            return answer;
    }
    return 0;
}

static int assignment_exists(const xf_dataset *data) {
    oracle o = {.data = data};
    assert_int_equal(xfi_distinct_rows_find(&o.tokens, data->x, data->n_tokens, data->d, NULL),
                     XF_OK);
    assert_int_equal(xfi_distinct_rows_find(&o.targets, data->y, data->n_targets, data->d, NULL),
                     XF_OK);
    o.choice = calloc((size_t)o.tokens.n, sizeof *o.choice);
    assert_non_null(o.choice);
    int answer = try_all(&o, 0);
    free(o.choice);
    xfi_distinct_rows_clear(&o.tokens);
    xfi_distinct_rows_clear(&o.targets);
    return answer;
}

/* --- trials ------------------------------------------------------------------------------ */

static void no_attention(const xf_model *m) {
    assert_string_equal(m->construction, "resnet");
    assert_true(m->tau_max == INFINITY && m->sa_V.full == NULL);
    for (int64_t b = 0; b < m->n_blocks; b++) {
        assert_true(m->sa_rho[b] == 1.0 && m->sa_V.alpha[b] == 0.0 && m->sa_A.alpha[b] == 0.0);
        for (int64_t k = 0; k < m->d; k++)
            assert_true(m->sa_V.left[b * m->d + k] == 0.0 && m->sa_A.left[b * m->d + k] == 0.0);
    }
}

static void exact_both_ways(const xf_model *model, const xf_dataset *data, uint64_t seed) {
    char text[XFT_TEXT_SIZE] = "";
    int64_t n_exact = 0;
    xf_error error = {0};
    if (xft_rational_verify(&n_exact, model, data, &error) != XF_OK)
        fail_msg("not exact in rationals: %s", error.message);
    if (!xft_orders_agree(text, model, data, NULL, 6, seed))
        fail_msg("not exact in some order: %s", text);
}

static void margin_is_found_again(const xf_model *model, const xf_dataset *data,
                                  const xf_build_report *report) {
    xf_inspection found;
    assert_int_equal(xf_inspect(&found, model, data, NULL), XF_OK);
    assert_true(found.has_margin && found.margin == report->margin && found.margin > 1.0);
    for (int i = 0; i < 2; i++)
        assert_in_range(found.margin_sequence[i], 0, data->n_sequences - 1);
}

static int claims_impossible(const char *message) {
    return strstr(message, "no target in common") != NULL ||
           strstr(message, "cannot reach the rest") != NULL ||
           strstr(message, "exhaustive search shows") != NULL;
}

typedef enum outcome { BUILT, IMPOSSIBLE, REFUSED } outcome;

static outcome trial(const xf_dataset *data, const xf_build_options *options, uint64_t seed) {
    xf_model model;
    xf_build_report report;
    xf_error error = {0};
    xf_status status = xf_build(&model, data, options, &report, &error);
    int exists = assignment_exists(data);
    if (status == XF_OK) {
        assert_int_not_equal(exists, 0);
        no_attention(&model);
        exact_both_ways(&model, data, seed);
        margin_is_found_again(&model, data, &report);
        xf_model_clear(&model);
        return BUILT;
    }
    assert_int_equal(status, XF_ERR_INFEASIBLE);
    assert_true(error.sequence >= -1 && error.sequence < data->n_sequences);
    assert_null(strstr(error.message, "self-check"));
    if (claims_impossible(error.message)) {
        assert_int_not_equal(exists, 1);
        return IMPOSSIBLE;
    }
    if (exists == 0)
        fail_msg("impossible, but refused with: %s", error.message);
    return REFUSED;
}

static xf_build_options options_of(int64_t i, xf_dtype dtype) {
    return (xf_build_options){.construction = XF_RESNET,
                              .dtype = dtype,
                              .balanced = i % 3 == 1,
                              .optimise = i % 3 == 2 ? XF_OPTIMISE_NORM : XF_OPTIMISE_DEPTH,
                              .threads = 1};
}

static void run_family(const xft_family *family, xf_dtype dtype, int64_t cases, double most) {
    int64_t count[3] = {0};
    for (int64_t i = 0; i < cases; i++) {
        xfi_rng rng;
        xf_dataset data;
        xfi_rng_seed(&rng, xft_property_seed(), 0x7e5 + (uint64_t)i * 16 + (uint64_t)dtype);
        xft_random_data(&data, family, dtype, 4000, &rng);
        xf_build_options options = options_of(i, dtype);
        count[trial(&data, &options, (uint64_t)i)]++;
        xf_dataset_clear(&data);
    }
    print_message("%s: %lld built, %lld impossible, %lld refused\n", family->name,
                  (long long)count[BUILT], (long long)count[IMPOSSIBLE], (long long)count[REFUSED]);
    assert_true((double)count[REFUSED] <= most * (double)cases);
    assert_true(family != &shared || cases < 100 || (count[BUILT] > 0 && count[IMPOSSIBLE] > 0));
}

static int64_t scaled(int64_t cases) {
    int64_t n = (int64_t)((double)cases * xft_multiplier() / (xft_is_sanitized() ? 10 : 1));
    return n > 1 ? n : 1;
}

static void random_tokens_in_binary64(void **state) {
    (void)state;
    int n = (int)(sizeof families / sizeof families[0]);
    for (int f = 0; f < n; f++)
        run_family(&families[f], XF_F64, scaled(CASES / n), families[f].most_refused);
}

static void random_tokens_in_binary32(void **state) {
    (void)state;
    run_family(&families[0], XF_F32, scaled(CASES / 4), 1.0);
}

static void shared_tokens(void **state) {
    (void)state;
    run_family(&shared, XF_F64, scaled(SHARED_CASES), 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tokens_in_binary64),
        cmocka_unit_test(random_tokens_in_binary32),
        cmocka_unit_test(shared_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
