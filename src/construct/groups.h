/* Groups: the runs of tokens that become one target each, as intervals of t. */
#ifndef XFI_CONSTRUCT_GROUPS_H
#define XFI_CONSTRUCT_GROUPS_H

#include "construct/problem.h"

#include <exactformer/peers.h>

/* Every token of the group, in every evaluation order, lands in [low, high]. */
typedef struct xfi_group {
    double low;
    double high;
    double t_low; /* least and largest centre */
    double t_high;
    double error; /* largest bound E of its tokens */
    int64_t sequence;
    int64_t target; /* row of y */
} xfi_group;

/* All M groups by ascending t. The front end is proved iff margin > 1. */
typedef struct xfi_groups {
    int64_t n;
    xfi_group *at; /* [n], owned */
    double margin; /* least (gap of centres) / (sum of the two bounds); INFINITY for n = 1 */
    double gap;    /* the gap and the bounds where it occurs */
    double bound;
    int64_t
        closest[2]; /* the two sequences there, ascending (equal for two groups of one sequence) */
} xfi_groups;

/* Cut each sequence at its m_j - 1 largest gaps of t, give the runs the targets in
 * order, sort all groups. t, E [T] from xfi_front_bound. Errors: XF_ERR_MEMORY. */
xf_status xfi_groups_make(xfi_groups *out, const xf_dataset *data, const double *t, const double *E,
                          xf_error *error);
void xfi_groups_clear(xfi_groups *groups);

/* The same from t and E tile by tile: begin, hand every tile to xfi_groups_cut (an xfi_bound_fn
 * whose context is the maker), end. */
typedef struct xfi_groups_maker {
    xfi_groups *groups;
    const xf_dataset *data;
    const xf_peers *peers;
    int threads;
    struct xfi_cutter *cutters; /* [threads], owned */
} xfi_groups_maker;

/* Errors: XF_ERR_MEMORY; nothing to end then. */
xf_status xfi_groups_begin(xfi_groups_maker *maker, xfi_groups *out, const xf_dataset *data,
                           const xf_peers *peers, int threads, xf_error *error);
int xfi_groups_cut(void *context, int thread, int64_t first, int64_t last, const double *t,
                   const double *E);
/* Gather, sort and measure, if `status` is XF_OK, else clear. Errors: XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_groups_end(xfi_groups_maker *maker, xf_status status, xf_error *error);

#endif
