/* xf_train and xf_loss: arguments, checkpoints, the loop. */
#include <exactformer/train.h>

#include "api/train_checkpoint.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/fpenv.h"

#include <math.h>
#include <stddef.h>
#include <time.h>

static const double seconds_between_checkpoints = 20.0;

void xf_training_init(xf_training *training) {
    *training = (xf_training){0};
}

void xf_training_clear(xf_training *training) {
    if (training == NULL)
        return;
    xfi_free(training->theta);
    xfi_free(training->records);
    xfi_free(training->stages);
    xf_training_init(training);
}

static xf_status check_data(const xf_family *family, const xf_dataset *data, xf_error *error) {
    XFI_TRY(xf_family_check(family, error));
    if (data->d != family->d)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the family has dimension %lld, the data set has dimension %lld",
                        (long long)family->d, (long long)data->d);
    if (data->y == NULL)
        return xfi_fail(error, XF_ERR_ARGUMENT, "the data set has no targets");
    return xfi_fpenv_check(error);
}

xf_status xf_loss(double *loss, double *gradient, const xf_family *family, const double *theta,
                  const xf_dataset *data, xf_dtype dtype, int threads, xf_error *error) {
    xfi_objective objective;
    XFI_TRY(check_data(family, data, error));
    XFI_TRY(xfi_objective_new(&objective, family, data, dtype, threads, error));
    *loss = xfi_objective_loss(&objective, theta, gradient);
    xfi_objective_clear(&objective);
    return XF_OK;
}

static xf_status check_stages(const xf_train_options *o, xf_error *error) {
    if (o->n_stages < 1)
        return xfi_fail(error, XF_ERR_ARGUMENT, "there is no stage to train");
    for (int i = 0; i < o->n_stages; i++) {
        const xf_stage *stage = &o->stages[i];
        if (!(stage->weight_decay >= 0.0 && isfinite(stage->weight_decay)))
            return xfi_fail(error, XF_ERR_ARGUMENT,
                            "the weight decay of stage %d is not in [0, inf)", i);
        if (stage->epochs < 1)
            return xfi_fail(error, XF_ERR_ARGUMENT, "stage %d has no epochs", i);
    }
    return XF_OK;
}

static xf_status check_options(const xf_train_options *o, xf_error *error) {
    XFI_TRY(check_stages(o, error));
    if (!(o->learning_rate >= 0.0 && isfinite(o->learning_rate)))
        return xfi_fail(error, XF_ERR_ARGUMENT, "the learning rate is not in [0, inf)");
    if (!isfinite((float)o->residual))
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the residual %g is no finite binary32 number, as random parameters are",
                        o->residual);
    if (o->starts < 0 || o->log_every < 0)
        return xfi_fail(error, XF_ERR_ARGUMENT, "an option of the training is out of range");
    if (o->resume && o->checkpoint == NULL)
        return xfi_fail(error, XF_ERR_ARGUMENT, "there is no checkpoint to resume from");
    return XF_OK;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static xf_status save(const xfi_run *run, const char *identity, xf_error *error) {
    return run->options->checkpoint != NULL ? xfi_checkpoint_save(run, identity, error) : XF_OK;
}

/* Advance to the end. A cancelled run is saved too. */
static xf_status loop(xfi_run *run, const char *identity, xf_error *error) {
    double saved = now();
    while (!xfi_run_is_done(run)) {
        xf_status status = xfi_run_advance(run, error);
        if (status == XF_ERR_CANCELLED)
            XFI_TRY(save(run, identity, error));
        XFI_TRY(status);
        if (now() - saved > seconds_between_checkpoints) {
            XFI_TRY(save(run, identity, error));
            saved = now();
        }
    }
    return save(run, identity, error);
}

/* Hand the results over; `kept` holds the best start of the last stage. */
static void deliver(xf_training *out, xfi_run *run, const xf_dataset_digest *dataset) {
    *out = (xf_training){.n_parameters = run->n_parameters,
                         .theta = run->kept,
                         .n_records = run->n_records,
                         .records = run->records,
                         .n_stages = run->options->n_stages,
                         .stages = run->stages,
                         .dataset = *dataset};
    run->kept = NULL;
    run->records = NULL;
    run->stages = NULL;
}

static xf_status train(xf_training *out, xfi_objective *objective, const xf_dataset *data,
                       const xf_train_options *options, xf_error *error) {
    xfi_run run;
    xfi_text identity = {0};
    xf_dataset_digest dataset;
    XFI_TRY(xfi_run_new(&run, objective, options, error));
    xf_digest_dataset(&dataset, data);
    xfi_training_identity(&identity, &run, &dataset);
    xf_status status = identity.failed ? xfi_fail_memory(error) : XF_OK;
    if (status == XF_OK && options->resume)
        status = xfi_checkpoint_load(&run, identity.bytes, error);
    if (status == XF_OK)
        status = loop(&run, identity.bytes, error);
    if (status == XF_OK)
        deliver(out, &run, &dataset);
    xfi_text_clear(&identity);
    xfi_run_clear(&run);
    return status;
}

xf_status xf_train(xf_training *out, const xf_family *family, const xf_dataset *data,
                   const xf_train_options *options, xf_error *error) {
    xf_training_init(out);
    xf_train_options o = *options;
    XFI_TRY(check_data(family, data, error));
    XFI_TRY(check_options(&o, error));
    o.learning_rate = o.learning_rate > 0.0 ? o.learning_rate : 1e-3;
    o.starts = o.starts > 0 ? o.starts : 1;
    o.log_every = o.log_every > 0 ? o.log_every : 1;
    xfi_objective objective;
    XFI_TRY(xfi_objective_new(&objective, family, data, o.dtype, o.threads, error));
    xf_status status = train(out, &objective, data, &o, error);
    xfi_objective_clear(&objective);
    return status;
}
