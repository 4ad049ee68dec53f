/* Can the certifier be fooled, and can the tests fail? Models of every construction are spoiled in
 * one place each; nothing that fails in some order of summation, or in real arithmetic, may be
 * certified. Prints a table of the kinds of mutants.
 *
 * Environment:
 *   XF_MUTATION_MULTIPLIER  so many times the usual number of mutants (default 1)
 *   XF_MUTATION_SEED        another seed
 *   XF_MUTATION_VERBOSE     one line for each mutant
 * Labels: slow */
#include "mutation/judges.h"
#include "mutation/mutants.h"
#include "mutation/subjects.h"
#include "property/campaign.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { DRAWS = 4, MUTANTS_PER_DRAW = 2, ORDERS = 24 };

typedef struct tally {
    int64_t n;
    int64_t killed_by_verify;
    int64_t killed_by_orders;
    int64_t killed_by_search; /* of those that verify lets pass; likewise the random orders */
    int64_t killed_by_rationals;
    int64_t refused;          /* by the certifier: not yes twice */
    int64_t inexact;          /* in some order, or in real arithmetic */
    int64_t inexact_verified; /* of these, what verify lets pass */
    int64_t always_exact;     /* proved by the search and in rationals */
    int64_t missed;           /* of these, not certified */
    int64_t flushed;          /* certified, and other outputs if subnormal numbers are flushed */
    int64_t unsound;
} tally;

static double setting(const char *name, double standard) {
    const char *text = getenv(name);
    return text != NULL ? strtod(text, NULL) : standard;
}

static void count(tally *t, const xft_opinions *o) {
    int certified = o->real == XF_YES && o->ieee == XF_YES;
    int inexact = xft_is_inexact(o) || o->rational == 0;
    int always = o->search == XFT_ALWAYS_EXACT && o->rational == 1;
    t->n++;
    t->killed_by_verify += !o->verify;
    t->killed_by_orders += o->verify && !o->orders;
    t->killed_by_search += o->verify && o->search == XFT_COUNTEREXAMPLE;
    t->killed_by_rationals += o->rational == 0;
    t->refused += !certified;
    t->inexact += inexact;
    t->inexact_verified += inexact && o->verify;
    t->always_exact += always;
    t->missed += always && !certified;
    t->flushed += o->ieee == XF_YES && o->flushed == 0;
}

static void print_head(void) {
    printf(
        "mutants: how many; share killed by verify and by rational arithmetic (R), by certify\n"
        "passed:  not exact, but verify passes; found by random orders, by all orders at once\n"
        "exact:   every order was looked at and is exact, and so is (R); of these not certified\n"
        "flushed: certified, but other outputs where subnormal numbers are flushed\n\n"
        "%-23s %7s %7s %7s %7s | %7s %7s %7s | %7s %7s | %7s | %7s\n",
        "mutation", "mutants", "verify", "(R)", "certify", "passed", "random", "all", "exact",
        "missed", "flushed", "unsound");
}

static double percent(int64_t part, const tally *t) {
    return t->n > 0 ? 100.0 * (double)part / (double)t->n : 0.0;
}

static void print(const char *name, const tally *t) {
    printf(
        "%-23s %7lld %6.1f%% %6.1f%% %6.1f%% | %7lld %7lld %7lld | %7lld %7lld | %7lld | %7lld\n",
        name, (long long)t->n, percent(t->killed_by_verify, t), percent(t->killed_by_rationals, t),
        percent(t->refused, t), (long long)t->inexact_verified, (long long)t->killed_by_orders,
        (long long)t->killed_by_search, (long long)t->always_exact, (long long)t->missed,
        (long long)t->flushed, (long long)t->unsound);
}

static void add(tally *sum, const tally *t) {
    int64_t *to = (int64_t *)sum;
    const int64_t *from = (const int64_t *)t;
    for (size_t i = 0; i < sizeof *t / sizeof *from; i++)
        to[i] += from[i];
}

