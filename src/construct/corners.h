/* Corners: every cell at its own corner of a cube, coordinate c_i holding bit i as +-kappa. All
 * corners are equally far from one another's faces, so that one gate a target will do,
 * in any order. docs/writers.md, T-corners. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_CORNERS_H
#define XFI_CONSTRUCT_CORNERS_H

#include "construct/reading.h"

/* How a writer on the cube's corners is made. All zero: the fewest blocks. */
typedef struct xfi_corner_shape {
    int r;     /* the stream starts at 2^-r of its scale, and doubles in the last r blocks */
    int extra; /* blocks without gates at the end */
    int lift;  /* kappa is 2^lift times as large as it has to be */
    int slack; /* most m of a gate 2^-m (sum - (b - 2^m)) */
    int split; /* two blocks a bit: read, then double */
    int mean;  /* cube only: write y - mean, add the mean once */
} xfi_corner_shape;

typedef struct xfi_corners {
    int b;
    int coordinate[XFI_B_MAX]; /* c_1 .. c_b, highest bit first */
    int line;                  /* coordinate of 2^-b t */
    double kappa;              /* power of two; at the stream's full scale */
    xfi_format format;         /* set by xfi_corners_scale */
    xfi_corner_shape shape;
} xfi_corners;

/* Take as code coordinates those b of `rows` [n] whose largest |y| (or, by_bits, number of
 * grid bits) is least, and as line the next one, or `line` if that is not -1. Returns 0 if d < b +
 * 1, XF_ERR_MEMORY is reported as -1. */
int xfi_corners_choose(xfi_corners *corners, const double *const *rows, int64_t n, int64_t d,
                       int line, int by_bits);

/* The least power of two that keeps finished targets `rows` out of every gate, lifted. Returns 0 if
 * no gate exists (b - 2^slack < 1) or kappa is out of range. */
int xfi_corners_scale(xfi_corners *corners, const double *const *rows, int64_t n,
                      const xfi_format *format);

/* Blocks that xfi_corners_emit writes: b, or 2 b - 1. */
int64_t xfi_corners_blocks(const xfi_corners *corners);

/* Write them, fresh, from `first` on. In: 2^-b t on corners->line; anything elsewhere. Out: the
 * corner, at 2^-r of its scale, and 0 on all other coordinates. Returns 0 if some number leaves
 * the range of the format. */
int xfi_corners_emit(const xfi_corners *corners, const xfi_ramp *ramp, xf_model *model,
                     int64_t first);

/* Squared norm of these blocks, balanced; INFINITY if xfi_corners_emit would fail. */
double xfi_corners_cost(const xfi_corners *corners, const xfi_ramp *ramp);

/* +1 or -1: side of the cell on code coordinate i (from 0). */
double xfi_corner_side(const xfi_corners *corners, int64_t cell, int i);

/* Which code coordinate (from 0) k is, or -1. */
int xfi_corner_index(const xfi_corners *corners, int64_t k);

/* A neuron that is 1 at the corner of `cell`; 0 at corners that differ from it in at least
 * max(1, 2^(m-1)) bits, at the origin, and on finished targets. For a stream at full scale. */
int xfi_corner_gate(const xfi_corners *corners, int64_t cell, int m, xf_model *model,
                    int64_t block);

/* |(U, b)|^2 of a gate when the stream is at 2^exponent of its scale. */
double xfi_corner_gate_square(const xfi_corners *corners, int m, int exponent);

/* m[g] <= m_max for gate g of `cell` [n] (ascending), written in block[g]: the largest for
 * which no other cell that is unfinished then opens it. Exact up to 4096 cells, a lower bound
 * for more. O(n^2) up to 4096 cells, else O(n b log n). */
void xfi_corner_slack(int *m, const xfi_cell_group *cell, const int64_t *block, int64_t n, int b,
                      int m_max);

#endif
