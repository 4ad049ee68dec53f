/* SHA-256 of the numbers of a data set, the same whatever file they came from. */
#include <exactformer/dataset.h>

#include "io/sha256_text.h"

#include <math.h>
#include <string.h>

static double largest_norm(const double *y, int64_t n, int64_t d) {
    double largest = 0.0;
    for (int64_t k = 0; k < n; k++) {
        double sum = 0.0;
        for (int64_t c = 0; c < d; c++)
            sum += y[k * d + c] * y[k * d + c];
        largest = fmax(largest, sqrt(sum));
    }
    return isfinite(largest) ? largest : 0.0;
}

void xf_digest_dataset(xf_dataset_digest *out, const xf_dataset *data) {
    const int64_t sizes[] = {data->d, data->n_sequences, data->n_tokens, data->n_targets};
    struct sha256_ctx context;
    *out = (xf_dataset_digest){.n_sequences = data->n_sequences,
                               .n_tokens = data->n_tokens,
                               .n_targets = data->n_targets,
                               .positions = data->positions};
    sha256_init(&context);
    xfi_sha256_add_integers(&context, sizes, 4);
    xfi_sha256_add_integers(&context, data->x_offsets, data->n_sequences + 1);
    xfi_sha256_add_reals(&context, data->x, data->n_tokens * data->d);
    if (data->y != NULL) {
        xfi_sha256_add_integers(&context, data->y_offsets, data->n_sequences + 1);
        xfi_sha256_add_reals(&context, data->y, data->n_targets * data->d);
        out->largest_target = largest_norm(data->y, data->n_targets, data->d);
    }
    xfi_sha256_text(out->values_sha256, &context);
}
