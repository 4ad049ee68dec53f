/* May the writer that was asked for serve? */
#include "construct/asked_writer.h"

#include "construct/argmax.h"
#include "construct/axes.h"
#include "construct/cell_writers.h"

#include <stdio.h>
#include <string.h>

enum { WHY = 160 };

/* Every target has a cell of its own. */
static int least_bits(const xfi_problem *problem) {
    int b = 0;
    while (problem->data->n_targets > (int64_t)1 << b)
        b++;
    return b;
}

static int cells_fit(const xfi_cell_writer *writer, const xfi_writers *choices,
                     const xfi_problem *problem, char why[WHY]) {
    int least = least_bits(problem);
    xfi_cells cells = {.b = least > writer->b_min ? least : writer->b_min};
    return writer->fits(&cells, choices, problem, why);
}

static const char exponents[] =
    "no coordinate of the targets has binary exponents that its gates can carry";

/* Of grid, sorted and argmax. */
static int targets_fit(const char *name, const xfi_writers *choices, const xfi_problem *problem,
                       char why[WHY]) {
    if (strcmp(name, "sorted") != 0 && !choices->grid.usable) {
        int k1 = choices->grid.axes.k1, bits = xfi_grid_bits(problem, k1);
        if (bits < problem->format.p - 2)
            snprintf(why, WHY, "%s", exponents);
        else
            snprintf(why, WHY,
                     "the targets are off the grid: %d bits on coordinate %d, the best one", bits,
                     k1);
        return 0;
    }
    if (strcmp(name, "sorted") == 0 && !choices->sorted.usable) {
        snprintf(why, WHY, "%s", exponents);
        return 0;
    }
    return 1;
}

int xfi_asked_writer_fits(const xfi_writers *choices, const xfi_problem *problem, char why[WHY]) {
    const char *name = problem->options->writer;
    int n = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n);
    if (name == NULL)
        return 1;
    for (int i = 0; i < n; i++)
        if (strcmp(name, table[i].name) == 0)
            return cells_fit(&table[i], choices, problem, why);
    if (strcmp(name, "argmax") == 0 && !xfi_argmax_fits(problem, why))
        return 0;
    return targets_fit(name, choices, problem, why);
}
