/* Leader selection: m_j tokens of each sequence are moved to places of their own, one block a move.
 *
 * A move is a trapezoid slab: along a direction u that isolates the token, four neurons are
 * 1 on a plateau around its projection s, 0 on every other token, and carry the step w:
 *     b = -s + (2r, r, -r, -2r),  W = (w, -w, -w, w) / r
 * The first move needs two neurons only, since its token is an extreme one on an axis, and shares
 * its block with the shift of quantise.h. Everything is in units of the grid G, so the sums
 * are exact in any order. docs/published.md, P-leaders. */
#ifndef XFI_CONSTRUCT_LEADERS_H
#define XFI_CONSTRUCT_LEADERS_H

#include "construct/places.h"
#include "construct/problem.h"
#include "construct/quantise.h"

typedef struct xfi_move {
    int64_t token;
    int64_t s; /* <u, x> of the token */
    int64_t r; /* half-width of the plateau, a power of two */
} xfi_move;

/* Why no leader was found: the most isolated token that would do, and its neighbour. */
typedef struct xfi_leader_miss {
    int64_t sequence;
    int64_t token; /* rows of x */
    int64_t other;
    double found; /* isolation over h, and how much is needed */
    double needed;
    int crowded; /* the token is isolated, but the places of so many leaders are too close */
} xfi_leader_miss;

typedef struct xfi_leaders {
    int64_t d;
    int64_t n_moves; /* M */
    int fused;       /* the first move shares its block with the shift */
    xfi_move *moves; /* [M], owned */
    int64_t *u;      /* [M][d], owned; for a fused move a unit vector up to sign */
    int64_t *w;      /* [M][d], owned; multiples of r */
    int64_t *x;      /* [T][d] tokens after all moves, owned */
    xfi_leader_miss miss;
} xfi_leaders;

/* Choose, largest isolation first, and plan the moves. *feasible becomes 0 and `miss` is
 * filled if the grid is too coarse or too fine for some token.
 * O(M T) and O(64 log T) a move. Errors: XF_ERR_MEMORY, XF_ERR_CANCELLED; the result is then
 * cleared, else it is the caller's to clear. */
xf_status xfi_leaders_choose(xfi_leaders *out, int *feasible, const xfi_quantised *q,
                             const xfi_places *places, const xfi_problem *problem, xf_error *error);
void xfi_leaders_clear(xfi_leaders *leaders);

/* Blocks that xfi_leaders_emit writes: M, or M + 1 if the first move is not fused. */
int64_t xfi_leaders_blocks(const xfi_leaders *leaders);

/* Write the shift and all moves into fresh blocks from `first` on. `eta` is that of the first
 * block (a power of two): its inputs are the tokens divided by eta. */
void xfi_leaders_emit(const xfi_leaders *leaders, const xfi_quantised *q, xf_model *model,
                      int64_t first, double eta);

#endif
