/* The published construction on data that are hard for it, from every way of separating on.
 * Labels: exact slow */
#include "property/campaign.h"
#include "property/published_trial.h"
#include "support/adversarial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static int run_from(xfi_stage first_stage, int n_orders, int balanced) {
    int n = 0, n_failed = 0;
    const xft_adversary *list = xft_adversaries(&n);
    for (int i = 0; i < n; i++) {
        xf_dataset data;
        xft_published_verdict verdict;
        xft_published_trial trial = {.first_stage = first_stage,
                                     .may_refuse = first_stage != XFI_STAGE_NONE,
                                     .balanced = balanced,
                                     .n_orders = n_orders,
                                     .n_temperatures = 17,
                                     .rational = 1,
                                     .seed = xft_property_seed()};
        xft_adversary_make(&data, i);
        xft_published_trial_run(&verdict, &trial, &data);
        printf("%-32s N %3lld M %3lld: %3lld blocks, %lld separations, %s, tau %.3g%s%s\n",
               list[i].name, (long long)data.n_sequences, (long long)data.n_targets,
               (long long)verdict.n_blocks, (long long)verdict.report.n_separations,
               verdict.report.front, verdict.report.tau_max, verdict.text[0] ? ": " : "",
               verdict.text);
        n_failed += verdict.failed;
        xf_dataset_clear(&data);
    }
    return n_failed;
}

static void as_built(void **state) {
    (void)state;
    assert_int_equal(run_from(XFI_STAGE_NONE, 24, 0), 0);
}

static void balanced(void **state) {
    (void)state;
    assert_int_equal(run_from(XFI_STAGE_NONE, 6, 1), 0);
}

static void pooling_first(void **state) {
    (void)state;
    assert_int_equal(run_from(XFI_STAGE_POOL, 6, 0), 0);
}

static void kinks_first(void **state) {
    (void)state;
    assert_int_equal(run_from(XFI_STAGE_KINKS, 6, 0), 0);
}

static void tree_first(void **state) {
    (void)state;
    assert_int_equal(run_from(XFI_STAGE_TREE, 6, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_built),      cmocka_unit_test(balanced),
        cmocka_unit_test(pooling_first), cmocka_unit_test(kinks_first),
        cmocka_unit_test(tree_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
