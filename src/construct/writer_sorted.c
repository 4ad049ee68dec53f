/* Neurons of the A and B gates. */
#include "construct/writer_sorted.h"

#include "construct/neuron.h"

/* A: relu((side x_k2 - (|code| - step)) / step) is 1 at the code, 0 below it. */
static void emit_a(const xfi_place *place, double step, const double *y, int64_t d, xfi_axes axes,
                   xf_model *model, int64_t block) {
    double bias = -(fabs(place->code) / step - 1.0);
    int neuron = xfi_neuron_add(model, block, axes.k2, place->side / step, bias);
    for (int k = 0; k < d; k++)
        xfi_neuron_out(model, block, neuron, k, y[k]);
    xfi_neuron_out(model, block, neuron, axes.k2, -place->code);
    xfi_neuron_out(model, block, neuron, axes.k1, place->f);
}

static void emit_b(const xfi_place *place, const double *y, xfi_axes axes, xf_model *model,
                   int64_t block) {
    int neuron = xfi_neuron_add(model, block, axes.k1, ldexp(place->side, -place->k),
                                -ldexp(place->theta, -place->k));
    xfi_neuron_out(model, block, neuron, axes.k1, y[axes.k1] - place->f);
    xfi_neuron_out(model, block, neuron, axes.k2, y[axes.k2]);
}

void xfi_sorted_emit(const xfi_slots *slots, const xfi_problem *problem, xfi_axes axes,
                     xf_model *model, int64_t first) {
    int64_t d = problem->data->d;
    for (int64_t g = 0; g < problem->data->n_targets; g++) {
        const xfi_place *place = &slots->place[g];
        const double *y = problem->y + g * d;
        emit_a(place, slots->step, y, d, axes, model, first + place->slot);
        emit_b(place, y, axes, model, first + place->slot + 1);
    }
}
