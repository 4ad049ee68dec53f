/* Putting writers behind front ends, and refusing. */
#include "construct/writers.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/assemble.h"
#include "construct/axes.h"
#include "construct/balance.h"
#include "construct/cell_writers.h"
#include "construct/sequences.h"
#include "construct/split.h"
#include "core/model_shape.h"

#include <stdio.h>
#include <string.h>

/* Stop looking for fewer blocks after so many models. With MANY targets, where each look costs
 * passes, a depth within 1 % of the regular one will do; with VERY_MANY, where hardly a front end
 * has gaps that spare the extra blocks, the first model. */
enum { MAX_SUCCESSES = 3, MANY_TARGETS = 5000, VERY_MANY_TARGETS = 20000 };

void xfi_best_init(xfi_best *best) {
    *best = (xfi_best){.near_margin = -1};
    xf_model_init(&best->model);
}

/* Depths within 1 % of the least are as good as that. */
static int is_shallow(const xfi_best *best, int64_t blocks) {
    return blocks - best->least_blocks <= best->least_blocks / 100;
}

static int64_t count_in(const double *values, int64_t size) {
    int64_t n = 0;
    for (int64_t i = -1; (i = xfi_next_weight(values, i + 1, size)) < size;)
        n += values[i] != 0.0;
    return n;
}

static int64_t count_nonzeros(const xf_model *model) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int64_t n = 0;
    int n_arrays = xfi_model_arrays(model, arrays);
    for (int a = 0; a < n_arrays; a++)
        n += count_in(arrays[a].values,
                      arrays[a].n_blocks * arrays[a].shape[0] * arrays[a].shape[1]);
    return n;
}

/* Does a model with so many blocks and nonzeros take the place of the best? Among those about as
 * shallow as the shallowest, fewer nonzeros win, then fewer blocks. */
static int replaces(const xfi_best *best, int64_t blocks, double norm, int64_t nonzeros) {
    if (best->model.n_blocks == 0)
        return 1;
    if (best->small_norm)
        return norm < best->norm;
    if (!is_shallow(best, blocks) || !is_shallow(best, best->model.n_blocks))
        return blocks < best->model.n_blocks;
    return nonzeros != best->nonzeros ? nonzeros < best->nonzeros : blocks < best->model.n_blocks;
}

/* Is a model of these costs better than one of those? */
static int is_better(const xfi_best *best, int64_t blocks, double norm, int64_t other_blocks,
                     double other_norm) {
    if (best->small_norm)
        return norm < other_norm;
    return blocks < other_blocks;
}

void xfi_best_note(xfi_best *best, const char *front, const char *writer, int64_t blocks,
                   double norm_squared) {
    int i = 0;
    while (i < best->n_alternatives && (strcmp(best->alternatives[i].front, front) != 0 ||
                                        strcmp(best->alternatives[i].writer, writer) != 0))
        i++;
    if (i == XF_MAX_ALTERNATIVES)
        return;
    xf_alternative *other = &best->alternatives[i];
    if (i < best->n_alternatives &&
        !is_better(best, blocks, norm_squared, other->blocks, other->norm_squared))
        return;
    best->n_alternatives += i == best->n_alternatives;
    *other = (xf_alternative){.blocks = blocks, .norm_squared = norm_squared};
    snprintf(other->front, sizeof other->front, "%s", front);
    snprintf(other->writer, sizeof other->writer, "%s", writer);
}

static int64_t half(const xfi_problem *problem) {
    return (problem->data->n_targets + 1) / 2;
}

/* n_steps of lanes behind the front end; the sorted writer proper takes half(M) more when slot 0
 * merges. */
static int64_t expected_depth(const xfi_front_end *front, const xfi_writer_choice *writer,
                              const xfi_problem *problem, int64_t n_steps) {
    int64_t scale = problem->y_exponent != 0;
    return front->n_blocks + n_steps + (writer->sorted ? half(problem) : 0) + scale;
}

static void remember_near_miss(xfi_best *best, const xfi_groups *groups) {
    if (!(groups->margin > best->near_margin))
        return;
    best->near_margin = groups->margin;
    best->near_gap = groups->gap;
    best->near_bound = groups->bound;
    memcpy(best->near, groups->closest, sizeof best->near);
}

