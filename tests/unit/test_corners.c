/* construct/corners.h: gates know their corner, finished targets open none of them. */
#include "construct/corners.h"

#include "base/rng.h"
#include "core/model_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_D = 14, MAX_CELLS = 60 };

typedef struct scene {
    xfi_corners corners;
    int64_t d;
    int64_t n;
    double y[MAX_CELLS][MAX_D];
    const double *rows[MAX_CELLS];
    xfi_cell_group cell[MAX_CELLS];
    int64_t block[MAX_CELLS];
    int slack[MAX_CELLS];
} scene;

static void draw_scene(scene *s, xfi_rng *rng) {
    *s = (scene){.corners = {.b = 2 + (int)xfi_rng_below(rng, 8)}};
    int64_t most = (int64_t)1 << s->corners.b, cell = -1;
    s->d = s->corners.b + 1 + xfi_rng_below(rng, MAX_D - s->corners.b);
    for (s->n = 0; s->n < MAX_CELLS; s->n++) {
        cell += 1 + xfi_rng_below(rng, 1 + most / 16);
        if (cell >= most)
            break;
        s->cell[s->n] = (xfi_cell_group){cell, cell, s->n, s->n};
        s->block[s->n] = s->n / 4;
        for (int64_t k = 0; k < s->d; k++)
            s->y[s->n][k] = xfi_rng_normal(rng);
        s->rows[s->n] = s->y[s->n];
    }
    s->corners.shape.slack = s->corners.b > 4 ? (int)xfi_rng_below(rng, 3) : 0;
    s->corners.shape.lift = (int)xfi_rng_below(rng, 2);
}

/* The pre-activation of gate neuron 0 of block 0 at x. */
static double gate_at(const xf_model *model, const double *x) {
    double sum = model->ff_b[0];
    for (int64_t k = 0; k < model->d; k++)
        sum += model->ff_U[k] * x[k];
    return sum;
}

static void corner_of(const scene *s, int64_t g, double *x) {
    memset(x, 0, MAX_D * sizeof *x);
    for (int i = 0; i < s->corners.b; i++)
        x[s->corners.coordinate[i]] =
            s->corners.kappa * xfi_corner_side(&s->corners, s->cell[g].low, i);
}

static void check_gate(const scene *s, int64_t g) {
    double x[MAX_D] = {0}, square = 0;
    xf_model model;
    assert_int_equal(xf_model_new(&model, 1, s->d, 4, NULL), XF_OK);
    int m = s->slack[g];
    assert_int_equal(xfi_corner_gate(&s->corners, s->cell[g].low, m, &model, 0), 0);
    assert_true(gate_at(&model, x) <= 0);
    for (int64_t other = 0; other < s->n; other++) {
        assert_true(gate_at(&model, s->y[other]) < 0);
        corner_of(s, other, x);
        if (other == g)
            assert_true(gate_at(&model, x) == 1.0);
        else if (s->block[other] >= s->block[g])
            assert_true(gate_at(&model, x) <= 0);
    }
    for (int64_t k = 0; k < s->d; k++)
        square += model.ff_U[k] * model.ff_U[k];
    square += model.ff_b[0] * model.ff_b[0];
    assert_true(fabs(square / xfi_corner_gate_square(&s->corners, m, 0) - 1) < 1e-14);
    xf_model_clear(&model);
}

static void gates_know_their_corner(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_format format = xfi_format_of(XF_F64);
    xfi_rng_seed(&rng, 6, 0);
    for (int round = 0; round < 400; round++) {
        scene s;
        draw_scene(&s, &rng);
        assert_int_equal(xfi_corners_choose(&s.corners, s.rows, s.n, s.d, -1, round % 2), 1);
        assert_true(xfi_corners_scale(&s.corners, s.rows, s.n, &format));
        xfi_corner_slack(s.slack, s.cell, s.block, s.n, s.corners.b, s.corners.shape.slack);
        for (int64_t g = 0; g < s.n; g++)
            check_gate(&s, g);
    }
}

/* Coordinates are distinct, the code's targets are no larger than the others'. */
static void coordinates_are_the_small_ones(void **state) {
    (void)state;
    xfi_corners corners = {.b = 2};
    const double a[] = {3, 0, -1, 5, 0.5}, b[] = {-1, 0, 2, 1, 0.25};
    const double *rows[] = {a, b};
    assert_int_equal(xfi_corners_choose(&corners, rows, 2, 5, -1, 0), 1);
    assert_int_equal(corners.coordinate[0], 1);
    assert_int_equal(corners.coordinate[1], 4);
    assert_int_equal(corners.line, 2);
    assert_int_equal(xfi_corners_choose(&corners, rows, 2, 5, 1, 0), 1); /* the line is given */
    assert_int_equal(corners.coordinate[0], 4);
    assert_int_equal(corners.coordinate[1], 2);
    assert_int_equal(corners.line, 1);
    corners.b = 5;
    assert_int_equal(xfi_corners_choose(&corners, rows, 2, 5, -1, 0), 0);
}

static void slack_is_the_largest(void **state) {
    (void)state;
    /* 0000, 0001, 0110, 1111 */
    const xfi_cell_group cell[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {6, 6, 2, 2}, {15, 15, 3, 3}};
    const int64_t together[] = {0, 0, 0, 0}, in_turn[] = {0, 1, 2, 3};
    int m[4];
    xfi_corner_slack(m, cell, together, 4, 4, 3);
    assert_int_equal(m[0], 1);
    assert_int_equal(m[1], 1);
    assert_int_equal(m[2], 2);
    assert_int_equal(m[3], 2);
    xfi_corner_slack(m, cell, in_turn, 4, 4, 3);
    assert_int_equal(m[0], 1);
    assert_int_equal(m[1], 2); /* 0000 is finished then */
    assert_int_equal(m[3], 3); /* alone */
    xfi_corner_slack(m, cell, together, 4, 4, 0);
    assert_int_equal(m[0], 0);
}

static void no_gate_without_room(void **state) {
    (void)state;
    xfi_format format = xfi_format_of(XF_F64);
    const double a[] = {1, 1, 1}, *rows[] = {a};
    xfi_corners corners = {.b = 2, .shape = {.slack = 1}};
    assert_int_equal(xfi_corners_choose(&corners, rows, 1, 3, -1, 0), 1);
    assert_false(xfi_corners_scale(&corners, rows, 1, &format)); /* b - 2^m = 0 */
    corners.shape.slack = 0;
    assert_true(xfi_corners_scale(&corners, rows, 1, &format));
    assert_true(corners.kappa == 4.0); /* above 2.002 */
    const double huge[] = {0x1p1000, 0x1p1000, 0}, *too_large[] = {huge};
    corners.coordinate[0] = 0;
    corners.coordinate[1] = 1;
    assert_false(xfi_corners_scale(&corners, too_large, 1, &format));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_know_their_corner),
        cmocka_unit_test(coordinates_are_the_small_ones),
        cmocka_unit_test(slack_is_the_largest),
        cmocka_unit_test(no_gate_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
