/* The plan of the published construction: ways of separating in turn, grids in turn, and the
 * first that is proved gets a writer. */
#include "construct/published.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/balance.h"
#include "construct/copy_blocks.h"
#include "construct/leaders.h"
#include "construct/pooled.h"
#include "construct/published_front.h"
#include "construct/separate.h"
#include "construct/separation_tree.h"
#include "construct/sequences.h"
#include "construct/writers.h"
#include "core/model_shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A score below this is not worth a trial. */
static const double LEAST_SCORE = 0x1p-22;

enum { KINKS = 3 };

/* How far an attempt came; the farthest is told in the refusal. */
typedef enum miss_kind {
    MISS_NONE,
    MISS_RANGE,  /* no grid */
    MISS_LEADER, /* a token too close to others */
    MISS_CROWD,  /* places too close to each other */
    MISS_PLACE,  /* rounding of the separation */
    MISS_COLLAPSE
} miss_kind;

typedef struct miss {
    miss_kind kind;
    int64_t sequence;
    int64_t token; /* rows of x */
    int64_t other;
    double found;
    double needed;
} miss;

typedef struct plan {
    xfi_problem *problem;
    xfi_writers writers;
    xfi_best best;
    xfi_published_facts facts; /* of the best model */
    miss miss;
    int place_bits;
    int64_t n_front; /* blocks of the best model in front of the writer */
} plan;

static void remember(plan *p, miss next) {
    int closer = next.found * p->miss.needed > p->miss.found * next.needed;
    if (next.kind == MISS_PLACE) /* the one where less would be better */
        closer = !closer;
    if (next.kind > p->miss.kind || (next.kind == p->miss.kind && closer))
        p->miss = next;
}

/* Blocks of one attempt, written one after the other. */
static xf_status emit_blocks(xfi_published_front *front, const xfi_separation *separation,
                             const xfi_quantised *q, const xfi_leaders *leaders, xf_error *error) {
    int64_t n_moves = xfi_leaders_blocks(leaders), first = separation->n_blocks + q->rounds;
    front->phases = (xfi_published_phases){separation->n_blocks, q->rounds, n_moves};
    xf_model *m = &front->blocks;
    XFI_TRY(xf_model_new(m, first + n_moves + 1, q->d, XFI_WIDTH, error));
    if (separation->n_blocks > 0)
        xfi_copy_blocks(m, 0, &separation->blocks);
    else
        m->ff_eta[0] = separation->scale;
    xfi_quantise_emit(q, m, separation->n_blocks);
    xfi_leaders_emit(leaders, q, m, first, m->ff_eta[first]);
    int64_t last = first + n_moves - 1;
    m->sa_rho[last] = 0.0;
    m->sa_V.alpha[last] = m->sa_A.alpha[last] = 1.0;
    return XF_OK;
}

static xf_status write_behind(plan *p, const xfi_published_front *front, xf_error *error) {
    xfi_front_end end = {.self = front,
                         .name = "leaders",
                         .n_blocks = front->blocks.n_blocks,
                         .certify = xfi_published_certify};
    XFI_TRY(xfi_write_best(&p->best, &end, &p->writers, p->problem, error));
    if (p->best.model.n_blocks == 0)
        return XF_OK;
    p->n_front = front->blocks.n_blocks;
    return xfi_published_front_measure(&p->facts, front, &p->best.model, p->problem->data, error);
}

static void remember_front(plan *p, const xfi_published_front *front, const xfi_quantised *q) {
    const xfi_logit_gap *least = &front->least;
    int64_t token = front->uncertain;
    if (token >= 0)
        remember(p, (miss){.kind = MISS_PLACE,
                           .sequence = xfi_sequence_of(p->problem->data, token),
                           .token = token,
                           .found = ldexp(front->settled.off[token], -q->exponent - q->g),
                           .needed = ldexp(2.0, -q->g)});
    else if (!xfi_published_front_is_proved(front))
        remember(p, (miss){MISS_COLLAPSE, least->sequence, least->token, least->rival, least->gap,
                           least->bound});
}

static xf_status try_front(plan *p, const xfi_separation *separation, const xfi_quantised *q,
                           const xfi_leaders *leaders, const xfi_places *places, xf_error *error) {
    xfi_published_front front = {0};
    xf_status status = emit_blocks(&front, separation, q, leaders, error);
    front.line = status == XF_OK ? xfi_calloc(q->d, sizeof(double)) : NULL;
    if (status == XF_OK && front.line == NULL)
        status = xfi_fail_memory(error);
    if (status == XF_OK) {
        xfi_places_line(front.line, places);
        status = xfi_published_front_examine(&front, p->problem->data, error);
    }
    if (status == XF_OK) {
        remember_front(p, &front, q);
        if (xfi_published_front_is_proved(&front))
            status = write_behind(p, &front, error);
    }
    xfi_published_front_clear(&front);
    return status;
}

