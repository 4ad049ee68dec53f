/* Agreement by hashes: 53 bits of them are a number, and all are equal if the least and the
 * largest are. */
#include "core/agreement.h"

#include "base/bytes.h"
#include "base/error.h"
#include "core/model_shape.h"
#include "core/share.h"

#include <string.h>

static int is_alone(const xf_peers *peers) {
    return peers == NULL || peers->size == 1;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

uint64_t xfi_digest(uint64_t hash, const void *values, size_t bytes) {
    const unsigned char *at = values;
    uint64_t word = 0;
    hash = mix(hash, bytes);
    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    if (bytes > 0)
        memcpy(&word, at, bytes);
    return mix(hash, word);
}

uint64_t xfi_digest_text(uint64_t hash, const char *text) {
    return text == NULL ? mix(hash, 1) : xfi_digest(mix(hash, 2), text, strlen(text));
}

static double number_of(uint64_t hash) {
    return (double)(hash >> 11);
}

xf_status xfi_agree(const xf_peers *peers, const char *what, uint64_t hash, xf_error *error) {
    if (is_alone(peers))
        return XF_OK;
    double question = number_of(xfi_digest_text(0, what)), answer = number_of(hash);
    double range[] = {question, -question, answer, -answer};
    XFI_TRY(xfi_share_least(peers, range, 4, error));
    if (range[0] != -range[1])
        what = "commands";
    else if (range[2] == -range[3])
        return XF_OK;
    return xfi_fail(error, XF_ERR_ARGUMENT,
                    "the processes were given different %s; give all of them the same", what);
}

static uint64_t digest_doubles(uint64_t hash, const double *values, int64_t n) {
    return xfi_digest(hash, values, (size_t)n * sizeof *values);
}

static uint64_t digest_offsets(uint64_t hash, const int64_t *offsets, int64_t n_sequences) {
    return xfi_digest(hash, offsets, (size_t)(n_sequences + 1) * sizeof *offsets);
}

/* Tokens at equal distances, so many in every process's part. */
static uint64_t digest_tokens(uint64_t hash, const xf_dataset *data, const xf_peers *peers) {
    enum { TOKENS = 8 };
    int64_t n = (int64_t)TOKENS * peers->size;
    n = n < data->n_tokens ? n : data->n_tokens;
    int64_t whole = data->n_tokens / n, rest = data->n_tokens % n;
    for (int64_t i = 0; i < n; i++)
        hash = digest_doubles(hash, data->x + (whole * i + rest * i / n) * data->d, data->d);
    return digest_doubles(hash, data->x + (data->n_tokens - 1) * data->d, data->d);
}

xf_status xfi_agree_dataset(const xf_peers *peers, const xf_dataset *data, xf_error *error) {
    if (is_alone(peers))
        return XF_OK;
    const int64_t sizes[] = {data->n_sequences, data->d, data->n_tokens, data->n_targets,
                             data->y != NULL};
    uint64_t hash = xfi_digest(0, sizes, sizeof sizes);
    hash = digest_offsets(hash, data->x_offsets, data->n_sequences);
    hash = digest_tokens(hash, data, peers);
    if (data->y != NULL) {
        hash = digest_offsets(hash, data->y_offsets, data->n_sequences);
        hash = digest_doubles(hash, data->y, data->n_targets * data->d);
    }
    return xfi_agree(peers, "data sets", hash, error);
}

/* Places and values of all that is not +0. */
static uint64_t digest_weights(uint64_t hash, const xfi_weight_array *array) {
    int64_t n = array->n_blocks * array->shape[0] * array->shape[1];
    for (int64_t i = -1; (i = xfi_next_weight(array->values, i + 1, n)) < n;)
        hash = mix(mix(hash, (uint64_t)i), xfi_bits_of_double(array->values[i]));
    return mix(hash, (uint64_t)n);
}

static uint64_t digest_model(const xf_model *model) {
    const int64_t sizes[] = {model->n_blocks,        model->d,         model->width,
                             (int64_t)model->dtype,  model->attention, (int64_t)model->order,
                             (int64_t)model->causal, model->positions};
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    uint64_t hash = xfi_digest(0, sizes, sizeof sizes);
    hash = digest_doubles(hash, &model->tau, 1);
    int n = xfi_model_arrays(model, arrays);
    for (int a = 0; a < n; a++) {
        hash = xfi_digest_text(hash, arrays[a].name);
        hash = digest_weights(hash, &arrays[a]);
    }
    return hash;
}

xf_status xfi_agree_model(const xf_peers *peers, const xf_model *model, xf_error *error) {
    return is_alone(peers) ? XF_OK : xfi_agree(peers, "models", digest_model(model), error);
}
