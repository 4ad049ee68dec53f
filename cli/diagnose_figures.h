/* The two pictures of a diagnosis. */
#ifndef CLI_DIAGNOSE_FIGURES_H
#define CLI_DIAGNOSE_FIGURES_H

#include "gnuplot.h"

typedef struct cli_diagnosed {
    const xf_training_log *log;
    const xf_diagnosis *diagnosis;
} cli_diagnosed;

/* Loss and J against epochs, with the thresholds. */
void cli_draw_epochs(FILE *script, const void *diagnosed);

/* Least loss and J against the weight decay, with the threshold and a line of slope 1. */
void cli_draw_scaling(FILE *script, const void *diagnosed);

#endif
