/* construct/stage.h: lanes are read back from their weights, and only if they are lanes. */
#include "construct/stage.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "construct/lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { D = 4, FROM = 2, TO = 1, MAX_CELLS = 24 };

/* Lanes for random cells, and the blocks they make. */
typedef struct scene {
    xfi_format format;
    int64_t n;
    xfi_group cells[MAX_CELLS];
    double offset[MAX_CELLS];
    xf_model model;
} scene;

static int make_scene(scene *s, xf_dtype dtype, int64_t n, xfi_rng *rng) {
    s->format = xfi_format_of(dtype);
    s->n = n;
    xfi_placing placing = {.sigma = 1.0};
    double a = -xfi_rng_uniform(rng) * (double)n / 2;
    for (int64_t c = 0; c < n; c++) {
        double width = ldexp(xfi_rng_uniform(rng), -8);
        a = a < 0 && a + width > -0.01 ? 0.02 : a; /* 0 in no cell */
        s->cells[c] = (xfi_group){.low = a, .high = a + width, .target = c};
        s->offset[c] = xfi_round(&s->format, xfi_rng_normal(rng));
        placing.below += a < 0;
        a += width + ldexp(0.5 + xfi_rng_uniform(rng), -(int)xfi_rng_below(rng, 6));
    }
    xfi_groups groups = {.n = n, .at = s->cells};
    xfi_written written = {.code = s->offset, .d = D, .axes = {FROM, TO}, .keeps = 1};
    xfi_lanes lanes;
    int feasible = 0;
    assert_int_equal(
        xfi_lanes_make(&lanes, &feasible, &groups, &placing, &written, &s->format, NULL), XF_OK);
    if (!feasible)
        return 0;
    assert_int_equal(xf_model_new(&s->model, lanes.n_steps, D, 4, NULL), XF_OK);
    s->model.dtype = dtype;
    xfi_lanes_emit(&lanes, &written, &s->model, 0);
    xfi_lanes_clear(&lanes);
    return 1;
}

static int is_known(const xf_model *model, xfi_stage *stage) {
    int known = 0;
    assert_int_equal(xfi_stage_read(stage, &known, model, 0, model->n_blocks, NULL), XF_OK);
    return known;
}

/* One token of one sequence at `at` +- `error`. Returns the margin; *moved is what TO gets. */
static double apply_at(const xfi_stage *stage, const xfi_format *format, double at, double error,
                       double *moved) {
    int64_t offsets[] = {0, 1};
    xf_dataset data = {.n_sequences = 1, .n_tokens = 1, .d = D, .x_offsets = offsets};
    xfi_ball balls[2] = {{{at, 0}, error}, {{0, 0}, 0}};
    xfi_track track = {.n_coordinates = 2, .coordinate = {FROM, TO}, .ball = balls};
    xfi_narrowest narrowest;
    assert_int_equal(xfi_stage_apply(&narrowest, &track, stage, &data, format, NULL), XF_OK);
    *moved = xfi_dd_value(balls[1].centre);
    assert_true(!(narrowest.margin > 0) || (balls[0].centre.hi == 0.0 && balls[0].error == 0.0));
    return narrowest.margin;
}

static void check_cells(const scene *s, const xfi_stage *stage) {
    for (int64_t c = 0; c < s->n; c++) {
        double low = s->cells[c].low, high = s->cells[c].high, moved = 0;
        double middle = low + (high - low) / 2, radius = (high - low) / 2 * 0.99;
        assert_true(apply_at(stage, &s->format, middle, radius, &moved) == INFINITY);
        assert_true(moved == s->offset[c]);
        /* so wide that it reaches the next cell */
        double next = c + 1 < s->n ? s->cells[c + 1].low : high + 1e9;
        if (c + 1 < s->n)
            assert_true(apply_at(stage, &s->format, middle, next - middle, &moved) == 0.0);
    }
    double moved = 0;
    assert_true(apply_at(stage, &s->format, 0.0, 0.0, &moved) == 0.0);
    assert_true(apply_at(stage, &s->format, NAN, 0.0, &moved) == 0.0);
    assert_true(apply_at(stage, &s->format, 1.0, INFINITY, &moved) == 0.0);
}

static void lanes_are_read_back(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 31, 0);
    int made = 0;
    for (int round = 0; round < 400; round++) {
        scene s;
        if (!make_scene(&s, round % 2 ? XF_F32 : XF_F64, 1 + xfi_rng_below(&rng, MAX_CELLS), &rng))
            continue;
        xfi_stage stage;
        assert_true(is_known(&s.model, &stage));
        assert_int_equal(stage.from, FROM);
        assert_int_equal(stage.to, TO);
        assert_int_equal(stage.n[0] + stage.n[1], s.n);
        check_cells(&s, &stage);
        xfi_stage_clear(&stage);
        xf_model_clear(&s.model);
        made++;
    }
    assert_true(made > 300);
}

