/* Run options for a model. */
#include "evaluation.h"

#include "output.h"
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>

static void remark_tau(const cli_options *options, const xf_model *model, double tau) {
    char text[160];
    if (tau <= model->tau_max)
        return;
    if (model->tau_max > 0.0)
        snprintf(text, sizeof text, "the model is only known to be exact up to tau = %.17g",
                 model->tau_max);
    else
        snprintf(text, sizeof text, "the model is only known to be exact with hardmax attention");
    cli_note((void *)options, text);
}

/* The engine shares the work among threads of its own, and OpenBLAS would start its own, which wait
 * for work and take memory, as soon as it is loaded. */
static void spare_threads(const cli_options *options) {
    if (options->engine == XF_ENGINE_BLAS)
        setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

int cli_evaluation_init(cli_evaluation *out, const cli_options *options, const xf_model *model,
                        cli_progress *progress) {
    int override = cli_given(options, CLI_ATTENTION_OVERRIDE);
    *out = (cli_evaluation){
        .run = {.engine = (xf_engine)options->engine,
                .override_attention = override,
                .attention = (xf_attention)options->attention,
                .tau = options->tau,
                .threads = (int)options->threads,
                .progress = cli_progress_report,
                .progress_context = progress,
                .peers = cli_peers()},
        .attention = override ? (xf_attention)options->attention : model->attention,
        .tau = cli_given(options, CLI_TAU_OVERRIDE) ? options->tau : model->tau};
    spare_threads(options);
    if (out->attention == XF_SOFTMAX)
        remark_tau(options, model, out->tau);
    else if (cli_given(options, CLI_TAU_OVERRIDE))
        return cli_usage(options, "--tau needs softmax attention: add --attention softmax");
    return 0;
}
