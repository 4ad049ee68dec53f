/* One bit a block: x_k2 += theta (relu(a) - relu(a - 1)), a = S (t - x_k2 - theta) + offset. */
#include "construct/quantiser.h"

#include "construct/balance.h"
#include "construct/neuron.h"

/* Bit i (from 1): its value, its slope S, and its bias. */
typedef struct bit {
    double theta;
    double S;
    double bias;
} bit;

static bit plain_bit(int i, int b, int k0) {
    double theta = ldexp(1.0, b - i), S = ldexp(1.0, k0);
    return (bit){theta, S, -S * theta};
}

static bit ramp_bit(int i, const xfi_ramp *ramp) {
    double S = ldexp(1.0, ramp[i - 1].k + i - 1);
    return (bit){ldexp(1.0, -i), S, ramp[i - 1].offset - ldexp(1.0, ramp[i - 1].k - 1)};
}

static void emit_bit(xf_model *model, int64_t block, int first, bit what, xfi_axes axes) {
    for (int second = 0; second < 2; second++) {
        int neuron = xfi_neuron_add(model, block, axes.k1, what.S, what.bias - second);
        if (!first)
            model->ff_U[(block * model->width + neuron) * model->d + axes.k2] = -what.S;
        xfi_neuron_out(model, block, neuron, axes.k2, second ? -what.theta : what.theta);
    }
}

static void emit_pass(xf_model *model, int64_t first, xfi_axes axes) {
    model->ff_eta[first] = 0.0;
    int pass = xfi_neuron_add(model, first, axes.k1, 1.0, 0.0);
    xfi_neuron_out(model, first, pass, axes.k1, 1.0);
}

void xfi_quantiser_emit(xf_model *model, int64_t first, int b, int k0, xfi_axes axes) {
    emit_pass(model, first, axes);
    for (int i = 1; i <= b; i++)
        emit_bit(model, first + i - 1, i == 1, plain_bit(i, b, k0), axes);
}

void xfi_quantiser_emit_ramps(xf_model *model, int64_t first, int b, const xfi_ramp *ramp,
                              xfi_axes axes) {
    emit_pass(model, first, axes);
    for (int i = 1; i <= b; i++)
        emit_bit(model, first + i - 1, i == 1, ramp_bit(i, ramp), axes);
}

static double bit_cost(int first, bit what) {
    double in = (first ? 1 : 2) * what.S * what.S, out = what.theta * what.theta;
    double bias = what.bias - 1;
    return xfi_balanced_cost(in + what.bias * what.bias, out) +
           xfi_balanced_cost(in + bias * bias, out);
}

/* Of eta, rho and the pass. */
static double frame_cost(int b) {
    return 2.0 * b - 1 + xfi_balanced_cost(1.0, 1.0);
}

double xfi_quantiser_cost(int b, int k0) {
    double total = frame_cost(b);
    for (int i = 1; i <= b; i++)
        total += bit_cost(i == 1, plain_bit(i, b, k0));
    return total;
}

double xfi_quantiser_cost_ramps(int b, const xfi_ramp *ramp) {
    double total = frame_cost(b);
    for (int i = 1; i <= b; i++)
        total += bit_cost(i == 1, ramp_bit(i, ramp));
    return total;
}
