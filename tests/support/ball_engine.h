/* Test-only engine: the model in ball arithmetic (Arb), exactness in sense (R) where softmax makes
 * numbers irrational. */
#ifndef XFT_SUPPORT_BALL_ENGINE_H
#define XFT_SUPPORT_BALL_ENGINE_H

#include <exactformer/run.h>

typedef struct xft_ball_options {
    double tau;     /* softmax temperature, > 0 */
    int digits;     /* decimal digits of precision */
    int64_t blocks; /* stop after so many; 0: all */
} xft_ball_options;

/* Evaluate every sequence with softmax and compare: every output ball has to contain a target of
 * its sequence in every coordinate, and every target has to be met. *radius is the largest radius
 * of all balls. Numeric class: enclosure. Returns XF_OK, XF_NOT_EXACT (the error names the
 * sequence) or XF_ERR_MEMORY. */
xf_status xft_ball_verify(double *radius, const xf_model *model, const xf_dataset *data,
                          const xft_ball_options *options, xf_error *error);

/* low, high [T][d]: the balls behind options->blocks blocks, rounded outwards to binary64. */
xf_status xft_ball_enclose(double *low, double *high, const xf_model *model, const xf_dataset *data,
                           const xft_ball_options *options, xf_error *error);

#endif
