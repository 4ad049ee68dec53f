/* Single neurons. */
#include "construct/neuron.h"

#include <assert.h>

int xfi_neuron_free(const xf_model *model, int64_t block) {
    int64_t d = model->d, w = model->width;
    const double *U = model->ff_U + block * w * d, *b = model->ff_b + block * w;
    for (int64_t i = 0; i < w; i++) {
        int used = b[i] != 0.0;
        for (int64_t k = 0; k < d && !used; k++)
            used = U[i * d + k] != 0.0;
        if (!used)
            return (int)i;
    }
    return -1;
}

void xfi_neuron_set(xf_model *model, int64_t block, int neuron, int k, double weight, double bias) {
    model->ff_U[(block * model->width + neuron) * model->d + k] = weight;
    model->ff_b[block * model->width + neuron] = bias;
}

int xfi_neuron_add(xf_model *model, int64_t block, int k, double weight, double bias) {
    int i = xfi_neuron_free(model, block);
    assert(i >= 0);
    xfi_neuron_set(model, block, i, k, weight, bias);
    return i;
}

void xfi_neuron_out(xf_model *model, int64_t block, int neuron, int k, double value) {
    model->ff_W[(block * model->d + k) * model->width + neuron] = value;
}
