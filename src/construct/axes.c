/* Choosing the writers' coordinates. */
#include "construct/axes.h"

#include <limits.h>

static double target(const xfi_problem *problem, int64_t row, int k) {
    return problem->y[row * problem->data->d + k];
}

int xfi_grid_bits(const xfi_problem *problem, int k) {
    int top = INT_MIN, bottom = INT_MAX;
    for (int64_t g = 0; g < problem->data->n_targets; g++) {
        double y = target(problem, g, k);
        if (y == 0.0)
            continue;
        int exponent = xfi_exponent(y), lowest = xfi_lowest_bit(y);
        top = exponent > top ? exponent : top;
        bottom = lowest < bottom ? lowest : bottom;
    }
    return top == INT_MIN ? 0 : top - bottom + 1;
}

int xfi_sorted_exponent_limit(const xfi_format *format) {
    return format->p == 24 ? 96 : 1000;
}

/* Are all nonzero |y_k| of moderate size? Subnormals count only if `subnormals` is 0: the sorted
 * writer has a class for them. */
static int moderate(const xfi_problem *problem, int k, int subnormals) {
    int limit = xfi_sorted_exponent_limit(&problem->format);
    for (int64_t g = 0; g < problem->data->n_targets; g++) {
        double y = target(problem, g, k);
        if (y == 0.0 || (subnormals && xfi_exponent(y) < problem->format.emin))
            continue;
        int exponent = xfi_exponent(y);
        if (exponent < -limit || exponent > limit)
            return 0;
    }
    return 1;
}

/* Grid bits of k; more than any format has if k is no use to the grid writer. */
static int useful_bits(const xfi_problem *problem, int k) {
    return moderate(problem, k, 0) ? xfi_grid_bits(problem, k) : INT_MAX - 1;
}

xfi_axes xfi_axes_grid(const xfi_problem *problem, int *bits) {
    int d = (int)problem->data->d;
    xfi_axes axes = {0, -1};
    int second = INT_MAX;
    *bits = useful_bits(problem, 0);
    for (int k = 1; k < d; k++) {
        int b = useful_bits(problem, k);
        if (b < *bits) {
            axes = (xfi_axes){k, axes.k1};
            second = *bits;
            *bits = b;
        } else if (b < second) {
            axes.k2 = k;
            second = b;
        }
    }
    return axes;
}

static double largest_on(const xfi_problem *problem, int k) {
    double largest = 0;
    for (int64_t g = 0; g < problem->data->n_targets; g++)
        largest = fmax(largest, fabs(target(problem, g, k)));
    return largest;
}

int xfi_axes_sorted(const xfi_problem *problem, xfi_axes *axes) {
    int d = (int)problem->data->d, best = -1;
    double limit = ldexp(1.0, xfi_sorted_exponent_limit(&problem->format) + 1);
    *axes = (xfi_axes){-1, -1};
    for (int k = 0; k < d; k++) {
        int bits = moderate(problem, k, 1) ? xfi_grid_bits(problem, k) : -1;
        if (bits >= 0 && (best < 0 || bits < best)) {
            best = bits;
            axes->k1 = k;
        }
    }
    double least = INFINITY;
    for (int k = 0; k < d && axes->k1 >= 0; k++) {
        double largest = largest_on(problem, k);
        if (k != axes->k1 && largest < limit && largest < least) {
            least = largest;
            axes->k2 = k;
        }
    }
    return axes->k1 >= 0 && axes->k2 >= 0;
}

void xfi_target_exponents(const xfi_problem *problem, int *largest, int *least) {
    int64_t n = problem->data->n_targets * problem->data->d;
    *largest = INT_MIN;
    *least = INT_MAX;
    for (int64_t i = 0; i < n; i++) {
        if (problem->y[i] == 0.0)
            continue;
        int exponent = xfi_exponent(problem->y[i]);
        *largest = exponent > *largest ? exponent : *largest;
        *least = exponent < *least ? exponent : *least;
    }
    if (*largest == INT_MIN)
        *largest = *least = 0;
}