static xf_status try_leaders(plan *p, const xfi_separation *separation, const xfi_quantised *q,
                             xf_error *error) {
    xfi_places places;
    xfi_leaders leaders;
    int feasible = 0;
    if (!xfi_places_init(&places, p->problem->data, ldexp(1.0, q->g)))
        return xfi_fail_memory(error);
    p->place_bits = xfi_places_bits(&places);
    xf_status status = xfi_leaders_choose(&leaders, &feasible, q, &places, p->problem, error);
    if (status == XF_OK) {
        const xfi_leader_miss *lost = &leaders.miss;
        if (feasible)
            status = try_front(p, separation, q, &leaders, &places, error);
        else
            remember(p, (miss){lost->crowded ? MISS_CROWD : MISS_LEADER, lost->sequence,
                               lost->token, lost->other, lost->found, lost->needed});
        xfi_leaders_clear(&leaders);
    }
    xfi_places_clear(&places);
    return status;
}

static xf_status try_grid(plan *p, const xfi_separation *separation, int g, xf_error *error) {
    const xf_dataset *data = p->problem->data;
    xfi_quantised q;
    int feasible = 0, may_skip = separation->n_blocks == 0 && separation->exact;
    if (!xfi_quantise(&q, &feasible, separation->z, data->n_tokens, data->d, g, may_skip))
        return xfi_fail_memory(error);
    xf_status status = XF_OK;
    if (feasible)
        status = try_leaders(p, separation, &q, error);
    else
        remember(p, (miss){.kind = MISS_RANGE});
    xfi_quantised_clear(&q);
    return status;
}

static int is_done(const plan *p) {
    return p->best.certified;
}

static xf_status separate(xfi_separation *out, plan *p, xfi_stage stage, xf_error *error) {
    switch (stage) {
    case XFI_STAGE_POOL:
        return xfi_separate_pool(out, p->problem, 0, error);
    case XFI_STAGE_KINKS:
        return xfi_separate_pool(out, p->problem, KINKS, error);
    case XFI_STAGE_TREE:
        return xfi_separation_tree(out, p->problem, error);
    default:
        return xfi_separate_none(out, p->problem, error);
    }
}

/* Is it worth trying to choose leaders behind this separation? Without blocks it is, if no sequence
 * lacks tokens of its own; isolation grows while leaders are moved away. */
static xf_status is_promising(plan *p, const xfi_separation *separation, xfi_stage stage, int *yes,
                              xf_error *error) {
    *yes = stage == XFI_STAGE_NONE ? xfi_has_private_tokens(p->problem->data)
                                   : separation->score >= LEAST_SCORE;
    if (*yes < 0)
        return xfi_fail_memory(error);
    const xfi_weakest *weakest = &separation->weakest;
    if (!*yes && separation->z != NULL)
        remember(p, (miss){MISS_LEADER, weakest->sequence, weakest->token, weakest->other,
                           separation->score, LEAST_SCORE});
    return XF_OK;
}

static xf_status try_stage(plan *p, xfi_stage stage, xf_error *error) {
    static const int grids[] = {24, 22, 20, 26, 28};
    xfi_separation separation;
    int yes = 0;
    if (stage != XFI_STAGE_NONE && p->problem->data->n_sequences == 1)
        return XF_OK;
    XFI_TRY(separate(&separation, p, stage, error));
    xf_status status = is_promising(p, &separation, stage, &yes, error);
    for (int i = 0; i < 5 && yes && status == XF_OK && !is_done(p); i++)
        status = try_grid(p, &separation, grids[i], error);
    xfi_separation_clear(&separation);
    return status;
}

static xf_status refuse(const plan *p, xf_error *error) {
    const miss *m = &p->miss;
    const xf_dataset *data = p->problem->data;
    int64_t start = data->x_offsets[m->sequence];
    int64_t j = xfi_sequence_of(data, m->other);
    long long s = (long long)m->sequence, token = (long long)(m->token - start);
    long long other = (long long)(m->other - data->x_offsets[j]);
    switch (m->kind) {
    case MISS_LEADER:
        return xfi_fail_at(
            error, XF_ERR_INFEASIBLE, m->sequence, m->token - start,
            "token %lld of sequence %lld is too close to token %lld of sequence %lld to be moved "
            "alone: isolation %.3g of the range in the best of the projections tried, needed "
            "%.3g; spread the tokens, use fewer leaders, or use --construction pooled",
            token, s, other, (long long)j, m->found, m->needed);
    case MISS_CROWD:
        return xfi_fail_at(
            error, XF_ERR_INFEASIBLE, m->sequence, -1,
            "sequence %lld cannot get places for its %lld leaders, or all sequences "
            "for their %lld: they have to be told apart by 2^-%d of the range, where "
            "binary64 allows for about 2^-22; use fewer targets a sequence, or "
            "--construction pooled",
            s, (long long)xfi_targets_of(data, m->sequence), (long long)data->n_targets,
            p->place_bits);
    case MISS_PLACE:
        return xfi_fail_at(
            error, XF_ERR_INFEASIBLE, m->sequence, m->token - start,
            "the place of token %lld of sequence %lld is known to within %.3g of the "
            "range only, where the slabs need %.3g (rounding of the separation); "
            "spread or centre the tokens, or use --construction pooled",
            token, s, m->found, m->needed);
    case MISS_COLLAPSE:
        return xfi_fail_at(
            error, XF_ERR_INFEASIBLE, m->sequence, m->token - start,
            "token %lld of sequence %lld cannot be told to which leader it belongs: its logits "
            "differ by %.3g for its leader and token %lld where rounding needs %.3g; use fewer "
            "targets a sequence, or "
            "--construction pooled",
            token, s, m->found, other, m->needed);
    case MISS_NONE:
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "no way of separating the sequences was found; use --construction pooled");
    default:
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the tokens' offsets are too large against their range for binary64: "
                        "centre the inputs, or use --construction pooled");
    }
}

