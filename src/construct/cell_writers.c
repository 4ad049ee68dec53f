/* Names, needs and depths of the writers that read cells. */
#include "construct/cell_writers.h"

#include "base/error.h"
#include "construct/axes.h"

#include <stdio.h>

enum { WHY = 160 };

static int has_grid(const xfi_writers *choices, const xfi_problem *problem, char *why) {
    if (choices->grid.usable && choices->grid.axes.k2 >= 0)
        return 1;
    if (problem->data->d < 2)
        snprintf(why, WHY, "it needs two coordinates");
    else
        snprintf(why, WHY, "the targets are off the grid: %d bits on coordinate %d, the best one",
                 xfi_grid_bits(problem, choices->grid.axes.k1), choices->grid.axes.k1);
    return 0;
}

static int has_slots(const xfi_writers *choices, char *why) {
    if (choices->sorted.usable)
        return 1;
    snprintf(why, WHY,
             "no coordinate of the targets has binary exponents that its gates can carry");
    return 0;
}

static int has_corners(const xfi_cells *cells, const xfi_problem *problem, char *why) {
    if (cells->b >= 2 && problem->data->d >= cells->b + 1)
        return 1;
    if (cells->b < 2)
        snprintf(why, WHY, "it needs cells of two bits or more");
    else
        snprintf(why, WHY, "it needs %d coordinates for cells of %d bits, and there are %lld",
                 cells->b + 1, cells->b, (long long)problem->data->d);
    return 0;
}

static int diamond_fits(const xfi_cells *cells, const xfi_writers *choices,
                        const xfi_problem *problem, char why[WHY]) {
    (void)cells;
    return has_grid(choices, problem, why);
}

static int diamond_sorted_fits(const xfi_cells *cells, const xfi_writers *choices,
                               const xfi_problem *problem, char why[WHY]) {
    (void)cells;
    (void)problem;
    return has_slots(choices, why);
}

static int cube_fits(const xfi_cells *cells, const xfi_writers *choices, const xfi_problem *problem,
                     char why[WHY]) {
    (void)choices;
    return has_corners(cells, problem, why);
}

static int cube_off_fits(const xfi_cells *cells, const xfi_writers *choices,
                         const xfi_problem *problem, char why[WHY]) {
    return has_corners(cells, problem, why) && has_slots(choices, why);
}

static int offgrid_fits(const xfi_cells *cells, const xfi_writers *choices,
                        const xfi_problem *problem, char why[WHY]) {
    if (problem->data->d < 4) {
        snprintf(why, WHY, "it needs four coordinates, and there are %lld",
                 (long long)problem->data->d);
        return 0;
    }
    if (2 * cells->b + 1 > problem->format.p) {
        snprintf(why, WHY, "the squares of cells of %d bits are too long for the format", cells->b);
        return 0;
    }
    return has_slots(choices, why);
}

static int64_t parts(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

/* Front end, bits, and the last block for scaled targets. */
static int64_t around(const xfi_cells *cells, const xfi_problem *problem) {
    return xfi_front_blocks(&cells->front) + cells->b + (problem->y_exponent != 0);
}

static int64_t diamond_depth(const xfi_cells *cells, const xfi_problem *problem) {
    return around(cells, problem) + 1 + parts(cells->n + cells->n_multi, 4);
}

static int64_t diamond_sorted_depth(const xfi_cells *cells, const xfi_problem *problem) {
    return diamond_depth(cells, problem) + parts(cells->n, 2) + 1;
}

static int64_t cube_depth(const xfi_cells *cells, const xfi_problem *problem) {
    return around(cells, problem) + parts(cells->n_occupied, 4);
}

static int64_t cube_off_depth(const xfi_cells *cells, const xfi_problem *problem) {
    return around(cells, problem) + parts(cells->n_occupied, 2) + 1;
}

static int64_t offgrid_depth(const xfi_cells *cells, const xfi_problem *problem) {
    return cube_off_depth(cells, problem) + 1;
}

const xfi_cell_writer *xfi_cell_writers(int *n) {
    static const xfi_cell_writer table[] = {
        {"cube", 2, 0, cube_fits, cube_depth, xfi_assemble_cube},
        {"diamond", 1, 0, diamond_fits, diamond_depth, xfi_assemble_diamond},
        {"cubeoff", 2, 1, cube_off_fits, cube_off_depth, xfi_assemble_cube_off},
        {"offgrid", 1, 1, offgrid_fits, offgrid_depth, xfi_assemble_offgrid},
        {"diamond-sorted", 1, 1, diamond_sorted_fits, diamond_sorted_depth,
         xfi_assemble_diamond_sorted},
    };
    *n = (int)(sizeof table / sizeof *table);
    return table;
}

xf_status xfi_cell_writer_run(const xfi_cell_writer *writer, xf_model *out, xfi_forecast *forecast,
                              int *feasible, const xfi_cells *cells, const xfi_writers *choices,
                              const xfi_problem *problem, const xfi_writer_options *options,
                              xf_error *error) {
    char *why = forecast->why;
    xfi_assembly job = {.cells = cells, .problem = problem, .options = *options};
    job.axes = writer->sorted ? choices->sorted.axes : choices->grid.axes;
    *feasible = writer->fits(cells, choices, problem, why);
    if (!*feasible)
        return XF_OK;
    XFI_TRY(writer->assemble(out, forecast, feasible, &job, error));
    if (!*feasible)
        snprintf(why, WHY,
                 "some target has too many bits for its place in the format, or some "
                 "weight leaves the format's range");
    return XF_OK;
}
