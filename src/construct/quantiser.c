/* One bit a block: x_k2 += theta (relu(r 2^k0) - relu(r 2^k0 - 1)), r = t - x_k2 - theta. */
#include "construct/quantiser.h"

#include "construct/neuron.h"

static void emit_bit(xf_model *model, int64_t block, int first, double theta, double scale,
                     xfi_axes axes) {
    for (int i = 0; i < 2; i++) {
        int neuron = xfi_neuron_add(model, block, axes.k1, scale, -scale * theta - i);
        if (!first)
            model->ff_U[(block * model->width + neuron) * model->d + axes.k2] = -scale;
        xfi_neuron_out(model, block, neuron, axes.k2, i == 0 ? theta : -theta);
    }
}

void xfi_quantiser_emit(xf_model *model, int64_t first, int b, int k0, xfi_axes axes) {
    model->ff_eta[first] = 0.0;
    int pass = xfi_neuron_add(model, first, axes.k1, 1.0, 0.0);
    xfi_neuron_out(model, first, pass, axes.k1, 1.0);
    for (int i = 1; i <= b; i++)
        emit_bit(model, first + i - 1, i == 1, ldexp(1.0, b - i), ldexp(1.0, k0), axes);
}
