/* How build's and the user's choices become run options. */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H

#include "options.h"
#include "progress.h"

/* Run options from --engine, --attention, --tau and --threads, with the attention and tau
 * that are then in force. */
typedef struct cli_evaluation {
    xf_run_options run;
    xf_attention attention;
    double tau;
} cli_evaluation;

/* Refuses --tau without softmax; remarks on a temperature at which the weights are not
 * known to be exact. Returns the exit status, 0 for success. */
int cli_evaluation_init(cli_evaluation *out, const cli_options *options, const xf_model *model,
                        cli_progress *progress);

#endif
