/* Softmax: up to which temperature the other tokens pull a collapsed token so little that it
 * stays in the interval which the writer maps to its code.
 *
 * With a_l = t_l - t_l* the pull on token i is at most
 *     up:   sum over l != l* of exp(-alpha gap_l / tau) max(a_l, 0)
 *     down: the same with max(-a_l, 0),
 * both grow with tau. docs/published.md, P-temperature. */
#ifndef XFI_CONSTRUCT_TEMPERATURE_H
#define XFI_CONSTRUCT_TEMPERATURE_H

#include "construct/collapse.h"
#include "construct/groups.h"

/* Share of the room between two groups' intervals that either may lose to the softmax; the
 * rest, half of the room, is for the writer's codes. */
#define XFI_SOFTMAX_SHARE 0.25

/* Widen the intervals of all groups by that share. */
void xfi_reserve_room(xfi_groups *groups);

/* A pull on the line, for one token. */
typedef struct xfi_pull {
    int64_t n;
    const double *gap;  /* [n] lower bounds, 0 for l* */
    const double *up;   /* [n] upper bounds of max(a, 0) */
    const double *down; /* [n] */
} xfi_pull;

/* Upper bound of the pull at temperature tau (INFINITY allowed), rounded outwards; assumes that
 * exp of the C library and of the model's runtime is within 8 ulp. Numeric class: enclosure. */
void xfi_pull_at(double *up, double *down, const xfi_pull *pull, double tau);

/* The largest temperature, rounded down, at which no token of `data` is pulled beyond the room
 * reserved (groups before xfi_reserve_room), for alpha = 1; INFINITY if every one will do. p [T]:
 * every token's own number on the line; leader [T]: the rows that tokens are sent to (collapse.h,
 * proved); slope: |U|_1 of the line's block, so that a tolerance of x moves p by slope times it at
 * most. O(sum n_j^2 d). Errors: XF_ERR_MEMORY. */
xf_status xfi_temperature(double *tau, const xfi_groups *groups, const double *p, double slope,
                          const xfi_settled *settled, const int64_t *leader, const xf_dataset *data,
                          xf_error *error);

#endif
