/* Balls: numbers with rigorous error bounds, pushed through feed-forward layers
 * (docs/theory.md, T-front). Centres are in double-double, bounds in binary64, inflated. */
#ifndef XFI_CONSTRUCT_BALL_BLOCK_H
#define XFI_CONSTRUCT_BALL_BLOCK_H

#include "num/double_double.h"
#include "num/format.h"

#include <exactformer/model.h>

/* Covers the rounding of the bounds' own evaluation and the double-double error. */
#define XFI_INFLATE (1.0 + 0x1p-40)

/* A number known to within `error`. */
typedef struct xfi_ball {
    xfi_dd centre;
    double error;
} xfi_ball;

/* One neuron on one token. */
typedef struct xfi_neuron_state {
    xfi_dd a;          /* pre-activation */
    double propagated; /* from the errors of its inputs */
    double local;      /* of its own rounding */
    int active;        /* possibly > 0 */
    int certain;       /* certainly >= 0 */
} xfi_neuron_state;

/* Nonzero structure of one block, shared by all tokens. */
typedef struct xfi_block_view {
    const xf_model *model;
    const xfi_format *format;
    int64_t d;
    int64_t w;
    double eta;
    const double *U;
    const double *W;
    const double *b;
    int64_t *n_inputs; /* [w] nonzero entries of each row of U */
    double *roundings; /* [w] of a pre-activation, in any order */
    double *relative;  /* [w] what they come to, relative to the sum of absolute values */
    double *gamma;     /* [w + 3] gamma_n of the format */
    char *inexact;     /* [d][w] the product with this output weight is rounded */
    int *negates;      /* [w] row i is minus row i-1 */
    int *writes;       /* [d] some neuron writes this coordinate */
    int64_t n_used;
    int64_t *used; /* [n_used] ascending: coordinates that some neuron reads or writes, all if eta
                      keeps them */
} xfi_block_view;

/* 0 if a sum of absolute values leaves room below the largest number of the format, so that no
 * partial sum overflows in any order; else infinity. */
static inline double xfi_beyond(const xfi_format *format, double absolute) {
    return absolute < (format->p == 24 ? 0x1p127 : 0x1p1023) ? 0.0 : INFINITY; /* 2^emax */
}

/* |x| at most. */
static inline double xfi_ball_magnitude(xfi_ball x) {
    return fabs(x.centre.hi) + x.error;
}

/* May the neuron be active, and is it for certain? */
static inline void xfi_ball_decide(xfi_neuron_state *state) {
    double a = xfi_dd_value(state->a), e = (state->propagated + state->local) * XFI_INFLATE;
    state->active = !(a + e <= 0); /* NaN: anything may happen */
    state->certain = a - e >= 0;
}

/* Look at one block. `model` and `format` must outlive the view. Returns 0 if memory is short
 * (nothing to clear then). */
int xfi_block_view_init(xfi_block_view *view, const xf_model *model, int64_t block,
                        const xfi_format *format);
void xfi_block_view_clear(xfi_block_view *view);

/* A pre-activation of row i from its centre, sum_k |U_ik| |x_k| + |b_i| and sum_k |U_ik| e_k. */
static inline void xfi_ball_neuron(xfi_neuron_state *out, const xfi_block_view *view, int64_t i,
                                   xfi_dd centre, double absolute, double propagated) {
    double n = (double)view->n_inputs[i] + 4;
    double local = view->roundings[i] > 0 ? view->relative[i] * absolute : 0.0;
    if (view->n_inputs[i] > 0)
        local += 2 * n * view->format->smallest;
    local += xfi_beyond(view->format, absolute);
    out->a = centre;
    out->propagated = propagated * XFI_INFLATE;
    out->local = local * XFI_INFLATE;
    xfi_ball_decide(out);
}

/* Minus that of row i - 1, for rows with view->negates. */
static inline void xfi_ball_negated(xfi_neuron_state *out, const xfi_neuron_state *previous) {
    out->a = (xfi_dd){-previous->a.hi, -previous->a.lo};
    out->propagated = previous->propagated;
    out->local = previous->local;
    xfi_ball_decide(out);
}

/* Coordinate c of FF(x), which some neuron writes or eta keeps. `x` [d], or NULL if every x_k is
 * exact; x_c is that coordinate. Numeric class: enclosure. */
xfi_ball xfi_ball_output(const xfi_block_view *view, int64_t c, xfi_ball x_c, const xfi_ball *x,
                         const xfi_neuron_state *states);

/* x becomes FF(x), in place, for the exact evaluation and every order of summation, with and
 * without FMA; `next` [d] and `states` [w] are scratch. Numeric class: enclosure. */
void xfi_ball_feed_forward(const xfi_block_view *view, xfi_ball *x, xfi_ball *next,
                           xfi_neuron_state *states);

#endif
