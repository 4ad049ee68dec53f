/* Stages for given scalars. Everything starts from certified balls of the blocks made so far. */
#include "construct/displacement_stages.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/cell_plan.h"
#include "construct/displacement_bound.h"
#include "construct/windows.h"
#include "num/sort.h"

#include <stdlib.h>
#include <string.h>

/* The blocks made so far, at scale 1, and where they leave the tokens. */
typedef struct site {
    xfi_displacement *displacement;
    const xfi_displacement_room *room;
    const xfi_problem *problem;
    xfi_displacement_axes axes;
    xfi_displaced at;
} site;

/* Emit what there is and track the coordinates of the next stage. *found 0: out of range, or not
 * certain. */
static xf_status survey(site *s, int *found, xf_error *error) {
    const xfi_problem *problem = s->problem;
    xf_model model;
    int in_range = 0;
    int64_t more[] = {s->axes.k1, s->axes.k2, s->axes.k3};
    XFI_TRY(xfi_displacement_emit(&model, &in_range, s->displacement, 1.0, 0.0, problem,
                                  (xfi_axes){s->axes.k1, s->axes.k2}, error));
    *found = in_range;
    xf_status status = XF_OK;
    if (in_range)
        status = xfi_displacement_track(&s->at, &model, more, s->axes.k3 >= 0 ? 3 : 2,
                                        problem->data, problem->threads, error);
    xf_model_clear(&model);
    *found = *found && status == XF_OK && s->at.known;
    return status;
}

static xfi_ball ball_of(const site *s, int64_t token, int k) {
    const xfi_track *track = &s->at.track;
    return track->ball[token * track->n_coordinates + xfi_track_index(track, k)];
}

/* Centre and radius of everything that sequence j has on coordinate k. */
static void span_of(const site *s, int64_t j, int k, double *centre, double *radius) {
    const xf_dataset *data = s->problem->data;
    double low = INFINITY, high = -INFINITY;
    for (int64_t l = data->x_offsets[j]; l < data->x_offsets[j + 1]; l++) {
        low = fmin(low, xfi_ball_low(ball_of(s, l, k)));
        high = fmax(high, xfi_ball_high(ball_of(s, l, k)));
    }
    *centre = low + (high - low) / 2;
    *radius = fmax(high - *centre, *centre - low);
}

typedef struct placed {
    double b;
    double error;
} placed;

static int compare_placed(const void *left, const void *right) {
    const placed *a = left, *b = right;
    return (a->b > b->b) - (a->b < b->b);
}

/* Every token of sequence j as a group, ascending. Returns 0 if memory is short. */
static int place_tokens(xfi_two_lines *lines, const site *s, int64_t j, int k) {
    const xf_dataset *data = s->problem->data;
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    placed *tokens = xfi_calloc(n, sizeof *tokens);
    if (tokens == NULL)
        return 0;
    for (int64_t l = 0; l < n; l++) {
        xfi_ball x = ball_of(s, first + l, k);
        tokens[l] = (placed){xfi_dd_value(x.centre), x.error};
    }
    qsort(tokens, (size_t)n, sizeof *tokens, compare_placed);
    for (int64_t l = 0; l < n; l++) {
        lines->b[lines->first[j] + l] = tokens[l].b;
        lines->b_error[lines->first[j] + l] = tokens[l].error;
    }
    xfi_free(tokens);
    return 1;
}

/* Lines a and b from coordinates `from` and `to`; groups are the tokens, or whole sequences. */
static int fill_lines(xfi_two_lines *lines, const site *s, int from, int to, int tokens) {
    const xf_dataset *data = s->problem->data;
    if (!xfi_two_lines_init(lines, data->n_sequences, tokens ? data->n_tokens : data->n_sequences))
        return 0;
    int ok = 1;
    for (int64_t j = 0; ok && j < data->n_sequences; j++) {
        lines->first[j + 1] = tokens ? data->x_offsets[j + 1] : j + 1;
        span_of(s, j, from, &lines->a[j], &lines->a_error[j]);
        if (tokens)
            ok = place_tokens(lines, s, j, to);
        else
            span_of(s, j, to, &lines->b[j], &lines->b_error[j]);
    }
    if (!ok)
        xfi_two_lines_clear(lines);
    return ok;
}

static void widen(xfi_group *cell, double low, double high) {
    cell->low = fmin(cell->low, low);
    cell->high = fmax(cell->high, high);
}

