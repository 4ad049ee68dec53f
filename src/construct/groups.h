/* Groups: the runs of tokens that become one target each, as intervals of t. */
#ifndef XFI_CONSTRUCT_GROUPS_H
#define XFI_CONSTRUCT_GROUPS_H

#include "construct/problem.h"

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

#endif
