/* Planning and writing the cube. */
#include "construct/cube.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/balance.h"
#include "construct/neuron.h"
#include "construct/stream.h"
#include "num/double_double.h"

void xfi_cube_clear(xfi_cube *cube) {
    xfi_free(cube->written);
    xfi_free(cube->rows);
    xfi_free(cube->slack);
    xfi_free(cube->mean);
    xfi_free(cube->out);
    *cube = (xfi_cube){0};
}

static int exact_sum(double a, double b, const xfi_format *format) {
    xfi_dd sum = xfi_two_sum(a, b);
    return sum.lo == 0.0 && xfi_representable(format, sum.hi);
}

/* The mean of coordinate k, rounded to six bits below the largest |y_k|; 0 if some y - mean
 * is not exact. */
static double short_mean(const xfi_problem *problem, int64_t k) {
    int64_t n = problem->data->n_targets, d = problem->data->d;
    double sum = 0, largest = 0;
    for (int64_t g = 0; g < n; g++) {
        sum += problem->y[g * d + k] / (double)n;
        largest = fmax(largest, fabs(problem->y[g * d + k]));
    }
    if (largest == 0.0 || xfi_exponent(largest) - 6 < problem->format.emin)
        return 0.0;
    double unit = ldexp(1.0, xfi_exponent(largest) - 6), mean = rint(sum / unit) * unit;
    for (int64_t g = 0; g < n; g++)
        if (!exact_sum(problem->y[g * d + k], -mean, &problem->format))
            return 0.0;
    return mean;
}

static void set_written(xfi_cube *cube, const xfi_cells *cells, const xfi_problem *problem) {
    int64_t d = problem->data->d;
    for (int64_t k = 0; cube->corners.shape.mean && k < d; k++) {
        cube->mean[k] = short_mean(problem, k);
        cube->has_mean |= cube->mean[k] != 0.0;
    }
    for (int64_t g = 0; g < cube->n; g++) {
        const double *y = xfi_cell_target(cells, problem, g);
        for (int64_t k = 0; k < d; k++)
            cube->written[g * d + k] = y[k] - cube->mean[k];
        cube->rows[g] = cube->written + g * d;
    }
}

/* Where gate g finds code coordinate i, at full scale. */
static double corner_at(const xfi_cube *cube, const xfi_cells *cells, int64_t g, int i) {
    return cube->corners.kappa * xfi_corner_side(&cube->corners, cells->occupied[g].low, i);
}

static int targets_fit(const xfi_cube *cube, const xfi_cells *cells, const xfi_format *format) {
    for (int64_t g = 0; g < cube->n; g++)
        for (int i = 0; i < cube->corners.b; i++)
            if (!exact_sum(cube->rows[g][cube->corners.coordinate[i]],
                           -corner_at(cube, cells, g, i), format))
                return 0;
    return 1;
}

/* T-cube: the three terms corner, y' - corner and mean have exact sums by twos. */
static int mean_fits(const xfi_cube *cube, const xfi_cells *cells, int64_t g,
                     const xfi_format *format) {
    for (int i = 0; i < cube->corners.b; i++) {
        int k = cube->corners.coordinate[i];
        double corner = corner_at(cube, cells, g, i), mean = cube->mean[k];
        if (!exact_sum(corner, mean, format) || !exact_sum(cube->rows[g][k] - corner, mean, format))
            return 0;
    }
    return 1;
}

static int64_t gate_blocks(const xfi_cube *cube) {
    return (cube->n + 3) / 4;
}

/* Does the mean need a block of its own, without extra ones? */
static int mean_is_alone(const xfi_cube *cube, const xfi_cells *cells, const xfi_format *format) {
    if (!cube->has_mean || cube->n % 4 == 0)
        return cube->has_mean;
    for (int64_t g = cube->n - cube->n % 4; g < cube->n; g++)
        if (!mean_fits(cube, cells, g, format))
            return 1;
    return 0;
}