static void write_report(xfi_best *best, const xfi_made *made) {
    xf_build_report *report = &best->report;
    snprintf(report->front, sizeof report->front, "%s", made->front);
    snprintf(report->writer, sizeof report->writer, "%s", made->writer);
    report->n_folds = made->n_folds;
    report->extra_blocks = best->model.n_blocks - made->regular_depth;
    report->margin = made->margin;
    memcpy(report->margin_sequence, made->closest, 2 * sizeof *made->closest);
}

void xfi_best_keep(xfi_best *best, xf_model *model, const xfi_made *made,
                   const xfi_problem *problem) {
    const xf_dataset *data = problem->data;
    int64_t bound = xf_published_bound(data->n_sequences, data->n_targets, XF_HARDMAX);
    int allowed = model->n_blocks <= bound;
    double norm = xfi_balanced_norm(model, 0, model->n_blocks);
    best->successes += allowed;
    int64_t nonzeros = count_nonzeros(model);
    if (allowed) {
        xfi_best_note(best, made->front, made->writer, model->n_blocks, norm);
        if (best->model.n_blocks == 0 || model->n_blocks < best->least_blocks)
            best->least_blocks = model->n_blocks;
    }
    if (!allowed || !replaces(best, model->n_blocks, norm, nonzeros)) {
        xf_model_clear(model);
        return;
    }
    xf_model_clear(&best->model);
    best->model = *model;
    best->norm = norm;
    best->nonzeros = nonzeros;
    write_report(best, made);
}

/* Number of groups below 0; -1 if some interval holds 0. */
static int64_t count_below(const xfi_groups *groups) {
    int64_t below = 0;
    for (int64_t g = 0; g < groups->n; g++) {
        if (groups->at[g].low <= 0.0 && groups->at[g].high >= 0.0)
            return -1;
        below += groups->at[g].high < 0.0;
    }
    return below;
}

static xfi_written written_by(const xfi_writer_choice *writer, const xfi_problem *problem) {
    return (xfi_written){
        .y = writer->sorted ? NULL : problem->y, .d = problem->data->d, .axes = writer->axes};
}

/* The lanes from the final certificate, and the model if it beats the best. */
static xf_status write_behind(xfi_best *best, const xfi_front_end *front,
                              const xfi_certificate *certificate, const xfi_writer_choice *writer,
                              const xfi_problem *problem, xf_error *error) {
    const xfi_groups *groups = &certificate->groups;
    xfi_written written = written_by(writer, problem);
    int64_t below = count_below(groups);
    if (!(groups->margin > 1.0) || below < 0)
        return XF_OK;
    xfi_lanes lanes;
    int feasible = 0;
    xfi_placing placing = {below, 0.0, 1.0, xfi_target_reach(groups, &written)};
    XFI_TRY(xfi_lanes_make(&lanes, &feasible, groups, &placing, &written, &problem->format, error));
    if (!feasible)
        return XF_OK;
    xf_model model;
    xf_status status =
        writer->sorted
            ? xfi_assemble_sorted(&model, certificate, &lanes, problem, writer->axes, error)
            : xfi_assemble_grid(&model, certificate, &lanes, problem, writer->axes, error);
    xfi_lanes_clear(&lanes);
    XFI_TRY(status);
    xfi_made made = {.front = front->name,
                     .writer = writer->sorted ? "sorted" : "grid",
                     .n_folds = front->n_folds,
                     .regular_depth = expected_depth(front, writer, problem, half(problem) + 1),
                     .margin = groups->margin,
                     .closest = groups->closest};
    xfi_best_keep(best, &model, &made, problem);
    return XF_OK;
}

/* Scale and shift the front end for one split, certify again, write. */
static xf_status try_split(xfi_best *best, const xfi_front_end *front, const xfi_split *split,
                           const xfi_writer_choice *writer, const xfi_problem *problem,
                           xf_error *error) {
    if (best->model.n_blocks != 0 && !best->small_norm &&
        expected_depth(front, writer, problem, split->n_steps) >= best->model.n_blocks)
        return XF_OK;
    xfi_certificate certificate;
    XFI_TRY(front->certify(&certificate, front->self, split->sigma, split->shift, problem,
                           writer->axes, error));
    xf_status status = write_behind(best, front, &certificate, writer, problem, error);
    xfi_certificate_clear(&certificate);
    return status;
}

