/* One call of liblbfgs. */
#include "train/lbfgs_round.h"

#include "base/error.h"

#include <lbfgs.h>
#include <math.h>
#include <string.h>

typedef struct descent {
    xfi_objective *objective;
    double weight_decay;
    double loss; /* at the point evaluated last, which is the accepted one when it is reported */
    double norm2;
    int64_t n; /* P; liblbfgs may round the number up, the rest stays 0 */
    xfi_iteration_fn seen;
    void *context;
} descent;

static double objective_at(const descent *at, const double *x) {
    return xfi_objective_loss(at->objective, x, NULL) +
           0.5 * at->weight_decay * xfi_norm_squared(x, at->n);
}

static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x, lbfgsfloatval_t *g,
                                const int n, const lbfgsfloatval_t step) {
    descent *at = instance;
    (void)step;
    memset(g, 0, (size_t)n * sizeof *g);
    at->loss = xfi_objective_loss(at->objective, x, g);
    at->norm2 = xfi_norm_squared(x, at->n);
    for (int64_t i = 0; i < at->n; i++)
        g[i] += at->weight_decay * x[i];
    return at->loss + 0.5 * at->weight_decay * at->norm2;
}

/* NOLINTNEXTLINE(readability-function-size): the type is liblbfgs's */
static int report(void *instance, const lbfgsfloatval_t *x, const lbfgsfloatval_t *g,
                  const lbfgsfloatval_t fx, const lbfgsfloatval_t xnorm,
                  const lbfgsfloatval_t gnorm, const lbfgsfloatval_t step, int n, int k, int ls) {
    descent *at = instance;
    (void)x, (void)g, (void)fx, (void)xnorm, (void)gnorm, (void)step, (void)n, (void)ls;
    return at->seen(at->context, k, at->loss, at->norm2) ? LBFGSERR_CANCELED : 0;
}

static lbfgs_parameter_t parameters(int64_t n_iterations) {
    lbfgs_parameter_t p;
    lbfgs_parameter_init(&p);
    p.m = 20;
    p.epsilon = 1e-12;
    p.max_iterations = (int)n_iterations;
    p.linesearch = LBFGS_LINESEARCH_BACKTRACKING_WOLFE; /* fit for kinks */
    p.max_linesearch = 60;
    return p;
}

/* Did the round end for want of iterations or on a kink, so that another may get on? */
static xfi_round_end end_of(int result, double before, double after) {
    if (result == LBFGSERR_CANCELED)
        return XFI_ROUND_STOPPED;
    if (result == LBFGSERR_MAXIMUMITERATION || after < before - 1e-9 * fabs(before))
        return XFI_ROUND_MORE;
    return XFI_ROUND_STUCK;
}

xf_status xfi_lbfgs_round(double *theta, xfi_round_end *end, xfi_objective *objective,
                          double weight_decay, int64_t n_iterations, xfi_iteration_fn seen,
                          void *context, xf_error *error) {
    int64_t n = objective->net.n_parameters;
    descent at = {.objective = objective,
                  .weight_decay = weight_decay,
                  .n = n,
                  .seen = seen,
                  .context = context};
    lbfgs_parameter_t p = parameters(n_iterations);
    lbfgsfloatval_t *x = lbfgs_malloc((int)n);
    if (x == NULL)
        return xfi_fail_memory(error);
    memcpy(x, theta, (size_t)n * sizeof *x);
    double before = objective_at(&at, theta);
    int result = lbfgs((int)n, x, NULL, evaluate, report, &at, &p);
    double after = objective_at(&at, x); /* a failed line search leaves another value */
    *end = end_of(result, before, after);
    if (after < before && *end != XFI_ROUND_STOPPED)
        memcpy(theta, x, (size_t)n * sizeof *x);
    else if (*end == XFI_ROUND_MORE)
        *end = XFI_ROUND_STUCK;
    lbfgs_free(x);
    return result == LBFGSERR_OUTOFMEMORY ? xfi_fail_memory(error) : XF_OK;
}
