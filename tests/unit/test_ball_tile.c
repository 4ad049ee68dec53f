/* Vectors against scalars: neurons and outputs of a tile have the bits of xfi_ball_feed_forward,
 * and projections do not depend on how the tokens are cut into tiles. */
#include "construct/ball_tile.h"

#include "base/rng.h"
#include "num/project.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { D = 7, W = 4, TOKENS = 5 };

static double draw(xfi_rng *rng, int bits) {
    double v = xfi_rng_normal(rng);
    return bits == 24 ? (double)(float)v : v;
}

/* Rows 1 and 3 negate the ones before; about half of the weights are 0. */
static void draw_block(xf_model *model, xfi_rng *rng) {
    static const double etas[] = {0.0, 1.0, 0.75};
    model->ff_eta[0] = etas[xfi_rng_below(rng, 3)];
    for (int i = 0; i < W; i++) {
        double sign = i % 2 ? -1.0 : 1.0;
        model->ff_b[i] = i % 2 ? -model->ff_b[i - 1] : draw(rng, 24);
        for (int k = 0; k < D; k++) {
            double fresh = xfi_rng_below(rng, 2) ? draw(rng, 24) : 0.0;
            model->ff_U[i * D + k] = i % 2 ? sign * model->ff_U[(i - 1) * D + k] : fresh;
            model->ff_W[k * W + i] = xfi_rng_below(rng, 3) ? 0.0 : draw(rng, 24);
        }
    }
}

static void compare_token(const xfi_ball_tile *tile, const xfi_block_view *view,
                          const double *token, int64_t l) {
    xfi_ball x[D], next[D], room[D];
    xfi_neuron_state states[W];
    for (int k = 0; k < D; k++) {
        double off = fabs(token[k] - xfi_round(view->format, token[k]));
        x[k] = (xfi_ball){{token[k], 0.0}, off * XFI_INFLATE};
    }
    xfi_ball_feed_forward(view, x, next, states);
    for (int c = 0; c < D; c++) {
        xfi_ball out = xfi_ball_tile_output(tile, view, l, c, room);
        assert_true(out.centre.hi == x[c].centre.hi && out.centre.lo == x[c].centre.lo);
        assert_true(out.error == x[c].error);
    }
}

static void tiles_have_the_bits_of_single_tokens(void **state) {
    (void)state;
    static const xf_dtype types[] = {XF_F64, XF_F32};
    xfi_rng rng;
    xfi_rng_seed(&rng, 17, 0);
    for (int trial = 0; trial < 400; trial++) {
        xf_model model;
        xfi_format format = xfi_format_of(types[trial % 2]);
        xfi_block_view view;
        xfi_ball_tile tile;
        double tokens[TOKENS * D];
        assert_int_equal(xf_model_new(&model, 1, D, W, NULL), XF_OK);
        draw_block(&model, &rng);
        for (int i = 0; i < TOKENS * D; i++)
            tokens[i] = draw(&rng, 53);
        assert_true(xfi_block_view_init(&view, &model, 0, &format));
        assert_true(xfi_ball_tile_init(&tile, D, W));
        xfi_ball_tile_neurons(&tile, &view, tokens, TOKENS);
        for (int64_t l = 0; l < TOKENS; l++)
            compare_token(&tile, &view, tokens + l * D, l);
        xfi_ball_tile_clear(&tile);
        xfi_block_view_clear(&view);
        xf_model_clear(&model);
    }
}

/* Every sum in index order, as the header says. */
static void projections_are_sums_in_index_order(void **state) {
    (void)state;
    enum { WIDE = 300, N = 21 };
    static double x[N * WIDE], directions[XFI_PROJECT_BATCH * WIDE];
    double out[N * XFI_PROJECT_BATCH], turned[XFI_PROJECT_BATCH * N];
    xfi_rng rng;
    xfi_rng_seed(&rng, 18, 0);
    for (int i = 0; i < N * WIDE; i++)
        x[i] = draw(&rng, 53);
    for (int i = 0; i < XFI_PROJECT_BATCH * WIDE; i++)
        directions[i] = i % 5 < 2 && i % WIDE > 40 ? 0.0 : draw(&rng, 53);
    for (int c = 0; c < XFI_PROJECT_BATCH; c++)
        memset(directions + c * WIDE + 100, 0, 50 * sizeof(double)); /* columns nobody uses */
    xfi_project_tile(out, x, N, WIDE, directions);
    xfi_project(turned, x, N, WIDE, directions, 2);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < XFI_PROJECT_BATCH; c++) {
            double sum = 0;
            for (int k = 0; k < WIDE; k++)
                sum += x[i * WIDE + k] * directions[c * WIDE + k];
            assert_true(out[i * XFI_PROJECT_BATCH + c] == sum && turned[c * N + i] == sum);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_have_the_bits_of_single_tokens),
        cmocka_unit_test(projections_are_sums_in_index_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