static int compare_low(const void *left, const void *right) {
    const xfi_group *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* Lanes along coordinate `from` for cells [N] of the sequences; *found 0: no codes. */
static xf_status make_lanes(xfi_lanes *out, int *found, const site *s, int from,
                            const int64_t *cell, int64_t n_cells, xf_error *error) {
    const xf_dataset *data = s->problem->data;
    xfi_groups groups = {.n = n_cells, .at = xfi_calloc(n_cells, sizeof(xfi_group))};
    if (groups.at == NULL)
        return xfi_fail_memory(error);
    for (int64_t c = 0; c < n_cells; c++)
        groups.at[c] = (xfi_group){.low = INFINITY, .high = -INFINITY, .target = c};
    for (int64_t j = 0; j < data->n_sequences; j++)
        for (int64_t l = data->x_offsets[j]; l < data->x_offsets[j + 1]; l++)
            widen(&groups.at[cell[j]], xfi_ball_low(ball_of(s, l, from)),
                  xfi_ball_high(ball_of(s, l, from)));
    qsort(groups.at, (size_t)n_cells, sizeof *groups.at, compare_low);
    xfi_placing placing = {.sigma = 1.0};
    int apart = 1;
    for (int64_t c = 0; c < n_cells; c++) {
        placing.below += groups.at[c].high < 0.0;
        apart = apart && (groups.at[c].high < 0.0 || groups.at[c].low > 0.0);
    }
    xfi_written written = {.d = data->d, .axes = {from, -1}};
    *found = 0;
    xf_status status = XF_OK;
    if (apart)
        status =
            xfi_lanes_make(out, found, &groups, &placing, &written, &s->problem->format, error);
    xfi_groups_clear(&groups);
    return status;
}

/* Cells of sequences along `from`, offsets on `to`, and the lanes: the next stage. */
static xf_status add_cells(site *s, int *found, int from, int to, int tokens, xf_error *error) {
    xfi_displacement *d = s->displacement;
    xfi_two_lines lines;
    xfi_cell_plan plan;
    xfi_cell_plan_options options = {.format = &s->problem->format,
                                     .reserve = s->room->reserve,
                                     .margin = s->room->margin,
                                     .seed = s->problem->options->seed,
                                     .threads = s->problem->threads};
    if (!fill_lines(&lines, s, from, to, tokens))
        return xfi_fail_memory(error);
    xf_status status = xfi_cell_plan_make(&plan, found, &lines, &options, error);
    xfi_two_lines_clear(&lines);
    if (status != XF_OK || !*found)
        return status;
    xfi_displacement_stage *stage = &d->stage[d->n_stages];
    status = make_lanes(&stage->lanes, found, s, from, plan.cell, plan.n_cells, error);
    if (status == XF_OK && *found) {
        stage->offset = plan.offset;
        stage->n_cells = plan.n_cells;
        plan.offset = NULL;
        d->unit = d->shape == XFI_DISPLACE_WINDOWS ? 0.0 : plan.unit;
        d->n_stages++;
    }
    xfi_cell_plan_clear(&plan);
    return status;
}

/* Windows on k1 from the certified local scalar; *margin is what they leave within a sequence. */
static xf_status pack(double *offset, double *margin, const site *s, xf_error *error) {
    const xf_dataset *data = s->problem->data;
    double *phi = xfi_calloc(data->n_tokens, sizeof(double)), worst = 0, extent = 0;
    xfi_windows windows = {0};
    int ok = phi != NULL && xfi_windows_init(&windows, data, s->problem->format.u);
    for (int64_t l = 0; ok && l < data->n_tokens; l++) {
        xfi_ball x = ball_of(s, l, s->axes.k1);
        phi[l] = xfi_dd_value(x.centre);
        worst = fmax(worst, x.error);
    }
    ok = ok && xfi_windows_measure(&windows, phi, worst);
    if (ok) {
        xfi_windows_pack(NULL, &extent, &windows, 0.0);
        double share = s->room->reserve; /* middle = share (extent + middle) */
        double middle = 2 * share / (1 - 2 * share) * extent;
        *margin = xfi_windows_pack(offset, &extent, &windows, middle);
    }
    xfi_windows_clear(&windows);
    xfi_free(phi);
    return ok ? XF_OK : xfi_fail_memory(error);
}

/* A window for each sequence, told apart on k2. */
static xf_status add_windows(site *s, int *found, xf_error *error) {
    xfi_displacement *d = s->displacement;
    int64_t N = s->problem->data->n_sequences;
    int64_t *cell = xfi_calloc(N, sizeof(int64_t));
    double *offset = xfi_calloc(N, sizeof(double)), margin = 0;
    xf_status status = cell && offset ? XF_OK : xfi_fail_memory(error);
    for (int64_t j = 0; status == XF_OK && j < N; j++)
        cell[j] = j;
    xfi_displacement_stage *stage = &d->stage[d->n_stages];
    if (status == XF_OK)
        status = pack(offset, &margin, s, error);
    *found = margin >= s->room->margin;
    if (status == XF_OK && *found)
        status = make_lanes(&stage->lanes, found, s, s->axes.k2, cell, N, error);
    if (status == XF_OK && *found) {
        stage->offset = offset;
        stage->n_cells = N;
        offset = NULL;
        d->n_stages++;
    }
    xfi_free(cell);
    xfi_free(offset);
    return status;
}

/* Drop the track of the blocks so far and look again. */
static xf_status survey_again(site *s, int *found, xf_error *error) {
    xfi_displaced_clear(&s->at);
    return survey(s, found, error);
}

static xf_status find_stages(site *s, int *found, xf_error *error) {
    xfi_displacement_shape shape = s->displacement->shape;
    xfi_displacement_axes k = s->axes;
    XFI_TRY(survey(s, found, error));
    if (!*found)
        return XF_OK;
    if (shape != XFI_DISPLACE_WINDOWS) {
        int from = shape == XFI_DISPLACE_SHARED ? k.k3 : k.k2;
        return add_cells(s, found, from, k.k1, shape != XFI_DISPLACE_SINGLE, error);
    }
    XFI_TRY(add_cells(s, found, k.k3, k.k2, 0, error));
    if (*found)
        XFI_TRY(survey_again(s, found, error));
    return *found ? add_windows(s, found, error) : XF_OK;
}

xf_status xfi_displacement_find(xfi_displacement *displacement, int *found,
                                const xfi_displacement_room *room, const xfi_problem *problem,
                                xf_error *error) {
    site s = {.displacement = displacement, .room = room, .problem = problem};
    s.axes = xfi_displacement_axes_of((xfi_axes){0, 1}, problem->data->d);
    *found = 0;
    xfi_displacement_clear_stages(displacement);
    xf_status status = find_stages(&s, found, error);
    xfi_displaced_clear(&s.at);
    return status;
}
