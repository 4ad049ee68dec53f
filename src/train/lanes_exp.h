/* exp for arguments up to 0 without branches, so that loops over it become vectors, and with the
 * same bits on every machine.
 *
 * exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts of which the
 * first has so few bits that n times it is exact; exp(r) by its Taylor series, whose remainder at
 * |r| = ln(2)/2 is below an ulp of 1. Numeric class: approximate, within 3 ulp in binary32 and 2 in
 * binary64; exp(0) = 1 exactly; 0 where 2^n would leave the normal range; NaN gives NaN. */
#ifndef XFI_TRAIN_LANES_EXP_H
#define XFI_TRAIN_LANES_EXP_H

#include <stdint.h>
#include <string.h>

/* 1 + r + r^2/2 + ... + r^5/120 + r^6 tail. */
#define XFI_EXP_SERIES(real, r, tail)                                                              \
    (((((((tail) * (r) + (real)1 / 120) * (r) + (real)1 / 24) * (r) + (real)1 / 6) * (r) +         \
       (real)0.5) *                                                                                \
          (r) +                                                                                    \
      1) *                                                                                         \
         (r) +                                                                                     \
     1)

static inline __attribute__((always_inline)) float xfi_exp_f32(float x) {
    float shifted = x * 0x1.715476p+0f + 0x1.8p+23f; /* n in the lowest bits */
    float n = shifted - 0x1.8p+23f;
    float r = x - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;
    float p = XFI_EXP_SERIES(float, r, 1.0f / 720);
    uint32_t scale, bits;
    memcpy(&scale, &shifted, sizeof scale);
    memcpy(&bits, &p, sizeof bits);
    bits += scale << 23;
    memcpy(&p, &bits, sizeof p);
    return x < -87.0f ? 0.0f : p;
}

static inline __attribute__((always_inline)) double xfi_exp_f64(double x) {
    double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p+52;
    double n = shifted - 0x1.8p+52;
    double r = x - n * 0x1.62e42feep-1 - n * 0x1.a39ef35793c76p-33;
    double tail = 1.0 / 6227020800; /* 1/13! */
    tail = tail * r + 1.0 / 479001600;
    tail = tail * r + 1.0 / 39916800;
    tail = tail * r + 1.0 / 3628800;
    tail = tail * r + 1.0 / 362880;
    tail = tail * r + 1.0 / 40320;
    tail = tail * r + 1.0 / 5040;
    tail = tail * r + 1.0 / 720;
    double p = XFI_EXP_SERIES(double, r, tail);
    uint64_t scale, bits;
    memcpy(&scale, &shifted, sizeof scale);
    memcpy(&bits, &p, sizeof bits);
    bits += scale << 52;
    memcpy(&p, &bits, sizeof p);
    return x < -708.0 ? 0.0 : p;
}

#endif
