/* The plan of the pooled construction: search for a front end in rounds (plain, kinks,
 * folds), certify the promising ones, and put the shallowest writer behind it. */
#include "construct/pooled.h"

#include "base/error.h"
#include "construct/assemble.h"
#include "construct/axes.h"
#include "construct/search.h"
#include "construct/split.h"

#include <stdio.h>
#include <string.h>

enum {
    PLAIN_ROUNDS = 4,
    KINK_ROUNDS = 8,
    FOLD_ROUNDS = 4,
    MAX_SUCCESSES = 3, /* stop looking for fewer blocks after so many models */
};

/* An estimate below this is not worth a certificate: estimates err by small factors. */
static const double LEAST_ESTIMATE = 0.05;

/* A writer that may serve. */
typedef struct writer_choice {
    int usable;
    int sorted;
    xfi_axes axes;
} writer_choice;

/* What is known so far. */
typedef struct plan {
    xfi_problem *problem;
    writer_choice grid;
    writer_choice sorted;
    xf_model best; /* n_blocks 0: none yet */
    xf_build_report report;
    int successes;
    int certified;      /* some front end had margin > 1 */
    double near_margin; /* the best front end seen, for the refusal */
    double near_gap;
    double near_bound;
    int64_t near[2];
} plan;

static int64_t regular_steps(const plan *p) {
    return (p->problem->data->n_targets + 1) / 2 + 1;
}

/* Blocks of the sorted writer proper behind the first pass, when slot 0 merges. */
static int64_t sorted_blocks(const plan *p) {
    return (p->problem->data->n_targets + 1) / 2;
}

static int64_t expected_depth(const plan *p, const xfi_front *front, const writer_choice *writer,
                              int64_t n_steps) {
    int64_t scale = p->problem->y_exponent != 0;
    return xfi_front_blocks(front) + n_steps + (writer->sorted ? sorted_blocks(p) : 0) + scale;
}

static void remember_near_miss(plan *p, const xfi_groups *groups) {
    if (!(groups->margin > p->near_margin))
        return;
    p->near_margin = groups->margin;
    p->near_gap = groups->gap;
    p->near_bound = groups->bound;
    memcpy(p->near, groups->closest, sizeof p->near);
}

