/* Scalar features for displacement: numbers of one token that are used as they are, or averaged
 * over the sequence. Single coordinates first, since they round least.
 *
 *     s(x) = <v, x> - nu                        two neurons
 *     s(x) = relu(<v, x> - nu) - centre         one neuron ("half"), and a constant
 *
 * Numeric class: approximate, the same on every machine and for every number of threads. Scores
 * only rank candidates; displacement_bound.h decides. */
#ifndef XFI_CONSTRUCT_SCALARS_H
#define XFI_CONSTRUCT_SCALARS_H

#include "construct/problem.h"

typedef struct xfi_scalar {
    double *v; /* [d], owned */
    int half;
    double nu;
    double centre; /* only if half */
} xfi_scalar;

enum { XFI_SCALARS = 4 };

/* The best scalars for one purpose, best first. */
typedef struct xfi_scalar_list {
    int n;
    xfi_scalar at[XFI_SCALARS];
    double score[XFI_SCALARS];
} xfi_scalar_list;

/* What is looked for. `local` scalars are judged by the caller; `pooled` ones (two neurons or
 * one) by how many neighbouring means are too close. */
typedef struct xfi_scalar_wish {
    int local;
    int pooled;
    int half;
    /* Score (more is better, <= 0: useless) of a local scalar with values s [T] that round by at
     * most e. Returns 0 if memory is short. */
    int (*judge)(double *score, void *self, const double *s, double e);
    void *self;
} xfi_scalar_wish;

typedef struct xfi_scalar_search {
    const xfi_problem *problem;
    xfi_scalar_list local;
    xfi_scalar_list pooled;
    xfi_scalar_list half;
    double *values;     /* [XFI_PROJECT_BATCH][T] */
    double *directions; /* [XFI_PROJECT_BATCH][d] */
    double *token;      /* [T] one scalar */
    double *mean;       /* [N] */
    double *error;      /* [N] */
    int64_t *order;     /* [N] */
} xfi_scalar_search;

enum { XFI_SCALAR_ROUNDS = 3 };

xf_status xfi_scalar_search_init(xfi_scalar_search *search, const xfi_problem *problem,
                                 xf_error *error);
void xfi_scalar_search_clear(xfi_scalar_search *search);

/* Round 0: coordinates (the first 24). Later ones: sparse, dense and scaled directions.
 * Errors: XF_ERR_MEMORY, XF_ERR_CANCELLED. */
xf_status xfi_scalar_search_round(xfi_scalar_search *search, int round, const xfi_scalar_wish *wish,
                                  xf_error *error);

/* Deep copy. Returns 0 if memory is short. */
int xfi_scalar_copy(xfi_scalar *out, const xfi_scalar *scalar, int64_t d);
void xfi_scalar_clear(xfi_scalar *scalar);

/* Ranges of s over all tokens and of its means over the sequences. Errors: XF_ERR_MEMORY. */
xf_status xfi_scalar_ranges(const xfi_scalar *scalar, const xfi_problem *problem, double *tokens,
                            double *means, xf_error *error);

/* Move the origin into the widest gap between means of sequences near the median, so that
 * half of the sequences are on either side of 0; above all of them if N = 1.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_scalar_centre(xfi_scalar *scalar, const xfi_problem *problem, xf_error *error);

#endif
