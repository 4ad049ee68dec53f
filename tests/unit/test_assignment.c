/* Targets for tokens by themselves: what is found, what is refused and how, memory failures. */
#include <exactformer/exactformer.h>

#include "base/alloc.h"
#include "construct/assignment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Tokens and targets are single numbers here. */
static xf_dataset data_of(int64_t N, const double *x, const int64_t *x_offsets, const double *y,
                          const int64_t *y_offsets) {
    xf_dataset data;
    assert_int_equal(xf_dataset_from_arrays(&data, N, 1, x, x_offsets, y, y_offsets, NULL, NULL),
                     XF_OK);
    return data;
}

static void refused(const xf_dataset *data, const char *expected) {
    xfi_assignment found;
    xf_error error = {0};
    assert_int_equal(xfi_assignment_find(&found, data, &error), XF_ERR_INFEASIBLE);
    if (strstr(error.message, expected) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, expected);
    xfi_assignment_clear(&found);
}

/* Every token goes to a target of each of its sequences, and every target is reached. */
static void check(const xfi_assignment *found, const xf_dataset *data) {
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->y_offsets[j], m = data->y_offsets[j + 1] - first;
        int reached[8] = {0};
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            double y = data->y[found->target[found->tokens.value[i]]];
            int64_t k = 0;
            while (k < m && data->y[first + k] != y)
                k++;
            assert_true(k < m);
            reached[k] = 1;
        }
        for (int64_t k = 0; k < m; k++)
            assert_true(reached[k]);
    }
}

static void possible(const xf_dataset *data) {
    xfi_assignment found;
    xf_error error = {0};
    if (xfi_assignment_find(&found, data, &error) != XF_OK)
        fail_msg("%s", error.message);
    check(&found, data);
    xfi_assignment_clear(&found);
}

static void own_tokens_reach_all_targets(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 5}, y[] = {10, 20, 30};
    const int64_t xo[] = {0, 3, 5}, yo[] = {0, 2, 3};
    xf_dataset data = data_of(2, x, xo, y, yo);
    possible(&data);
    xf_dataset_clear(&data);
}

static void a_shared_token_takes_the_common_target(void **state) {
    (void)state;
    const double x[] = {1, 2, 1, 3}, y[] = {10, 20, 20, 30};
    const int64_t xo[] = {0, 2, 4}, yo[] = {0, 2, 4};
    xf_dataset data = data_of(2, x, xo, y, yo);
    xfi_assignment found;
    assert_int_equal(xfi_assignment_find(&found, &data, NULL), XF_OK);
    check(&found, &data);
    assert_int_equal(found.tokens.n, 3);
    assert_true(data.y[found.target[0]] == 20.0);
    xfi_assignment_clear(&found);
    xf_dataset_clear(&data);
}

static void disjoint_targets_are_refused_with_both_places(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 2}, y[] = {10, 20};
    const int64_t xo[] = {0, 2, 4}, yo[] = {0, 1, 2};
    xf_dataset data = data_of(2, x, xo, y, yo);
    refused(&data, "token 1 of sequence 0 is token 1 of sequence 1");
    xf_dataset_clear(&data);
}

/* Any two of the three sequences have a target in common, but not all three. */
static void three_sequences_without_a_common_target(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 1, 4, 5, 1, 6, 7}, y[] = {10, 20, 20, 30, 30, 10};
    const int64_t xo[] = {0, 3, 6, 9}, yo[] = {0, 2, 4, 6};
    xf_dataset data = data_of(3, x, xo, y, yo);
    refused(&data, "occurs in 3 sequences that have no target in common");
    xf_dataset_clear(&data);
}

/* Both shared tokens can only become 20, and nobody is left for 10. */
static void too_few_tokens_are_refused(void **state) {
    (void)state;
    const double x[] = {1, 2, 1, 2, 3}, y[] = {10, 20, 20};
    const int64_t xo[] = {0, 2, 5}, yo[] = {0, 2, 3};
    xf_dataset data = data_of(2, x, xo, y, yo);
    refused(&data, "sequence 0 has 2 targets, 0 tokens of its own");
    xf_dataset_clear(&data);
}

/* Three tokens, every pair a sequence with the two targets: a triangle has no 2-colouring. */
static void only_a_search_shows_it(void **state) {
    (void)state;
    const double x[] = {1, 2, 2, 3, 3, 1}, y[] = {10, 20, 10, 20, 10, 20};
    const int64_t offsets[] = {0, 2, 4, 6};
    xf_dataset data = data_of(3, x, offsets, y, offsets);
    refused(&data, "exhaustive search");
    xf_dataset_clear(&data);
}

/* A path has one, but the first choice has to be kept to. */
static void a_path_is_coloured(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 2, 3, 4, 5}, y[] = {10, 20, 10, 20, 20, 10, 10, 20};
    const int64_t offsets[] = {0, 2, 4, 6, 8};
    xf_dataset data = data_of(4, x, offsets, y, offsets);
    possible(&data);
    xf_dataset_clear(&data);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    const double x[] = {1, 2, 2, 3, 4, 5, 3, 6}, y[] = {10, 20, 10, 20, 10, 20, 10, 20};
    const int64_t offsets[] = {0, 2, 4, 6, 8};
    xf_dataset data = data_of(4, x, offsets, y, offsets);
    xf_build_options options = {.construction = XF_RESNET, .threads = 1};
    xf_status status = XF_ERR_MEMORY;
    int64_t allowed = 0;
    for (; status == XF_ERR_MEMORY; allowed++) {
        xf_model model;
        xf_error error = {0};
        xfi_alloc_limit(allowed);
        status = xf_build(&model, &data, &options, NULL, &error);
        xfi_alloc_limit(-1);
        xf_model_clear(&model);
    }
    assert_int_equal(status, XF_OK);
    assert_true(allowed > 10);
    xf_dataset_clear(&data);
}

static void attention_is_not_to_be_had(void **state) {
    (void)state;
    const double x[] = {1, 2}, y[] = {10};
    const int64_t xo[] = {0, 2}, yo[] = {0, 1};
    xf_dataset data = data_of(1, x, xo, y, yo);
    xf_model model;
    xf_error error = {0};
    xf_build_options options = {.construction = XF_RESNET, .writer = "argmax"};
    assert_int_equal(xf_build(&model, &data, &options, NULL, &error), XF_ERR_ARGUMENT);
    options = (xf_build_options){.construction = XF_RESNET, .front = "tree"};
    assert_int_equal(xf_build(&model, &data, &options, NULL, &error), XF_ERR_ARGUMENT);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_tokens_reach_all_targets),
        cmocka_unit_test(a_shared_token_takes_the_common_target),
        cmocka_unit_test(disjoint_targets_are_refused_with_both_places),
        cmocka_unit_test(three_sequences_without_a_common_target),
        cmocka_unit_test(too_few_tokens_are_refused),
        cmocka_unit_test(only_a_search_shows_it),
        cmocka_unit_test(a_path_is_coloured),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(attention_is_not_to_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
