/* Front ends by displacement: many sequences in few bits. One scalar, a, tells which cell a
 * sequence is in; lanes add the cell's offset, found by search, to another one.
 *
 *     single   m_j = 1         t = b + o(cell(a)),    a, b means over the sequence    d >= 2
 *     each     m_j = n_j       t = phi + o(cell(a)),  phi of the token itself         d >= 2
 *     shared   m_j = n_j       t = phi + K b + o(cell(a))                             d >= 3
 *     windows  1 <= m_j <= n_j c = b + o(cell(a)),  t = phi + w(c): a window for each d >= 3
 *
 * docs/reach.md. */
#ifndef XFI_CONSTRUCT_DISPLACEMENT_H
#define XFI_CONSTRUCT_DISPLACEMENT_H

#include "construct/lanes.h"
#include "construct/scalars.h"
#include "construct/writers.h"

typedef enum xfi_displacement_shape {
    XFI_DISPLACE_SINGLE,
    XFI_DISPLACE_EACH,
    XFI_DISPLACE_SHARED,
    XFI_DISPLACE_WINDOWS
} xfi_displacement_shape;

enum { XFI_DISPLACEMENT_STAGES = 2 };

/* Lanes from one coordinate to another, and what they add. */
typedef struct xfi_displacement_stage {
    xfi_lanes lanes;
    double *offset; /* by cell, owned */
    int64_t n_cells;
} xfi_displacement_stage;

typedef struct xfi_displacement {
    xfi_displacement_shape shape;
    xfi_scalar local;  /* phi; unused for single */
    xfi_scalar pooled; /* b; unused for each */
    xfi_scalar cells;  /* a */
    double K;          /* shared: a power of two */
    double unit;       /* shifts are rounded to multiples of it; 0: any */
    int n_stages;
    xfi_displacement_stage stage[XFI_DISPLACEMENT_STAGES];
} xfi_displacement;

void xfi_displacement_clear(xfi_displacement *displacement);

/* Keep the scalars only. */
void xfi_displacement_clear_stages(xfi_displacement *displacement);

int64_t xfi_displacement_poolings(const xfi_displacement *displacement);
int64_t xfi_displacement_blocks(const xfi_displacement *displacement);

/* The coordinates: t comes to lie on k1, a on k3 (k2 with one pooling). */
typedef struct xfi_displacement_axes {
    int k1;
    int k2;
    int k3;
} xfi_displacement_axes;

xfi_displacement_axes xfi_displacement_axes_of(xfi_axes axes, int64_t d);

/* Write poolings and stages into a new model, phases named, such that k1 carries sigma (t - shift).
 * *in_range becomes 0 if some weight leaves the range of the format. Errors: XF_ERR_MEMORY. */
xf_status xfi_displacement_emit(xf_model *out, int *in_range, const xfi_displacement *displacement,
                                double sigma, double shift, const xfi_problem *problem,
                                xfi_axes axes, xf_error *error);

/* The front end as writers see it. */
xfi_front_end xfi_displacement_front(const xfi_displacement *displacement);

/* Can the shape serve these data? */
int xfi_displacement_serves(xfi_displacement_shape shape, const xf_dataset *data);

/* Search for front ends of one shape and put each usable writer behind, until a model is made;
 * *found tells whether there was a certified front end. Errors: XF_ERR_MEMORY,
 * XF_ERR_CANCELLED. */
xf_status xfi_displace(xfi_best *best, int *found, xfi_displacement_shape shape,
                       const xfi_writers *writers, const xfi_problem *problem, xf_error *error);

/* The same with every shape that serves, in the order above, until one does. */
xf_status xfi_displace_best(xfi_best *best, int *found, const xfi_writers *writers,
                            const xfi_problem *problem, xf_error *error);

#endif
