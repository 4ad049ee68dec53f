/* Neurons on a few tokens at once. */
#include "construct/ball_tile.h"

#include "base/alloc.h"
#include "num/target_clones.h"

#include <string.h>

enum { LANES = XFI_BALL_LANES };

int xfi_ball_tile_init(xfi_ball_tile *tile, int64_t d, int64_t w) {
    *tile = (xfi_ball_tile){.d = d, .w = w};
    tile->x = xfi_calloc2(d, LANES, sizeof(double));
    tile->error = xfi_calloc2(d, LANES, sizeof(double));
    tile->states = xfi_calloc2(LANES, w, sizeof *tile->states);
    return tile->x && tile->error && tile->states;
}

void xfi_ball_tile_clear(xfi_ball_tile *tile) {
    xfi_free(tile->x);
    xfi_free(tile->error);
    xfi_free(tile->states);
    *tile = (xfi_ball_tile){0};
}

/* Lanes beyond n repeat the last token. Only the coordinates that the block looks at. */
static void load(xfi_ball_tile *tile, const xfi_block_view *view, const double *tokens, int64_t n) {
    const double *token[LANES];
    for (int64_t l = 0; l < LANES; l++)
        token[l] = tokens + (l < n ? l : n - 1) * tile->d;
    for (int64_t i = 0; i < view->n_used; i++) {
        double *x = tile->x + view->used[i] * LANES, *error = tile->error + view->used[i] * LANES;
        for (int l = 0; l < LANES; l++)
            x[l] = token[l][view->used[i]];
        for (int l = 0; l < LANES && view->format->p != 53; l++)
            error[l] = fabs(x[l] - xfi_round(view->format, x[l])) * XFI_INFLATE;
    }
}

/* Sums over the coordinates, one lane a token. */
typedef struct lane_sums {
    double hi[LANES];
    double lo[LANES];
    double absolute[LANES];
    double propagated[LANES];
} lane_sums;

/* sum + w x in double-double, as xfi_dd_add(sum, xfi_dd_scale({x, 0}, w)). */
XFI_CLONES_FMA static void add_products(lane_sums *restrict sums, const double *restrict row,
                                        const double *restrict x, const double *restrict error,
                                        const int64_t *restrict used, int64_t n_used) {
    lane_sums s = *sums;
    for (int64_t i = 0; i < n_used; i++) {
        int64_t k = used[i];
        double weight = row[k], magnitude = fabs(row[k]);
        if (weight == 0.0)
            continue;
        for (int l = 0; l < LANES; l++) {
            double xl = x[k * LANES + l], el = error[k * LANES + l];
            double p = xl * weight, q = __builtin_fma(xl, weight, -p);
            double hi = p + q, z = hi - p, lo = (p - (hi - z)) + (q - z);
            double t = s.hi[l] + hi, y = t - s.hi[l];
            double tail = (s.hi[l] - (t - y)) + (hi - y);
            double rest = tail + (s.lo[l] + lo);
            double u = t + rest, v = u - t;
            s.hi[l] = u;
            s.lo[l] = (t - (u - v)) + (rest - v);
            s.absolute[l] += magnitude * (fabs(xl) + el);
            s.propagated[l] += magnitude * el;
        }
    }
    *sums = s;
}

static void evaluate(xfi_ball_tile *tile, const xfi_block_view *view, int64_t i, int64_t n) {
    lane_sums sums = {{0}, {0}, {0}, {0}};
    for (int l = 0; l < LANES; l++) {
        sums.hi[l] = view->b[i];
        sums.absolute[l] = fabs(view->b[i]);
    }
    add_products(&sums, view->U + i * view->d, tile->x, tile->error, view->used, view->n_used);
    for (int64_t l = 0; l < n; l++)
        xfi_ball_neuron(&tile->states[l * view->w + i], view, i, (xfi_dd){sums.hi[l], sums.lo[l]},
                        sums.absolute[l], sums.propagated[l]);
}

void xfi_ball_tile_neurons(xfi_ball_tile *tile, const xfi_block_view *view, const double *tokens,
                           int64_t n) {
    load(tile, view, tokens, n);
    for (int64_t i = 0; i < view->w; i++) {
        if (!view->negates[i]) {
            evaluate(tile, view, i, n);
            continue;
        }
        for (int64_t l = 0; l < n; l++) {
            xfi_neuron_state *state = tile->states + l * view->w + i;
            xfi_ball_negated(state, state - 1);
        }
    }
}

static xfi_ball coordinate(const xfi_ball_tile *tile, int64_t l, int64_t k) {
    return (xfi_ball){{tile->x[k * LANES + l], 0.0}, tile->error[k * LANES + l]};
}

xfi_ball xfi_ball_tile_output(const xfi_ball_tile *tile, const xfi_block_view *view, int64_t l,
                              int64_t c, xfi_ball *x) {
    const xfi_ball *inputs = NULL;
    if (!view->writes[c] && view->eta == 1.0)
        return coordinate(tile, l, c);
    if (!view->writes[c] && view->eta == 0.0)
        return (xfi_ball){{0, 0}, 0};
    if (view->format->p != 53) {
        for (int64_t k = 0; k < tile->d; k++)
            x[k] = coordinate(tile, l, k);
        inputs = x;
    }
    return xfi_ball_output(view, c, coordinate(tile, l, c), inputs, tile->states + l * view->w);
}
