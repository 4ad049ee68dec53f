/* Bits onto the corners of a cube, and the gates that know them. */
#include "construct/corners.h"

#include "base/alloc.h"
#include "construct/balance.h"
#include "construct/neuron.h"
#include "num/sort.h"

#include <limits.h>
#include <stdlib.h>

enum { ALL_PAIRS = 4096 /* so many cells are compared pair by pair */ };

static double largest_on(const double *const *rows, int64_t n, int64_t k) {
    double largest = 0;
    for (int64_t g = 0; g < n; g++)
        largest = fmax(largest, fabs(rows[g][k]));
    return largest;
}

static double bits_on(const double *const *rows, int64_t n, int64_t k) {
    int top = INT_MIN, bottom = INT_MAX;
    for (int64_t g = 0; g < n; g++) {
        double y = rows[g][k];
        if (y == 0.0)
            continue;
        top = xfi_exponent(y) > top ? xfi_exponent(y) : top;
        bottom = xfi_lowest_bit(y) < bottom ? xfi_lowest_bit(y) : bottom;
    }
    return top == INT_MIN ? 0.0 : (double)(top - bottom + 1);
}

static void take_first(xfi_corners *corners, const int64_t *order, int64_t d, int line) {
    int taken = 0;
    corners->line = line;
    for (int64_t i = 0; i < d; i++) {
        if (order[i] == line)
            continue;
        if (taken < corners->b)
            corners->coordinate[taken++] = (int)order[i];
        else if (corners->line < 0)
            corners->line = (int)order[i];
    }
}

int xfi_corners_choose(xfi_corners *corners, const double *const *rows, int64_t n, int64_t d,
                       int line, int by_bits) {
    if (d < corners->b + 1)
        return 0;
    double *key = xfi_calloc(d, sizeof *key);
    int64_t *order = xfi_calloc(d, sizeof *order);
    int ok = key && order ? 1 : -1;
    for (int64_t k = 0; ok > 0 && k < d; k++)
        key[k] = by_bits ? bits_on(rows, n, k) : largest_on(rows, n, k);
    if (ok > 0 && !xfi_sort_index(order, key, d))
        ok = -1;
    if (ok > 0)
        take_first(corners, order, d, line);
    xfi_free(key);
    xfi_free(order);
    return ok;
}

int xfi_corners_scale(xfi_corners *corners, const double *const *rows, int64_t n,
                      const xfi_format *format) {
    double largest = 0;
    corners->format = *format;
    int threshold = corners->b - (1 << corners->shape.slack);
    if (threshold < 1)
        return 0;
    for (int64_t g = 0; g < n; g++) {
        double sum = 0;
        for (int i = 0; i < corners->b; i++)
            sum += fabs(rows[g][corners->coordinate[i]]);
        largest = fmax(largest, sum);
    }
    double least = 1.001 * (largest / threshold);
    if (!(least < ldexp(1.0, format->emax - 40)))
        return 0;
    int exponent = 0;
    if (least > 0)
        exponent = xfi_exponent(least) + (ldexp(1.0, xfi_exponent(least)) < least);
    corners->kappa = ldexp(1.0, exponent + corners->shape.lift);
    return exponent > format->emin + 40 + corners->shape.r &&
           exponent + corners->shape.lift < format->emax - 40;
}

int64_t xfi_corners_blocks(const xfi_corners *corners) {
    return corners->shape.split ? 2 * corners->b - 1 : corners->b;
}

/* H: what a bit is worth on its coordinate. */
static double bit_height(const xfi_corners *corners) {
    return ldexp(corners->kappa, 1 - corners->shape.r);
}

/* The part of bit i (from 0) that its two neurons share: weights of the line and of the bit
 * before, and the bias of the first. */
typedef struct bit_input {
    double line;
    double before;
    double bias;
} bit_input;

static bit_input input_of(const xfi_corners *corners, const xfi_ramp *ramp, int i) {
    double S = ldexp(1.0, ramp[i].k);
    bit_input in = {S, 0.0, ramp[i].offset - S / 2};
    if (i > 0 && !corners->shape.split) {
        in.line = 2 * S;
        in.before = -S / bit_height(corners);
    }
    return in;
}

static void set_input(xf_model *model, int64_t block, int neuron, int k, double weight) {
    model->ff_U[(block * model->width + neuron) * model->d + k] = weight;
}

/* c_i += H (relu(a) - relu(a - 1)). */
static void emit_bit(const xfi_corners *corners, const xfi_ramp *ramp, int i, xf_model *model,
                     int64_t block) {
    bit_input in = input_of(corners, ramp, i);
    double H = bit_height(corners);
    for (int second = 0; second < 2; second++) {
        int neuron = xfi_neuron_add(model, block, corners->line, in.line, in.bias - second);
        if (in.before != 0.0)
            set_input(model, block, neuron, corners->coordinate[i - 1], in.before);
        xfi_neuron_out(model, block, neuron, corners->coordinate[i], second ? -H : H);
    }
}

static void emit_line(const xfi_corners *corners, double factor, xf_model *model, int64_t block) {
    int neuron = xfi_neuron_add(model, block, corners->line, 1.0, 0.0);
    xfi_neuron_out(model, block, neuron, corners->line, factor);
}

/* rho := 2 rho - bit i. */
static void emit_doubling(const xfi_corners *corners, int i, xf_model *model, int64_t block) {
    emit_line(corners, 1.0, model, block);
    int neuron = xfi_neuron_add(model, block, corners->coordinate[i], 1.0, 0.0);
    xfi_neuron_out(model, block, neuron, corners->line, -1.0 / bit_height(corners));
}

