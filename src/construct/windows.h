/* Windows: every sequence gets a stretch of the line of its own, the most delicate ones (smallest
 * gap that must be kept) nearest to 0, where numbers round least. docs/reach.md, section 4.
 * Numeric class: approximate; the certificate decides. */
#ifndef XFI_CONSTRUCT_WINDOWS_H
#define XFI_CONSTRUCT_WINDOWS_H

#include <exactformer/dataset.h>

typedef struct xfi_windows {
    const xf_dataset *data;
    double u;
    double error;   /* of the local scalar */
    double *low;    /* [N] least and largest local scalar, owned */
    double *high;   /* [N] */
    double *delta;  /* [N] the (m_j - 1)-th largest gap, INFINITY if m_j = 1; owned */
    int64_t *order; /* [N] ascending delta, owned */
    double *sorted; /* [2 n_max] scratch */
} xfi_windows;

/* Returns 0 if memory is short. */
int xfi_windows_init(xfi_windows *windows, const xf_dataset *data, double u);
void xfi_windows_clear(xfi_windows *windows);

/* Take the values s [T] of a local scalar, which round by at most `error`. Returns 0 if memory is
 * short. O(T log n). */
int xfi_windows_measure(xfi_windows *windows, const double *s, double error);

/* offset [N] (may be NULL) such that sequence j occupies low + offset .. high + offset, outside
 * |t| < middle and apart from all others, half of the groups on either side. Returns the
 * least margin within a sequence: its gap over the two bounds; *extent gets the largest |t|. */
double xfi_windows_pack(double *offset, double *extent, const xfi_windows *windows, double middle);

#endif
