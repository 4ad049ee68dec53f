/* Diamonds, plain and reduced, with and without the sorted writer. */
#include "construct/diamond_writer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/balance.h"
#include "construct/quantiser.h"
#include "construct/stream.h"
#include "construct/writer_sorted.h"

void xfi_diamond_writer_clear(xfi_diamond_writer *writer) {
    xfi_diamond_clear(&writer->diamond);
    xfi_slots_clear(&writer->slots);
    xfi_free(writer->code);
    *writer = (xfi_diamond_writer){0};
}

/* Slots do not overlap with the diamond, so no group is late. */
static xf_status make_codes(xfi_diamond_writer *out, const xfi_problem *problem, xf_error *error) {
    int64_t n = problem->data->n_targets;
    char *late = xfi_calloc(n, 1);
    out->code = xfi_calloc(n, sizeof *out->code);
    xf_status status = late && out->code ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_slots_make(&out->slots, problem, out->axes, late, error);
    for (int64_t g = 0; status == XF_OK && g < n; g++)
        out->code[g] = out->slots.place[g].code;
    xfi_free(late);
    return status;
}

static xfi_written written_by(const xfi_diamond_writer *writer, const xfi_problem *problem) {
    return (xfi_written){.y = writer->sorted ? NULL : problem->y,
                         .code = writer->code,
                         .d = problem->data->d,
                         .axes = writer->axes};
}

xf_status xfi_diamond_writer_plan(xfi_diamond_writer *out, int *feasible, const xfi_cells *cells,
                                  const xfi_problem *problem, xfi_axes axes, int sorted, int wide,
                                  xf_error *error) {
    *out = (xfi_diamond_writer){.axes = axes, .sorted = sorted};
    *feasible = 0;
    if (axes.k2 < 0)
        return XF_OK;
    xf_status status = sorted ? make_codes(out, problem, error) : XF_OK;
    xfi_written written = written_by(out, problem);
    for (int attempt = 0; attempt < 2 && status == XF_OK && !*feasible; attempt++)
        status = xfi_diamond_plan(&out->diamond, feasible, cells, &written, &problem->format,
                                  wide ^ attempt, error);
    if (status != XF_OK || !*feasible)
        xfi_diamond_writer_clear(out);
    return status;
}

int64_t xfi_diamond_writer_blocks(const xfi_diamond_writer *writer, int64_t out[3]) {
    out[0] = 1;
    out[1] = writer->diamond.n_steps;
    out[2] = writer->sorted ? writer->slots.n_slots + 1 : 0;
    return out[0] + out[1] + out[2];
}

static int64_t all_blocks(const xfi_diamond_writer *writer) {
    int64_t parts[3];
    return xfi_diamond_writer_blocks(writer, parts) + writer->extra;
}

int xfi_diamond_writer_emit(const xfi_diamond_writer *writer, const xfi_cells *cells,
                            const xfi_problem *problem, const xfi_ramp *ramp, xf_model *model,
                            int64_t first) {
    xfi_written written = written_by(writer, problem);
    if (ramp != NULL)
        xfi_quantiser_emit_ramps(model, first, cells->b, ramp, writer->axes);
    else
        xfi_quantiser_emit(model, first, cells->b, cells->k0, writer->axes);
    first += cells->b;
    xfi_diamond_emit(&writer->diamond, cells, &written, model, first);
    if (writer->sorted)
        xfi_sorted_emit(&writer->slots, problem, writer->axes, model,
                        first + 1 + writer->diamond.n_steps);
    return ramp == NULL || xfi_stream_grow(model, &problem->format, first, all_blocks(writer),
                                           -cells->b, writer->r);
}

static double square(double v) {
    return v * v;
}

/* Neurons on a stream at 2^before of its scale in front of a block and 2^behind behind it. */
typedef struct scales {
    int before;
    int behind;
} scales;

/* weight: of the inputs; out: |W|^2. */
static double neuron_cost(scales s, double weight, double bias, double out) {
    return xfi_balanced_cost(square(xfi_scale(weight, -s.before)) + bias * bias,
                             xfi_scale(out, 2 * s.behind));
}

static double routing_cost(const xfi_diamond *diamond, scales s) {
    double e = diamond->epsilon / 2, a = diamond->alpha / (2 * diamond->h),
           b = diamond->beta / (2 * diamond->h), total = 0;
    const double out[2] = {square(e + a) + square(b - e), square(e - a) + square(e + b)};
    for (int i = 0; i < 4; i++) {
        double side = i < 2 ? 1.0 : -1.0;
        double bias = -side * diamond->a + (i % 2 ? -diamond->h : diamond->h);
        total += neuron_cost(s, 1.0, bias, out[i % 2]);
    }
    return total;
}

static double code_at(const xfi_diamond *diamond, const xfi_job *job, int second) {
    double shift = diamond->epsilon * job->code;
    return second ? diamond->beta - shift : diamond->alpha + shift;
}