static xf_status try_writer(xfi_best *best, const xfi_front_end *front, const xfi_groups *groups,
                            const xfi_writer_choice *writer, const xfi_problem *problem,
                            xf_error *error) {
    if (!writer->usable || !xfi_problem_wants_writer(problem, writer->sorted ? "sorted" : "grid"))
        return XF_OK;
    xfi_written written = written_by(writer, problem);
    xfi_split splits[XFI_SPLITS];
    int n = 0, before = best->successes;
    XFI_TRY(xfi_split_list(splits, &n, groups, &written, &problem->format, error));
    if (n > 1 && !(groups->margin > 1.0))
        n = 1; /* mere numbers: one attempt */
    for (int i = 0; i < n && best->successes == before; i++)
        XFI_TRY(try_split(best, front, &splits[i], writer, problem, error));
    return XF_OK;
}

static xf_status try_writers(xfi_best *best, const xfi_front_end *front, const xfi_groups *groups,
                             const xfi_writers *writers, const xfi_problem *problem,
                             xf_error *error) {
    XFI_TRY(try_writer(best, front, groups, &writers->grid, problem, error));
    return try_writer(best, front, groups, &writers->sorted, problem, error);
}

/* Without a certificate at sigma 1, from the numbers that the search has found: groups that nothing
 * is proved of, margin 0. */
static xf_status write_by_numbers(xfi_best *best, const xfi_front_end *front,
                                  const xfi_writers *writers, const xfi_problem *problem,
                                  xf_error *error) {
    int64_t n = problem->data->n_targets;
    xfi_groups groups = {.n = n, .at = xfi_calloc(n, sizeof *groups.at)};
    if (groups.at == NULL)
        return xfi_fail_memory(error);
    for (int64_t i = 0; i < n; i++) {
        int64_t g = front->order[i];
        groups.at[i] = (xfi_group){
            .low = front->number[g], .high = front->number[g], .sequence = g, .target = g};
    }
    xf_status status = try_writers(best, front, &groups, writers, problem, error);
    xfi_groups_clear(&groups);
    return status;
}

static xf_status write_by_certificate(xfi_best *best, const xfi_front_end *front,
                                      const xfi_writers *writers, const xfi_problem *problem,
                                      xf_error *error) {
    xfi_certificate certificate;
    xfi_axes axes = writers->grid.usable ? writers->grid.axes : writers->sorted.axes;
    XFI_TRY(front->certify(&certificate, front->self, 1.0, 0.0, problem, axes, error));
    xf_status status = XF_OK;
    if (certificate.groups.n > 0)
        remember_near_miss(best, &certificate.groups);
    if (certificate.groups.margin > 1.0) {
        best->certified = 1;
        status = try_writers(best, front, &certificate.groups, writers, problem, error);
    }
    xfi_certificate_clear(&certificate);
    return status;
}

xf_status xfi_write_best(xfi_best *best, const xfi_front_end *front, const xfi_writers *writers,
                         const xfi_problem *problem, xf_error *error) {
    int before = best->successes;
    if (front->number != NULL)
        XFI_TRY(write_by_numbers(best, front, writers, problem, error));
    return best->successes > before ? XF_OK
                                    : write_by_certificate(best, front, writers, problem, error);
}

/* Can a model of these costs beat the best? */
static int is_promising(const xfi_best *best, const xfi_forecast *forecast) {
    return best->small_norm
               ? forecast->norm < best->norm
               : forecast->blocks < best->least_blocks || is_shallow(best, forecast->blocks);
}

/* For the refusal, if nothing else comes. */
static void remember_why(xfi_best *best, const xfi_forecast *forecast, int feasible) {
    if (feasible)
        snprintf(best->why, sizeof best->why, "it would take more blocks than the published bound");
    else
        memcpy(best->why, forecast->why, sizeof best->why);
}

