/* Choosing the writers' coordinates. */
#include "construct/axes.h"

#include <limits.h>

/* What the writers ask of one coordinate of the targets. */
typedef struct column {
    int top;        /* exponents of the nonzero values, INT_MIN and INT_MAX without any */
    int bottom;     /* their lowest bits */
    int least;      /* exponents again, subnormal numbers of the format left out */
    int subnormal;  /* is there any? */
    double largest; /* |y| */
} column;

static void look_at(column *at, double y, const xfi_format *format) {
    if (y == 0.0)
        return;
    int exponent = xfi_exponent(y), lowest = xfi_lowest_bit(y);
    at->top = exponent > at->top ? exponent : at->top;
    at->bottom = lowest < at->bottom ? lowest : at->bottom;
    if (exponent < format->emin)
        at->subnormal = 1;
    else if (exponent < at->least)
        at->least = exponent;
    at->largest = fmax(at->largest, fabs(y));
}

/* columns [n] of the coordinates from `first` on, in one pass over the targets. */
static void look_at_columns(column *columns, const xfi_problem *problem, int64_t first, int64_t n) {
    int64_t d = problem->data->d;
    for (int64_t k = 0; k < n; k++)
        columns[k] = (column){.top = INT_MIN, .bottom = INT_MAX, .least = INT_MAX};
    for (int64_t g = 0; g < problem->data->n_targets; g++)
        for (int64_t k = 0; k < n; k++)
            look_at(&columns[k], problem->y[g * d + first + k], &problem->format);
}

static int grid_bits(const column *at) {
    return at->top == INT_MIN ? 0 : at->top - at->bottom + 1;
}

int xfi_grid_bits(const xfi_problem *problem, int k) {
    column at;
    look_at_columns(&at, problem, k, 1);
    return grid_bits(&at);
}

int xfi_sorted_exponent_limit(const xfi_format *format) {
    return format->p == 24 ? 96 : 1000;
}

/* Are all nonzero |y_k| of moderate size? Subnormals count only if `subnormals` is 0: the sorted
 * writer has a class for them. */
static int moderate(const column *at, const xfi_format *format, int subnormals) {
    int limit = xfi_sorted_exponent_limit(format);
    return (subnormals || !at->subnormal) && (at->top == INT_MIN || at->top <= limit) &&
           (at->least == INT_MAX || at->least >= -limit);
}

/* Grid bits of k; more than any format has if k is no use to the grid writer. */
static int useful_bits(const column *at, const xfi_format *format) {
    return moderate(at, format, 0) ? grid_bits(at) : INT_MAX - 1;
}

typedef struct grid_choice {
    const xfi_format *format;
    xfi_axes axes;
    int best;
    int second;
} grid_choice;

static void take_grid(grid_choice *choice, int k, const column *at) {
    int bits = useful_bits(at, choice->format);
    if (k == 0) {
        choice->best = bits;
    } else if (bits < choice->best) {
        choice->axes = (xfi_axes){k, choice->axes.k1};
        choice->second = choice->best;
        choice->best = bits;
    } else if (bits < choice->second) {
        choice->axes.k2 = k;
        choice->second = bits;
    }
}

/* k2 has the least of the largest values, k1 excepted; so the two least are remembered. */
typedef struct sorted_choice {
    const xfi_format *format;
    int k1;
    int bits;
    int small[2];
    double largest[2];
} sorted_choice;

static void take_sorted(sorted_choice *choice, int k, const column *at) {
    if (moderate(at, choice->format, 1) && (choice->k1 < 0 || grid_bits(at) < choice->bits)) {
        choice->k1 = k;
        choice->bits = grid_bits(at);
    }
    if (at->largest < choice->largest[0]) {
        choice->small[1] = choice->small[0];
        choice->largest[1] = choice->largest[0];
        choice->small[0] = k;
        choice->largest[0] = at->largest;
    } else if (at->largest < choice->largest[1]) {
        choice->small[1] = k;
        choice->largest[1] = at->largest;
    }
}

static xfi_axes_choice make_choice(const grid_choice *grid, const sorted_choice *sorted) {
    int k2 = sorted->small[sorted->small[0] == sorted->k1];
    xfi_axes_choice out = {.grid = grid->axes, .grid_bits = grid->best, .sorted = {-1, -1}};
    if (sorted->k1 >= 0)
        out.sorted = (xfi_axes){sorted->k1, k2};
    out.sorts = sorted->k1 >= 0 && k2 >= 0;
    return out;
}

enum { COLUMNS = 64 }; /* looked at in one pass */

xfi_axes_choice xfi_axes_choose(const xfi_problem *problem) {
    double limit = xfi_power(xfi_sorted_exponent_limit(&problem->format) + 1);
    grid_choice grid = {&problem->format, {0, -1}, INT_MAX, INT_MAX};
    sorted_choice sorted = {&problem->format, -1, 0, {-1, -1}, {limit, limit}};
    column columns[COLUMNS];
    for (int64_t first = 0; first < problem->data->d; first += COLUMNS) {
        int64_t n = problem->data->d - first < COLUMNS ? problem->data->d - first : COLUMNS;
        look_at_columns(columns, problem, first, n);
        for (int64_t k = 0; k < n; k++) {
            take_grid(&grid, (int)(first + k), &columns[k]);
            take_sorted(&sorted, (int)(first + k), &columns[k]);
        }
    }
    return make_choice(&grid, &sorted);
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
