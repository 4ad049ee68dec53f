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

static void evaluate(double *f, const xfi_front *shape, const xfi_problem *problem) {
    for (int64_t l = 0; l < problem->data->n_tokens; l++) {
        double x = problem->data->x[l];
        f[l] = x * problem->unit;
        for (int i = 0; i < shape->n_kinks; i++)
            f[l] += shape->sign[i] * fmax(shape->v[i] * x + shape->bias[i], 0.0);
    }
}

/* The two views of f; owned by the caller whatever happens. */
static xf_status measure(xfi_local *local, xfi_pool *pool, const xfi_problem *problem,
                         const double *f, xf_error *error) {
    double rounding = 4 * problem->format.u;
    local->u = xfi_calloc(1, sizeof(double));
    if (local->u == NULL)
        return xfi_fail_memory(error);
    local->u[0] = problem->unit;
    XFI_TRY(xfi_local_measure(local, problem, f, rounding, error));
    return xfi_pool_measure(pool, problem, f, rounding, error);
}

static xf_status try_joint(xfi_search *search, int plain, xfi_rng *rng, xfi_candidate *out, int *n,
                           xf_error *error) {
    const xfi_problem *problem = search->problem;
    xfi_local local = {0};
    xfi_pool pool = {
        .shape = {.kind = plain ? XFI_PLAIN : XFI_KINKS, .joint = 1, .n_kinks = plain ? 0 : 2}};
    pool.shape.v = xfi_calloc(2, sizeof(double));
    if (pool.shape.v == NULL)
        return xfi_fail_memory(error);
    draw_kinks(&pool.shape, problem, rng);
    evaluate(search->feature, &pool.shape, problem);
    xf_status status = measure(&local, &pool, problem, search->feature, error);
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
