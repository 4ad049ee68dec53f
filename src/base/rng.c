/* xoshiro256++ and what is drawn from it. */
#include "base/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void xfi_rng_seed(xfi_rng *rng, uint64_t seed, uint64_t stream) {
    uint64_t mix = stream;
    uint64_t state = seed ^ splitmix(&mix);
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix(&state);
}

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

uint64_t xfi_rng_bits(xfi_rng *rng) {
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double xfi_rng_uniform(xfi_rng *rng) {
    return (double)(xfi_rng_bits(rng) >> 11) * 0x1p-53;
}

int64_t xfi_rng_below(xfi_rng *rng, int64_t bound) {
    uint64_t n = (uint64_t)bound;
    uint64_t reject = (UINT64_MAX % n + 1) % n; /* 2^64 mod n */
    uint64_t bits = xfi_rng_bits(rng);
    while (bits > UINT64_MAX - reject)
        bits = xfi_rng_bits(rng);
    return (int64_t)(bits % n);
}

double xfi_rng_normal(xfi_rng *rng) {
    for (;;) {
        double u = 1.0 - xfi_rng_uniform(rng);
        double v = 1.7156 * (xfi_rng_uniform(rng) - 0.5);
        double x = u - 0.449871;
        double y = fabs(v) + 0.386595;
        double q = x * x + y * (0.19600 * y - 0.25472 * x);
        if (q < 0.27597 || (q <= 0.27846 && v * v <= -4.0 * u * u * log(u)))
            return v / u;
    }
}

void xfi_rng_shuffle(xfi_rng *rng, int64_t *order, int64_t n) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = xfi_rng_below(rng, i + 1);
        int64_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}
