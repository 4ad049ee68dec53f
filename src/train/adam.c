/* Adam in both precisions. */
#include "train/adam.h"

#include <math.h>

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/* The constants of one step; torch computes them in binary64 whatever the parameters. */
typedef struct factors {
    double shrink, decay, rate, root;
} factors;

static factors factors_of(const xfi_adam *adam) {
    double step = (double)adam->step;
    double wd = adam->weight_decay;
    return (factors){.shrink = adam->decoupled ? 1.0 - adam->learning_rate * wd : 1.0,
                     .decay = adam->decoupled ? 0.0 : wd,
                     .rate = adam->learning_rate / (1.0 - pow(beta1, step)),
                     .root = sqrt(1.0 - pow(beta2, step))};
}

#define DEFINE_STEP(NAME, REAL, SQRT)                                                              \
    static void NAME(double *theta, double *m, double *v, const double *gradient, int64_t n,       \
                     const factors *f) {                                                           \
        const REAL shrink = (REAL)f->shrink, decay = (REAL)f->decay, rate = (REAL)f->rate;         \
        const REAL root = (REAL)f->root, keep = (REAL)beta2, eps = (REAL)epsilon;                  \
        const REAL gain1 = (REAL)(1.0 - beta1), gain2 = (REAL)(1.0 - beta2);                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            REAL x = (REAL)theta[i] * shrink, first = (REAL)m[i], second = (REAL)v[i];             \
            REAL g = (REAL)gradient[i] + decay * x;                                                \
            first += gain1 * (g - first);                                                          \
            second = second * keep + gain2 * g * g;                                                \
            x -= rate * (first / (SQRT(second) / root + eps));                                     \
            theta[i] = (double)x;                                                                  \
            m[i] = (double)first;                                                                  \
            v[i] = (double)second;                                                                 \
        }                                                                                          \
    }

DEFINE_STEP(step_f64, double, sqrt)
DEFINE_STEP(step_f32, float, sqrtf)

void xfi_adam_step(double *theta, double *m, double *v, const double *gradient, int64_t n,
                   const xfi_adam *adam, xf_dtype dtype) {
    const factors f = factors_of(adam);
    if (dtype == XF_F32)
        step_f32(theta, m, v, gradient, n, &f);
    else
        step_f64(theta, m, v, gradient, n, &f);
}

double xfi_learning_rate(xf_schedule schedule, double rate, int64_t done, int64_t total) {
    static const double pi = 0x1.921fb54442d18p+1;
    if (schedule == XF_CONSTANT)
        return rate;
    return 0.5 * rate * (1.0 + cos(pi * (double)done / (double)total));
}