/* Squared norms of the columns. */
static void set_out(xfi_cube *cube, const xfi_cells *cells, int64_t d) {
    for (int64_t g = 0; g < cube->n; g++) {
        double sum = 0;
        for (int64_t k = 0; k < d; k++) {
            int i = xfi_corner_index(&cube->corners, k);
            double w = cube->rows[g][k] - (i >= 0 ? corner_at(cube, cells, g, i) : 0.0);
            sum += w * w;
        }
        cube->out[g] = sum;
    }
}

static int set_slack(xfi_cube *cube, const xfi_cells *cells) {
    int64_t *block = xfi_calloc(cube->n, sizeof *block);
    if (block == NULL)
        return 0;
    for (int64_t g = 0; g < cube->n; g++)
        block[g] = g / 4;
    xfi_corner_slack(cube->slack, cells->occupied, block, cube->n, cube->corners.b,
                     cube->corners.shape.slack);
    xfi_free(block);
    return 1;
}

/* Coordinates by size, or else by bits. */
static int fit_corners(xfi_cube *cube, const xfi_cells *cells, const xfi_problem *problem) {
    for (int by_bits = 0; by_bits < 2; by_bits++) {
        int ok =
            xfi_corners_choose(&cube->corners, cube->rows, cube->n, problem->data->d, -1, by_bits);
        if (ok < 0)
            return -1;
        if (ok && xfi_corners_scale(&cube->corners, cube->rows, cube->n, &problem->format) &&
            targets_fit(cube, cells, &problem->format))
            return 1;
    }
    return 0;
}

static int has_room(xfi_cube *cube, const xfi_cells *cells, int64_t d) {
    cube->d = d;
    cube->n = cells->n_occupied;
    cube->written = xfi_calloc2(cube->n, d, sizeof *cube->written);
    cube->rows = xfi_calloc(cube->n, sizeof *cube->rows);
    cube->slack = xfi_calloc(cube->n, sizeof *cube->slack);
    cube->mean = xfi_calloc(d, sizeof *cube->mean);
    cube->out = xfi_calloc(cube->n, sizeof *cube->out);
    return cube->written && cube->rows && cube->slack && cube->mean && cube->out;
}

xf_status xfi_cube_plan(xfi_cube *out, int *feasible, const xfi_cells *cells,
                        const xfi_problem *problem, const xfi_corner_shape *shape,
                        xf_error *error) {
    int64_t d = problem->data->d;
    *out = (xfi_cube){.corners = {.b = cells->b, .shape = *shape}};
    *feasible = cells->b >= 2 && d >= cells->b + 1;
    if (!*feasible)
        return XF_OK;
    int fits = has_room(out, cells, d) ? 1 : -1;
    if (fits > 0) {
        set_written(out, cells, problem);
        fits = fit_corners(out, cells, problem);
    }
    if (fits > 0 && !set_slack(out, cells))
        fits = -1;
    *feasible = fits > 0;
    if (!*feasible) {
        xfi_cube_clear(out);
        return fits < 0 ? xfi_fail_memory(error) : XF_OK;
    }
    set_out(out, cells, d);
    out->mean_alone = mean_is_alone(out, cells, &problem->format);
    xfi_cube_reshape(out, shape->r, shape->extra, shape->split);
    return XF_OK;
}

void xfi_cube_reshape(xfi_cube *cube, int r, int extra, int split) {
    cube->corners.shape.r = r;
    cube->corners.shape.extra = extra;
    cube->corners.shape.split = split;
    cube->n_blocks = gate_blocks(cube) + (extra > 0 ? extra : cube->mean_alone);
}

double xfi_cube_cost(const xfi_cube *cube, const xfi_ramp *ramp) {
    const xfi_corners *corners = &cube->corners;
    double total = xfi_corners_cost(corners, ramp), mean = 0;
    for (int64_t block = 0; block < cube->n_blocks; block++) {
        int before = xfi_stream_exponent(block, cube->n_blocks, corners->shape.r);
        int behind = xfi_stream_exponent(block + 1, cube->n_blocks, corners->shape.r);
        total += 1.0 + ldexp(1.0, 2 * (behind - before));
        for (int64_t g = 4 * block; g < cube->n && g < 4 * block + 4; g++)
            total += xfi_balanced_cost(xfi_corner_gate_square(corners, cube->slack[g], before),
                                       ldexp(cube->out[g], 2 * behind));
    }
    for (int64_t k = 0; cube->has_mean && k < cube->d; k++)
        mean += cube->mean[k] * cube->mean[k];
    return cube->has_mean ? total + xfi_balanced_cost(1.0, mean) : total;
}

