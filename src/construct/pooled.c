/* The plan of the pooled construction: search for a front end in rounds (plain, kinks,
 * folds), certify the promising ones, and put the shallowest writer behind it. */
#include "construct/pooled.h"

#include "base/error.h"
#include "base/file_memory.h"
#include "construct/argmax.h"
#include "construct/asked_writer.h"
#include "construct/assemble.h"
#include "construct/balance.h"
#include "construct/cell_writers.h"
#include "construct/displacement.h"
#include "construct/search.h"
#include "construct/separation_lift.h"
#include "construct/writers.h"
#include "core/share.h"

#include <math.h>
#include <string.h>

enum { PLAIN_ROUNDS = 4, KINK_ROUNDS = 8, FOLD_ROUNDS = 4, NORM_SEEDS = 12, MANY_TOKENS = 20000 };

/* An estimate below this is not worth a certificate: estimates err by small factors. */
static const double LEAST_ESTIMATE = 0.05;

typedef struct plan {
    xfi_problem *problem;
    xfi_writers writers;
    xfi_best best;
    const xfi_separation *lifts; /* in front of all front ends, or NULL */
    int left_out;                /* as in xf_build_report */
    int rounds;                  /* of the search, with features to try */
} plan;

/* A front end behind lifts. */
typedef struct lifted_front {
    const xfi_front *front;
    const xfi_separation *lifts;
} lifted_front;

static xf_status certify(xfi_certificate *out, const void *self, double sigma, double shift,
                         const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    xfi_front front = *(const xfi_front *)self; /* shares the vectors, which stay the owner's */
    front.sigma = sigma;
    front.shift = shift;
    return xfi_certify_front(out, &front, problem, axes, error);
}

static xf_status certify_lifted(xfi_certificate *out, const void *self, double sigma, double shift,
                                const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    const lifted_front *lifted = self;
    xfi_front front = *lifted->front;
    front.sigma = sigma;
    front.shift = shift;
    return xfi_certify_lifted(out, lifted->lifts, &front, problem, axes, error);
}

static xf_status try_lifted(plan *p, const xfi_front *front, xf_error *error) {
    lifted_front lifted = {front, p->lifts};
    xfi_front_end end = {.self = &lifted,
                         .name = "tree",
                         .n_blocks = p->lifts->n_blocks + xfi_front_blocks(front),
                         .certify = certify_lifted};
    return xfi_write_best(&p->best, &end, &p->writers, p->problem, error);
}

static xf_status try_front(plan *p, const xfi_candidate *candidate, xf_error *error) {
    static const char *const names[] = {"plain", "kinks", "folds"};
    const xfi_front *front = &candidate->front;
    const xfi_pool *pool = candidate->pool;
    if (p->lifts != NULL)
        return try_lifted(p, front, error);
    if (!xfi_problem_wants_front(p->problem, names[front->kind]))
        return XF_OK;
    xfi_front_end end = {.self = front,
                         .name = names[front->kind],
                         .n_blocks = xfi_front_blocks(front),
                         .n_folds = front->n_folds,
                         .number = pool != NULL ? pool->mean : NULL,
                         .order = pool != NULL ? pool->order : NULL,
                         .certify = certify};
    return xfi_write_best(&p->best, &end, &p->writers, p->problem, error);
}

/* Clears the fronts. */
static xf_status try_candidates(plan *p, xfi_candidate *candidates, int n, xf_error *error) {
    xf_status status = XF_OK;
    for (int i = 0; i < n; i++) {
        int worth = candidates[i].estimate >= LEAST_ESTIMATE || (i == 0 && p->best.near_margin < 0);
        if (status == XF_OK && !xfi_best_satisfied(&p->best, p->problem) && worth)
            status = try_front(p, &candidates[i], error);
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
    for (int round = 0; round < KINK_ROUNDS && p->best.model.n_blocks == 0; round++) {
        XFI_TRY(xfi_search_joint(search, round, candidates, &n, error));
        XFI_TRY(try_candidates(p, candidates, n, error));
    }
    return XF_OK;
}

static int wants_lanes(const plan *p) {
    return xfi_problem_wants_writer(p->problem, "grid") ||
           xfi_problem_wants_writer(p->problem, "sorted");
}

/* Is any writer that reads cells wanted? */
static int wants_cells(const plan *p) {
    int n = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n);
    while (n > 0)
        if (xfi_problem_wants_writer(p->problem, table[--n].name))
            return 1;
    return 0;
}

