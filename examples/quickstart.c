/* From arrays to an exact transformer, in one page.
 *
 *     cc quickstart.c $(pkg-config --cflags --libs exactformer) && ./a.out
 *
 * Three input sequences of tokens in the plane are mapped to their target sets. The
 * transformer is constructed, not trained, and its outputs equal the targets to the
 * last bit. */
#include <exactformer/exactformer.h>

#include <inttypes.h>
#include <stdio.h>

/* Sequence j is rows x_offsets[j] .. x_offsets[j+1]-1 of x; likewise for y. */
static const double x[][2] = {
    {0.0, 1.0}, {2.0, -1.0}, {0.5, 0.5}, /* X_0: three tokens */
    {0.0, 1.0}, {2.0, -1.0},             /* X_1: two of them */
    {-3.0, 4.0}                          /* X_2: one token */
};
static const int64_t x_offsets[] = {0, 3, 5, 6};

static const double y[][2] = {
    {1.0, 0.0},
    {0.0, 1.0}, /* Y_0: two tokens */
    {0.1, 0.2}, /* Y_1: no short binary fractions; still exact */
    {-7.0, 7.0} /* Y_2 */
};
static const int64_t y_offsets[] = {0, 2, 3, 4};

enum { N_SEQUENCES = 3, DIMENSION = 2 };

/* Construct a model for `data`, check it and say what it is. */
static xf_status build_and_verify(const xf_dataset *data, xf_error *error) {
    xf_model model;
    xf_build_report built;
    xf_verify_report verified;

    /* NULL options: the pooled construction, hardmax attention, binary64. */
    xf_status status = xf_build(&model, data, NULL, &built, error);
    if (status != XF_OK) {
        return status;
    }
    status = xf_verify(&verified, &model, data, NULL, error);
    if (status == XF_OK || status == XF_NOT_EXACT) {
        printf("%" PRId64 " of %" PRId64 " sequences exact, Hausdorff distance %g\n",
               verified.n_exact, verified.n_sequences, verified.hausdorff_max);
        printf("%" PRId64 " blocks of width %" PRId64 " (published bound %" PRId64 ")\n",
               model.n_blocks, model.width, built.bound);
    }
    xf_model_clear(&model);
    return status;
}

int main(void) {
    xf_error error;
    xf_dataset data;

    /* Copies the arrays and checks every condition on a data set. */
    xf_status status = xf_dataset_from_arrays(&data, N_SEQUENCES, DIMENSION, &x[0][0], x_offsets,
                                              &y[0][0], y_offsets, NULL, &error);
    if (status == XF_OK) {
        status = build_and_verify(&data, &error);
        xf_dataset_clear(&data);
    }
    if (status != XF_OK && status != XF_NOT_EXACT) {
        fprintf(stderr, "quickstart: %s\n", error.message);
    }
    return xf_status_exit_code(status);
}
