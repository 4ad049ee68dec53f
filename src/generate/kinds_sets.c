/* Kinds whose sequences hang together: shared vocabularies, nested, mirrored and
 * balanced sets. */
#include "generate/generator.h"

#include "base/error.h"

static void copy_token(double *out, const double *from, int64_t d, double factor) {
    for (int64_t c = 0; c < d; c++)
        out[c] = factor * from[c];
}

xf_status xfi_sizes_vocabulary(xfi_generator *generator, const xf_generate_options *given,
                               xf_error *error) {
    xf_generate_options *o = &generator->options;
    if (given->vocabulary == 0)
        o->vocabulary = o->n_max < 32 ? 64 : 2 * o->n_max;
    if (o->vocabulary < o->n_max)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "a vocabulary of %lld tokens cannot fill sequences of %lld distinct ones",
                        (long long)o->vocabulary, (long long)o->n_max);
    return XF_OK;
}

void xfi_input_vocabulary(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    int64_t pick = xfi_rng_below(&generator->input_rng, generator->options.vocabulary);
    copy_token(out + i * d, generator->vocabulary + pick * d, d, 1.0);
}

/* v choose k, at most `limit`. */
static int64_t choose(int64_t v, int64_t k, int64_t limit) {
    int64_t count = 1;
    for (int64_t i = 1; i <= k; i++) {
        int64_t product = 0;
        if (__builtin_mul_overflow(count, v - k + i, &product))
            return limit;
        count = product / i;
        if (count >= limit)
            return limit;
    }
    return v < k ? 0 : count;
}

/* The vocabulary decides the number of sequences and the other way round. */
xf_status xfi_sizes_subsets(xfi_generator *generator, const xf_generate_options *given,
                            xf_error *error) {
    enum { MANY = INT32_MAX };
    xf_generate_options *o = &generator->options;
    int64_t k = o->n_min;
    if (o->n_min != o->n_max || k > 32)
        return xfi_fail(error, XF_ERR_ARGUMENT, "kind '%s' needs one size of at most 32 tokens",
                        generator->kind->name);
    if (given->vocabulary == 0)
        for (o->vocabulary = k; choose(o->vocabulary, k, MANY) < o->n_sequences;)
            o->vocabulary++;
    else if (given->n_sequences == 0)
        o->n_sequences = choose(o->vocabulary, k, MANY);
    if (o->n_sequences < 1 || choose(o->vocabulary, k, MANY) < o->n_sequences)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "%lld tokens have fewer than %lld different subsets of %lld",
                        (long long)o->vocabulary, (long long)o->n_sequences, (long long)k);
    return XF_OK;
}

/* Element i (from the largest, i = 0) of the j-th k-subset in colexicographic order. */
static int64_t subset_element(int64_t j, int64_t i, int64_t k, int64_t v) {
    for (int64_t step = 0;; step++, k--) {
        while (choose(v, k, INT64_MAX) > j)
            v--;
        if (step == i)
            return v;
        j -= choose(v, k, INT64_MAX);
    }
}

void xfi_input_subsets(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    const xf_generate_options *o = &generator->options;
    int64_t pick = subset_element(j, i, o->n_max, o->vocabulary - 1);
    copy_token(out + i * o->d, generator->vocabulary + pick * o->d, o->d, 1.0);
}

/* Without a largest size there is one chain. */
xf_status xfi_sizes_nested(xfi_generator *generator, const xf_generate_options *given,
                           xf_error *error) {
    (void)error;
    xf_generate_options *o = &generator->options;
    if (given->n_max == 0)
        o->n_max = o->n_min + o->n_sequences - 1;
    return XF_OK;
}

static int64_t chain_length(const xfi_generator *generator) {
    return generator->options.n_max - generator->options.n_min + 1;
}

int64_t xfi_size_nested(xfi_generator *generator, int64_t j) {
    return generator->options.n_min + j % chain_length(generator);
}

/* The sequence before, and one token more; or the start of a new chain. */
void xfi_input_nested(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    int64_t d = generator->options.d;
    int64_t inherited = j % chain_length(generator) ? xfi_size_nested(generator, j) - 1 : 0;
    if (i < inherited)
        copy_token(out + i * d, out + (i - inherited) * d, d, 1.0);
    else
        xfi_input_gaussian(generator, j, i, out);
}

int64_t xfi_size_mirrored(xfi_generator *generator, int64_t j) {
    const xf_generate_options *o = &generator->options;
    if (j % 2)
        return generator->data->x_offsets[j] - generator->data->x_offsets[j - 1];
    return o->n_min + xfi_rng_below(&generator->size_rng, o->n_max - o->n_min + 1);
}

/* Odd sequences mirror the one before. More than half the tokens of an even one lie in
 * x_0 > 0, so that no set is its own mirror image or that of another. */
void xfi_input_mirrored(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    int64_t d = generator->options.d;
    const int64_t *offsets = generator->data->x_offsets;
    int64_t n = offsets[j + 1] - offsets[j];
    double *token = out + i * d;
    if (j % 2) {
        copy_token(token, token - n * d, d, -1.0);
        return;
    }
    xfi_input_gaussian(generator, j, i, out);
    if (i > n / 2)
        return;
    double floor = generator->options.input_grid == XF_GRID_INTEGER ? 1.0 : 0x1p-20;
    token[0] = (token[0] < 0 ? -token[0] : token[0]) + floor;
}

xf_status xfi_sizes_equal_means(xfi_generator *generator, const xf_generate_options *given,
                                xf_error *error) {
    (void)given;
    xf_generate_options *o = &generator->options;
    if (o->n_min < 2)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "kind 'equal-means' needs at least 2 tokens a sequence, got %lld",
                        (long long)o->n_min);
    generator->reach = 4 * o->n_sequences + 4 * o->n_max;
    return XF_OK;
}

/* Pairs k v, -k v with integers, so that every mean is exactly 0; an odd one out is the
 * zero token. The few directions v are functions of their number. */
void xfi_input_equal_means(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    int64_t d = generator->options.d;
    const int64_t *offsets = generator->data->x_offsets;
    double *token = out + i * d;
    if (i % 2) {
        copy_token(token, token - d, d, -1.0);
        return;
    }
    int is_last = i == offsets[j + 1] - offsets[j] - 1;
    double k = is_last ? 0.0 : (double)(1 + xfi_rng_below(&generator->input_rng, generator->reach));
    xfi_rng direction;
    xfi_rng_seed(&direction, generator->options.seed,
                 1000 + (uint64_t)xfi_rng_below(&generator->input_rng, 8));
    for (int64_t c = 0; c < d; c++)
        token[c] = k * (double)(xfi_rng_below(&direction, 8) - (c ? 4 : -1));
}
