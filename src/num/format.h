/* The two binary formats, and exact questions about floating-point numbers.
 * Numeric class: everything here is exact unless it says otherwise. */
#ifndef XFI_NUM_FORMAT_H
#define XFI_NUM_FORMAT_H

#include "base/bytes.h"

#include <exactformer/model.h>

#include <math.h>

/* p significant bits, unit roundoff u = 2^-p, normal numbers 2^emin .. < 2^(emax+1),
 * smallest subnormal 2^(emin-p+1). */
typedef struct xfi_format {
    int p;
    int emin;
    int emax;
    double u;
    double smallest; /* 2^(emin-p+1) */
} xfi_format;

static inline xfi_format xfi_format_of(xf_dtype dtype) {
    return dtype == XF_F32 ? (xfi_format){24, -126, 127, 0x1p-24, 0x1p-149}
                           : (xfi_format){53, -1022, 1023, 0x1p-53, 0x1p-1074};
}

/* v rounded to the format (to nearest even); may overflow to an infinity. */
static inline double xfi_round(const xfi_format *format, double v) {
    return format->p == 24 ? (double)(float)v : v;
}

/* v rounded to 24 significant bits, whatever its exponent. */
static inline double xfi_round24(double v) {
    int exponent = 0;
    double fraction = frexp(v, &exponent);
    return ldexp((double)(float)fraction, exponent);
}

/* Is v a finite number of the format? */
static inline int xfi_representable(const xfi_format *format, double v) {
    return isfinite(v) && xfi_round(format, v) == v;
}

/* floor(log2 |v|); v finite and not 0. */
static inline int xfi_exponent(double v) {
    int field = (int)(xfi_bits_of_double(v) >> 52 & 0x7ff);
    return field != 0 ? field - 1023 : ilogb(v);
}

/* Exponent of the lowest set bit of v: v is an odd multiple of 2^it; v finite, not 0. */
static inline int xfi_lowest_bit(double v) {
    uint64_t bits = xfi_bits_of_double(v), fraction = bits & (((uint64_t)1 << 52) - 1);
    int field = (int)(bits >> 52 & 0x7ff);
    return field != 0 ? field - 1075 + __builtin_ctzll(fraction | (uint64_t)1 << 52)
                      : -1074 + __builtin_ctzll(fraction);
}

/* 2^k, infinite or 0 where it leaves binary64. */
static inline double xfi_power(int k) {
    return k >= -1022 && k <= 1023 ? xfi_double_of_bits((uint64_t)(k + 1023) << 52) : ldexp(1.0, k);
}

/* v 2^k, as ldexp: rounded once. */
static inline double xfi_scale(double v, int k) {
    return k >= -1022 && k <= 1023 ? v * xfi_power(k) : ldexp(v, k);
}

/* ulp(v) in the format: the spacing of its numbers at |v| (2^(emin-p+1) for subnormals and 0). */
double xfi_ulp(const xfi_format *format, double v);

/* Smallest power of two > v >= 0 (1 for v = 0). */
double xfi_power_above(double v);

/* gamma_n = n u / (1 - n u), rounded up a little; INFINITY unless n u < 1/2. */
double xfi_gamma(const xfi_format *format, double n);

#endif
