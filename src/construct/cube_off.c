/* Planning and writing the cube for any floats. */
#include "construct/cube_off.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/balance.h"
#include "construct/neuron.h"
#include "construct/stream.h"

enum { MAX_R = 14, MAX_LIFT = 2, MAX_SLACK = 3, MANY = 4096 };

void xfi_cube_off_clear(xfi_cube_off *cube) {
    xfi_slots_clear(&cube->slots);
    xfi_free(cube->slack);
    xfi_free(cube->rows);
    xfi_free(cube->out);
    *cube = (xfi_cube_off){0};
}

static int has_room(xfi_cube_off *cube) {
    cube->slack = xfi_calloc(cube->n, sizeof *cube->slack);
    cube->rows = xfi_calloc(cube->n, sizeof *cube->rows);
    cube->out = xfi_calloc(cube->n, sizeof *cube->out);
    return cube->slack && cube->rows && cube->out;
}

static int fit_corners(xfi_cube_off *cube, const xfi_cells *cells, const xfi_problem *problem,
                       int k1) {
    for (int64_t g = 0; g < cube->n; g++)
        cube->rows[g] = xfi_cell_target(cells, problem, g);
    int ok = xfi_corners_choose(&cube->corners, cube->rows, cube->n, cube->d, k1, 0);
    return ok <= 0 ? ok : xfi_corners_scale(&cube->corners, cube->rows, cube->n, &problem->format);
}

static int set_slack(xfi_cube_off *cube, const xfi_cells *cells) {
    int64_t *block = xfi_calloc(cube->n, sizeof *block);
    if (block == NULL)
        return 0;
    for (int64_t g = 0; g < cube->n; g++)
        block[g] = cube->slots.place[g].slot;
    xfi_corner_slack(cube->slack, cells->occupied, block, cube->n, cube->corners.b,
                     cube->corners.shape.slack);
    xfi_free(block);
    return 1;
}

/* A writes y off the code coordinates and the line, -+kappa on these, f on the line. */
static void set_out(xfi_cube_off *cube) {
    const xfi_corners *corners = &cube->corners;
    for (int64_t g = 0; g < cube->n; g++) {
        double sum = 0;
        for (int64_t k = 0; k < cube->d; k++) {
            double w = k == corners->line                  ? cube->slots.place[g].f
                       : xfi_corner_index(corners, k) >= 0 ? corners->kappa
                                                           : cube->rows[g][k];
            sum += w * w;
        }
        cube->out[g] = sum;
    }
}

static void reshape(xfi_cube_off *cube, int r, int extra, int split) {
    cube->corners.shape.r = r;
    cube->corners.shape.extra = extra;
    cube->corners.shape.split = split;
    cube->n_blocks = cube->slots.n_slots + 1 + extra;
}

xf_status xfi_cube_off_plan(xfi_cube_off *out, int *feasible, const xfi_cells *cells,
                            const xfi_problem *problem, int k1, const xfi_corner_shape *shape,
                            xf_error *error) {
    *out = (xfi_cube_off){
        .corners = {.b = cells->b, .shape = *shape}, .n = cells->n_occupied, .d = problem->data->d};
    out->corners.shape.mean = 0;
    *feasible = cells->b >= 2 && out->d >= cells->b + 1;
    if (!*feasible)
        return XF_OK;
    int fits = has_room(out) ? fit_corners(out, cells, problem, k1) : -1;
    xf_status status = fits < 0 ? xfi_fail_memory(error) : XF_OK;
    if (fits > 0)
        status = xfi_cell_slots_make(&out->slots, cells, problem, k1, error);
    if (fits > 0 && status == XF_OK && !set_slack(out, cells))
        status = xfi_fail_memory(error);
    *feasible = fits > 0 && status == XF_OK;
    if (!*feasible) {
        xfi_cube_off_clear(out);
        return status;
    }
    set_out(out);
    reshape(out, shape->r, shape->extra, shape->split);
    return XF_OK;
}