static void write_report(plan *p, const xfi_front *front, const writer_choice *writer,
                         const xfi_groups *groups) {
    static const char *const names[] = {"plain", "kinks", "folds"};
    xf_build_report *report = &p->report;
    snprintf(report->front, sizeof report->front, "%s", names[front->kind]);
    snprintf(report->writer, sizeof report->writer, "%s", writer->sorted ? "sorted" : "grid");
    report->n_folds = front->n_folds;
    report->extra_blocks = p->best.n_blocks - expected_depth(p, front, writer, regular_steps(p));
    report->margin = groups->margin;
    memcpy(report->margin_sequence, groups->closest, sizeof groups->closest);
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

/* Take the model if it is the shallowest so far and within the published bound (the lower of
 * the two: hardmax). */
static void keep_model(plan *p, xf_model *model, const xfi_front *front,
                       const writer_choice *writer, const xfi_groups *groups) {
    const xf_dataset *data = p->problem->data;
    int64_t bound = xf_published_bound(data->n_sequences, data->n_targets, XF_HARDMAX);
    int shallower = p->best.n_blocks == 0 || model->n_blocks < p->best.n_blocks;
    p->successes += model->n_blocks <= bound;
    if (model->n_blocks > bound || !shallower) {
        xf_model_clear(model);
        return;
    }
    xf_model_clear(&p->best);
    p->best = *model;
    write_report(p, front, writer, groups);
}

/* The lanes from the final certificate, and the model if it beats the best. */
static xf_status write_behind(plan *p, const xfi_front *front, const xfi_certificate *certificate,
                              const writer_choice *writer, xf_error *error) {
    const xfi_problem *problem = p->problem;
    const xfi_groups *groups = &certificate->groups;
    xfi_written written = {
        .y = writer->sorted ? NULL : problem->y, .d = problem->data->d, .axes = writer->axes};
    int64_t below = count_below(groups);
    if (!(groups->margin > 1.0) || below < 0)
        return XF_OK;
    xfi_lanes lanes;
    int feasible = 0;
    double reach = xfi_target_reach(groups, &written);
    XFI_TRY(xfi_lanes_make(&lanes, &feasible, groups, below, 0.0, 1.0, reach, &written,
                           &problem->format, error));
    if (!feasible)
        return XF_OK;
    xf_model model;
    xf_status status =
        writer->sorted
            ? xfi_assemble_sorted(&model, certificate, &lanes, problem, writer->axes, error)
            : xfi_assemble_grid(&model, certificate, &lanes, problem, writer->axes, error);
    xfi_lanes_clear(&lanes);
    XFI_TRY(status);
    keep_model(p, &model, front, writer, groups);
    return XF_OK;
}

/* Scale and shift the front end for one split, certify again, write. */
static xf_status try_split(plan *p, xfi_front *front, const xfi_split *split,
                           const writer_choice *writer, xf_error *error) {
    if (p->best.n_blocks != 0 &&
        expected_depth(p, front, writer, split->n_steps) >= p->best.n_blocks)
        return XF_OK;
    front->sigma = split->sigma;
    front->shift = split->shift;
    xfi_certificate certificate;
    xf_status status = xfi_certify_front(&certificate, front, p->problem, writer->axes, error);
    front->sigma = 1.0;
    front->shift = 0.0;
    XFI_TRY(status);
    status = write_behind(p, front, &certificate, writer, error);
    xfi_certificate_clear(&certificate);
    return status;
}

static xf_status try_writer(plan *p, xfi_front *front, const xfi_groups *groups,
                            const writer_choice *writer, xf_error *error) {
    if (!writer->usable)
        return XF_OK;
    xfi_written written = {
        .y = writer->sorted ? NULL : p->problem->y, .d = p->problem->data->d, .axes = writer->axes};
    xfi_split splits[XFI_SPLITS];
    int n = 0, before = p->successes;
    XFI_TRY(xfi_split_list(splits, &n, groups, &written, &p->problem->format, error));
    for (int i = 0; i < n && p->successes == before; i++)
        XFI_TRY(try_split(p, front, &splits[i], writer, error));
    return XF_OK;
}

static xf_status try_front(plan *p, xfi_front *front, xf_error *error) {
    xfi_certificate certificate;
    xfi_axes axes = p->grid.usable ? p->grid.axes : p->sorted.axes;
    XFI_TRY(xfi_certify_front(&certificate, front, p->problem, axes, error));
    xf_status status = XF_OK;
    if (certificate.groups.n > 0)
        remember_near_miss(p, &certificate.groups);
    if (certificate.groups.margin > 1.0) {
        p->certified = 1;
        status = try_writer(p, front, &certificate.groups, &p->grid, error);
        if (status == XF_OK)
            status = try_writer(p, front, &certificate.groups, &p->sorted, error);
    }
    xfi_certificate_clear(&certificate);
    return status;
}

/* Nothing shallower can come: the best has no extra blocks. */
static int satisfied(const plan *p) {
    if (p->best.n_blocks == 0)
        return 0;
    return p->report.extra_blocks == 0 || p->successes >= MAX_SUCCESSES;
}

/* Clears the fronts. */
static xf_status try_candidates(plan *p, xfi_candidate *candidates, int n, xf_error *error) {
    xf_status status = XF_OK;
    for (int i = 0; i < n; i++) {
        int worth = candidates[i].estimate >= LEAST_ESTIMATE || (i == 0 && p->near_margin < 0);
        if (status == XF_OK && !satisfied(p) && worth)
            status = try_front(p, &candidates[i].front, error);
        xfi_front_clear(&candidates[i].front);
    }
    return status;
}

static xf_status try_pairs(plan *p, const xfi_search *search, xf_error *error) {
    xfi_candidate candidates[XFI_CANDIDATES];
    int n = 0;
    XFI_TRY(xfi_search_pairs(search, candidates, &n, error));
    return try_candidates(p, candidates, n, error);
}

static xf_status joint_rounds(plan *p, xfi_search *search, xf_error *error) {
    xfi_candidate candidates[XFI_CANDIDATES];
    int n = 0;
    for (int round = 0; round < KINK_ROUNDS && p->best.n_blocks == 0; round++) {
        XFI_TRY(xfi_search_joint(search, round, candidates, &n, error));
        XFI_TRY(try_candidates(p, candidates, n, error));
    }
    return XF_OK;
}

/* Kinks and folds cure collisions, where the gap is 0 or noise. A binary32 margin that is
 * small but clearly not noise would need many times more trials than there are. */
static int goes_on(const plan *p) {
    int hopeless = p->problem->format.p == 24 && p->near_margin > 1e-6 && p->near_margin < 1.0 / 32;
    return p->best.n_blocks == 0 && !hopeless;
}

static xf_status search_rounds(plan *p, xfi_search *search, xf_error *error) {
    if (p->problem->data->d == 1 && !p->problem->all_single)
        return joint_rounds(p, search, error);
    for (int round = 0; round < PLAIN_ROUNDS && !satisfied(p); round++) {
        XFI_TRY(xfi_search_plain(search, round, error));
        XFI_TRY(try_pairs(p, search, error));
    }
    xfi_search_drop_pools(search);
    for (int round = 0; round < KINK_ROUNDS && goes_on(p); round++) {
        XFI_TRY(xfi_search_kinks(search, round, error));
        XFI_TRY(try_pairs(p, search, error));
    }
    for (int folds = 1; folds <= FOLD_ROUNDS && goes_on(p); folds++) {
        xfi_search_drop_pools(search);
        XFI_TRY(xfi_search_folds(search, folds, error));
        XFI_TRY(try_pairs(p, search, error));
    }
    return XF_OK;
}

static xf_status refuse_writer(const plan *p, xf_error *error) {
    const xf_dataset *data = p->problem->data;
    if (data->d == 1)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the targets have too many bits for d = 1 (%d on coordinate 0), where only "
                        "targets on a common grid can be written; round the targets, or add a "
                        "coordinate (--positions append)",
                        xfi_grid_bits(p->problem, 0));
    return xfi_fail(error, XF_ERR_INFEASIBLE,
                    "no coordinate of the targets can carry the writer: every one has values whose "
                    "binary exponents span more than %d; scale or round the targets",
                    2 * xfi_sorted_exponent_limit(&p->problem->format));
}

