/* Codes, steps and neurons of the two lanes. */
#include "construct/lanes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/neuron.h"
#include "num/double_double.h"

#include <limits.h>

/* Codes stay 2^ROOM below the largest number, so that a runtime that evaluates attention
 * with V = 0 can still add up a sequence. */
enum { ROOM = 24 };

void xfi_lanes_clear(xfi_lanes *lanes) {
    for (int s = 0; s < 2; s++) {
        xfi_free(lanes->side[s].items);
        xfi_free(lanes->side[s].steps);
    }
    *lanes = (xfi_lanes){0};
}

static double written_y1(const xfi_written *written, int64_t target) {
    return written->y != NULL ? written->y[target * written->d + written->axes.k1] : 0.0;
}

/* The largest 2^k with a multiple c of it in (bottom + 2^k .., top]: c = floor(top / 2^k) 2^k and
 * c - 2^k >= bottom. All exact: c has at most p bits because 2^k >= ulp(high). */
static int find_code(xfi_item *item, double bottom, const xfi_format *format) {
    double top = item->low;
    if (!(top > bottom) || !(item->high < xfi_power(format->emax - ROOM)))
        return 0;
    int largest = xfi_exponent(top - bottom);
    for (int k = largest; k >= largest - 2; k--) {
        if (k > format->emax - 2 || k < -(format->emax - 2) ||
            xfi_power(k) < xfi_ulp(format, item->high))
            continue;
        double step = xfi_power(k), code = floor(ldexp(top, -k)) * step;
        if (code - step < bottom)
            continue;
        item->k = k;
        item->code = code;
        item->theta = code - step;
        return 1;
    }
    return 0;
}

static int find_codes(xfi_lane *lane, double reach, const xfi_format *format) {
    for (int64_t i = 0; i < lane->n; i++) {
        double next = i + 1 < lane->n ? lane->items[i + 1].high : 0.0;
        if (!find_code(&lane->items[i], fmax(reach, next), format))
            return 0;
    }
    return 1;
}

static int lower_bit(int lowest, double v) {
    if (v == 0.0)
        return lowest;
    int bit = xfi_lowest_bit(v);
    return bit < lowest ? bit : lowest;
}

/* T-write: code + |y| <= 2^(p+e), e the lowest bit of code, y and the code being clamped to in
 * the same block (0: none). */
static int fits(double code, double y, double clamped, const xfi_format *format) {
    int e = lower_bit(lower_bit(lower_bit(INT_MAX, code), y), clamped);
    double limit = xfi_power(format->p + e);
    xfi_dd sum = xfi_two_sum(code, fabs(y));
    return sum.hi < limit || (sum.hi == limit && sum.lo <= 0.0);
}

/* What the gate of an item leaves on k1. */
static double left_by(const xfi_lane *lane, const xfi_item *item) {
    return item->slot < 0 ? item->y1 : lane->sign * lane->items[item->slot].code;
}

/* Clamp item i, write item i - 1; where the two do not fit together, write first. Who is parked in
 * a slot needs no clamp. */
static int plan_steps(xfi_lane *lane, const xfi_format *format) {
    lane->n_steps = 0;
    for (int64_t i = 0; i <= lane->n + lane->n_slots && lane->n > 0; i++) {
        const xfi_item *clamp = i < lane->n ? &lane->items[i] : NULL;
        const xfi_item *write = i > 0 ? &lane->items[i - 1] : NULL;
        double left = write != NULL ? left_by(lane, write) : 0.0;
        if (write != NULL && !fits(write->code, left, 0.0, format))
            return 0;
        if (write != NULL && clamp != NULL && !fits(write->code, left, clamp->code, format)) {
            lane->steps[lane->n_steps++] = (xfi_step){-1, i - 1};
            write = NULL;
        }
        lane->steps[lane->n_steps++] = (xfi_step){clamp ? i : -1, write ? i - 1 : -1};
    }
    return 1;
}

/* Items whose target does not fit beside their code are to be parked. */
static void assign_slots(xfi_lane *lane, const xfi_format *format) {
    lane->n_slots = 0;
    for (int64_t i = 0; i < lane->n; i++) {
        xfi_item *item = &lane->items[i];
        item->slot = fits(item->code, item->y1, 0.0, format) ? -1 : lane->n + lane->n_slots++;
    }
}

/* The slots' codes lie in (reach, 1.5 reach], a power of two apart, outermost first; the innermost
 * group has to stay beyond. Every slot has room for every target on the grid (T-park). */
static int fill_slots(xfi_lane *lane, double reach, const xfi_format *format) {
    if (reach == 0.0)
        return 0;
    int k = xfi_exponent(reach / 2) - xfi_exponent(xfi_power_above((double)lane->n_slots));
    double step = xfi_power(k);
    if (k < -(format->emax - 2) || step < xfi_ulp(format, 1.5 * reach) ||
        !find_code(&lane->items[lane->n - 1], 1.5 * reach, format))
        return 0;
    for (int64_t i = 0; i < lane->n; i++) {
        const xfi_item *parked = &lane->items[i];
        if (parked->slot < 0)
            continue;
        double theta = reach + step * (double)(lane->n + lane->n_slots - 1 - parked->slot);
        lane->items[parked->slot] = (xfi_item){.code = theta + step,
                                               .theta = theta,
                                               .k = k,
                                               .y1 = parked->y1,
                                               .target = parked->target,
                                               .slot = -1};
    }
    return 1;
}