/* Up to so many targets the lanes serve: they are about as shallow, and their depth is a function
 * of M alone, not of how many bits tell the cells apart. */
enum { FEW_TARGETS = 80 };

/* Do writers on cells have a chance to be better than what there is? */
static int cells_pay(const plan *p) {
    const xf_dataset *data = p->problem->data;
    int64_t least = (data->n_targets + 3) / 4 + 3;
    if (data->d < 2 || !wants_cells(p))
        return 0;
    if (p->best.small_norm || p->best.model.n_blocks == 0)
        return 1;
    return data->n_targets > FEW_TARGETS && p->best.model.n_blocks > least;
}

/* Numbers for each token, about: cells hold the numbers of all tokens, candidates and a hash table.
 */
enum { CELL_NUMBERS = 25, DISPLACEMENT_NUMBERS = 20 };

/* What holds so many numbers a token may take half the memory, if there is a model without it and
 * nobody asked for it. Processes must agree. */
static xf_status leave_out(plan *p, int *out, int numbers, xf_error *error) {
    const xf_build_options *options = p->problem->options;
    int64_t half = p->problem->data->n_tokens / 2 * numbers * (int64_t)sizeof(double);
    *out = 0;
    if (p->best.model.n_blocks == 0 || p->best.small_norm || options->writer != NULL)
        return XF_OK;
    double ample = !xfi_memory_is_scarce(half, options->peers != NULL ? options->peers->size : 1);
    XFI_TRY(xfi_share_least(options->peers, &ample, 1, error));
    *out = ample == 0;
    p->left_out |= *out;
    return XF_OK;
}

/* Memory ran out where `what` was tried: say how much it takes, and what takes less. */
static xf_status explain_memory(const plan *p, const char *what, int numbers, const char *instead,
                                xf_error *error) {
    double bytes = (double)p->problem->data->n_tokens * numbers * sizeof(double);
    return xfi_fail(error, XF_ERR_MEMORY,
                    "out of memory: %s hold about %d numbers a token, here %.3g MB; %s", what,
                    numbers, bytes / 1e6, instead);
}

/* The cube needs two bits. */
static xf_status try_cells_from(plan *p, const xfi_search *search, int b_min, xf_error *error) {
    xfi_cells cells;
    int found = 0;
    XFI_TRY(xfi_cells_search(&cells, &found, search, b_min, error));
    if (!found)
        return XF_OK;
    xf_status status = xfi_write_cells(&p->best, &cells, &p->writers, p->problem, error);
    xfi_cells_clear(&cells);
    return status;
}

static xf_status try_cells(plan *p, const xfi_search *search, xf_error *error) {
    int left_out = 0;
    if (!cells_pay(p))
        return XF_OK;
    XFI_TRY(leave_out(p, &left_out, CELL_NUMBERS, error));
    if (left_out)
        return XF_OK;
    xf_status status = try_cells_from(p, search, 1, error);
    if (status == XF_OK && p->problem->data->n_targets <= 2)
        status = try_cells_from(p, search, 2, error);
    if (status != XF_ERR_MEMORY)
        return status;
    return explain_memory(p, "writers that read cells", CELL_NUMBERS,
                          "--writer grid needs none of them", error);
}

/* The features found so far: lanes behind their pairs, or cells where only these are wanted. */
static xf_status try_features(plan *p, const xfi_search *search, xf_error *error) {
    p->rounds++;
    return wants_lanes(p) ? try_pairs(p, search, error) : try_cells(p, search, error);
}

/* More trials raise a margin by small factors, and kinks and folds cure collisions, where the gap
 * is 0 or noise. Where trials take long, a binary32 margin that is clearly not noise and far too
 * small calls for displacement at once. Small data are always tried in full: displacement is
 * deeper. */
static int hopeless(const plan *p, double least) {
    return p->problem->format.p == 24 && p->problem->data->n_tokens > MANY_TOKENS &&
           p->best.near_margin > 1e-6 && p->best.near_margin < least;
}

