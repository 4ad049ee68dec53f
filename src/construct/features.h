/* Scalar features of tokens that a front end can be made of, and how good they are.
 *
 * Numeric class: approximate. Scores only rank candidates; the certificate
 * (front_bound.h) decides. */
#ifndef XFI_CONSTRUCT_FEATURES_H
#define XFI_CONSTRUCT_FEATURES_H

#include "construct/front.h"
#include "num/project.h"

/* A local feature a(x) = <u, x> - mu, and what it does to each sequence. */
typedef struct xfi_local {
    double *u;    /* [d], owned */
    double *low;  /* [N] least a in the sequence, owned */
    double *high; /* [N] largest, owned */
    double mu;
    double
        delta; /* least gap that must be kept: min over m_j > 1 of the (m_j - 1)-th largest gap */
    double error; /* estimated rounding error of a */
    double score;
} xfi_local;

/* A pool feature s and the means it gives. */
typedef struct xfi_pool {
    xfi_front shape; /* without a local term; owned */
    double *mean;    /* [N] of s over the sequence, owned */
    int64_t *order;  /* [N] sequences by ascending mean, owned */
    double gap;      /* least difference of neighbouring means */
    double error;    /* estimated error of a mean */
    double score;
} xfi_pool;

void xfi_local_clear(xfi_local *local);
void xfi_pool_clear(xfi_pool *pool);

/* Turns the projections of some tokens, values [n_tokens][XFI_PROJECT_BATCH], into the values of
 * the features, in place. */
typedef void (*xfi_shape_fn)(const void *context, double *values, int64_t n_tokens);

/* Up to XFI_PROJECT_BATCH features that are functions of as many projections. */
typedef struct xfi_features {
    const xfi_problem *problem;
    const double *directions; /* [XFI_PROJECT_BATCH][d] */
    xfi_shape_fn shape;       /* NULL: the projections themselves */
    const void *context;
    int n;
    xfi_local *locals; /* [n] with u set, or NULL: do not measure them as local features */
    xfi_pool *pools;   /* [n] with shape set, its nu included */
    double rounding[XFI_PROJECT_BATCH]; /* error of a value */
} xfi_features;

/* Measure all of them in one pass over the tokens: `values` without mu and nu. Takes ownership of
 * locals and pools; on failure they are cleared. Memory of the order of N.
 * Errors: XF_ERR_IO (peers), XF_ERR_MEMORY. */
xf_status xfi_features_measure(xfi_features *features, xf_error *error);

/* Least and largest projection on each of n_batches * XFI_PROJECT_BATCH directions, in one pass.
 * Errors: XF_ERR_IO (peers), XF_ERR_MEMORY. */
xf_status xfi_projection_ranges(double *low, double *high, const xfi_problem *problem,
                                const double *directions, int n_batches, xf_error *error);

/* Widen the ranges low .. high [BATCH] by values [n_tokens][BATCH]; NaN are passed over. */
void xfi_features_widen(double *low, double *high, const double *values, int64_t n_tokens);

/* The origin for values between low and high: their middle, or 0 if that is near. */
double xfi_feature_origin(double low, double high);

/* Estimated rounding error of <u, x> + bias in the format. */
double xfi_direction_error(const xfi_problem *problem, const double *u);

#endif