double xfi_cube_off_cost(const xfi_cube_off *cube, const xfi_ramp *ramp) {
    const xfi_corners *corners = &cube->corners;
    double total = xfi_corners_cost(corners, ramp);
    for (int64_t block = 0; block < cube->n_blocks; block++) {
        int growth = xfi_stream_exponent(block + 1, cube->n_blocks, corners->shape.r) -
                     xfi_stream_exponent(block, cube->n_blocks, corners->shape.r);
        total += 1.0 + ldexp(1.0, 2 * growth);
    }
    for (int64_t g = 0; g < cube->n; g++) {
        const xfi_place *place = &cube->slots.place[g];
        int scale[3];
        for (int i = 0; i < 3; i++)
            scale[i] = xfi_stream_exponent(place->slot + i, cube->n_blocks, corners->shape.r);
        double out =
            xfi_cell_slot_out(place, cube->rows[g], corners->line, corners->coordinate, corners->b);
        total += xfi_balanced_cost(xfi_corner_gate_square(corners, cube->slack[g], scale[0]),
                                   ldexp(cube->out[g], 2 * scale[1]));
        total += xfi_balanced_cost(xfi_cell_slot_square(place, scale[1]), ldexp(out, 2 * scale[2]));
    }
    return total;
}

static void emit_a(const xfi_cube_off *cube, const xfi_cells *cells, int64_t g, xf_model *model,
                   int64_t block) {
    const xfi_corners *corners = &cube->corners;
    int64_t cell = cells->occupied[g].low;
    int neuron = xfi_corner_gate(corners, cell, cube->slack[g], model, block);
    for (int64_t k = 0; k < cube->d; k++)
        xfi_neuron_out(model, block, neuron, (int)k, cube->rows[g][k]);
    for (int i = 0; i < corners->b; i++)
        xfi_neuron_out(model, block, neuron, corners->coordinate[i],
                       -corners->kappa * xfi_corner_side(corners, cell, i));
    xfi_neuron_out(model, block, neuron, corners->line, cube->slots.place[g].f);
}

int xfi_cube_off_emit(const xfi_cube_off *cube, const xfi_cells *cells, const xfi_ramp *ramp,
                      xf_model *model, int64_t first) {
    xfi_format format = xfi_format_of(model->dtype);
    const xfi_corners *corners = &cube->corners;
    if (!xfi_corners_emit(corners, ramp, model, first))
        return 0;
    first += xfi_corners_blocks(corners);
    for (int64_t g = 0; g < cube->n; g++) {
        const xfi_place *place = &cube->slots.place[g];
        emit_a(cube, cells, g, model, first + place->slot);
        xfi_cell_slot_emit_b(place, cube->rows[g], corners->line, corners->coordinate, corners->b,
                             model, first + place->slot + 1);
    }
    return xfi_stream_grow(model, &format, first, cube->n_blocks, -corners->shape.r,
                           corners->shape.r);
}

/* All scales of one cube: as many extra blocks as r, if they may be. */
static void tune_scale(xfi_corner_shape *shape, double *best, xfi_cube_off *cube,
                       const xfi_ramp *ramp, int64_t max_blocks) {
    for (int split = 0; split < 2; split++) {
        reshape(cube, 0, 0, split);
        int64_t room = max_blocks - xfi_corners_blocks(&cube->corners) - cube->n_blocks;
        for (int r = 0; r <= MAX_R && room >= 0; r++) {
            reshape(cube, r, r < room ? r : (int)room, split);
            double cost = xfi_cube_off_cost(cube, ramp);
            if (cost < *best) {
                *best = cost;
                *shape = cube->corners.shape;
            }
        }
    }
}

xf_status xfi_cube_off_tune(xfi_corner_shape *out, int *feasible, const xfi_cells *cells,
                            const xfi_problem *problem, int k1, const xfi_reading *reading,
                            int64_t max_blocks, xf_error *error) {
    double best = INFINITY;
    int max_lift = cells->n_occupied > MANY ? 0 : MAX_LIFT;
    for (int choice = 0; choice < (MAX_SLACK + 1) * (max_lift + 1); choice++) {
        xfi_corner_shape shape = {.slack = choice % (MAX_SLACK + 1),
                                  .lift = choice / (MAX_SLACK + 1)};
        xfi_cube_off cube;
        int fits = 0;
        XFI_TRY(xfi_cube_off_plan(&cube, &fits, cells, problem, k1, &shape, error));
        if (fits) {
            tune_scale(out, &best, &cube, reading->ramp, max_blocks);
            xfi_cube_off_clear(&cube);
        }
    }
    *feasible = isfinite(best);
    return XF_OK;
}
