/* Running error analysis of one feed-forward layer (docs/theory.md, T-front). */
#include "construct/ball_block.h"

#include "base/alloc.h"

#include <string.h>

void xfi_block_view_clear(xfi_block_view *view) {
    xfi_free(view->n_inputs);
    xfi_free(view->roundings);
    xfi_free(view->relative);
    xfi_free(view->gamma);
    xfi_free(view->inexact);
    xfi_free(view->negates);
    xfi_free(view->writes);
    xfi_free(view->used);
}

static int row_negates(const xfi_block_view *view, int64_t i) {
    if (i == 0 || view->b[i] != -view->b[i - 1])
        return 0;
    for (int64_t k = 0; k < view->d; k++)
        if (view->U[i * view->d + k] != -view->U[(i - 1) * view->d + k])
            return 0;
    return 1;
}

static int is_power_of_two(double v) {
    return v != 0.0 && xfi_lowest_bit(v) == xfi_exponent(v);
}

/* One for the products, unless every weight is a power of two, and one for each sum. */
static void count_inputs(xfi_block_view *view, int64_t i) {
    int64_t terms = view->b[i] != 0.0;
    int inexact = 0;
    for (int64_t k = 0; k < view->d; k++) {
        double weight = view->U[i * view->d + k];
        if (weight == 0.0)
            continue;
        view->n_inputs[i]++;
        terms++;
        inexact |= !is_power_of_two(weight);
    }
    view->roundings[i] = (double)(terms > 1 ? terms - 1 : 0) + inexact;
    double n = (double)view->n_inputs[i] + 4;
    if (view->roundings[i] > 0)
        view->relative[i] = xfi_gamma(view->format, view->roundings[i]) + n * n * 0x1p-104;
}

/* Which coordinates neuron i writes, and how. */
static void look_at_outputs(xfi_block_view *view, int64_t i) {
    int exact = view->n_inputs[i] == 0 && is_power_of_two(view->b[i]);
    for (int64_t k = 0; k < view->d; k++) {
        double weight = view->W[k * view->w + i];
        view->writes[k] |= weight != 0.0;
        view->inexact[k * view->w + i] =
            (char)(weight != 0.0 && !exact && !is_power_of_two(weight));
    }
}

static void list_used(xfi_block_view *view) {
    for (int64_t k = 0; k < view->d; k++) {
        int used = view->eta != 0.0 || view->writes[k];
        for (int64_t i = 0; i < view->w && !used; i++)
            used = view->U[i * view->d + k] != 0.0;
        if (used)
            view->used[view->n_used++] = k;
    }
}

int xfi_block_view_init(xfi_block_view *view, const xf_model *model, int64_t block,
                        const xfi_format *format) {
    int64_t size = model->d * model->width;
    *view = (xfi_block_view){.model = model,
                             .format = format,
                             .d = model->d,
                             .w = model->width,
                             .eta = model->ff_eta[block],
                             .U = model->ff_U + block * size,
                             .W = model->ff_W + block * size,
                             .b = model->ff_b + block * model->width};
    view->n_inputs = xfi_calloc(view->w, sizeof *view->n_inputs);
    view->roundings = xfi_calloc(view->w, sizeof *view->roundings);
    view->relative = xfi_calloc(view->w, sizeof *view->relative);
    view->gamma = xfi_calloc(view->w + 3, sizeof *view->gamma);
    view->inexact = xfi_calloc2(view->d, view->w, 1);
    view->negates = xfi_calloc(view->w, sizeof *view->negates);
    view->writes = xfi_calloc(view->d, sizeof *view->writes);
    view->used = xfi_calloc(view->d, sizeof *view->used);
    if (!view->n_inputs || !view->roundings || !view->relative || !view->gamma || !view->inexact ||
        !view->negates || !view->writes || !view->used) {
        xfi_block_view_clear(view);
        return 0;
    }
    for (int64_t i = 0; i < view->w; i++) {
        count_inputs(view, i);
        look_at_outputs(view, i);
        view->negates[i] = row_negates(view, i);
    }
    list_used(view);
    for (int64_t n = 0; n < view->w + 3; n++)
        view->gamma[n] = xfi_gamma(format, (double)n);
    return 1;
}

