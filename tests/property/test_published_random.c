/* The published construction on random data of many styles.
 * Labels: exact slow */
#include "property/campaign.h"
#include "property/published_trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { CASES = 400 };

static const xft_family families[] = {
    {.name = "easy",
     .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE,
     .targets = XFT_Y_FULL | XFT_Y_SINGLE | XFT_Y_INTEGER,
     .d_min = 2,
     .d_max = 8,
     .n_max = 8,
     .N_max = 12},
    {.name = "shared",
     .inputs = XFT_X_VOCABULARY,
     .targets = XFT_Y_FULL | XFT_Y_HALF | XFT_Y_INPUTS | XFT_Y_POOL,
     .d_min = 2,
     .d_max = 6,
     .n_max = 6,
     .N_max = 15,
     .most_refused = 0.05},
    {.name = "lattice",
     .inputs = XFT_X_LATTICE | XFT_X_ONE_HOT,
     .targets = XFT_Y_INTEGER | XFT_Y_FULL,
     .d_min = 2,
     .d_max = 6,
     .n_max = 6,
     .N_max = 12,
     .most_refused = 0.1},
    {.name = "scaled",
     .inputs = XFT_X_OFFSET | XFT_X_TINY | XFT_X_HUGE | XFT_X_CONSTANT | XFT_X_SUBNORMAL |
               XFT_X_LARGEST | XFT_X_ANISOTROPIC,
     .targets = XFT_Y_FULL | XFT_Y_DYADIC,
     .d_min = 2,
     .d_max = 6,
     .n_max = 6,
     .N_max = 12,
     .most_refused = 0.05},
    {.name = "nasty inputs",
     .inputs = XFT_X_MIXED | XFT_X_CLOSE,
     .targets = XFT_Y_FULL | XFT_Y_INTEGER,
     .d_min = 2,
     .d_max = 6,
     .n_max = 6,
     .N_max = 10,
     .most_refused = 0.4},
    {.name = "nasty targets",
     .inputs = XFT_X_GAUSSIAN | XFT_X_VOCABULARY,
     .targets = XFT_Y_ZEROS | XFT_Y_MIXED | XFT_Y_RANGE | XFT_Y_BEYOND | XFT_Y_POWERS | XFT_Y_ODD |
                XFT_Y_NEGATIVE | XFT_Y_ZERO_COLUMN | XFT_Y_SMALL | XFT_Y_LARGE | XFT_Y_ALL_ZERO,
     .d_min = 2,
     .d_max = 5,
     .n_max = 6,
     .N_max = 10,
     .most_refused = 0.3},
    {.name = "one sequence",
     .inputs = XFT_X_GAUSSIAN | XFT_X_LATTICE,
     .targets = XFT_Y_FULL | XFT_Y_INTEGER,
     .d_min = 2,
     .d_max = 5,
     .n_max = 12,
     .N_min = 1,
     .N_max = 2,
     .most_refused = 0.05},
    {.name = "many dimensions",
     .inputs = XFT_X_GAUSSIAN | XFT_X_VOCABULARY,
     .targets = XFT_Y_FULL,
     .d_min = 20,
     .d_max = 64,
     .n_max = 4,
     .N_max = 6},
};

enum { FAMILIES = sizeof families / sizeof families[0] };

typedef struct tally {
    int n;
    int n_refused;
    int n_pooled;
    int n_failed;
    int64_t n_separations;
    char refusal[200];
} tally;

static void run_case(tally *t, const xft_family *family, uint64_t number) {
    xfi_rng rng;
    xf_dataset data;
    xft_published_verdict verdict;
    xft_published_trial trial = {
        .may_refuse = 1, .n_orders = 6, .n_temperatures = 3, .rational = 1, .seed = number};
    xfi_rng_seed(&rng, xft_property_seed(), number);
    xft_random_data(&data, family, XF_F64, 2e6, &rng);
    xft_published_trial_run(&verdict, &trial, &data);
    t->n++;
    t->n_refused += verdict.refused;
    t->n_pooled += !verdict.refused && verdict.report.front[0] != 'l' && data.n_targets > 1;
    t->n_failed += verdict.failed;
    t->n_separations += verdict.report.n_separations;
    if (verdict.refused)
        snprintf(t->refusal, sizeof t->refusal, "%.199s", verdict.text);
    if (verdict.failed)
        printf("%s, case %llu: %s\n", family->name, (unsigned long long)number, verdict.text);
    xf_dataset_clear(&data);
}

static void random_data(void **state) {
    (void)state;
    tally tallies[FAMILIES] = {0};
    int n_bad = 0, n_cases = (int)(CASES * xft_multiplier());
    for (int i = 0; i < n_cases; i++)
        run_case(&tallies[i % FAMILIES], &families[i % FAMILIES], (uint64_t)i);
    for (int f = 0; f < FAMILIES; f++) {
        const tally *t = &tallies[f];
        printf("%-16s %4d cases, %3d refused, %3d with a pooled front end, %3lld separations %s\n",
               families[f].name, t->n, t->n_refused, t->n_pooled, (long long)t->n_separations,
               t->refusal);
        n_bad += t->n_failed + (t->n_refused > ceil(families[f].most_refused * t->n));
    }
    assert_int_equal(n_bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