static int goes_on(const plan *p) {
    return p->best.model.n_blocks == 0 && !hopeless(p, 0.4);
}

static xf_status plain_rounds(plan *p, xfi_search *search, xf_error *error) {
    int tried = xfi_problem_wants_front(p->problem, "plain");
    /* The local features of one round serve kinks and folds. */
    int steps = xfi_search_steps(search, tried ? PLAIN_ROUNDS : 1);
    for (int step = 0; step < steps && !xfi_best_satisfied(&p->best, p->problem); step++) {
        if (p->best.model.n_blocks == 0 && hopeless(p, 0.25))
            break;
        XFI_TRY(xfi_search_plain(search, step, error));
        if (tried)
            XFI_TRY(try_features(p, search, error));
    }
    return XF_OK;
}

static xf_status kink_rounds(plan *p, xfi_search *search, xf_error *error) {
    if (!goes_on(p) || !xfi_problem_wants_front(p->problem, "kinks"))
        return XF_OK;
    xfi_search_drop_pools(search);
    for (int round = 0; round < KINK_ROUNDS && goes_on(p); round++) {
        XFI_TRY(xfi_search_kinks(search, round, error));
        XFI_TRY(try_features(p, search, error));
    }
    return XF_OK;
}

static xf_status fold_rounds(plan *p, xfi_search *search, xf_error *error) {
    if (!xfi_problem_wants_front(p->problem, "folds"))
        return XF_OK;
    for (int folds = 1; folds <= FOLD_ROUNDS && goes_on(p); folds++) {
        xfi_search_drop_pools(search);
        XFI_TRY(xfi_search_folds(search, folds, error));
        XFI_TRY(try_features(p, search, error));
    }
    return XF_OK;
}

static xf_status search_all(plan *p, xfi_search *search, xf_error *error) {
    if (p->problem->data->d == 1 && !p->problem->all_single)
        return joint_rounds(p, search, error);
    XFI_TRY(plain_rounds(p, search, error));
    XFI_TRY(kink_rounds(p, search, error));
    XFI_TRY(fold_rounds(p, search, error));
    return wants_lanes(p) ? try_cells(p, search, error) : XF_OK;
}

static xf_status search_with(plan *p, xf_error *error) {
    xfi_search search;
    XFI_TRY(xfi_search_init(&search, p->problem, error));
    xf_status status = search_all(p, &search, error);
    xfi_search_clear(&search);
    return status;
}

static int is_cell_writer(const char *name) {
    int n = 0;
    const xfi_cell_writer *table = xfi_cell_writers(&n);
    while (n > 0)
        if (strcmp(table[--n].name, name) == 0)
            return 1;
    return 0;
}

/* The search ends when the lanes are content, and cells are sought once, in what is there then. A
 * writer on cells that comes out best with that has not had the rounds that it gets when it is
 * asked for. One round that leaves no extra block is all that it would get. */
static int cells_had_less(const plan *p) {
    return p->problem->options->writer == NULL && !p->best.small_norm &&
           p->best.model.n_blocks != 0 && is_cell_writer(p->best.report.writer) &&
           p->problem->data->n_tokens <= MANY_TOKENS &&
           (p->rounds > 1 || p->best.report.extra_blocks > 0);
}

static void keep_again(plan *p, plan *again) {
    const xf_build_report *report = &again->best.report;
    xfi_made made = {.front = report->front,
                     .writer = report->writer,
                     .n_folds = report->n_folds,
                     .regular_depth = again->best.model.n_blocks - report->extra_blocks,
                     .margin = report->margin,
                     .closest = report->margin_sequence};
    if (again->best.model.n_blocks != 0)
        xfi_best_keep(&p->best, &again->best.model, &made, p->problem);
}

/* The search as if the chosen writer on cells had been asked for. */
static xf_status search_for_cells(plan *p, xf_error *error) {
    if (!cells_had_less(p))
        return XF_OK;
    char writer[sizeof p->best.report.writer];
    memcpy(writer, p->best.report.writer, sizeof writer);
    xf_build_options options = *p->problem->options;
    xfi_problem problem = *p->problem;
    options.writer = writer;
    problem.options = &options;
    plan again = {.problem = &problem, .writers = p->writers};
    xfi_best_init(&again.best);
    xf_status status = search_with(&again, error);
    if (status == XF_OK)
        keep_again(p, &again);
    else
        xf_model_clear(&again.best.model);
    return status;
}