/* Item i of the lane from its group. */
static void place(xfi_item *item, const xfi_group *group, double sign, const xfi_placing *placing,
                  const xfi_written *written) {
    double low = (group->low - placing->shift) * placing->sigma;
    double high = (group->high - placing->shift) * placing->sigma;
    *item = (xfi_item){.low = sign > 0 ? low : -high,
                       .high = sign > 0 ? high : -low,
                       .y1 = written_y1(written, group->target),
                       .target = group->target,
                       .slot = -1};
}

static int lane_alloc(xfi_lane *lane, double sign, int64_t n) {
    *lane = (xfi_lane){.sign = sign, .n = n};
    lane->items = xfi_calloc2(n, 2, sizeof *lane->items);
    lane->steps = xfi_calloc(3 * n + 2, sizeof *lane->steps);
    return lane->items != NULL && lane->steps != NULL;
}

static int find_lane(xfi_lane *lane, double reach, const xfi_format *format) {
    if (!find_codes(lane, reach, format))
        return 0;
    assign_slots(lane, format);
    return (lane->n_slots == 0 || fill_slots(lane, reach, format)) && plan_steps(lane, format);
}

/* A grid model is to hold at most (d + 8) M nonzero parameters: d + 5 of each target's clamp and
 * gate, 3 more of a parked one, 2 a block, and what a front end has, 4 neurons on all coordinates
 * and up to 4 folds. Only d = 1 has no other writer, and may have more. */
static int is_lean(const xfi_lanes *lanes, const xfi_written *written, int64_t n_targets) {
    int64_t parked = lanes->side[0].n_slots + lanes->side[1].n_slots, front = 4 * written->d + 80;
    return parked == 0 || written->d == 1 ||
           3 * parked + 2 * lanes->n_steps + front <= 3 * n_targets;
}

xf_status xfi_lanes_make(xfi_lanes *out, int *feasible, const xfi_groups *groups,
                         const xfi_placing *placing, const xfi_written *written,
                         const xfi_format *format, xf_error *error) {
    *out = (xfi_lanes){0};
    int64_t below = placing->below, above = groups->n - below;
    xfi_lane *plus = &out->side[0], *minus = &out->side[1];
    int ok = lane_alloc(plus, 1.0, above);
    ok = lane_alloc(minus, -1.0, below) && ok;
    if (!ok) {
        xfi_lanes_clear(out);
        return xfi_fail_memory(error);
    }
    for (int64_t i = 0; i < above; i++)
        place(&plus->items[i], &groups->at[groups->n - 1 - i], 1.0, placing, written);
    for (int64_t i = 0; i < below; i++)
        place(&minus->items[i], &groups->at[i], -1.0, placing, written);
    *feasible = find_lane(plus, placing->reach, format) && find_lane(minus, placing->reach, format);
    out->n_steps = plus->n_steps > minus->n_steps ? plus->n_steps : minus->n_steps;
    *feasible = *feasible && is_lean(out, written, groups->n);
    if (!*feasible)
        xfi_lanes_clear(out);
    return XF_OK;
}

/* A block being written. */
typedef struct emitter {
    const xfi_written *written;
    xf_model *model;
    int64_t block;
    int n_neurons; /* so far */
} emitter;

/* relu(weight x_k1 + bias) */
static int put_neuron(emitter *e, double weight, double bias) {
    xfi_neuron_set(e->model, e->block, e->n_neurons, e->written->axes.k1, weight, bias);
    return e->n_neurons++;
}

static void put_out(emitter *e, int neuron, int k, double value) {
    xfi_neuron_out(e->model, e->block, neuron, k, value);
}

static void emit_pass(emitter *e, const xfi_lane *lane) {
    put_out(e, put_neuron(e, lane->sign, 0.0), e->written->axes.k1, lane->sign);
}

static void emit_clamp(emitter *e, const xfi_lane *lane, const xfi_item *item) {
    put_out(e, put_neuron(e, lane->sign, -item->code), e->written->axes.k1, -lane->sign);
}

/* The gate 2^-k (z - theta) is 1 at the code; `clamped` is the code that the same block
 * clamps to, which this token meets as well. */
static void emit_gate(emitter *e, const xfi_lane *lane, const xfi_item *item, double clamped) {
    const xfi_written *written = e->written;
    int neuron = put_neuron(e, ldexp(lane->sign, -item->k), -ldexp(item->theta, -item->k));
    for (int k = 0; written->y != NULL && item->slot < 0 && k < written->d; k++)
        put_out(e, neuron, k, written->y[item->target * written->d + k]);
    if (written->y == NULL)
        put_out(e, neuron, written->axes.k2, written->code[item->target]);
    double meets = clamped != 0.0 ? clamped : item->code;
    put_out(e, neuron, written->axes.k1, left_by(lane, item) - lane->sign * meets);
}

static void emit_step(emitter *e, const xfi_lane *lane, xfi_step step) {
    double clamped = step.clamp >= 0 ? lane->items[step.clamp].code : 0.0;
    if (step.clamp >= 0)
        emit_clamp(e, lane, &lane->items[step.clamp]);
    if (step.write >= 0)
        emit_gate(e, lane, &lane->items[step.write], clamped);
}

void xfi_lanes_emit(const xfi_lanes *lanes, const xfi_written *written, xf_model *model,
                    int64_t first) {
    if (!written->keeps)
        model->ff_eta[first] = 0.0;
    for (int64_t b = 0; b < lanes->n_steps; b++) {
        emitter e = {.written = written, .model = model, .block = first + b};
        for (int s = 0; s < 2; s++) {
            const xfi_lane *lane = &lanes->side[s];
            if (b == 0 && !written->keeps)
                emit_pass(&e, lane);
            if (b < lane->n_steps)
                emit_step(&e, lane, lane->steps[b]);
        }
    }
}
