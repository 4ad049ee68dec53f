/* Lanes: the grid writer. Groups with t > 0 form the positive lane, t < 0 the negative
 * one, each worked off from its outer end inwards. With z = sign * x_k1 a group is clamped to
 * one code c (a short dyadic number inside or below its interval), and in the next block
 * a gate that is exactly 1 at c and 0 elsewhere writes its target. Where the target has too many
 * bits beside so large a code, the gate moves the group to a small code below all others instead,
 * a slot of the lane, from where it is written in the end.
 * docs/theory.md, T-clamp, T-gate, T-write and T-park. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_LANES_H
#define XFI_CONSTRUCT_LANES_H

#include "construct/front.h"
#include "construct/groups.h"

typedef struct xfi_item {
    double low; /* z interval */
    double high;
    double code;
    double theta; /* code - 2^k */
    int k;
    double y1;      /* the target's value on k1 */
    int64_t target; /* row of y */
    int64_t slot;   /* the item it becomes instead of being written; -1: none */
} xfi_item;

/* What a lane does in one block: indices of items, -1 for nothing. */
typedef struct xfi_step {
    int64_t clamp;
    int64_t write;
} xfi_step;

typedef struct xfi_lane {
    double sign;
    int64_t n;       /* groups */
    int64_t n_slots; /* parked ones */
    xfi_item *items; /* [n + n_slots] outermost first, the slots last, owned */
    int64_t n_steps; /* 0 if n is 0, else at least n + 1 + n_slots */
    xfi_step *steps; /* owned */
} xfi_lane;

typedef struct xfi_lanes {
    xfi_lane side[2]; /* positive, negative */
    int64_t n_steps;  /* of the longer one */
} xfi_lanes;

/* What the gates write: the rows of y [M][d], k1 included; or, for the first pass of the
 * sorted writer (y NULL), code[target] on k2 and 0 elsewhere. */
typedef struct xfi_written {
    const double *y;
    const double *code;
    int64_t d;
    xfi_axes axes;
    int keeps; /* nonzero: eta stays 1, what is written is added and the rest lives on (stage.h) */
} xfi_written;

/* Where the groups stand on the line of the lanes. */
typedef struct xfi_placing {
    int64_t below; /* so many groups, the lowest, form the negative lane */
    double shift;  /* numbers are sigma (t - shift) */
    double sigma;
    double reach; /* finished tokens stay within |x_k1| <= reach: a power of two, or 0 */
} xfi_placing;

/* Lay out codes and steps. *feasible becomes 0 when some code does not exist or does not fit the
 * format (T-write), or, for d > 1, when parked targets would take the model beyond (d + 8) M
 * nonzero parameters, and `out` is then cleared. Errors: XF_ERR_MEMORY. */
xf_status xfi_lanes_make(xfi_lanes *out, int *feasible, const xfi_groups *groups,
                         const xfi_placing *placing, const xfi_written *written,
                         const xfi_format *format, xf_error *error);
void xfi_lanes_clear(xfi_lanes *lanes);

/* Write n_steps blocks (fresh, width 4) from `first` on. The first one deletes every
 * coordinate but k1, unless written->keeps. */
void xfi_lanes_emit(const xfi_lanes *lanes, const xfi_written *written, xf_model *model,
                    int64_t first);

#endif
