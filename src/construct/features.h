/* Scalar features of tokens that a front end can be made of, and how good they are.
 *
 * Numeric class: approximate. Scores only rank candidates; the certificate
 * (front_bound.h) decides. */
#ifndef XFI_CONSTRUCT_FEATURES_H
#define XFI_CONSTRUCT_FEATURES_H

#include "construct/front.h"

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

/* Measure a local feature from its values a [T] (without mu); takes ownership of
 * local->u. On failure the feature is cleared. */
xf_status xfi_local_measure(xfi_local *local, const xfi_problem *problem, const double *a,
                            double error, xf_error *error_record);

/* Measure a pool feature from its values s [T] (without nu); takes ownership of
 * pool->shape. `error` is the rounding error of a value. On failure it is cleared. */
xf_status xfi_pool_measure(xfi_pool *pool, const xfi_problem *problem, const double *s,
                           double error, xf_error *error_record);

/* Estimated rounding error of <u, x> + bias in the format. */
double xfi_direction_error(const xfi_problem *problem, const double *u);

#endif
