/* Preparing data sets: normalising, positions, repeated pairs. */
#include "core/dataset_prepare.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/agreement.h"
#include "core/dataset_check.h"
#include "core/dataset_storage.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void xfi_dataset_note(const xf_dataset_options *options, const char *format, ...) {
    char text[256];
    if (options == NULL || options->note == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    options->note(options->note_context, text);
}

/* -0.0 + 0.0 = +0.0, and adding 0.0 changes no other number. */
static void normalise_zeros(double *values, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        values[i] += 0.0;
}

static int has_negative_zero(const double *values, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (values[i] == 0.0 && signbit(values[i]))
            return 1;
    return 0;
}

/* Tokens in a file that can only be read are copied if there is something to change. */
static xf_status normalise(xf_dataset *data, xf_error *error) {
    int64_t count = data->n_tokens * data->d;
    if (!xfi_tokens_are_read_only(data) || has_negative_zero(data->x, count)) {
        XFI_TRY(xfi_tokens_make_writable(data, error));
        normalise_zeros(data->x, count);
    }
    if (data->y != NULL)
        normalise_zeros(data->y, data->n_targets * data->d);
    return XF_OK;
}

/* ceil(log2 of the longest sequence). */
static int needed_bits(const xf_dataset *data) {
    int64_t longest = 1;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        longest = n > longest ? n : longest;
    }
    int bits = 0;
    while (((int64_t)1 << bits) < longest)
        bits++;
    return bits;
}

/* Copy values [rows][d] to wide [rows][d + 1], with one more coordinate, l * 2^-k. */
static void add_positions(double *wide, const double *values, const int64_t *offsets,
                          int64_t n_sequences, int64_t d, int k) {
    double *row = wide;
    for (int64_t j = 0; j < n_sequences; j++)
        for (int64_t l = 0; l < offsets[j + 1] - offsets[j]; l++, row += d + 1) {
            memcpy(row, values + (offsets[j] + l) * d, (size_t)d * sizeof *row);
            row[d] = ldexp((double)l, -k);
        }
}

static xf_status choose_scale(int *k, const xf_dataset *data, int position_bits, xf_error *error) {
    int needed = needed_bits(data);
    *k = position_bits > 0 ? position_bits - 1 : needed;
    if (position_bits < 0 || *k > 62)
        return xfi_fail(error, XF_ERR_ARGUMENT, "the position scale 2^-%d is out of range", *k);
    if (*k < needed)
        return xfi_fail(error, XF_ERR_DATA,
                        "the positions of these sequences need %d bits, but the model has only %d; "
                        "use sequences of at most %lld tokens",
                        needed, *k, (long long)1 << *k);
    return XF_OK;
}

xf_status xfi_dataset_append_positions(xf_dataset *data, int position_bits, xf_error *error) {
    int k = 0;
    double *y = NULL;
    xf_dataset wide = {0};
    XFI_TRY(choose_scale(&k, data, position_bits, error));
    if (data->y != NULL) {
        y = xfi_calloc2(data->n_targets, data->d + 1, sizeof *y);
        if (y == NULL)
            return xfi_fail_memory(error);
        add_positions(y, data->y, data->y_offsets, data->n_sequences, data->d, k);
    }
    xf_status status = xfi_tokens_new(&wide, data->n_tokens, data->d + 1, 1, error);
    if (status != XF_OK) {
        xfi_free(y);
        return status;
    }
    add_positions(wide.x, data->x, data->x_offsets, data->n_sequences, data->d, k);
    xfi_tokens_free(data);
    xfi_free(data->y);
    data->x = wide.x;
    data->storage = wide.storage;
    data->y = y;
    data->d++;
    data->positions = k;
    return XF_OK;
}

/* Keep the sequences with original[j] == j of one side; returns the rows that remain. */
static int64_t compact(double *values, int64_t *offsets, const int64_t *original,
                       int64_t n_sequences, int64_t d) {
    int64_t rows = 0, kept = 0, first = 0;
    for (int64_t j = 0; j < n_sequences; j++) {
        int64_t next = offsets[j + 1], n = next - first;
        if (original[j] == j && values != NULL) {
            memmove(values + rows * d, values + first * d, (size_t)(n * d) * sizeof *values);
            rows += n;
            offsets[++kept] = rows;
        }
        first = next;
    }
    return rows;
}

enum { MOST_NOTES = 5 };

static int64_t count_repeats(const int64_t *original, int64_t n,
                             const xf_dataset_options *options) {
    int64_t repeats = 0;
    for (int64_t j = 0; j < n; j++)
        if (original[j] != j && ++repeats <= MOST_NOTES)
            xfi_dataset_note(options, "sequence %lld repeats sequence %lld and is dropped",
                             (long long)j, (long long)original[j]);
    if (repeats > MOST_NOTES)
        xfi_dataset_note(options, "%lld more repeated sequences are dropped",
                         (long long)(repeats - MOST_NOTES));
    return repeats;
}

static xf_status drop_repeats(xf_dataset *data, const int64_t *original,
                              const xf_dataset_options *options, xf_error *error) {
    int64_t n = data->n_sequences, repeats = count_repeats(original, n, options);
    if (repeats == 0 || data->y == NULL)
        return XF_OK;
    XFI_TRY(xfi_tokens_make_writable(data, error));
    data->n_tokens = compact(data->x, data->x_offsets, original, n, data->d);
    data->n_targets = compact(data->y, data->y_offsets, original, n, data->d);
    data->n_sequences -= repeats;
    return XF_OK;
}

static xf_status check_and_drop(xf_dataset *data, const xf_dataset_options *options,
                                xf_error *error) {
    int64_t *original = xfi_calloc(data->n_sequences, sizeof *original);
    if (original == NULL)
        return xfi_fail_memory(error);
    xf_status status =
        xfi_dataset_check_sets(original, data, 1, options->peers, options->threads, error);
    if (status == XF_OK)
        status = drop_repeats(data, original, options, error);
    xfi_free(original);
    return status;
}

static xf_status agree(const xf_dataset *data, const xf_dataset_options *options, xf_error *error) {
    const int64_t choices[] = {options->append_positions != 0,
                               options->append_positions ? options->position_bits : 0};
    XFI_TRY(xfi_agree_dataset(options->peers, data, error));
    return xfi_agree(options->peers, "position options", xfi_digest(0, choices, sizeof choices),
                     error);
}

xf_status xfi_dataset_prepare(xf_dataset *data, const xf_dataset_options *options,
                              xf_error *error) {
    static const xf_dataset_options defaults = {0};
    options = options != NULL ? options : &defaults;
    XFI_TRY(xfi_dataset_check_sizes(data, error));
    XFI_TRY(agree(data, options, error));
    XFI_TRY(normalise(data, error));
    XFI_TRY(xfi_dataset_check_finite(data, options->peers, options->threads, error));
    if (options->append_positions)
        XFI_TRY(xfi_dataset_append_positions(data, options->position_bits, error));
    return check_and_drop(data, options, error);
}