/* Balancing leaves every evaluation as it is, but not every bound. */
static xf_status balance(plan *p, xf_error *error) {
    const xf_build_options *options = p->problem->options;
    xf_model *model = &p->best.model;
    if (!options->balanced && options->optimise != XF_OPTIMISE_NORM)
        return XF_OK;
    xfi_balance(model, p->n_front, p->problem->data);
    return xfi_published_measure(&p->facts, model, p->problem->data, error);
}

/* Scale the logits so that the temperature asked for is allowed. */
static xf_status set_temperature(plan *p, xf_error *error) {
    const xfi_problem *problem = p->problem;
    xf_model *model = &p->best.model;
    xf_build_report *report = &p->best.report;
    XFI_TRY(balance(p, error));
    xfi_published_facts facts = p->facts;
    double tau = problem->options->tau > 0 ? problem->options->tau : 1.0, alpha = 1.0;
    int wanted = problem->options->attention == XF_SOFTMAX && isfinite(facts.tau_max);
    if (wanted) {
        int exponent = xfi_exponent(tau) - xfi_exponent(facts.tau_max);
        exponent += ldexp(facts.tau_max, exponent) < tau;
        alpha = ldexp(1.0, exponent > -500 ? exponent : -500);
    }
    if (wanted && !(alpha * facts.tau_max >= tau && alpha * facts.largest_logit < 0x1p1000))
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "tau = %g is too large: the logits would overflow", tau);
    for (int64_t b = 0; b < model->n_blocks; b++)
        model->sa_A.alpha[b] *= alpha;
    report->margin = facts.margin;
    report->n_separations = facts.n_separations;
    report->collapse_margin = alpha * facts.collapse_margin;
    report->tau_max = alpha * facts.tau_max;
    return XF_OK;
}

static int is_deep(const plan *p) {
    const xf_dataset *data = p->problem->data;
    int64_t N = data->n_sequences, M = data->n_targets, L = p->best.model.n_blocks;
    return L == 0 || L > 2 * M + N + 4 || L > xf_published_bound(N, M, XF_HARDMAX);
}

/* The front end of the pooled construction; there are no logits then. */
static xf_status build_pooled(xf_model *out, xfi_problem *problem, xf_build_report *report,
                              xf_error *error) {
    xf_status status = xfi_build_pooled(out, problem, report, error);
    report->collapse_margin = report->tau_max = INFINITY;
    return status;
}

static xf_status build(plan *p, xfi_stage first, xf_error *error) {
    XFI_TRY(xfi_writers_choose(&p->writers, p->problem, error));
    for (int stage = first; stage < XFI_STAGES && !is_done(p); stage++)
        XFI_TRY(try_stage(p, (xfi_stage)stage, error));
    if (!is_done(p) && p->best.near_margin < 0)
        return refuse(p, error);
    if (!is_deep(p))
        return set_temperature(p, error);
    if (p->best.model.n_blocks == 0 && p->problem->data->n_sequences > 2)
        return xfi_best_refuse(&p->best, p->problem, error);
    xf_model_clear(&p->best.model);
    return build_pooled(&p->best.model, p->problem, &p->best.report, error);
}

static xf_status check_problem(const xfi_problem *problem, xf_error *error) {
    if (problem->options->front != NULL)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the published construction has one front end only: leave out --front");
    if (!xfi_problem_wants_writer(problem, "grid") && !xfi_problem_wants_writer(problem, "sorted"))
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the published construction has the writers grid and sorted only, not %s",
                        problem->options->writer);
    if (problem->data->d < 2)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the published construction needs d >= 2; add a coordinate (--positions "
                        "append), or use --construction pooled");
    if (problem->format.p != 53)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the published construction needs binary64: use --dtype f64, or "
                        "--construction pooled");
    return XF_OK;
}

xf_status xfi_build_published(xf_model *out, xfi_problem *problem, xf_build_report *report,
                              xfi_stage first_stage, xf_error *error) {
    plan p = {.problem = problem};
    xfi_best_init(&p.best);
    if (problem->data->n_targets == 1)
        return build_pooled(out, problem, report, error); /* one constant block */
    XFI_TRY(check_problem(problem, error));
    xf_status status = build(&p, first_stage, error);
    if (status != XF_OK) {
        xf_model_clear(&p.best.model);
        return status;
    }
    *out = p.best.model;
    out->dtype = problem->options->dtype;
    *report = p.best.report;
    return XF_OK;
}
