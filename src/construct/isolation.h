/* Isolation: how far a token's projection is from that of every other token, over a fixed
 * family of small integer directions.
 *
 *     iso_u(x) = min over the other tokens y of |<u, x - y>| / |u|_1
 *
 * Tokens are on an integer grid, so every projection and every gap is exact. Each direction
 * keeps its projections sorted; moving a token costs a removal and an insertion. */
#ifndef XFI_CONSTRUCT_ISOLATION_H
#define XFI_CONSTRUCT_ISOLATION_H

#include <stdint.h>

enum { XFI_ISO_DIRECTIONS = 64 };

typedef struct xfi_place_on_line {
    int64_t value; /* <u, x> */
    int64_t token;
} xfi_place_on_line;

typedef struct xfi_isolation {
    int64_t n; /* tokens */
    int64_t d;
    int n_directions;        /* <= XFI_ISO_DIRECTIONS */
    int64_t *directions;     /* [n_directions][d] */
    int64_t *norms;          /* [n_directions] |u|_1 */
    xfi_place_on_line *line; /* [n_directions][n] by (value, token) */
    int64_t *value;          /* [n_directions][n] by token */
    int64_t *gap;            /* [n_directions][n] by token: to the nearest other value */
    int *best;               /* [n] direction of the largest iso; -1: to be found again */
} xfi_isolation;

/* Project and sort x [n][d]; |x| <= 2^44, d <= 2^16. Returns 0 if memory is short. O(n log n) a
 * direction. The directions depend on d only: axes, sparse ones with entries of at most 3
 * (9 for d = 2, 5 for d = 3), dense ones of +-1. Numeric class: exact. */
int xfi_isolation_init(xfi_isolation *out, const int64_t *x, int64_t n, int64_t d);
void xfi_isolation_clear(xfi_isolation *iso);

/* Token `token` now is at x [d]. O(n) moves of memory a direction. */
void xfi_isolation_move(xfi_isolation *iso, int64_t token, const int64_t *x);

/* The largest iso of a token (grid units, rounded) and the direction where it is attained. */
double xfi_isolation_of(xfi_isolation *iso, int64_t token, int *direction);

/* The token next to `token` on the direction's line: where its gap is attained; -1 for n = 1. */
int64_t xfi_isolation_neighbour(const xfi_isolation *iso, int64_t token, int direction);

#endif
