/* construct/cell_writers.h and argmax.h: the table, what writers refuse and why, the diamond's
 * wide gap, and memory that runs out. */
#include "construct/argmax.h"
#include "construct/cell_writers.h"
#include "construct/diamond.h"

#include "base/alloc.h"

#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct scene {
    xf_dataset data;
    xf_build_options options;
    xfi_problem problem;
    xfi_writers choices;
    xfi_cells cells;
    int found;
} scene;

static void set_up(scene *s, const xf_generate_options *what, int b_min) {
    xfi_search search;
    xf_error error;
    *s = (scene){.options = {.threads = 1}};
    assert_int_equal(xf_generate(&s->data, what, &error), XF_OK);
    assert_int_equal(xfi_problem_init(&s->problem, &s->data, &s->options, &error), XF_OK);
    assert_int_equal(xfi_writers_choose(&s->choices, &s->problem, &error), XF_OK);
    assert_int_equal(xfi_search_init(&search, &s->problem, &error), XF_OK);
    assert_int_equal(xfi_search_plain(&search, 0, &error), XF_OK);
    assert_int_equal(xfi_cells_search(&s->cells, &s->found, &search, b_min, &error), XF_OK);
    assert_true(s->found);
    xfi_search_clear(&search);
}

static void tear_down(scene *s) {
    xfi_cells_clear(&s->cells);
    xfi_problem_clear(&s->problem);
    xf_dataset_clear(&s->data);
}

static const xfi_cell_writer *named(const char *name) {
    int n = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    fail_msg("no writer %s", name);
    return NULL;
}

static int runs(const scene *s, const char *name, xfi_forecast *forecast) {
    const xfi_writer_options options = {0};
    int feasible = 0;
    assert_int_equal(xfi_cell_writer_run(named(name), NULL, forecast, &feasible, &s->cells,
                                         &s->choices, &s->problem, &options, NULL),
                     XF_OK);
    return feasible;
}

static void depths_are_the_formulas(void **state) {
    (void)state;
    const xf_generate_options what = {.kind = "gaussian",
                                      .n_sequences = 40,
                                      .d = 14,
                                      .m_min = 1,
                                      .m_max = 1,
                                      .grid = XF_GRID_F32};
    scene s;
    xfi_forecast f;
    set_up(&s, &what, 2);
    int b = s.cells.b;
    assert_true(runs(&s, "cube", &f) && f.blocks == 10 + b + 1);
    assert_true(runs(&s, "diamond", &f) && f.blocks == 10 + b + 2);
    assert_true(runs(&s, "cubeoff", &f) && f.blocks == 20 + b + 2);
    assert_true(runs(&s, "offgrid", &f) && f.blocks == 20 + b + 3);
    assert_true(runs(&s, "diamond-sorted", &f) && f.blocks == 10 + 20 + b + 3);
    tear_down(&s);
}

static void refusals_say_why(void **state) {
    (void)state;
    const xf_generate_options narrow = {
        .kind = "gaussian", .n_sequences = 40, .d = 3, .m_min = 1, .m_max = 1};
    scene s;
    xfi_forecast f;
    set_up(&s, &narrow, 2);
    assert_false(runs(&s, "cube", &f));
    assert_non_null(strstr(f.why, "coordinates for cells of"));
    assert_false(runs(&s, "diamond", &f));
    assert_non_null(strstr(f.why, "off the grid"));
    assert_false(runs(&s, "offgrid", &f));
    assert_non_null(strstr(f.why, "four coordinates"));
    assert_true(runs(&s, "diamond-sorted", &f));
    tear_down(&s);
    const xf_generate_options full = {
        .kind = "gaussian", .n_sequences = 40, .d = 14, .m_min = 1, .m_max = 1};
    set_up(&s, &full, 2);
    assert_false(runs(&s, "cube", &f));
    assert_non_null(strstr(f.why, "too many bits"));
    assert_true(runs(&s, "cubeoff", &f));
    tear_down(&s);
}

