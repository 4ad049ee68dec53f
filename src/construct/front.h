/* A front end: blocks that send every token to one number t on coordinate k1, such that
 * the tokens of one future target form a group with an interval of its own.
 *
 *     t = sigma (a(x) + K mean_l s(x_l) - shift)
 *
 * The local feature a is <u, x> - mu, or absent (every m_j = 1). The pool feature s is
 * "plain", <v, x> - nu; or has "kinks", a signed sum of a few relu(<v_i, x> + b_i); or
 * "folds", a piecewise linear zigzag of one scalar. For d = 1 with a local term both share
 * the one coordinate: a = s ("joint"). For sequences of one token there may be no pooling:
 * t = sigma (s(x) - shift) by feed-forward layers alone. docs/theory.md, Front ends. */
#ifndef XFI_CONSTRUCT_FRONT_H
#define XFI_CONSTRUCT_FRONT_H

#include "construct/problem.h"

typedef enum xfi_front_kind { XFI_PLAIN, XFI_KINKS, XFI_FOLDS } xfi_front_kind;

enum { XFI_MAX_KINKS = 3, XFI_MAX_FOLDS = 6, XFI_WIDTH = 4 };

typedef struct xfi_front {
    xfi_front_kind kind;
    int has_local;
    int joint;
    int no_attention; /* the pool feature is not pooled; there is no local term */
    double *u;        /* [d], owned; NULL without a local term */
    double mu;
    double *v;                  /* [n_kinks][d], owned; one row for plain and folds */
    int n_kinks;                /* rows of v */
    double bias[XFI_MAX_KINKS]; /* kinks; folds: bias[0] */
    double sign[XFI_MAX_KINKS];
    double nu; /* subtracted from s */
    int n_folds;
    double fold_weight[XFI_MAX_FOLDS][XFI_WIDTH];
    double fold_knee[XFI_MAX_FOLDS][XFI_WIDTH];
    double K;
    double sigma; /* power of two */
    double shift;
} xfi_front;

/* The coordinates a front end and a writer work on; k2 is -1 for d = 1. */
typedef struct xfi_axes {
    int k1;
    int k2;
} xfi_axes;

void xfi_front_clear(xfi_front *front);

/* Deep copy. Errors: XF_ERR_MEMORY. */
xf_status xfi_front_copy(xfi_front *out, const xfi_front *front, int64_t d, xf_error *error);

/* Number of blocks: 1, plus the folds. */
int64_t xfi_front_blocks(const xfi_front *front);

/* Name the next blocks of `model`: "fold", then "pooling", or "project" without attention.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_front_add_phases(xf_model *model, const xfi_front *front, xf_error *error);

/* Write the blocks into the first xfi_front_blocks(front) of `model` (identity blocks of
 * width 4), rounding every weight to the format. Returns 0 if some weight leaves the
 * range of the format (infinite or subnormal). */
int xfi_front_emit(const xfi_front *front, const xfi_format *format, xfi_axes axes,
                   xf_model *model);

#endif