/* Change one weight by about one unit in the last place. Returns its array: 0 none. */
static char disturb(const scene *s, int64_t block, int64_t entry) {
    int64_t size = 4 * D;
    double *weight = entry < size       ? s->model.ff_U + block * size + entry
                     : entry < 2 * size ? s->model.ff_W + block * size + entry - size
                                        : s->model.ff_b + block * 4 + entry - 2 * size;
    if (*weight == 0.0)
        return 0;
    *weight += xfi_ulp(&s->format, *weight);
    if (entry >= size && entry < 2 * size && (entry - size) / 4 == TO)
        return 'o'; /* an offset: any will do */
    return entry < size ? 'U' : entry < 2 * size ? 'W' : 'b';
}

/* Every weight but the offsets is needed exactly as it is. */
static void disturbed_lanes_are_refused(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 32, 0);
    for (int round = 0; round < 20; round++) {
        scene s;
        if (!make_scene(&s, round % 2 ? XF_F32 : XF_F64, 1 + xfi_rng_below(&rng, 8), &rng))
            continue;
        for (int64_t block = 0; block < s.model.n_blocks; block++)
            for (int64_t entry = 0; entry < 8 * D + 4; entry++) {
                xf_model saved = s.model;
                double U[4 * D], W[4 * D], b[4];
                memcpy(U, saved.ff_U + block * 4 * D, sizeof U);
                memcpy(W, saved.ff_W + block * 4 * D, sizeof W);
                memcpy(b, saved.ff_b + block * 4, sizeof b);
                char what = disturb(&s, block, entry);
                xfi_stage stage;
                assert_true(what == 0 || is_known(&s.model, &stage) == (what == 'o'));
                if (what == 'o')
                    xfi_stage_clear(&stage);
                memcpy(s.model.ff_U + block * 4 * D, U, sizeof U);
                memcpy(s.model.ff_W + block * 4 * D, W, sizeof W);
                memcpy(s.model.ff_b + block * 4, b, sizeof b);
            }
        xf_model_clear(&s.model);
    }
}

static void other_blocks_are_refused(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 33, 0);
    scene s;
    assert_true(make_scene(&s, XF_F64, 6, &rng));
    xfi_stage stage;
    double *wrong[] = {&s.model.ff_eta[1], &s.model.sa_rho[1], &s.model.sa_V.alpha[1],
                       &s.model.sa_V.left[D + 1], &s.model.ff_U[4 * D + 3]};
    for (int i = 0; i < 5; i++) {
        double value = *wrong[i];
        *wrong[i] = value == 1.0 ? 0.5 : 1.0;
        assert_false(is_known(&s.model, &stage));
        *wrong[i] = value;
    }
    assert_true(is_known(&s.model, &stage));
    xfi_stage_clear(&stage);
    s.model.n_blocks--; /* the last target is never written */
    assert_false(is_known(&s.model, &stage));
    s.model.n_blocks++;
    xf_model_clear(&s.model);
}

/* The margin between cells is the least over all pairs of tokens, not only of the nearest. */
static void margin_is_the_least(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 34, 0);
    for (int round = 0; round < 200; round++) {
        enum { N = 12 };
        int64_t offsets[N + 1];
        double x[N], e[N], least = INFINITY;
        xfi_ball balls[2 * N];
        for (int j = 0; j < N; j++) {
            offsets[j] = j;
            e[j] = ldexp(xfi_rng_uniform(&rng), -(int)xfi_rng_below(&rng, 12));
            x[j] = j % 2 ? 16 + xfi_rng_uniform(&rng) : 4 + xfi_rng_uniform(&rng);
            balls[2 * j] = (xfi_ball){{x[j], 0}, e[j]};
            balls[2 * j + 1] = (xfi_ball){{0, 0}, 0};
        }
        offsets[N] = N;
        for (int i = 0; i < N; i += 2)
            for (int j = 1; j < N; j += 2)
                least = fmin(least, (x[j] - x[i]) / (e[i] + e[j]));
        xf_dataset data = {.n_sequences = N, .n_tokens = N, .d = D, .x_offsets = offsets};
        xfi_track track = {.n_coordinates = 2, .coordinate = {FROM, TO}, .ball = balls};
        xfi_stage_item items[] = {{12, 8, 1}, {2, 1, 2}};
        xfi_stage stage = {.from = FROM, .to = TO, .n = {2, 0}, .item = {items, NULL}};
        xfi_format format = xfi_format_of(XF_F64);
        xfi_narrowest found;
        assert_int_equal(xfi_stage_apply(&found, &track, &stage, &data, &format, NULL), XF_OK);
        assert_true(fabs(found.margin - least) <= 1e-12 * least);
        assert_true(found.closest[0] < found.closest[1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_read_back),
        cmocka_unit_test(disturbed_lanes_are_refused),
        cmocka_unit_test(other_blocks_are_refused),
        cmocka_unit_test(margin_is_the_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