/* Delete the line, and move {0, H} to {-H/2, H/2}. */
static void emit_centring(const xfi_corners *corners, xf_model *model, int64_t block) {
    emit_line(corners, -1.0, model, block);
    int neuron = xfi_neuron_free(model, block);
    model->ff_b[block * model->width + neuron] = 1.0;
    for (int i = 0; i < corners->b; i++)
        xfi_neuron_out(model, block, neuron, corners->coordinate[i], -bit_height(corners) / 2);
}

/* No product H relu(...) may overflow, and none of the weights leave the format. */
static int in_range(const xfi_corners *corners, const xfi_ramp *ramp) {
    const xfi_format *format = &corners->format;
    int exponent = xfi_exponent(bit_height(corners));
    for (int i = 0; i < corners->b; i++)
        if (exponent + ramp[i].k > format->emax - 2 || ramp[i].k - exponent > format->emax - 2 ||
            -exponent > format->emax - 2 || exponent < format->emin + 2)
            return 0;
    return 1;
}

int xfi_corners_emit(const xfi_corners *corners, const xfi_ramp *ramp, xf_model *model,
                     int64_t first) {
    if (!in_range(corners, ramp))
        return 0;
    int64_t block = first;
    model->ff_eta[first] = 0.0;
    emit_line(corners, 1.0, model, first);
    for (int i = 0; i < corners->b; i++) {
        int last = i == corners->b - 1;
        if (i > 0 && corners->shape.split)
            emit_doubling(corners, i - 1, model, block++);
        else if (i > 0 && !last)
            emit_doubling(corners, i - 1, model, block);
        emit_bit(corners, ramp, i, model, block);
        if (last)
            emit_centring(corners, model, block);
        block++;
    }
    return 1;
}

double xfi_corners_cost(const xfi_corners *corners, const xfi_ramp *ramp) {
    double H = bit_height(corners);
    int b = corners->b, doublings = corners->shape.split ? b - 1 : b - 2;
    double total = 2.0 * (double)xfi_corners_blocks(corners) - 1; /* eta and rho */
    if (!in_range(corners, ramp))
        return INFINITY;
    for (int i = 0; i < b; i++) {
        bit_input in = input_of(corners, ramp, i);
        for (int second = 0; second < 2; second++) {
            double bias = in.bias - second;
            total +=
                xfi_balanced_cost(in.line * in.line + in.before * in.before + bias * bias, H * H);
        }
    }
    for (int i = 0; i < doublings; i++)
        total += xfi_balanced_cost(1.0, 1.0) + xfi_balanced_cost(1.0, 1.0 / (H * H));
    return total + 2 * xfi_balanced_cost(1.0, 1.0) + xfi_balanced_cost(1.0, b * H * H / 4);
}

double xfi_corner_side(const xfi_corners *corners, int64_t cell, int i) {
    return cell >> (corners->b - 1 - i) & 1 ? 1.0 : -1.0;
}

int xfi_corner_index(const xfi_corners *corners, int64_t k) {
    for (int i = 0; i < corners->b; i++)
        if (corners->coordinate[i] == k)
            return i;
    return -1;
}

int xfi_corner_gate(const xfi_corners *corners, int64_t cell, int m, xf_model *model,
                    int64_t block) {
    double weight = ldexp(1.0 / corners->kappa, -m);
    int neuron =
        xfi_neuron_add(model, block, corners->coordinate[0],
                       weight * xfi_corner_side(corners, cell, 0), 1.0 - ldexp(corners->b, -m));
    for (int i = 1; i < corners->b; i++)
        set_input(model, block, neuron, corners->coordinate[i],
                  weight * xfi_corner_side(corners, cell, i));
    return neuron;
}

double xfi_corner_gate_square(const xfi_corners *corners, int m, int exponent) {
    double weight = ldexp(1.0 / corners->kappa, -m - exponent);
    double bias = 1.0 - ldexp(corners->b, -m);
    return corners->b * weight * weight + bias * bias;
}

/* The largest m for a distance of h bits. */
static int slack_for(int h, int m_max) {
    int m = 1;
    while (m < m_max && 1 << m <= h)
        m++;
    return m;
}

static int least_distance(const xfi_cell_group *cell, const int64_t *block, int64_t n, int64_t g) {
    int least = INT_MAX;
    for (int64_t other = 0; other < n; other++) {
        int h = __builtin_popcountll((uint64_t)(cell[g].low ^ cell[other].low));
        if (other != g && block[other] >= block[g] && h < least)
            least = h;
    }
    return least;
}

static int compare_to_cell(const void *key, const void *element) {
    int64_t value = *(const int64_t *)key, other = ((const xfi_cell_group *)element)->low;
    return (value > other) - (value < other);
}

/* Is an unfinished cell one bit away? */
static int has_neighbour(const xfi_cell_group *cell, const int64_t *block, int64_t n, int64_t g,
                         int b) {
    for (int i = 0; i < b; i++) {
        int64_t value = cell[g].low ^ (int64_t)1 << i;
        const xfi_cell_group *found =
            bsearch(&value, cell, (size_t)n, sizeof *cell, compare_to_cell);
        if (found != NULL && block[found - cell] >= block[g])
            return 1;
    }
    return 0;
}

void xfi_corner_slack(int *m, const xfi_cell_group *cell, const int64_t *block, int64_t n, int b,
                      int m_max) {
    for (int64_t g = 0; g < n; g++) {
        if (m_max < 2)
            m[g] = m_max;
        else if (n <= ALL_PAIRS)
            m[g] = slack_for(least_distance(cell, block, n, g), m_max);
        else
            m[g] = has_neighbour(cell, block, n, g, b) ? 1 : 2;
    }
}
