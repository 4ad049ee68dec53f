/* How many nonzero numbers models consist of: at most (d+8) M behind the grid and diamond writers
 * and (d+b+4) K behind the cube, K cells that tokens occupy; and the choice among depths within
 * 1 % of the least. What does not grow with M (front end, quantiser) fits in the slack of a few
 * dozen targets. */
#include "base/rng.h"

#include <exactformer/exactformer.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct sizes {
    int64_t d;
    int64_t n_sequences;
    int64_t n;
    int64_t m;
} sizes;

static xf_dataset generate(const sizes *s) {
    xf_generate_options options = {.kind = "gaussian",
                                   .n_sequences = s->n_sequences,
                                   .d = s->d,
                                   .n_min = s->n,
                                   .n_max = s->n,
                                   .m_min = s->m,
                                   .m_max = s->m,
                                   .grid = XF_GRID_INTEGER,
                                   .seed = 5};
    xf_dataset data;
    xf_error error;
    if (xf_generate(&data, &options, &error) != XF_OK)
        fail_msg("%s", error.message);
    return data;
}

static xf_model build(const xf_dataset *data, const char *writer, xf_inspection *found) {
    xf_build_options options = {.writer = writer};
    xf_model model;
    xf_error error;
    if (xf_build(&model, data, &options, NULL, &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_int_equal(xf_inspect(found, &model, NULL, NULL), XF_OK);
    return model;
}

static const sizes several[] = {{2, 100, 4, 4},  {3, 200, 1, 1},  {3, 200, 6, 2}, {4, 100, 3, 3},
                                {8, 50, 10, 10}, {16, 100, 3, 3}, {20, 40, 6, 2}, {24, 60, 2, 1}};

static void grid_and_diamond(void **state) {
    static const char *const writers[] = {"grid", "diamond"};
    (void)state;
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        xf_dataset data = generate(&several[i]);
        for (int w = 0; w < 2; w++) {
            xf_inspection found;
            xf_model model = build(&data, writers[w], &found);
            assert_in_range(found.parameters_nonzero, 1, (data.d + 8) * data.n_targets);
            double ratio = (double)found.parameters_nonzero / (double)(data.d * data.n_targets);
            assert_true(found.nonzero_ratio == ratio);
            xf_model_clear(&model);
        }
        xf_dataset_clear(&data);
    }
}

/* Parked targets cost more than others, which the bound allows for some of them only. */
static void many_bits(void **state) {
    static const int bits[] = {26, 34, 42, 44, 46, 48, 50};
    static const sizes s = {3, 3000, 3, 1};
    (void)state;
    int parked = 0;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        xf_dataset data = generate(&s);
        xfi_rng rng;
        xfi_rng_seed(&rng, 3, i);
        for (int64_t k = 0; k < data.n_targets * data.d; k++)
            data.y[k] = ldexp(rint(ldexp(xfi_rng_uniform(&rng), bits[i])), 1 - bits[i]) - 1;
        xf_inspection found;
        xf_model model = build(&data, "grid", &found);
        assert_in_range(found.parameters_nonzero, 1, (data.d + 8) * data.n_targets);
        parked += model.n_blocks > data.n_targets / 2 + 4;
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
    assert_true(parked > 2);
}

/* The phase "write" has one block for four cells. */
static int64_t occupied_cells(const xf_model *model) {
    const xf_phase *last = &model->phases[model->n_phases - 1];
    assert_string_equal(last->name, "write");
    return 4 * last->count;
}

static void cube(void **state) {
    static const sizes one_cell[] = {{16, 200, 1, 1}, {16, 100, 3, 3}, {24, 60, 2, 1}};
    static const sizes many_cells[] = {{20, 40, 6, 2}, {24, 30, 12, 2}};
    (void)state;
    for (int i = 0; i < 5; i++) {
        xf_dataset data = generate(i < 3 ? &one_cell[i] : &many_cells[i - 3]);
        xf_inspection found;
        xf_model model = build(&data, "cube", &found);
        int64_t cells = i < 3 ? data.n_targets : occupied_cells(&model);
        assert_in_range(found.cell_bits, 2, data.d - 1);
        assert_in_range(found.parameters_nonzero, 1, (data.d + found.cell_bits + 4) * cells);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
}

static void fewer_nonzeros_win_within_one_percent(void **state) {
    (void)state;
    for (int64_t n = 100; n <= 400; n += 300) {
        xf_dataset data = generate(&(sizes){16, n, 1, 1});
        xf_inspection shallow, sparse, chosen;
        xf_model a = build(&data, "cube", &shallow), b = build(&data, "diamond", &sparse);
        xf_model c = build(&data, NULL, &chosen);
        assert_int_equal(sparse.blocks, shallow.blocks + 1);
        assert_true(sparse.parameters_nonzero < shallow.parameters_nonzero);
        int near = shallow.blocks >= 100; /* one block is within 1 % */
        assert_int_equal(near, n == 400);
        assert_string_equal(c.writer, near ? "diamond" : "cube");
        assert_int_equal(chosen.parameters_nonzero,
                         near ? sparse.parameters_nonzero : shallow.parameters_nonzero);
        xf_model_clear(&a);
        xf_model_clear(&b);
        xf_model_clear(&c);
        xf_dataset_clear(&data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_and_diamond),
        cmocka_unit_test(many_bits),
        cmocka_unit_test(cube),
        cmocka_unit_test(fewer_nonzeros_win_within_one_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