/* Norms vary with the draw: more seeds, for cells only. */
static xf_status search_norms(plan *p, xf_error *error) {
    xfi_problem *original = p->problem, problem = *original;
    xf_build_options options = *original->options;
    xf_status status = XF_OK;
    problem.options = &options;
    p->problem = &problem;
    for (int i = 1; i < NORM_SEEDS && status == XF_OK && cells_pay(p); i++) {
        xfi_search search;
        options.seed = original->options->seed + (uint64_t)i * 0x9e3779b97f4a7c15u;
        status = xfi_search_init(&search, &problem, error);
        if (status != XF_OK)
            break;
        status = xfi_search_plain(&search, 0, error);
        if (status == XF_OK)
            status = try_cells(p, &search, error);
        xfi_search_clear(&search);
    }
    p->problem = original;
    return status;
}

/* The argmax writer makes a model for hardmax alone, so only on demand. */
static xf_status try_argmax(plan *p, xf_error *error) {
    static const int64_t nowhere[2] = {0, 0};
    const xfi_problem *problem = p->problem;
    char *why = p->best.why;
    xf_model model;
    int feasible = 0, asked = problem->options->writer != NULL;
    if (!(asked || problem->options->hardmax_only) ||
        !xfi_problem_wants_writer(problem, "argmax") || !p->writers.grid.usable ||
        !xfi_argmax_fits(problem, why))
        return XF_OK;
    XFI_TRY(xfi_assemble_argmax(&model, &feasible, problem, p->writers.grid.axes, why, error));
    if (!feasible)
        return XF_OK;
    xfi_made made = {.front = "argmax",
                     .writer = "argmax",
                     .regular_depth = model.n_blocks,
                     .margin = INFINITY,
                     .closest = nowhere};
    xfi_best_keep(&p->best, &model, &made, problem);
    return XF_OK;
}

/* The targets fit a grid, but the groups lie too close together for the grid writer's codes: the
 * sorted one needs twice as many blocks. Displacement keeps room for the codes. */
static int room_pays(const plan *p) {
    return p->writers.grid.usable && !p->best.small_norm &&
           p->problem->data->n_targets > FEW_TARGETS &&
           strcmp(p->best.report.writer, "sorted") == 0;
}

/* Many sequences in few bits: when nothing else separates them, or separates them well, or on
 * demand. */
static xf_status try_displacement(plan *p, xf_error *error) {
    int found = 0, left_out = 0;
    if ((p->best.model.n_blocks != 0 && !room_pays(p)) ||
        !xfi_problem_wants_front(p->problem, "displacement") || !wants_lanes(p) ||
        p->problem->data->n_targets == 1)
        return XF_OK;
    XFI_TRY(leave_out(p, &left_out, DISPLACEMENT_NUMBERS, error));
    if (left_out)
        return XF_OK;
    xf_status status = xfi_displace_best(&p->best, &found, &p->writers, p->problem, error);
    if (status != XF_ERR_MEMORY)
        return status;
    return explain_memory(p, "displacement front ends", DISPLACEMENT_NUMBERS,
                          "use fewer or shorter sequences, or --dtype f64, which seldom needs them",
                          error);
}

/* Front ends for the lifted tokens. */
static xf_status search_behind(plan *p, const xfi_problem *lifted, xf_error *error) {
    xfi_search search;
    XFI_TRY(xfi_search_init(&search, lifted, error));
    xf_status status = XF_OK;
    if (lifted->data->d == 1 && !lifted->all_single)
        status = joint_rounds(p, &search, error);
    int steps = lifted->data->d > 1 ? xfi_search_steps(&search, PLAIN_ROUNDS) : 0;
    for (int step = 0; step < steps && status == XF_OK && !xfi_best_satisfied(&p->best, p->problem);
         step++) {
        status = xfi_search_plain(&search, step, error);
        if (status == XF_OK)
            status = try_pairs(p, &search, error);
    }
    xfi_search_clear(&search);
    return status;
}

/* The last resort where means collide under everything else: it separates whatever differs, as
 * far as binary64 can tell. */
