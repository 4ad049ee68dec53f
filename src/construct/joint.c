/* d = 1: one coordinate serves as local and as pool feature, f = x - mu plus two gentle
 * kinks (none in the first trial), t = f + K mean f. Slopes stay positive, so tokens keep their
 * order. */
#include "construct/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "construct/gain.h"

/* Slopes 0.1 .. 0.45 of either sign and knees at random tokens. */
static void draw_kinks(xfi_front *shape, const xfi_problem *problem, xfi_rng *rng) {
    const xf_dataset *data = problem->data;
    for (int i = 0; i < shape->n_kinks; i++) {
        double slope = 0.1 + 0.35 * xfi_rng_uniform(rng);
        double side = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
        double a = data->x[xfi_rng_below(rng, data->n_tokens)] * problem->unit;
        double b = data->x[xfi_rng_below(rng, data->n_tokens)] * problem->unit;
        double knee = a + xfi_rng_uniform(rng) * (b - a);
        shape->v[i] = xfi_round24(side * slope * problem->unit);
        shape->bias[i] = xfi_round24(-side * slope * knee);
        shape->sign[i] = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
    }
}

typedef struct joint_feature {
    const xfi_front *shape;
    double unit;
} joint_feature;

/* The projections are x itself. */
static void shape_joint(const void *context, double *values, int64_t n_tokens) {
    const joint_feature *feature = context;
    const xfi_front *shape = feature->shape;
    for (int64_t l = 0; l < n_tokens; l++) {
        double *v = values + l * XFI_PROJECT_BATCH, x = v[0];
        v[0] = x * feature->unit;
        for (int i = 0; i < shape->n_kinks; i++)
            v[0] += shape->sign[i] * fmax(shape->v[i] * x + shape->bias[i], 0.0);
    }
}

/* Both views of the feature; cleared after a failure. */
static xf_status measure(xfi_local *local, xfi_pool *pool, const xfi_problem *problem,
                         xf_error *error) {
    static const double directions[XFI_PROJECT_BATCH] = {1.0};
    joint_feature feature = {&pool->shape, problem->unit};
    xfi_features features = {.problem = problem,
                             .directions = directions,
                             .shape = shape_joint,
                             .context = &feature,
                             .n = 1,
                             .locals = local,
                             .pools = pool,
                             .rounding = {4 * problem->format.u}};
    local->u[0] = problem->unit;
    if (pool->shape.kind == XFI_PLAIN) { /* x unit has the range of x, scaled exactly */
        double low[XFI_PROJECT_BATCH], high[XFI_PROJECT_BATCH];
        xf_status status = xfi_projection_ranges(low, high, problem, directions, 1, error);
        if (status != XF_OK)
            return status;
        pool->shape.nu = xfi_feature_origin(low[0] * problem->unit, high[0] * problem->unit);
    }
    return xfi_features_measure(&features, error);
}

static xf_status try_joint(xfi_search *search, int plain, xfi_rng *rng, xfi_candidate *out, int *n,
                           xf_error *error) {
    const xfi_problem *problem = search->problem;
    xfi_local local = {0};
    xfi_pool pool = {
        .shape = {.kind = plain ? XFI_PLAIN : XFI_KINKS, .joint = 1, .n_kinks = plain ? 0 : 2}};
    local.u = xfi_calloc(1, sizeof(double));
    pool.shape.v = xfi_calloc(2, sizeof(double));
    xf_status status = local.u && pool.shape.v ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK) {
        draw_kinks(&pool.shape, problem, rng);
        status = measure(&local, &pool, problem, error);
    }
    if (status == XF_OK)
        status =
            xfi_search_pair(problem, &local, &pool,
                            xfi_gain(&local, &pool, problem->data->n_sequences), out, n, error);
    xfi_local_clear(&local);
    xfi_pool_clear(&pool);
    return status;
}

xf_status xfi_search_joint(xfi_search *search, int round, xfi_candidate out[XFI_CANDIDATES], int *n,
                           xf_error *error) {
    xfi_rng rng;
    xfi_rng_seed(&rng, search->problem->options->seed, 0x400 + (uint64_t)round);
    xf_status status = XF_OK;
    *n = 0;
    for (int trial = 0; trial < XFI_CANDIDATES && status == XF_OK; trial++)
        status = try_joint(search, round == 0 && trial == 0, &rng, out, n, error);
    while (status != XF_OK && *n > 0)
        xfi_front_clear(&out[--*n].front);
    return status;
}
