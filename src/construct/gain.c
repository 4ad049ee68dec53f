/* The gain of the pooled term. */
#include "construct/gain.h"

static double round_up(double K) {
    if (K == 0.0 || !isfinite(K))
        return K;
    double unit = ldexp(1.0, xfi_exponent(K) - 11);
    return ceil(K / unit) * unit;
}

double xfi_gain(const xfi_local *local, const xfi_pool *pool, int64_t n_sequences) {
    double K = 0;
    for (int64_t i = 0; i + 1 < n_sequences; i++) {
        int64_t j = pool->order[i], next = pool->order[i + 1];
        double width = local->high[j] - local->low[next];
        double difference = pool->mean[next] - pool->mean[j];
        double need = local->delta + width;
        if (need > 0)
            K = fmax(K, difference > 0 ? need / difference : INFINITY);
    }
    return round_up(K);
}