static xf_status try_tree(plan *p, xf_error *error) {
    xfi_problem *problem = p->problem, lifted;
    xfi_separation lifts;
    if (p->best.model.n_blocks != 0 || p->best.certified || !wants_lanes(p) ||
        !xfi_problem_wants_front(problem, "tree"))
        return XF_OK;
    XFI_TRY(xfi_separation_lift(&lifts, problem, error));
    xf_dataset data = *problem->data;
    xf_status status = XF_OK;
    if (lifts.n_blocks > 0) {
        data.x = lifts.z;
        p->lifts = &lifts;
        status = xfi_problem_init(&lifted, &data, problem->options, error);
        if (status == XF_OK) {
            status = search_behind(p, &lifted, error);
            xfi_problem_clear(&lifted);
        }
        p->lifts = NULL;
        if (p->best.model.n_blocks != 0)
            p->best.report.n_separations = lifts.n_blocks;
    }
    xfi_separation_clear(&lifts);
    return status;
}

/* Is any of the front ends that search.h finds wanted? */
static int wants_search(const plan *p) {
    return xfi_problem_wants_front(p->problem, "plain") ||
           xfi_problem_wants_front(p->problem, "kinks") ||
           xfi_problem_wants_front(p->problem, "folds");
}

static xf_status build(plan *p, xf_error *error) {
    XFI_TRY(xfi_writers_choose(&p->writers, p->problem, error));
    p->best.impossible = !xfi_asked_writer_fits(&p->writers, p->problem, p->best.why);
    if (p->best.impossible)
        return xfi_best_refuse(&p->best, p->problem, error);
    if (wants_search(p))
        XFI_TRY(search_with(p, error));
    XFI_TRY(search_for_cells(p, error));
    if (p->best.small_norm && p->best.model.n_blocks != 0 &&
        xfi_problem_wants_front(p->problem, "plain"))
        XFI_TRY(search_norms(p, error));
    if (p->problem->origin == NULL) {
        XFI_TRY(try_argmax(p, error));
        XFI_TRY(try_displacement(p, error));
        XFI_TRY(try_tree(p, error));
    }
    return p->best.model.n_blocks != 0 ? XF_OK : xfi_best_refuse(&p->best, p->problem, error);
}

/* The blocks in front of the writer's. */
static int64_t count_front(const xf_model *model) {
    static const char *const writers[] = {"quantise", "route", "code", "write"};
    for (int64_t i = 0; i < model->n_phases; i++)
        for (int w = 0; w < 4; w++)
            if (strncmp(model->phases[i].name, writers[w], strlen(writers[w])) == 0)
                return model->phases[i].first;
    return model->n_blocks;
}

/* Balanced if asked for; the alternatives without the one chosen. */
static void finish(plan *p, xf_model *out) {
    const xf_build_options *options = p->problem->options;
    *out = p->best.model;
    out->dtype = options->dtype;
    if (options->balanced || p->best.small_norm)
        xfi_balance(out, count_front(out), p->problem->data);
    for (int i = 0; i < p->best.n_alternatives; i++) {
        const xf_alternative *other = &p->best.alternatives[i];
        if (strcmp(other->front, p->best.report.front) != 0 ||
            strcmp(other->writer, p->best.report.writer) != 0)
            out->alternatives[out->n_alternatives++] = *other;
    }
}

xf_status xfi_build_pooled(xf_model *out, xfi_problem *problem, xf_build_report *report,
                           xf_error *error) {
    plan p = {.problem = problem};
    xfi_best_init(&p.best);
    p.best.small_norm = problem->options->optimise == XF_OPTIMISE_NORM;
    xf_status status = XF_OK;
    if (problem->data->n_targets == 1 && problem->options->writer == NULL) {
        strcpy(p.best.report.front, "constant");
        strcpy(p.best.report.writer, "constant");
        p.best.report.margin = INFINITY;
        status = xfi_assemble_constant(&p.best.model, problem, error);
    } else {
        status = build(&p, error);
    }
    if (status != XF_OK) {
        xf_model_clear(&p.best.model);
        return status;
    }
    finish(&p, out);
    *report = p.best.report;
    report->left_out = p.left_out;
    return XF_OK;
}