/* The groups are apart, but their gaps are too narrow for codes that the targets fit on. */
static xf_status refuse_codes(const plan *p, xf_error *error) {
    const char *way_out =
        p->problem->format.p == 24 ? "use --dtype f64, or round the targets to fewer bits"
        : p->problem->data->d == 1 ? "round the targets to fewer bits, or add a coordinate "
                                     "(--positions append)"
                                   : "round the targets to fewer bits, or spread the tokens";
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, p->near[0], -1,
                       "sequences %lld and %lld are too close (gap %.3g, rounding bound %.3g) for "
                       "codes that leave room for the targets' bits; %s",
                       (long long)p->near[0], (long long)p->near[1], p->near_gap, p->near_bound,
                       way_out);
}

static xf_status refuse_front(const plan *p, xf_error *error) {
    const char *format = p->problem->format.p == 24 ? "binary32" : "binary64";
    const char *way_out = p->problem->format.p == 24
                              ? "use --dtype f64, fewer sequences, or another --seed"
                              : "use fewer sequences, spread their tokens, or try another --seed";
    if (p->near_margin < 0)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the weights leave the range of %s: scale the inputs towards 1", format);
    if (p->near[0] == p->near[1])
        return xfi_fail_at(error, XF_ERR_INFEASIBLE, p->near[0], -1,
                           "two groups of tokens of sequence %lld come too close for %s: in the "
                           "best projection found their gap is %.3g where rounding needs %.3g "
                           "(margin %.3g, needed > 1); %s",
                           (long long)p->near[0], format, p->near_gap, p->near_bound,
                           p->near_margin, way_out);
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, p->near[0], -1,
                       "sequences %lld and %lld come too close for %s: in the best projection "
                       "found their gap is %.3g where rounding needs %.3g (margin %.3g, needed > "
                       "1); %s",
                       (long long)p->near[0], (long long)p->near[1], format, p->near_gap,
                       p->near_bound, p->near_margin, way_out);
}

/* Which writers can serve; scales the targets by a power of two if only that helps. */
static xf_status choose_writers(plan *p, xf_error *error) {
    xfi_problem *problem = p->problem;
    int bits = 0;
    p->grid.axes = xfi_axes_grid(problem, &bits);
    p->grid.usable = bits < problem->format.p - 2;
    p->sorted.sorted = 1;
    p->sorted.usable = xfi_axes_sorted(problem, &p->sorted.axes);
    if (p->sorted.usable || p->grid.usable || problem->data->d == 1)
        return XF_OK;
    int largest = 0, least = 0, limit = xfi_sorted_exponent_limit(&problem->format);
    xfi_target_exponents(problem, &largest, &least);
    int exponent = largest > limit ? largest - limit : least < -limit ? least + limit : 0;
    xf_status status = XF_OK;
    if (exponent != 0 && xfi_problem_scale_targets(problem, exponent, &status, error))
        p->sorted.usable = xfi_axes_sorted(problem, &p->sorted.axes);
    return status;
}

static xf_status build(plan *p, xf_error *error) {
    XFI_TRY(choose_writers(p, error));
    if (!p->grid.usable && !p->sorted.usable)
        return refuse_writer(p, error);
    xfi_search search;
    XFI_TRY(xfi_search_init(&search, p->problem, error));
    xf_status status = search_rounds(p, &search, error);
    xfi_search_clear(&search);
    XFI_TRY(status);
    if (p->best.n_blocks != 0)
        return XF_OK;
    if (p->certified)
        return refuse_codes(p, error);
    return refuse_front(p, error);
}

xf_status xfi_build_pooled(xf_model *out, xfi_problem *problem, xf_build_report *report,
                           xf_error *error) {
    plan p = {.problem = problem, .near_margin = -1};
    xf_model_init(&p.best);
    xf_status status = XF_OK;
    if (problem->data->n_targets == 1) {
        strcpy(p.report.front, "constant");
        strcpy(p.report.writer, "constant");
        p.report.margin = INFINITY;
        status = xfi_assemble_constant(&p.best, problem, error);
    } else {
        status = build(&p, error);
    }
    if (status != XF_OK) {
        xf_model_clear(&p.best);
        return status;
    }
    *out = p.best;
    out->dtype = problem->options->dtype;
    *report = p.report;
    return XF_OK;
}