/* The norm is smaller when asked to be, and the depth limit is kept. */
static void small_norms_stay_within_the_limit(void **state) {
    (void)state;
    const xf_generate_options what = {.kind = "gaussian",
                                      .n_sequences = 30,
                                      .d = 12,
                                      .m_min = 1,
                                      .m_max = 1,
                                      .grid = XF_GRID_F32};
    static const char *const names[] = {"cube", "cubeoff", "diamond", "diamond-sorted"};
    scene s;
    set_up(&s, &what, 2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        xfi_forecast deep = {0}, small = {0}, limited = {0};
        int feasible = 0;
        xfi_writer_options options = {.small_norm = 1};
        assert_true(runs(&s, names[i], &deep));
        xfi_cell_writer_run(named(names[i]), NULL, &small, &feasible, &s.cells, &s.choices,
                            &s.problem, &options, NULL);
        assert_true(feasible && small.norm < deep.norm / 4 && small.blocks > deep.blocks);
        options.max_blocks = deep.blocks + 2;
        xfi_cell_writer_run(named(names[i]), NULL, &limited, &feasible, &s.cells, &s.choices,
                            &s.problem, &options, NULL);
        assert_true(feasible && limited.blocks <= deep.blocks + 2);
        assert_true(limited.norm >= small.norm && limited.norm <= deep.norm);
    }
    tear_down(&s);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    const xf_generate_options what = {
        .kind = "gaussian", .n_sequences = 9, .d = 8, .m_min = 1, .m_max = 1, .grid = XF_GRID_F32};
    scene s;
    set_up(&s, &what, 2);
    int n = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n);
    for (int i = 0; i < 2 * n; i++) {
        xfi_writer_options options = {.small_norm = i >= n};
        xf_status status = XF_ERR_MEMORY;
        for (int64_t allowed = 0; status != XF_OK; allowed++) {
            xf_model model;
            xfi_forecast forecast;
            int feasible = 0;
            xfi_alloc_limit(allowed);
            status = xfi_cell_writer_run(&table[i % n], &model, &forecast, &feasible, &s.cells,
                                         &s.choices, &s.problem, &options, NULL);
            xfi_alloc_limit(-1);
            assert_true(status == XF_OK || status == XF_ERR_MEMORY);
            assert_true(allowed < 10000);
            if (status == XF_OK) {
                assert_true(feasible);
                xf_model_clear(&model);
            }
        }
    }
    tear_down(&s);
}

/* Cells 0 and 1 on the left, 1000 and 1001 on the right. */
static void the_wide_gap_is_found(void **state) {
    (void)state;
    xfi_cell_group at[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {1000, 1000, 2, 2}, {1001, 1001, 3, 3}};
    xfi_cells cells = {.n = 4, .at = at};
    const double y[] = {1, 2, 3, 4, 5, 6, 7, 8};
    xfi_written written = {.y = y, .d = 2, .axes = {0, 1}};
    xfi_format format = xfi_format_of(XF_F64);
    xfi_diamond diamond;
    int feasible = 0;
    assert_int_equal(xfi_diamond_plan(&diamond, &feasible, &cells, &written, &format, 1, NULL),
                     XF_OK);
    assert_true(feasible && diamond.a == 500.5 && diamond.h == 256.0 && diamond.n_steps == 1);
    xfi_diamond_clear(&diamond);
    at[2].low = at[2].high = 999; /* a whole number in the middle */
    assert_int_equal(xfi_diamond_plan(&diamond, &feasible, &cells, &written, &format, 1, NULL),
                     XF_OK);
    assert_true(feasible && diamond.a == 500.0 && diamond.h == 256.0);
    xfi_diamond_clear(&diamond);
    assert_int_equal(xfi_diamond_plan(&diamond, &feasible, &cells, &written, &format, 0, NULL),
                     XF_OK);
    assert_true(feasible && diamond.a == 500.5 && diamond.h == 0.5);
    xfi_diamond_clear(&diamond);
}

static void argmax_says_why_not(void **state) {
    (void)state;
    char why[160];
    xf_error error;
    const xf_generate_options what = {
        .kind = "gaussian", .n_sequences = 6, .d = 3, .m_min = 1, .m_max = 1, .grid = XF_GRID_F32};
    xf_dataset data;
    xf_build_options options = {.attention = XF_SOFTMAX, .threads = 1};
    xfi_problem problem;
    xf_model model;
    int feasible = 1;
    assert_int_equal(xf_generate(&data, &what, &error), XF_OK);
    assert_int_equal(xfi_problem_init(&problem, &data, &options, &error), XF_OK);
    assert_false(xfi_argmax_fits(&problem, why));
    assert_non_null(strstr(why, "hardmax"));
    options.attention = XF_HARDMAX;
    assert_true(xfi_argmax_fits(&problem, why));
    /* full binary64 inputs are on no grid with exact sums */
    assert_int_equal(
        xfi_assemble_argmax(&model, &feasible, &problem, (xfi_axes){0, 1}, why, &error), XF_OK);
    assert_false(feasible);
    assert_non_null(strstr(why, "grid"));
    xfi_problem_clear(&problem);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depths_are_the_formulas),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(small_norms_stay_within_the_limit),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(the_wide_gap_is_found),
        cmocka_unit_test(argmax_says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