/* Forecast first; build only what may beat the best. */
static xf_status try_cell_writer(xfi_best *best, const xfi_cell_writer *writer,
                                 const xfi_cells *cells, const xfi_writers *writers,
                                 const xfi_problem *problem, xf_error *error) {
    static const char *const fronts[] = {"plain", "kinks", "folds"};
    const xf_dataset *data = problem->data;
    xfi_writer_options options = {
        .small_norm = best->small_norm,
        .max_blocks = xf_published_bound(data->n_sequences, data->n_targets, XF_HARDMAX)};
    const char *front = fronts[cells->front.kind];
    xfi_forecast forecast;
    int feasible = 0;
    XFI_TRY(xfi_cell_writer_run(writer, NULL, &forecast, &feasible, cells, writers, problem,
                                &options, error));
    if (!feasible || forecast.blocks > options.max_blocks) {
        remember_why(best, &forecast, feasible);
        return XF_OK;
    }
    xfi_best_note(best, front, writer->name, forecast.blocks, forecast.norm);
    if (best->model.n_blocks != 0 && !is_promising(best, &forecast))
        return XF_OK;
    xf_model model;
    XFI_TRY(xfi_cell_writer_run(writer, &model, &forecast, &feasible, cells, writers, problem,
                                &options, error));
    if (!feasible) {
        remember_why(best, &forecast, feasible);
        return XF_OK;
    }
    xfi_made made = {.front = front,
                     .writer = writer->name,
                     .n_folds = cells->front.n_folds,
                     .regular_depth = writer->depth(cells, problem),
                     .margin = cells->margin,
                     .closest = cells->closest};
    xfi_best_keep(best, &model, &made, problem);
    return XF_OK;
}

xf_status xfi_write_cells(xfi_best *best, const xfi_cells *cells, const xfi_writers *writers,
                          const xfi_problem *problem, xf_error *error) {
    int n = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n);
    for (int i = 0; i < n; i++)
        if (xfi_problem_wants_writer(problem, table[i].name))
            XFI_TRY(try_cell_writer(best, &table[i], cells, writers, problem, error));
    return XF_OK;
}

int xfi_best_satisfied(const xfi_best *best, const xfi_problem *problem) {
    if (best->model.n_blocks == 0)
        return 0;
    int64_t M = problem->data->n_targets;
    int64_t will_do = M > MANY_TARGETS ? best->model.n_blocks / 100 : 0;
    int enough = M > VERY_MANY_TARGETS ? 1 : MAX_SUCCESSES;
    return best->report.extra_blocks <= will_do || best->successes >= enough;
}

static xf_status refuse_writer(const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    if (data->d == 1)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the targets have too many bits for d = 1 (%d on coordinate 0), where only "
                        "targets on a common grid can be written; round the targets, or add a "
                        "coordinate (--positions append)",
                        xfi_grid_bits(problem, 0));
    return xfi_fail(error, XF_ERR_INFEASIBLE,
                    "no coordinate of the targets can carry the writer: every one has values whose "
                    "binary exponents span more than %d; scale or round the targets",
                    2 * xfi_sorted_exponent_limit(&problem->format));
}

/* Without attention what comes close are two tokens, wherever they occur. */
static xf_status refuse_tokens(const xfi_best *best, const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->origin;
    int64_t a = problem->origin_row[best->near[0]], b = problem->origin_row[best->near[1]];
    int64_t i = xfi_sequence_of(data, a), j = xfi_sequence_of(data, b);
    const char *what = best->certified ? "codes that leave room for the targets' bits"
                                       : "a network without attention to tell them apart";
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, i, a - data->x_offsets[i],
                       "token %lld of sequence %lld and token %lld of sequence %lld come too close "
                       "for %s: in the best projection found their gap is %.3g where rounding "
                       "needs %.3g; %s, spread the tokens, or use --construction pooled",
                       (long long)(a - data->x_offsets[i]), (long long)i,
                       (long long)(b - data->x_offsets[j]), (long long)j, what, best->near_gap,
                       best->near_bound,
                       problem->format.p == 24 ? "use --dtype f64" : "try another --seed");
}

