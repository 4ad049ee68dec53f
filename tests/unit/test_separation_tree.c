/* construct/separate.h, construct/separation_tree.h, construct/separation_bound.h: everyone gets
 * tokens of their own, in at most N - 1 blocks, and the bound covers what engines do. */
#include "construct/separation_tree.h"

#include "base/alloc.h"
#include "construct/separation_bound.h"
#include "construct/sequences.h"
#include "support/adversarial.h"
#include "support/shuffled.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

typedef xf_status (*separator)(xfi_separation *out, const xfi_problem *problem, xf_error *error);

static xf_status pool(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    return xfi_separate_pool(out, problem, 0, error);
}

static xf_status kinks(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    return xfi_separate_pool(out, problem, 3, error);
}

/* Every evaluation order lands within the bound. */
static void check_bound(const xfi_separation *s, const xf_dataset *data) {
    int64_t size = data->n_tokens * data->d;
    double *centre = xfi_calloc2(3, size, sizeof(double)), *off = centre + size, *out = off + size;
    assert_non_null(centre);
    assert_int_equal(xfi_separation_bound(centre, off, &s->blocks, s->n_blocks, data, NULL), XF_OK);
    for (uint64_t seed = 0; seed < 12; seed++) {
        xft_shuffle shuffle = {.seed = seed, .fma = (int)(seed % 3), .values_first = seed & 1};
        assert_int_equal(xft_run_shuffled(out, &s->blocks, data, &shuffle, NULL), XF_OK);
        for (int64_t i = 0; i < size; i++)
            if (!(fabs(out[i] - centre[i]) <= off[i]))
                fail_msg("seed %d, value %d: %.17g is not within %g of %.17g", (int)seed, (int)i,
                         out[i], off[i], centre[i]);
    }
    for (int64_t i = 0; i < size; i++)
        assert_true(off[i] < 0x1p-26); /* a quarter of the grid that comes next */
    xfi_free(centre);
}

static int check_one(int i, separator separate, const char *name) {
    xf_dataset data;
    xfi_problem problem;
    xfi_separation s;
    xf_build_options options = {.threads = 1};
    xft_adversary_make(&data, i);
    assert_int_equal(xfi_problem_init(&problem, &data, &options, NULL), XF_OK);
    assert_int_equal(separate(&s, &problem, NULL), XF_OK);
    int separated = s.n_blocks > 0 && s.score >= 0x1p-22;
    if (s.n_blocks > 0) {
        printf("%-32s %lld blocks, score 2^%.1f\n", name, (long long)s.n_blocks, log2(s.score));
        assert_true(s.n_blocks <= data.n_sequences - 1);
        check_bound(&s, &data);
    }
    xfi_separation_clear(&s);
    xfi_problem_clear(&problem);
    xf_dataset_clear(&data);
    return separated;
}

/* All sets of the list that share tokens which matter; returns how many are not separated. */
static int check_all(separator separate) {
    int n = 0, n_left = 0;
    const xft_adversary *list = xft_adversaries(&n);
    for (int i = 0; i < n; i++) {
        xf_dataset data;
        xft_adversary_make(&data, i);
        int shares = !xfi_has_private_tokens(&data);
        xf_dataset_clear(&data);
        if (shares)
            n_left += !check_one(i, separate, list[i].name);
    }
    return n_left;
}

static void one_pooling_block(void **state) {
    (void)state;
    assert_int_equal(check_all(pool), 3); /* equal means, mirrored sets */
}

static void one_block_with_kinks(void **state) {
    (void)state;
    assert_int_equal(check_all(kinks), 0);
}

static void the_tree(void **state) {
    (void)state;
    assert_int_equal(check_all(xfi_separation_tree), 0);
}

static void private_tokens_are_found(void **state) {
    (void)state;
    double x[] = {0, 0, 1, 1, 0, 0, 2, 2}, y[] = {0, 0, 1, 1};
    int64_t x_offsets[] = {0, 2, 4}, y_offsets[] = {0, 1, 2};
    xf_dataset data = {2, 2, 4, 2, -1, x, x_offsets, y, y_offsets, NULL};
    assert_int_equal(xfi_has_private_tokens(&data), 1);
    double both[] = {0, 0, 1, 1, 2, 2};
    int64_t offsets[] = {0, 1, 3}; /* the second sequence wants two targets and has one token */
    data = (xf_dataset){2, 2, 4, 3, -1, x, x_offsets, both, offsets, NULL};
    assert_int_equal(xfi_has_private_tokens(&data), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_tokens_are_found),
        cmocka_unit_test(one_pooling_block),
        cmocka_unit_test(one_block_with_kinks),
        cmocka_unit_test(the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