static xfi_neuron_state evaluate_neuron(const xfi_block_view *view, int64_t i, const xfi_ball *x) {
    const double *row = view->U + i * view->d;
    xfi_dd sum = {view->b[i], 0.0};
    double absolute = fabs(view->b[i]), propagated = 0;
    for (int64_t k = 0; k < view->d; k++) {
        if (row[k] == 0.0)
            continue;
        sum = xfi_dd_add(sum, xfi_dd_scale(x[k].centre, row[k]));
        absolute += fabs(row[k]) * xfi_ball_magnitude(x[k]);
        propagated += fabs(row[k]) * x[k].error;
    }
    xfi_neuron_state state;
    xfi_ball_neuron(&state, view, i, sum, absolute, propagated);
    return state;
}

static void evaluate_neurons(const xfi_block_view *view, const xfi_ball *x,
                             xfi_neuron_state *states) {
    for (int64_t i = 0; i < view->w; i++)
        if (view->negates[i])
            xfi_ball_negated(&states[i], &states[i - 1]);
        else
            states[i] = evaluate_neuron(view, i, x);
}

/* |d x'_c / d x_k| over the neurons that are certainly active, times the input errors,
 * plus the uncertain neurons one by one. */
static double propagate(const xfi_block_view *view, int64_t c, const xfi_ball *x,
                        const xfi_neuron_state *states) {
    const double *out = view->W + c * view->w;
    double total = 0;
    for (int64_t k = 0; x != NULL && k < view->d; k++) {
        if (x[k].error == 0.0)
            continue;
        double slope = k == c ? view->eta : 0.0, absolute = fabs(slope);
        for (int64_t i = 0; i < view->w; i++) {
            double term = states[i].certain ? out[i] * view->U[i * view->d + k] : 0.0;
            slope += term;
            absolute += fabs(term);
        }
        total += (fabs(slope) + 0x1p-48 * absolute) * x[k].error;
    }
    for (int64_t i = 0; i < view->w; i++)
        if (states[i].active && !states[i].certain)
            total += fabs(out[i]) * states[i].propagated;
    return total;
}

xfi_ball xfi_ball_output(const xfi_block_view *view, int64_t c, xfi_ball x_c, const xfi_ball *x,
                         const xfi_neuron_state *states) {
    const double *out = view->W + c * view->w;
    xfi_dd sum = xfi_dd_scale(x_c.centre, view->eta);
    double absolute = fabs(view->eta) * xfi_ball_magnitude(x_c), local = 0;
    int terms = absolute != 0.0, scaled = 0, inexact = absolute != 0.0 && view->eta != 1.0;
    for (int64_t i = 0; i < view->w; i++) {
        if (out[i] == 0.0 || !states[i].active)
            continue;
        double a = xfi_dd_value(states[i].a);
        if (a > 0)
            sum = xfi_dd_add(sum, xfi_dd_scale(states[i].a, out[i]));
        double error = states[i].local + states[i].propagated;
        absolute += fabs(out[i]) * (fabs(a) + error);
        local += fabs(out[i]) * states[i].local;
        scaled |= fabs(out[i]) != 1.0;
        inexact |= view->inexact[c * view->w + i];
        terms++;
    }
    int roundings = (terms > 1 ? terms - 1 : 0) + inexact;
    double rounding = view->gamma[roundings] * absolute;
    if (roundings > 0 || scaled)
        rounding += 2 * (terms + 1) * view->format->smallest;
    rounding += xfi_beyond(view->format, absolute);
    double error = (propagate(view, c, x, states) + local + rounding) * XFI_INFLATE;
    return (xfi_ball){sum, error};
}

/* x becomes FF(x), in place; `next` [d] and `states` [w] are scratch. */
void xfi_ball_feed_forward(const xfi_block_view *view, xfi_ball *x, xfi_ball *next,
                           xfi_neuron_state *states) {
    evaluate_neurons(view, x, states);
    for (int64_t c = 0; c < view->d; c++) {
        if (view->writes[c] || view->eta != 1.0)
            next[c] = view->writes[c] || view->eta != 0.0
                          ? xfi_ball_output(view, c, x[c], x, states)
                          : (xfi_ball){{0, 0}, 0};
        else
            next[c] = x[c];
    }
    memcpy(x, next, (size_t)view->d * sizeof *x);
}
