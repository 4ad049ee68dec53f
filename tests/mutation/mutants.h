/* Models and data sets that are spoiled in one place. */
#ifndef XFT_MUTATION_MUTANTS_H
#define XFT_MUTATION_MUTANTS_H

#include "base/rng.h"

#include <exactformer/dataset.h>
#include <exactformer/model.h>

typedef enum xft_mutation {
    XFT_FLIP_BIT,      /* of a weight that is not 0 */
    XFT_FLIP_ZERO,     /* a bit of a weight that is 0; half of these become subnormal */
    XFT_INPUT_ULP,     /* an entry of U, by one ulp */
    XFT_OUTPUT_ULP,    /* an entry of W: codes and targets */
    XFT_BIAS_ULP,      /* an entry of b: thresholds */
    XFT_BIAS_STEP,     /* by its lowest bit */
    XFT_BIAS_DOUBLED,  /* */
    XFT_OUTPUT_ZERO,   /* an entry of W becomes 0 */
    XFT_INPUT_SIGN,    /* an entry of U is negated */
    XFT_RESIDUAL,      /* eta or rho: 1 - u, or 1 in place of 0 */
    XFT_POOLING_ULP,   /* an entry of V or A */
    XFT_DROP_BLOCK,    /* */
    XFT_SWAP_BLOCKS,   /* with the next one */
    XFT_REPEAT_BLOCK,  /* */
    XFT_DATA_INPUT,    /* a value of x, by one ulp */
    XFT_DATA_TARGET,   /* a value of y, by one ulp */
    XFT_OVERFLOW,      /* a neuron, or one weight, times a huge power of two */
    XFT_UNDERFLOW,     /* a neuron reads near the smallest numbers and writes back */
    XFT_SUBNORMAL,     /* one weight becomes subnormal */
    XFT_NEGATIVE_ZERO, /* weights and data that are 0 become -0: nothing may change */
    XFT_N_MUTATIONS
} xft_mutation;

const char *xft_mutation_name(xft_mutation how);

/* Spoil them in place, at random. The model keeps its invariants (finite weights of its dtype), the
 * data set its shape. Returns 0 if there is nothing to spoil, and leaves both as they were. Aborts
 * the test if memory runs out. */
int xft_mutate(xf_model *model, xf_dataset *data, xft_mutation how, xfi_rng *rng);

/* Deep copies, and are all weights and data equal (the sign of a zero aside)? */
void xft_copy_model(xf_model *out, const xf_model *model);
void xft_copy_data(xf_dataset *out, const xf_dataset *data);
int xft_equal(const xf_model *a, const xf_dataset *x, const xf_model *b, const xf_dataset *y);

#endif
