/* The cubes in every shape: scales, extra blocks, lifted corners, flat gates, split bits, the mean
 * added once.
 * Labels: exact slow */
#include "construct/axes.h"
#include "construct/cell_frame.h"
#include "construct/cube.h"
#include "construct/cube_off.h"
#include "property/campaign.h"
#include "property/trial.h"
#include "support/rational.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const xft_family family = {.name = "wide",
                                  .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM,
                                  .targets = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_SINGLE |
                                             XFT_Y_NEGATIVE | XFT_Y_ODD,
                                  .d_min = 6,
                                  .d_max = 12};

enum { SHAPES = 3, MOST_EXTRA = 4 };

typedef struct setting {
    xfi_problem problem;
    xfi_cells cells;
    xfi_reading reading;
} setting;

static int set_up(setting *s, const xf_dataset *data, const xf_build_options *options) {
    xfi_search search;
    xf_error error;
    int found = 0, feasible = 0;
    if (xfi_problem_init(&s->problem, data, options, &error) != XF_OK)
        return 0;
    assert_int_equal(xfi_search_init(&search, &s->problem, &error), XF_OK);
    assert_int_equal(xfi_search_plain(&search, 0, &error), XF_OK);
    assert_int_equal(xfi_cells_search(&s->cells, &found, &search, 2, &error), XF_OK);
    xfi_search_clear(&search);
    if (found)
        assert_int_equal(xfi_reading_make(&s->reading, &feasible, &s->cells, &s->problem, &error),
                         XF_OK);
    if (found && !feasible)
        xfi_cells_clear(&s->cells);
    if (!feasible)
        xfi_problem_clear(&s->problem);
    return feasible;
}

static xfi_corner_shape draw_shape(xfi_rng *rng) {
    xfi_corner_shape shape = {.r = (int)xfi_rng_below(rng, 8),
                              .extra = (int)xfi_rng_below(rng, MOST_EXTRA),
                              .lift = (int)xfi_rng_below(rng, 3),
                              .slack = (int)xfi_rng_below(rng, 3),
                              .split = (int)xfi_rng_below(rng, 2),
                              .mean = (int)xfi_rng_below(rng, 2)};
    return shape;
}

static void frame_model(xf_model *model, int64_t *first, const xfi_corners *corners,
                        int64_t n_blocks, const setting *s) {
    xfi_frame frame = {.axes = {corners->line, corners->coordinate[0]},
                       .scaled = 1,
                       .parts = {{"quantise", xfi_corners_blocks(corners)}, {"write", n_blocks}}};
    assert_int_equal(xfi_frame_make(model, first, &frame, &s->cells, &s->problem, NULL), XF_OK);
}

static void check(const xf_model *model, const xf_dataset *data, uint64_t seed, int64_t trial,
                  const xfi_corner_shape *shape) {
    char text[XFT_TEXT_SIZE] = "";
    int64_t n_exact = 0;
    xf_error error = {0};
    int ok = xft_rational_verify(&n_exact, model, data, &error) == XF_OK &&
             xft_orders_agree(text, model, data, NULL, 21, seed);
    if (!ok)
        printf("trial %lld, shape r %d extra %d lift %d slack %d split %d mean %d: %s %s\n",
               (long long)trial, shape->r, shape->extra, shape->lift, shape->slack, shape->split,
               shape->mean, error.message, text);
    assert_true(ok);
}

/* Counts the models that were made, and among them those with a mean. */
typedef struct counts {
    int made;
    int means;
    int shared; /* means among gates */
} counts;

static void try_cube(counts *n, const setting *s, const xfi_corner_shape *shape, uint64_t seed,
                     int64_t trial) {
    xfi_cube cube;
    int feasible = 0;
    assert_int_equal(xfi_cube_plan(&cube, &feasible, &s->cells, &s->problem, shape, NULL), XF_OK);
    if (!feasible)
        return;
    xf_model model;
    int64_t first = 0;
    frame_model(&model, &first, &cube.corners, cube.n_blocks, s);
    assert_true(xfi_cube_emit(&cube, &s->cells, s->reading.ramp, &model, first));
    assert_true(xfi_frame_holds(&model));
    check(&model, s->problem.data, seed, trial, shape);
    n->made++;
    n->means += cube.has_mean;
    n->shared += cube.has_mean && shape->extra == 0 && !cube.mean_alone;
    xf_model_clear(&model);
    xfi_cube_clear(&cube);
}

static void try_cube_off(counts *n, const setting *s, const xfi_corner_shape *shape, uint64_t seed,
                         int64_t trial) {
    xfi_cube_off cube;
    xfi_axes_choice choice = xfi_axes_choose(&s->problem);
    xfi_axes axes = choice.sorted;
    int feasible = 0;
    if (!choice.sorts)
        return;
    assert_int_equal(
        xfi_cube_off_plan(&cube, &feasible, &s->cells, &s->problem, axes.k1, shape, NULL), XF_OK);
    if (!feasible)
        return;
    xf_model model;
    int64_t first = 0;
    frame_model(&model, &first, &cube.corners, cube.n_blocks, s);
    assert_true(xfi_cube_off_emit(&cube, &s->cells, s->reading.ramp, &model, first));
    assert_true(xfi_frame_holds(&model));
    check(&model, s->problem.data, seed, trial, shape);
    n->made++;
    xf_model_clear(&model);
    xfi_cube_off_clear(&cube);
}

static void run(int64_t n_trials, xf_dtype dtype, counts *cube, counts *off) {
    for (int64_t trial = 0; trial < n_trials; trial++) {
        xfi_rng rng;
        xf_dataset data;
        setting s;
        xfi_rng_seed(&rng, xft_property_seed() + 77, (uint64_t)trial);
        xft_random_data(&data, &family, dtype, 300 * pow(20, xfi_rng_uniform(&rng)), &rng);
        xf_build_options options = {.dtype = dtype, .seed = xfi_rng_bits(&rng), .threads = 1};
        if (set_up(&s, &data, &options)) {
            for (int i = 0; i < SHAPES; i++) {
                xfi_corner_shape shape = draw_shape(&rng);
                try_cube(cube, &s, &shape, xfi_rng_bits(&rng), trial);
                try_cube_off(off, &s, &shape, xfi_rng_bits(&rng), trial);
            }
            xfi_cells_clear(&s.cells);
            xfi_problem_clear(&s.problem);
        }
        xf_dataset_clear(&data);
    }
}

static void every_shape_is_exact(void **state) {
    (void)state;
    counts cube = {0}, off = {0};
    int64_t n = (int64_t)(400 * xft_multiplier());
    run(n, XF_F64, &cube, &off);
    run(n, XF_F32, &cube, &off);
    printf("cube: %d models, %d with a mean, %d of them among gates; cubeoff: %d\n", cube.made,
           cube.means, cube.shared, off.made);
    assert_true(cube.made >= n && off.made >= n);
    assert_true(cube.means > 0 && cube.shared > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_shape_is_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
