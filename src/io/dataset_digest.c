/* SHA-256 of the numbers of a data set, the same whatever file they came from. */
#include <exactformer/dataset.h>

#include "base/bytes.h"
#include "io/sha256_text.h"

#include <math.h>
#include <string.h>

enum { NUMBERS = 1024 };

static void add_integers(struct sha256_ctx *context, const int64_t *values, int64_t n) {
    uint8_t bytes[8];
    for (int64_t i = 0; i < n; i++) {
        xfi_store_le(bytes, (uint64_t)values[i], 8);
        sha256_update(context, sizeof bytes, bytes);
    }
}

static void add_reals(struct sha256_ctx *context, const double *values, int64_t n) {
    uint8_t bytes[8 * NUMBERS];
    for (int64_t first = 0; first < n; first += NUMBERS) {
        int64_t count = n - first < NUMBERS ? n - first : NUMBERS;
        for (int64_t i = 0; i < count; i++)
            xfi_store_le(bytes + 8 * i, xfi_bits_of_double(values[first + i]), 8);
        sha256_update(context, (size_t)(8 * count), bytes);
    }
}

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
    add_integers(&context, sizes, 4);
    add_integers(&context, data->x_offsets, data->n_sequences + 1);
    add_reals(&context, data->x, data->n_tokens * data->d);
    if (data->y != NULL) {
        add_integers(&context, data->y_offsets, data->n_sequences + 1);
        add_reals(&context, data->y, data->n_targets * data->d);
        out->largest_target = largest_norm(data->y, data->n_targets, data->d);
    }
    xfi_sha256_text(out->values_sha256, &context);
}
