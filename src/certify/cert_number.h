/* Exact binary numbers (arf_t of Arb) and their way back into a format.
 *
 * A certificate is about real numbers (sense real) or about the numbers of a format that
 * admissible evaluations may produce (sense ieee). Numeric class: exact; ends of intervals are
 * rounded outwards (real) or inwards to the format, where the value must lie (ieee). */
#ifndef XFI_CERTIFY_CERT_NUMBER_H
#define XFI_CERTIFY_CERT_NUMBER_H

#include "num/format.h"

#include <flint/flint.h>
#include <flint/fmpq.h>
#if FLINT_ARB_SEPARATE
#include <arb.h>
#else
#include <flint/arb.h>
#endif

/* The exponent of the number 0, a multiple of every power of two. */
enum { XFI_EXPONENT_OF_ZERO = 1 << 20 };

typedef struct xfi_sense {
    int ieee;
    xfi_format format;
    int least; /* exponent of the smallest subnormal number */
    /* for quick tests in binary64: relative and absolute slack a term, and the largest size */
    double quiet_slack, quiet_tiny, quiet_size;
} xfi_sense;

static inline xfi_sense xfi_sense_in(int ieee, xfi_format format) {
    double u = format.u > 0x1p-53 ? format.u : 0x1p-53;
    double size = format.emax < 1000 ? ldexp(1.0, format.emax - 1) : 0x1p1000;
    return (xfi_sense){
        ieee, format, format.emin - format.p + 1, 8 * u, 0x1p-1000 + 2 * format.smallest, size};
}

static inline xfi_sense xfi_sense_of(int ieee, xf_dtype dtype) {
    return xfi_sense_in(ieee, xfi_format_of(dtype));
}

/* n numbers, initialised to 0; NULL if memory is short. */
arf_ptr xfi_arf_new(int64_t n);
void xfi_arf_free(arf_ptr numbers, int64_t n);

/* z += x * y, exactly. */
static inline void xfi_arf_addmul(arf_t z, const arf_t x, const arf_t y) {
    arf_addmul(z, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
}

static inline void xfi_arf_plus(arf_t z, const arf_t x, const arf_t y) {
    arf_add(z, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
}

static inline void xfi_arf_times(arf_t z, const arf_t x, const arf_t y) {
    arf_mul(z, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
}

/* z += max(|x|, |y|) exactly. */
void xfi_arf_add_size(arf_t z, const arf_t x, const arf_t y);

/* The interval of a number that is at least x (at most x). Infinite beyond the range. */
double xfi_lower_end(const xfi_sense *sense, const arf_t x);
double xfi_upper_end(const xfi_sense *sense, const arf_t x);

/* x rounded to the format, to nearest, ties to even; beyond the range it keeps growing. */
void xfi_arf_to_format(arf_t out, const xfi_sense *sense, const arf_t x);

/* The largest known e such that every number of the format in [low, high] is a multiple of 2^e. */
int32_t xfi_interval_exponent(const xfi_sense *sense, double low, double high);

/* Exponent of the lowest set bit; XFI_EXPONENT_OF_ZERO for 0. */
static inline int32_t xfi_exponent_of(double v) {
    return v == 0.0 ? XFI_EXPONENT_OF_ZERO : xfi_lowest_bit(v);
}

static inline int32_t xfi_exponent_min(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static inline int32_t xfi_exponent_max(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static inline int xfi_is_power_of_two(double v) {
    return v != 0.0 && xfi_lowest_bit(v) == xfi_exponent(v);
}

#endif
