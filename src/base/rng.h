/* Random numbers that are the same on every machine: xoshiro256++ seeded by
 * splitmix64 (Blackman and Vigna, public domain algorithms). */
#ifndef XFI_BASE_RNG_H
#define XFI_BASE_RNG_H

#include <stdint.h>

typedef struct xfi_rng {
    uint64_t state[4];
} xfi_rng;

/* Independent streams for different (seed, stream). */
void xfi_rng_seed(xfi_rng *rng, uint64_t seed, uint64_t stream);

uint64_t xfi_rng_bits(xfi_rng *rng);

/* Uniform multiple of 2^-53 in [0, 1). */
double xfi_rng_uniform(xfi_rng *rng);

/* Uniform in 0 .. bound-1; bound >= 1. Exact (rejection). */
int64_t xfi_rng_below(xfi_rng *rng, int64_t bound);

/* Standard normal by Leva's ratio of uniforms: libm enters only in a comparison, so the
 * values do not depend on its last bit except with probability about 2^-50. */
double xfi_rng_normal(xfi_rng *rng);

/* Uniformly random permutation of order[0 .. n-1], in place. */
void xfi_rng_shuffle(xfi_rng *rng, int64_t *order, int64_t n);

#endif
