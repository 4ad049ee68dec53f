/* Planning and writing of off-grid targets. */
#include "construct/offgrid.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/balance.h"
#include "construct/neuron.h"
#include "num/sort.h"

enum { Q, SQUARE, MARK };

void xfi_offgrid_clear(xfi_offgrid *writer) {
    xfi_slots_clear(&writer->slots);
    *writer = (xfi_offgrid){0};
}

int64_t xfi_offgrid_blocks(const xfi_offgrid *writer) {
    return writer->b + 1 + writer->slots.n_slots + 1;
}

/* The three coordinates besides k1 whose targets are smallest, and their units. Returns -1 if
 * memory is short. */
static int choose_coordinates(xfi_offgrid *out, const xfi_problem *problem) {
    int64_t d = problem->data->d, n = problem->data->n_targets;
    double *largest = xfi_calloc(d, sizeof *largest);
    int64_t *order = xfi_calloc(d, sizeof *order);
    for (int64_t i = 0; largest != NULL && i < n * d; i++)
        largest[i % d] = fmax(largest[i % d], fabs(problem->y[i]));
    int ok = largest && order && xfi_sort_index(order, largest, d) ? 1 : -1;
    int taken = 0;
    for (int64_t i = 0; ok > 0 && taken < 3; i++) {
        if (order[i] == out->line)
            continue;
        /* Q^2 needs the most room, so the smallest targets go there */
        int role = taken == 0 ? SQUARE : taken == 1 ? Q : MARK;
        out->coordinate[role] = (int)order[i];
        out->unit[role] = fmax(1.0, 8 * xfi_power_above(largest[order[i]]));
        taken++;
    }
    xfi_free(largest);
    xfi_free(order);
    return ok;
}

/* Nothing overflows: Q^2 and its unit, a bit's two neurons and their unit. */
static int in_range(const xfi_offgrid *out, const xfi_format *format) {
    double top = ldexp(1.0, format->emax - 2);
    return 2 * out->b + 1 <= format->p && ldexp(out->unit[SQUARE], 2 * out->b + 1) < top &&
           ldexp(out->unit[Q], out->b + 1) < top && ldexp(out->unit[MARK], format->p) < top;
}

xf_status xfi_offgrid_plan(xfi_offgrid *out, int *feasible, const xfi_cells *cells,
                           const xfi_problem *problem, int k1, xf_error *error) {
    *out = (xfi_offgrid){.b = cells->b, .line = k1, .scale = ldexp(1.0, cells->k0)};
    *feasible = 0;
    if (problem->data->d < 4)
        return XF_OK;
    if (choose_coordinates(out, problem) < 0)
        return xfi_fail_memory(error);
    *feasible = in_range(out, &problem->format);
    return *feasible ? xfi_cell_slots_make(&out->slots, cells, problem, k1, error) : XF_OK;
}

static void set_input(xf_model *model, int64_t block, int neuron, int k, double weight) {
    model->ff_U[(block * model->width + neuron) * model->d + k] = weight;
}

/* Bit i (from 1) of t - Q - 2^(b-i+1) (bit i - 1) on the mark's coordinate. */
static void emit_bit(const xfi_offgrid *w, int i, xf_model *model, int64_t block) {
    double S = w->scale, theta = ldexp(1.0, w->b - i);
    for (int second = 0; second < 2; second++) {
        int neuron = xfi_neuron_add(model, block, w->line, S, -S * theta - second);
        if (i > 2)
            set_input(model, block, neuron, w->coordinate[Q], -S / w->unit[Q]);
        if (i > 1)
            set_input(model, block, neuron, w->coordinate[MARK], -2 * S * theta / w->unit[MARK]);
        xfi_neuron_out(model, block, neuron, w->coordinate[MARK],
                       second ? -w->unit[MARK] : w->unit[MARK]);
    }
}

/* Q += tau h and Q^2 += 2 tau h Q + tau^2 h, h the bit on the mark's coordinate, which is deleted.
 */
static void emit_sum(const xfi_offgrid *w, double tau, xf_model *model, int64_t block) {
    int neuron = xfi_neuron_add(model, block, w->coordinate[MARK], 1.0 / w->unit[MARK], 0.0);
    xfi_neuron_out(model, block, neuron, w->coordinate[MARK], -w->unit[MARK]);
    xfi_neuron_out(model, block, neuron, w->coordinate[Q], tau * w->unit[Q]);
    xfi_neuron_out(model, block, neuron, w->coordinate[SQUARE], tau * tau * w->unit[SQUARE]);
    double above = ldexp(1.0, w->b + 1);
    neuron = xfi_neuron_add(model, block, w->coordinate[Q], 1.0 / w->unit[Q], -above);
    set_input(model, block, neuron, w->coordinate[MARK], above / w->unit[MARK]);
    xfi_neuron_out(model, block, neuron, w->coordinate[SQUARE], 2 * tau * w->unit[SQUARE]);
}

static void emit_pass(const xfi_offgrid *w, double factor, xf_model *model, int64_t block) {
    int neuron = xfi_neuron_add(model, block, w->line, 1.0, 0.0);
    xfi_neuron_out(model, block, neuron, w->line, factor);
}

