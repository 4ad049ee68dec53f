/* exp for arguments up to 0 without branches, so that loops over it become vectors, and with the
 * same bits on every machine; the including file defines REAL, BITS (an unsigned integer as wide)
 * and the constants below.
 *
 * exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts, exp(r) by its
 * Taylor series, whose remainder at |r| = ln(2)/2 is below half an ulp of 1. Numeric class:
 * approximate, within 2 ulp; exp(0) = 1 exactly; 0 below EXP_LEAST, where 2^n leaves the normal
 * range. NaN gives NaN. */
XFI_INLINE REAL XFI_NAME(exp)(REAL x) {
    REAL shifted = x * EXP_LOG2E + EXP_SHIFT; /* n in the lowest bits */
    REAL n = shifted - EXP_SHIFT;
    REAL r = x - n * EXP_LN2_HIGH;
    r -= n * EXP_LN2_LOW;
    REAL p = EXP_SERIES(r);
    BITS scale, bits;
    memcpy(&scale, &shifted, sizeof scale);
    memcpy(&bits, &p, sizeof bits);
    bits += scale << EXP_MANTISSA;
    memcpy(&p, &bits, sizeof p);
    return x < EXP_LEAST ? 0 : p;
}
