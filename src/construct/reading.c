/* Ramps from the certified distances of the tokens from the bits' thresholds. */
#include "construct/reading.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/balance.h"
#include "construct/front_certificate.h"

#include <stdlib.h>

enum { STEPS = 16 /* an offset is a multiple of 1 / STEPS */ };

xfi_front xfi_scaled_front(const xfi_cells *cells) {
    xfi_front front = cells->front;
    front.sigma = ldexp(front.sigma, -cells->b);
    return front;
}

/* Least certified distance of the tokens from the threshold of bit i (from 1), above and below. */
static void find_room(double *above, double *below, int i, const double *t, const double *E,
                      int64_t n_tokens) {
    *above = *below = 0.5;
    for (int64_t l = 0; l < n_tokens; l++) {
        double scaled = ldexp(t[l], i - 1), rho = scaled - floor(scaled);
        double bound = ldexp(E[l], i - 1) * (1.0 + 0x1p-50) + 0x1p-53; /* and the rounding here */
        if (rho >= 0.5)
            *above = fmin(*above, (rho - 0.5 - bound) * (1.0 - 0x1p-50));
        else
            *below = fmin(*below, (0.5 - rho - bound) * (1.0 - 0x1p-50));
    }
}

/* The ramp begins offset 2^-k below the threshold and ends (1 - offset) 2^-k above it. */
static int offset_fits(xfi_ramp *ramp, int k, double above, double below) {
    double steps = fmin(floor(ldexp(below, k) * STEPS), STEPS);
    if ((STEPS - steps) / STEPS > ldexp(above, k))
        return 0;
    *ramp = (xfi_ramp){k, steps / STEPS};
    return 1;
}

/* The flattest ramp. An offset costs bits (T-quantiser): without room for them the ramp begins
 * at the threshold. */
static int find_ramp(xfi_ramp *ramp, int i, double above, double below, const xfi_format *format) {
    if (!(above > 0 && below > 0))
        return 0;
    for (int k = 1; k + i + 3 <= format->p; k++)
        if (offset_fits(ramp, k, above, below))
            return 1;
    *ramp = (xfi_ramp){-xfi_exponent(above), 0.0};
    return ramp->k + i <= format->p;
}

int xfi_ramps_fit(xfi_ramp *out, int b, const double *t, const double *E, int64_t n_tokens,
                  const xfi_format *format) {
    for (int i = 1; i <= b; i++) {
        double above, below;
        find_room(&above, &below, i, t, E, n_tokens);
        if (!find_ramp(&out[i - 1], i, above, below, format))
            return 0;
    }
    return 1;
}

static int compare_to_cell(const void *key, const void *element) {
    int64_t cell = *(const int64_t *)key, other = ((const xfi_cell_group *)element)->low;
    return (cell > other) - (cell < other);
}

/* Every token is in an occupied cell of its sequence, and none of these is empty. */
static int cells_hold(const xfi_cells *cells, const xf_dataset *data, const double *t,
                      char *is_hit) {
    int64_t hits = 0;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            double scaled = ldexp(t[i], cells->b);
            if (!(scaled >= 0 && scaled < ldexp(1.0, cells->b)))
                return 0;
            int64_t cell = (int64_t)scaled;
            const xfi_cell_group *found = bsearch(&cell, cells->occupied, (size_t)cells->n_occupied,
                                                  sizeof *cells->occupied, compare_to_cell);
            if (found == NULL || found->sequence != j)
                return 0;
            hits += !is_hit[found - cells->occupied];
            is_hit[found - cells->occupied] = 1;
        }
    }
    return hits == cells->n_occupied;
}

/* t, E [T] of the scaled front end. */
static xf_status bound_front(double *t, double *E, double *norm, int *feasible,
                             const xfi_cells *cells, const xfi_problem *problem, xf_error *error) {
    xfi_front front = xfi_scaled_front(cells);
    xfi_axes axes = {0, 1};
    xf_model blocks;
    XFI_TRY(xf_model_new(&blocks, xfi_front_blocks(&front), problem->data->d, XFI_WIDTH, error));
    blocks.dtype = problem->options->dtype;
    xf_status status = XF_OK;
    *feasible = xfi_front_emit(&front, &problem->format, axes, &blocks);
    if (*feasible)
        status = xfi_front_bound_problem(t, E, &blocks, axes.k1, problem, error);
    *norm = xfi_balanced_norm(&blocks, 0, blocks.n_blocks);
    xf_model_clear(&blocks);
    return status;
}

xf_status xfi_reading_make(xfi_reading *out, int *feasible, const xfi_cells *cells,
                           const xfi_problem *problem, xf_error *error) {
    int64_t n = problem->data->n_tokens;
    *out = (xfi_reading){0};
    *feasible = 0;
    double *t = xfi_calloc2(2, n, sizeof(double));
    char *is_hit = xfi_calloc(cells->n_occupied, 1);
    xf_status status = t && is_hit ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = bound_front(t, t + n, &out->front_norm, feasible, cells, problem, error);
    *feasible = status == XF_OK && *feasible && cells_hold(cells, problem->data, t, is_hit) &&
                xfi_ramps_fit(out->ramp, cells->b, t, t + n, n, &problem->format);
    xfi_free(t);
    xfi_free(is_hit);
    return status;
}