static double write_out(const xfi_diamond_writer *writer, const xfi_job *job, int64_t target,
                        const xfi_problem *problem) {
    int64_t d = problem->data->d;
    const double *y = problem->y + target * d;
    double first = writer->sorted ? 0.0 : y[writer->axes.k1];
    double second = writer->sorted ? writer->code[target] : y[writer->axes.k2];
    double sum = square(first - job->sign * code_at(&writer->diamond, job, 0)) +
                 square(second - job->sign * code_at(&writer->diamond, job, 1));
    for (int64_t k = 0; k < d && !writer->sorted; k++)
        if (k != writer->axes.k1 && k != writer->axes.k2)
            sum += y[k] * y[k];
    return sum;
}

static double job_cost(const xfi_diamond_writer *writer, const xfi_job *job, scales s,
                       const xfi_cells *cells, const xfi_problem *problem) {
    if (job->kind == XFI_JOB_NONE)
        return 0.0;
    if (job->kind == XFI_JOB_CLAMP)
        return neuron_cost(s, 1.0, code_at(&writer->diamond, job, job->inner), 2.0);
    return neuron_cost(s, xfi_power(-job->k), xfi_scale(job->theta, -job->k),
                       write_out(writer, job, cells->at[job->group].target, problem));
}

static double a_cost(const xfi_diamond_writer *writer, const xfi_place *place, const double *y,
                     int64_t d, scales s) {
    double step = writer->slots.step;
    double out = square(place->code) + square(place->f);
    for (int64_t k = 0; k < d; k++)
        if (k != writer->axes.k1 && k != writer->axes.k2)
            out += y[k] * y[k];
    return neuron_cost(s, 1 / step, fabs(place->code) / step - 1, out);
}

static double b_cost(const xfi_diamond_writer *writer, const xfi_place *place, const double *y,
                     scales s) {
    return neuron_cost(s, xfi_power(-place->k), xfi_scale(place->theta, -place->k),
                       square(y[writer->axes.k1] - place->f) + square(y[writer->axes.k2]));
}

/* In front of and behind block i, counted from the routing block. */
static scales scales_at(const xfi_diamond_writer *writer, int64_t i, int b, int reduced) {
    int64_t n = all_blocks(writer);
    if (!reduced)
        return (scales){0, 0};
    return (scales){i == 0 ? -b : xfi_stream_exponent(i, n, writer->r),
                    xfi_stream_exponent(i + 1, n, writer->r)};
}

static double diamond_cost(const xfi_diamond_writer *writer, const xfi_cells *cells,
                           const xfi_problem *problem, int reduced) {
    double total = routing_cost(&writer->diamond, scales_at(writer, 0, cells->b, reduced));
    for (int64_t step = 0; step < writer->diamond.n_steps; step++) {
        scales s = scales_at(writer, 1 + step, cells->b, reduced);
        for (int end = 0; end < 4; end++)
            total += job_cost(writer, &writer->diamond.jobs[step][end], s, cells, problem);
    }
    return total;
}

static double sorted_cost(const xfi_diamond_writer *writer, const xfi_cells *cells,
                          const xfi_problem *problem, int reduced) {
    int64_t d = problem->data->d, first = 1 + writer->diamond.n_steps;
    double total = 0;
    for (int64_t g = 0; g < problem->data->n_targets; g++) {
        const xfi_place *place = &writer->slots.place[g];
        const double *y = problem->y + g * d;
        total +=
            a_cost(writer, place, y, d, scales_at(writer, first + place->slot, cells->b, reduced));
        total +=
            b_cost(writer, place, y, scales_at(writer, first + place->slot + 1, cells->b, reduced));
    }
    return total;
}

double xfi_diamond_writer_cost(const xfi_diamond_writer *writer, const xfi_cells *cells,
                               const xfi_problem *problem, const xfi_ramp *ramp) {
    int reduced = ramp != NULL;
    double total = reduced ? xfi_quantiser_cost_ramps(cells->b, ramp)
                           : xfi_quantiser_cost(cells->b, cells->k0);
    total += 1.0; /* the routing block has eta = 0 */
    for (int64_t i = 1; i < all_blocks(writer); i++) {
        scales s = scales_at(writer, i, cells->b, reduced);
        total += 1.0 + xfi_power(2 * (s.behind - s.before));
    }
    total += diamond_cost(writer, cells, problem, reduced);
    return writer->sorted ? total + sorted_cost(writer, cells, problem, reduced) : total;
}

void xfi_diamond_writer_tune(xfi_diamond_writer *writer, const xfi_cells *cells,
                             const xfi_problem *problem, const xfi_ramp *ramp, int64_t max_blocks) {
    double best = INFINITY;
    int best_r = 0, best_extra = 0;
    writer->extra = 0;
    int64_t room = max_blocks - all_blocks(writer);
    for (int r = 0; r <= 14 && room >= 0; r++) {
        writer->r = r;
        writer->extra = r < room ? r : (int)room;
        double cost = xfi_diamond_writer_cost(writer, cells, problem, ramp);
        if (cost < best) {
            best = cost;
            best_r = r;
            best_extra = writer->extra;
        }
    }
    writer->r = best_r;
    writer->extra = best_extra;
}