/* Ask everybody about one mutant, or about the model itself. */
static void examine(tally *t, const char *subject, const char *mutation, const xf_model *model,
                    const xf_dataset *data, uint64_t seed) {
    xft_opinions o;
    char why[XFT_WHY_SIZE] = "";
    xft_ask(&o, model, data, ORDERS, seed);
    count(t, &o);
    int unsound = xft_is_unsound(why, &o);
    t->unsound += unsound;
    if (unsound || getenv("XF_MUTATION_VERBOSE") != NULL)
        printf("%s%s, %s (seed %llu): verify %d, orders %d, search %d, rational %d, flushed %d; "
               "real %d, ieee %d, subnormal-free %d %s\n",
               unsound ? "UNSOUND: " : "", subject, mutation, (unsigned long long)seed, o.verify,
               o.orders, (int)o.search, o.rational, o.flushed, (int)o.real, (int)o.ieee,
               o.is_subnormal_free, why);
}

static void spoil(tally *t, int subject, const xf_model *model, const xf_dataset *data,
                  xft_mutation how, xfi_rng *rng) {
    xf_model mutant;
    xf_dataset spoiled;
    xft_copy_model(&mutant, model);
    xft_copy_data(&spoiled, data);
    if (xft_mutate(&mutant, &spoiled, how, rng))
        examine(t, xft_subject_name(subject), xft_mutation_name(how), &mutant, &spoiled,
                xfi_rng_bits(rng));
    xf_model_clear(&mutant);
    xf_dataset_clear(&spoiled);
}

/* At least this share is found out by verify. */
static void assert_killed(const tally *t, double share) {
    assert_true(t->n > 0);
    assert_true((double)t->killed_by_verify >= share * (double)t->n);
}

static void spoiled_models_are_not_certified(void **state) {
    (void)state;
    tally tallies[XFT_N_MUTATIONS] = {0}, untouched = {0}, all = {0};
    double usual = xft_is_sanitized() ? 0.3 : 1.0;
    int64_t draws = (int64_t)ceil(DRAWS * setting("XF_MUTATION_MULTIPLIER", usual));
    uint64_t seed = (uint64_t)setting("XF_MUTATION_SEED", 1.0);
    for (int64_t i = 0; i < draws * xft_n_subjects(); i++) {
        int subject = (int)(i % xft_n_subjects());
        xf_model model;
        xf_dataset data;
        xfi_rng rng;
        xfi_rng_seed(&rng, seed, (uint64_t)i);
        if (!xft_subject_build(&model, &data, subject, seed + (uint64_t)i))
            continue;
        examine(&untouched, xft_subject_name(subject), "untouched", &model, &data,
                xfi_rng_bits(&rng));
        for (int how = 0; how < XFT_N_MUTATIONS; how++)
            for (int k = 0; k < MUTANTS_PER_DRAW; k++)
                spoil(&tallies[how], subject, &model, &data, (xft_mutation)how, &rng);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
    print_head();
    for (int how = 0; how < XFT_N_MUTATIONS; how++) {
        print(xft_mutation_name((xft_mutation)how), &tallies[how]);
        add(&all, &tallies[how]);
    }
    print("all", &all);
    print("none (control)", &untouched);
    assert_int_equal(all.unsound + untouched.unsound, 0);
    assert_int_equal(untouched.inexact, 0);
    assert_true(20 * untouched.refused <= untouched.n);
    assert_int_equal(tallies[XFT_NEGATIVE_ZERO].inexact, 0);
    assert_true(20 * tallies[XFT_NEGATIVE_ZERO].refused <= tallies[XFT_NEGATIVE_ZERO].n);
    /* The judges are awake. */
    assert_killed(&tallies[XFT_DATA_TARGET], 0.99);
    assert_killed(&tallies[XFT_DROP_BLOCK], 0.9);
    assert_killed(&tallies[XFT_OUTPUT_ZERO], 0.85);
    assert_killed(&tallies[XFT_BIAS_DOUBLED], 0.8);
    assert_true(all.inexact_verified > 0 && all.killed_by_orders > 0 && all.killed_by_search > 0);
    assert_true(3 * all.always_exact > all.n / 2 && 2 * all.missed < all.always_exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(spoiled_models_are_not_certified)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