static void emit_mark(const xfi_offgrid *w, xf_model *model, int64_t block) {
    int neuron = xfi_neuron_free(model, block);
    model->ff_b[block * model->width + neuron] = 1.0;
    xfi_neuron_out(model, block, neuron, w->coordinate[MARK], w->unit[MARK]);
}

/* A: relu(2 c Q - Q^2 + 2 mark - 1 - c^2). */
static void emit_a(const xfi_offgrid *w, int64_t cell, double f, const double *y, xf_model *model,
                   int64_t block) {
    double c = (double)cell;
    int neuron =
        xfi_neuron_add(model, block, w->coordinate[SQUARE], -1.0 / w->unit[SQUARE], -1.0 - c * c);
    set_input(model, block, neuron, w->coordinate[Q], 2 * c / w->unit[Q]);
    set_input(model, block, neuron, w->coordinate[MARK], 2.0 / w->unit[MARK]);
    for (int64_t k = 0; k < model->d; k++)
        xfi_neuron_out(model, block, neuron, (int)k, y[k]);
    xfi_neuron_out(model, block, neuron, w->line, f);
    xfi_neuron_out(model, block, neuron, w->coordinate[Q], -c * w->unit[Q]);
    xfi_neuron_out(model, block, neuron, w->coordinate[SQUARE], -c * c * w->unit[SQUARE]);
    xfi_neuron_out(model, block, neuron, w->coordinate[MARK], -w->unit[MARK]);
}

void xfi_offgrid_emit(const xfi_offgrid *writer, const xfi_cells *cells, const xfi_problem *problem,
                      xf_model *model, int64_t first) {
    model->ff_eta[first] = 0.0;
    emit_pass(writer, 1.0, model, first);
    for (int i = 1; i <= writer->b + 1; i++) {
        if (i > 1)
            emit_sum(writer, ldexp(1.0, writer->b - i + 1), model, first + i - 1);
        if (i <= writer->b)
            emit_bit(writer, i, model, first + i - 1);
    }
    emit_pass(writer, -1.0, model, first + writer->b);
    emit_mark(writer, model, first + writer->b);
    first += writer->b + 1;
    for (int64_t g = 0; g < cells->n_occupied; g++) {
        const xfi_place *place = &writer->slots.place[g];
        const double *y = xfi_cell_target(cells, problem, g);
        emit_a(writer, cells->occupied[g].low, place->f, y, model, first + place->slot);
        xfi_cell_slot_emit_b(place, y, writer->line, writer->coordinate, 3, model,
                             first + place->slot + 1);
    }
}

static double square(double v) {
    return v * v;
}

/* Of the blocks that make Q and Q^2. */
static double reading_cost(const xfi_offgrid *w) {
    double S = w->scale, u0 = w->unit[Q], u1 = w->unit[SQUARE], u2 = w->unit[MARK];
    double total =
        2.0 * (w->b + 1) - 1 + 2 * xfi_balanced_cost(1.0, 1.0) + xfi_balanced_cost(1.0, u2 * u2);
    for (int i = 1; i <= w->b; i++) {
        double theta = ldexp(1.0, w->b - i), tau = theta, above = ldexp(1.0, w->b + 1);
        double in =
            S * S * (1 + (i > 2 ? 1 / (u0 * u0) : 0) + (i > 1 ? square(2 * theta / u2) : 0));
        total += xfi_balanced_cost(in + square(S * theta), u2 * u2) +
                 xfi_balanced_cost(in + square(S * theta + 1), u2 * u2);
        total +=
            xfi_balanced_cost(1 / (u2 * u2), u2 * u2 + square(tau * u0) + square(tau * tau * u1));
        total += xfi_balanced_cost(1 / (u0 * u0) + square(above) + square(above / u2),
                                   square(2 * tau * u1));
    }
    return total;
}

static double a_out(const xfi_offgrid *w, double c, double f, const double *y, int64_t d) {
    const double replaced[4] = {f, c * w->unit[Q], c * c * w->unit[SQUARE], w->unit[MARK]};
    const int at[4] = {w->line, w->coordinate[Q], w->coordinate[SQUARE], w->coordinate[MARK]};
    double sum = 0;
    for (int64_t k = 0; k < d; k++) {
        double value = y[k];
        for (int i = 0; i < 4; i++)
            value = k == at[i] ? replaced[i] : value;
        sum += value * value;
    }
    return sum;
}

double xfi_offgrid_cost(const xfi_offgrid *writer, const xfi_cells *cells,
                        const xfi_problem *problem) {
    double total = reading_cost(writer) + 2.0 * (double)(writer->slots.n_slots + 1);
    for (int64_t g = 0; g < cells->n_occupied; g++) {
        const xfi_place *place = &writer->slots.place[g];
        const double *y = xfi_cell_target(cells, problem, g);
        double c = (double)cells->occupied[g].low;
        double in = square(1 / writer->unit[SQUARE]) + square(2 * c / writer->unit[Q]) +
                    square(2 / writer->unit[MARK]) + square(1 + c * c);
        total += xfi_balanced_cost(in, a_out(writer, c, place->f, y, problem->data->d));
        total +=
            xfi_balanced_cost(xfi_cell_slot_square(place, 0),
                              xfi_cell_slot_out(place, y, writer->line, writer->coordinate, 3));
    }
    return total;
}
