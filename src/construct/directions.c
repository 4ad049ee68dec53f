/* Random directions. */
#include "construct/directions.h"

#include <string.h>

static double power_unit(double largest) {
    int exponent = largest > 0 ? -xfi_exponent(largest) : 0;
    return ldexp(1.0, exponent > 1000 ? 1000 : exponent);
}

static void draw_sparse(double *out, const xfi_problem *problem, xfi_rng *rng) {
    int64_t d = problem->data->d;
    int64_t n = 2 + xfi_rng_below(rng, 2);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = xfi_rng_below(rng, d);
        double unit = power_unit(fmax(problem->half_range[k], problem->max_abs[k] * 0x1p-20));
        out[k] = xfi_round24(xfi_rng_normal(rng) * unit);
    }
}

static void draw_scaled(double *out, const xfi_problem *problem, xfi_rng *rng) {
    for (int64_t k = 0; k < problem->data->d; k++) {
        double normal = xfi_rng_normal(rng);
        if (problem->half_range[k] > 0)
            out[k] = xfi_round24(normal * power_unit(problem->half_range[k]));
    }
}

void xfi_draw_direction(double *out, const xfi_problem *problem, xfi_rng *rng,
                        xfi_direction_kind kind, int64_t index) {
    int64_t d = problem->data->d;
    memset(out, 0, (size_t)d * sizeof *out);
    switch (kind) {
    case XFI_AXIS:
        out[index % d] = power_unit(problem->max_abs[index % d]);
        return;
    case XFI_SPARSE:
        draw_sparse(out, problem, rng);
        return;
    case XFI_SCALED:
        draw_scaled(out, problem, rng);
        return;
    case XFI_DENSE:
        for (int64_t k = 0; k < d; k++)
            out[k] = xfi_round24(xfi_rng_normal(rng) * problem->unit);
        return;
    }
}
