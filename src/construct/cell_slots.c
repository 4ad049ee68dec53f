/* Slots for occupied cells. */
#include "construct/cell_slots.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/neuron.h"

#include <string.h>

const double *xfi_cell_target(const xfi_cells *cells, const xfi_problem *problem, int64_t g) {
    return problem->y + cells->occupied[g].target * problem->data->d;
}

xf_status xfi_cell_slots_make(xfi_slots *out, const xfi_cells *cells, const xfi_problem *problem,
                              int k1, xf_error *error) {
    int64_t n = cells->n_occupied, d = problem->data->d;
    xf_dataset data = {.n_targets = n, .d = d}; /* as if each cell had a target of its own */
    xfi_problem expanded = *problem;
    xfi_axes axes = {k1, k1 == 0 ? 1 : 0};
    double *y = xfi_calloc2(n, d, sizeof *y);
    char *late = xfi_calloc(n, 1);
    xf_status status = y && late ? XF_OK : xfi_fail_memory(error);
    for (int64_t g = 0; status == XF_OK && g < n; g++)
        memcpy(y + g * d, xfi_cell_target(cells, problem, g), (size_t)d * sizeof *y);
    expanded.data = &data;
    expanded.y = y;
    if (status == XF_OK)
        status = xfi_slots_make(out, &expanded, axes, late, error);
    xfi_free(y);
    xfi_free(late);
    return status;
}

void xfi_cell_slot_emit_b(const xfi_place *place, const double *y, int k1, const int *others, int n,
                          xf_model *model, int64_t block) {
    int neuron = xfi_neuron_add(model, block, k1, ldexp(place->side, -place->k),
                                -ldexp(place->theta, -place->k));
    xfi_neuron_out(model, block, neuron, k1, y[k1] - place->f);
    for (int i = 0; i < n; i++)
        xfi_neuron_out(model, block, neuron, others[i], y[others[i]]);
}

double xfi_cell_slot_square(const xfi_place *place, int exponent) {
    double weight = ldexp(1.0, -place->k - exponent), bias = ldexp(place->theta, -place->k);
    return weight * weight + bias * bias;
}

double xfi_cell_slot_out(const xfi_place *place, const double *y, int k1, const int *others,
                         int n) {
    double sum = (y[k1] - place->f) * (y[k1] - place->f);
    for (int i = 0; i < n; i++)
        sum += y[others[i]] * y[others[i]];
    return sum;
}