static void emit_gate(const xfi_cube *cube, const xfi_cells *cells, int64_t g, xf_model *model,
                      int64_t block) {
    const double *y = cube->rows[g];
    int neuron =
        xfi_corner_gate(&cube->corners, cells->occupied[g].low, cube->slack[g], model, block);
    for (int64_t k = 0; k < cube->d; k++)
        xfi_neuron_out(model, block, neuron, (int)k, y[k]);
    for (int i = 0; i < cube->corners.b; i++) {
        int k = cube->corners.coordinate[i];
        xfi_neuron_out(model, block, neuron, k, y[k] - corner_at(cube, cells, g, i));
    }
}

static void emit_mean(const xfi_cube *cube, xf_model *model, int64_t block) {
    int neuron = xfi_neuron_free(model, block);
    model->ff_b[block * model->width + neuron] = 1.0;
    for (int64_t k = 0; k < cube->d; k++)
        xfi_neuron_out(model, block, neuron, (int)k, cube->mean[k]);
}

int xfi_cube_emit(const xfi_cube *cube, const xfi_cells *cells, const xfi_ramp *ramp,
                  xf_model *model, int64_t first) {
    xfi_format format = xfi_format_of(model->dtype);
    int r = cube->corners.shape.r;
    if (!xfi_corners_emit(&cube->corners, ramp, model, first))
        return 0;
    first += xfi_corners_blocks(&cube->corners);
    for (int64_t g = 0; g < cube->n; g++)
        emit_gate(cube, cells, g, model, first + g / 4);
    if (cube->has_mean)
        emit_mean(cube, model, first + cube->n_blocks - 1);
    return xfi_stream_grow(model, &format, first, cube->n_blocks, -r, r);
}

/* The search for the cheapest shape. */
typedef struct tuner {
    const xfi_ramp *ramp;
    int64_t max_blocks;
    double best;
    xfi_corner_shape *shape;
} tuner;

enum { MAX_R = 14, MAX_LIFT = 2, MAX_SLACK = 3, MANY = 4096 };

/* All scales of one cube: as many extra blocks as r, if they may be. */
static void tune_scale(tuner *t, xfi_cube *cube) {
    for (int split = 0; split < 2; split++) {
        xfi_cube_reshape(cube, 0, 0, split);
        int64_t room = t->max_blocks - xfi_corners_blocks(&cube->corners) - cube->n_blocks;
        for (int r = 0; r <= MAX_R && room >= 0; r++) {
            xfi_cube_reshape(cube, r, r < room ? r : (int)room, split);
            double cost = xfi_cube_cost(cube, t->ramp);
            if (cost < t->best) {
                t->best = cost;
                *t->shape = cube->corners.shape;
            }
        }
    }
}

xf_status xfi_cube_tune(xfi_corner_shape *out, int *feasible, const xfi_cells *cells,
                        const xfi_problem *problem, const xfi_reading *reading, int64_t max_blocks,
                        xf_error *error) {
    tuner t = {reading->ramp, max_blocks, INFINITY, out};
    int max_lift = cells->n_occupied > MANY ? 0 : MAX_LIFT;
    for (int choice = 0; choice < 2 * (MAX_SLACK + 1) * (max_lift + 1); choice++) {
        xfi_corner_shape shape = {.mean = choice % 2,
                                  .slack = choice / 2 % (MAX_SLACK + 1),
                                  .lift = choice / 2 / (MAX_SLACK + 1)};
        xfi_cube cube;
        int fits = 0;
        XFI_TRY(xfi_cube_plan(&cube, &fits, cells, problem, &shape, error));
        if (fits && (!shape.mean || cube.has_mean))
            tune_scale(&t, &cube);
        if (fits)
            xfi_cube_clear(&cube);
    }
    *feasible = isfinite(t.best);
    return XF_OK;
}
