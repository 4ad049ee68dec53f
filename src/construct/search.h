/* Seeded random search for features, and the front ends that the best of them make.
 *
 * Numeric class: approximate; the same on every machine and for every number of
 * threads. */
#ifndef XFI_CONSTRUCT_SEARCH_H
#define XFI_CONSTRUCT_SEARCH_H

#include "construct/features.h"

enum {
    XFI_PLAIN_BATCHES = 3,
    XFI_PLAIN_DIRECTIONS = XFI_PLAIN_BATCHES * XFI_PROJECT_BATCH,
    XFI_KEEP = 4,
    XFI_CANDIDATES = XFI_KEEP * XFI_KEEP
};

/* The best features so far, best first. */
typedef struct xfi_search {
    const xfi_problem *problem;
    int n_batches; /* of directions in a step */
    int n_locals;
    int n_pools;
    xfi_local locals[XFI_KEEP];
    xfi_pool pools[XFI_KEEP];
    double *directions; /* [XFI_PLAIN_DIRECTIONS][d] */
} xfi_search;

/* A front end (sigma 1, no shift) and its estimated margin. */
typedef struct xfi_candidate {
    xfi_front front;
    double estimate;
    const xfi_pool *pool; /* whose means its numbers are (every m_j = 1), in a wide search; or NULL.
                             It is the search's, until the next step. */
} xfi_candidate;

xf_status xfi_search_init(xfi_search *search, const xfi_problem *problem, xf_error *error);
void xfi_search_clear(xfi_search *search);

/* One step: plain directions, every one as a local and as a pool feature. A round of 24 has axes
 * (round 0), sparse and dense ones, in this order. It is one step or, for many tokens in binary64,
 * where margins are wide and every pass costs, three, so that the first one may do. */
xf_status xfi_search_plain(xfi_search *search, int step, xf_error *error);
int xfi_search_steps(const xfi_search *search, int rounds);

/* Forget the pool features, keep the local ones. */
void xfi_search_drop_pools(xfi_search *search);

/* One round of 96 pool features with kinks (kinks.c), or 48 with `n_folds` folds (folds.c). */
xf_status xfi_search_kinks(xfi_search *search, int round, xf_error *error);
xf_status xfi_search_folds(xfi_search *search, int n_folds, xf_error *error);

/* Keep the measured features that are among the best, clear the others. */
void xfi_search_keep(xfi_search *search, xfi_features *features);

/* Insert the front end of one local (NULL: none) and one pool feature with gain K into the
 * list out [*n + 1], best estimate first; nothing if K is infinite. */
xf_status xfi_search_pair(const xfi_problem *problem, const xfi_local *local, const xfi_pool *pool,
                          double K, xfi_candidate *out, int *n, xf_error *error);

/* Front ends for cells (cells.h), where windows of sequences may overlap: the pool features
 * alone if every m_j = 1; for m_j = n_j gains of 0.3, 1, 3 and 10 times the ratio of the
 * ranges (0 for N = 1); else the gain of gain.c. */
xf_status xfi_search_cell_fronts(const xfi_search *search, xfi_candidate out[XFI_CANDIDATES],
                                 int *n, xf_error *error);

/* For d = 1 and some m_j > 1: 16 joint features (joint.c), the plain one first in round 0. */
xf_status xfi_search_joint(xfi_search *search, int round, xfi_candidate out[XFI_CANDIDATES], int *n,
                           xf_error *error);

/* Pair the features kept, with the gain of gain.c, best estimate first; returns the number of
 * candidates in *n. Caller clears the fronts. */
xf_status xfi_search_pairs(const xfi_search *search, xfi_candidate out[XFI_CANDIDATES], int *n,
                           xf_error *error);

#endif
