/* States of a training that are no finite numbers: which option is to blame. */
#include "train/out_of_range.h"

#include "base/error.h"

#include <float.h>
#include <math.h>

static const char *precision_of(const xfi_run *run) {
    return run->options->dtype == XF_F32 ? "binary32" : "binary64";
}

static int uses_adam(const xfi_run *run) {
    return run->options->optimiser == XF_ADAM;
}

/* Is J finite, and the square of the penalty's gradient, which Adam and L-BFGS take? Adam
 * computes it in the run's precision. */
static int penalty_is_in_range(const xfi_run *run, double loss, double norm2) {
    double decay = run->options->stages[run->stage].weight_decay;
    double most = uses_adam(run) && run->options->dtype == XF_F32 ? (double)FLT_MAX : DBL_MAX;
    double square = run->options->optimiser == XF_ADAMW ? 0.0 : decay * decay * norm2;
    return isfinite(loss + 0.5 * decay * norm2) && square <= most;
}

/* The loss with temperature 1 in place of the family's. */
static double loss_at_one(const xfi_run *run) {
    double *tau = &run->objective->net.size.tau, own = *tau;
    *tau = 1.0;
    double loss = xfi_objective_loss(run->objective, run->theta, NULL);
    *tau = own;
    return loss;
}

/* No step has been made yet. */
static xf_status fail_at_start(const xfi_run *run, double norm2, xf_error *error) {
    double tau = run->objective->net.size.tau;
    if (!isfinite(norm2))
        return xfi_fail(error, XF_ERR_DATA,
                        "the parameters of start %lld are too large for %s before any step: "
                        "their squared norm is not finite; start from smaller ones",
                        (long long)run->start, precision_of(run));
    if (isfinite(loss_at_one(run)))
        return xfi_fail(error, XF_ERR_DATA,
                        "the loss is not finite before any step: the temperature %g is too small "
                        "for %s, in which the logits overflow; use a larger one",
                        tau, precision_of(run));
    return xfi_fail(error, XF_ERR_DATA,
                    "the loss of start %lld is not finite before any step: layer by layer the "
                    "tokens outgrow %s; start from smaller parameters, take fewer blocks, or "
                    "scale the data",
                    (long long)run->start, precision_of(run));
}

static xf_status fail_after_steps(const xfi_run *run, int64_t epoch, xf_error *error) {
    double decay = run->options->stages[run->stage].weight_decay;
    int by_decay = run->options->optimiser == XF_ADAMW && run->options->learning_rate * decay > 2.0;
    return xfi_fail(error, XF_ERR_DATA, "the loss is not finite at epoch %lld of stage %lld; %s",
                    (long long)epoch, (long long)run->stage,
                    by_decay ? "the learning rate times the weight decay is above 2, so that the "
                               "parameters grow: try a smaller weight decay"
                    : run->options->optimiser == XF_LBFGS ? "start from other parameters"
                                                          : "try a smaller learning rate");
}

xf_status xfi_check_in_range(const xfi_run *run, double loss, double norm2, int64_t epoch,
                             xf_error *error) {
    if (!isfinite(loss) || !isfinite(norm2))
        return run->epoch == 0 ? fail_at_start(run, norm2, error)
                               : fail_after_steps(run, epoch, error);
    if (penalty_is_in_range(run, loss, norm2))
        return XF_OK;
    return xfi_fail(error, XF_ERR_DATA,
                    "the penalty or its gradient overflows in %s at epoch %lld of stage %lld: the "
                    "weight decay %g%s is too large",
                    uses_adam(run) ? precision_of(run) : "binary64", (long long)epoch,
                    (long long)run->stage, run->options->stages[run->stage].weight_decay,
                    run->epoch > 0 ? ", or the learning rate," : "");
}
