/* Double-double arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi)/2.
 *
 * Numeric class: sums and products of n terms computed here carry a relative error below
 * (n + 4)^2 2^-104 of the sum of the absolute terms (Ogita, Rump and Oishi, Accurate sum and
 * dot product, SIAM J. Sci. Comput. 26, 2005, for Dot2), barring overflow and underflow.
 * Needs -ffp-contract=off. */
#ifndef XFI_NUM_DOUBLE_DOUBLE_H
#define XFI_NUM_DOUBLE_DOUBLE_H

#include <math.h>

typedef struct xfi_dd {
    double hi;
    double lo;
} xfi_dd;

/* a + b exactly, for any a, b without overflow (Knuth). */
static inline xfi_dd xfi_two_sum(double a, double b) {
    double s = a + b;
    double z = s - a;
    return (xfi_dd){s, (a - (s - z)) + (b - z)};
}

/* a * b exactly, barring underflow of the low part. */
static inline xfi_dd xfi_two_product(double a, double b) {
    double p = a * b;
    return (xfi_dd){p, fma(a, b, -p)};
}

static inline xfi_dd xfi_dd_add(xfi_dd a, xfi_dd b) {
    xfi_dd s = xfi_two_sum(a.hi, b.hi);
    return xfi_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

static inline xfi_dd xfi_dd_add_double(xfi_dd a, double b) {
    return xfi_dd_add(a, (xfi_dd){b, 0.0});
}

/* a * b for a double b. */
static inline xfi_dd xfi_dd_scale(xfi_dd a, double b) {
    xfi_dd p = xfi_two_product(a.hi, b);
    return xfi_two_sum(p.hi, p.lo + a.lo * b);
}

/* a / n for a double n. */
static inline xfi_dd xfi_dd_divide(xfi_dd a, double n) {
    double q = a.hi / n;
    xfi_dd p = xfi_two_product(q, n);
    double rest = ((a.hi - p.hi) - p.lo + a.lo) / n;
    return xfi_two_sum(q, rest);
}

static inline double xfi_dd_value(xfi_dd a) {
    return a.hi + a.lo;
}

#endif
