/* construct/scalars.h: the best first, coordinates where they do, and origins between sequences. */
#include "construct/scalars.h"

#include <exactformer/generate.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct scene {
    xf_dataset data;
    xf_build_options options;
    xfi_problem problem;
    xfi_scalar_search search;
} scene;

static void make_scene(scene *s, const char *kind, int64_t N, int threads) {
    xf_generate_options options = {.kind = kind,
                                   .n_sequences = N,
                                   .d = 5,
                                   .n_min = 4,
                                   .n_max = 7,
                                   .input_grid = XF_GRID_F32,
                                   .grid = XF_GRID_F32,
                                   .seed = 5};
    *s = (scene){.options = {.dtype = XF_F32, .threads = threads}};
    assert_int_equal(xf_generate(&s->data, &options, NULL), XF_OK);
    assert_int_equal(xfi_problem_init(&s->problem, &s->data, &s->options, NULL), XF_OK);
    assert_int_equal(xfi_scalar_search_init(&s->search, &s->problem, NULL), XF_OK);
}

static void clear_scene(scene *s) {
    xfi_scalar_search_clear(&s->search);
    xfi_problem_clear(&s->problem);
    xf_dataset_clear(&s->data);
}

static double value_at(const scene *s, const xfi_scalar *scalar, int64_t token) {
    double v = -scalar->nu;
    for (int64_t k = 0; k < s->data.d; k++)
        v += scalar->v[k] * s->data.x[token * s->data.d + k];
    return scalar->half ? fmax(v, 0.0) - scalar->centre : v;
}

/* Prefers small values of the first token. */
static int judge(double *score, void *self, const double *s, double e) {
    *(double *)self = fmax(*(double *)self, e);
    *score = 1 / (1 + fabs(s[0]));
    return 1;
}

static void check_list(const xfi_scalar_list *list, int half) {
    assert_in_range(list->n, 1, XFI_SCALARS);
    for (int i = 0; i < list->n; i++) {
        assert_true(i == 0 || list->score[i] <= list->score[i - 1]);
        assert_int_equal(list->at[i].half, half);
    }
}

static void best_come_first(void **state) {
    (void)state;
    scene s;
    double largest_error = 0;
    make_scene(&s, "gaussian", 200, 1);
    xfi_scalar_wish wish = {
        .local = 1, .pooled = 1, .half = 1, .judge = judge, .self = &largest_error};
    assert_int_equal(xfi_scalar_search_round(&s.search, 0, &wish, NULL), XF_OK);
    check_list(&s.search.local, 0);
    check_list(&s.search.pooled, 0);
    check_list(&s.search.half, 1);
    assert_true(largest_error == 0.0); /* coordinates with weight 2^e do not round */
    for (int i = 0; i < s.search.local.n; i++) {
        int entries = 0;
        for (int k = 0; k < 5; k++)
            entries += s.search.local.at[i].v[k] != 0.0;
        assert_int_equal(entries, 1);
        assert_true(fabs(s.search.local.score[i] -
                         1 / (1 + fabs(value_at(&s, &s.search.local.at[i], 0)))) < 1e-12);
    }
    double best = s.search.pooled.score[0];
    for (int round = 1; round < XFI_SCALAR_ROUNDS; round++)
        assert_int_equal(xfi_scalar_search_round(&s.search, round, &wish, NULL), XF_OK);
    assert_true(s.search.pooled.score[0] >= best);
    clear_scene(&s);
}

/* Half of the sequences on either side of 0, and none near. */
static void check_centre(const char *kind, int64_t N, int half) {
    scene s;
    make_scene(&s, kind, N, 1);
    xfi_scalar_wish wish = {.pooled = 1, .half = 1};
    assert_int_equal(xfi_scalar_search_round(&s.search, 0, &wish, NULL), XF_OK);
    xfi_scalar *scalar = half ? &s.search.half.at[0] : &s.search.pooled.at[0];
    assert_int_equal(xfi_scalar_centre(scalar, &s.problem, NULL), XF_OK);
    int64_t below = 0;
    for (int64_t j = 0; j < N; j++) {
        double sum = 0;
        for (int64_t l = s.data.x_offsets[j]; l < s.data.x_offsets[j + 1]; l++)
            sum += value_at(&s, scalar, l);
        below += sum < 0;
    }
    assert_in_range(below, N == 1 ? 0 : N / 2 - N / 20 - 1, N == 1 ? 0 : N / 2 + N / 20 + 1);
    assert_true(half || scalar->centre == 0.0);
    clear_scene(&s);
}

static void origins_lie_in_the_middle(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 10, 501};
    for (int i = 0; i < 5; i++)
        for (int half = 0; half < 2; half++) {
            check_centre("gaussian", sizes[i], half);
            check_centre("uniform", sizes[i], half);
        }
}

static void ranges_are_measured(void **state) {
    (void)state;
    scene s;
    make_scene(&s, "uniform", 50, 1);
    double v[5] = {0, 2, 0, 0, 0}, low = INFINITY, high = -INFINITY, tokens = 0, means = 0;
    xfi_scalar scalar = {.v = v, .nu = 0.5};
    for (int64_t l = 0; l < s.data.n_tokens; l++) {
        low = fmin(low, value_at(&s, &scalar, l));
        high = fmax(high, value_at(&s, &scalar, l));
    }
    assert_int_equal(xfi_scalar_ranges(&scalar, &s.problem, &tokens, &means, NULL), XF_OK);
    assert_true(fabs(tokens - (high - low)) < 1e-12);
    assert_true(means > 0 && means < tokens);
    clear_scene(&s);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    scene s[2];
    for (int i = 0; i < 2; i++) {
        make_scene(&s[i], "gaussian", 300, 1 + i);
        xfi_scalar_wish wish = {.pooled = 1, .half = 1};
        assert_int_equal(xfi_scalar_search_round(&s[i].search, 1, &wish, NULL), XF_OK);
    }
    for (int i = 0; i < XFI_SCALARS; i++) {
        assert_memory_equal(s[0].search.pooled.at[i].v, s[1].search.pooled.at[i].v,
                            5 * sizeof(double));
        assert_true(s[0].search.half.score[i] == s[1].search.half.score[i]);
    }
    clear_scene(&s[0]);
    clear_scene(&s[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_come_first),
        cmocka_unit_test(origins_lie_in_the_middle),
        cmocka_unit_test(ranges_are_measured),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