/* The groups are apart, but their gaps are too narrow for codes that the targets fit on. */
static xf_status refuse_codes(const xfi_best *best, const xfi_problem *problem, xf_error *error) {
    const char *way_out =
        problem->format.p == 24 ? "use --dtype f64, or round the targets to fewer bits"
        : problem->data->d == 1 ? "round the targets to fewer bits, or add a coordinate "
                                  "(--positions append)"
                                : "round the targets to fewer bits, or spread the tokens";
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, best->near[0], -1,
                       "sequences %lld and %lld are too close (gap %.3g, rounding bound %.3g) for "
                       "codes that leave room for the targets' bits; %s",
                       (long long)best->near[0], (long long)best->near[1], best->near_gap,
                       best->near_bound, way_out);
}

static xf_status refuse_front(const xfi_best *best, const xfi_problem *problem, xf_error *error) {
    const char *format = problem->format.p == 24 ? "binary32" : "binary64";
    const char *way_out = problem->format.p == 24
                              ? "use --dtype f64, fewer sequences, or another --seed"
                              : "use fewer sequences, spread their tokens, or try another --seed";
    if (best->near_margin < 0)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the weights leave the range of %s: scale the inputs towards 1", format);
    if (best->near[0] == best->near[1])
        return xfi_fail_at(error, XF_ERR_INFEASIBLE, best->near[0], -1,
                           "two groups of tokens of sequence %lld come too close for %s: in the "
                           "best projection found their gap is %.3g where rounding needs %.3g "
                           "(margin %.3g, needed > 1); %s",
                           (long long)best->near[0], format, best->near_gap, best->near_bound,
                           best->near_margin, way_out);
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, best->near[0], -1,
                       "sequences %lld and %lld come too close for %s: in the best projection "
                       "found their gap is %.3g where rounding needs %.3g (margin %.3g, needed > "
                       "1); %s",
                       (long long)best->near[0], (long long)best->near[1], format, best->near_gap,
                       best->near_bound, best->near_margin, way_out);
}

static int assess(xfi_writers *out, const xfi_problem *problem) {
    xfi_axes_choice choice = xfi_axes_choose(problem);
    *out = (xfi_writers){
        .grid = {.usable = choice.grid_bits < problem->format.p - 2, .axes = choice.grid},
        .sorted = {.usable = choice.sorts, .sorted = 1, .axes = choice.sorted}};
    return out->grid.usable || out->sorted.usable;
}

xf_status xfi_writers_choose(xfi_writers *out, xfi_problem *problem, xf_error *error) {
    if (assess(out, problem))
        return XF_OK;
    int largest = 0, least = 0, limit = xfi_sorted_exponent_limit(&problem->format);
    xfi_target_exponents(problem, &largest, &least);
    int exponent = largest > limit ? largest - limit : least < -limit ? least + limit : 0;
    xf_status status = XF_OK;
    if (exponent != 0 && xfi_problem_scale_targets(problem, exponent, &status, error) &&
        assess(out, problem))
        return XF_OK;
    return status != XF_OK ? status : refuse_writer(problem, error);
}

static xf_status refuse_choice(const xfi_best *best, const xfi_problem *problem, xf_error *error) {
    const xf_build_options *options = problem->options;
    int knows_why = options->writer != NULL && best->why[0] != '\0';
    return xfi_fail(error, XF_ERR_INFEASIBLE,
                    "no model with front end '%s' and writer '%s' %s for these data%s%s; leave the "
                    "choice to the program%s",
                    options->front ? options->front : "any",
                    options->writer ? options->writer : "any",
                    best->impossible ? "can exist" : "was found", knows_why ? ": " : "",
                    knows_why ? best->why : "", best->impossible ? "" : ", or try another --seed");
}

xf_status xfi_best_refuse(const xfi_best *best, const xfi_problem *problem, xf_error *error) {
    int asked = problem->options->front != NULL || problem->options->writer != NULL;
    if (asked && (best->certified || best->near_margin < 0))
        return refuse_choice(best, problem, error);
    if (problem->origin != NULL && best->near_margin >= 0)
        return refuse_tokens(best, problem, error);
    return best->certified ? refuse_codes(best, problem, error)
                           : refuse_front(best, problem, error);
}
