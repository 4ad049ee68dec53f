/* Data sets out of named arrays (.npz and .safetensors), ragged or rectangular. */
#include "io/dataset_io.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "core/dataset_prepare.h"
#include "core/dataset_storage.h"

#include <string.h>

/* One side of the data set: x with x_offsets, or y with y_offsets. */
typedef struct side {
    const char *name;
    const char *offsets_name;
    xfi_array_entry *values_entry;
    xfi_array_entry *offsets_entry; /* NULL for rectangular arrays */
    int64_t n_sequences;
    int64_t tokens; /* of every sequence, if rectangular */
    int64_t rows;
    int64_t d;
    double *values;   /* [rows][d] */
    int64_t *offsets; /* [n_sequences + 1] */
} side;

static xf_status fail_dims(xf_error *error, const side *s, const char *wanted) {
    return xfi_fail(error, XF_ERR_DATA, "array '%s' has %d dimensions; %s", s->name,
                    s->values_entry->n_dims, wanted);
}

/* With offsets: values [rows, d]. */
static xf_status ragged_sizes(side *s, xf_error *error) {
    const xfi_array_entry *values = s->values_entry, *offsets = s->offsets_entry;
    if (values->n_dims != 2)
        return fail_dims(error, s, "with offsets it must have two, [rows, d]");
    if (offsets->n_dims != 1 || offsets->count < 2)
        return xfi_fail(error, XF_ERR_DATA,
                        "array '%s' must have one dimension and at least two elements, one more "
                        "than there are sequences",
                        s->offsets_name);
    s->n_sequences = offsets->count - 1;
    s->rows = values->shape[0];
    s->d = values->shape[1];
    return XF_OK;
}

/* Without offsets: [N, n, d], or [N, d] for targets. */
static xf_status rectangular_sizes(side *s, int is_target, xf_error *error) {
    const xfi_array_entry *values = s->values_entry;
    int n_dims = values->n_dims;
    if (n_dims != 3 && !(is_target && n_dims == 2)) {
        const char *wanted = is_target ? "without y_offsets it must be [N, m, d], or [N, d]"
                                       : "without x_offsets it must be [N, n, d]";
        return fail_dims(error, s, wanted);
    }
    s->tokens = n_dims == 3 ? values->shape[1] : 1;
    s->n_sequences = values->shape[0];
    s->d = values->shape[n_dims - 1];
    s->rows = 0;
    if (s->tokens < 1 && s->n_sequences > 0)
        return xfi_fail_at(error, XF_ERR_DATA, 0, -1,
                           "array '%s' gives every sequence 0 tokens; at least one is needed",
                           s->name);
    return __builtin_mul_overflow(s->n_sequences, s->tokens, &s->rows)
               ? xfi_fail(error, XF_ERR_DATA, "the shape of array '%s' overflows", s->name)
               : XF_OK;
}

static xf_status find_side(side *s, xfi_array_file *file, int is_target, xf_error *error) {
    XFI_TRY(xfi_array_find(&s->values_entry, file, s->name, error));
    if (s->values_entry == NULL)
        return xfi_fail(error, XF_ERR_DATA, "there is no array '%s'%s", s->name,
                        is_target ? " with the targets" : "");
    XFI_TRY(xfi_array_require(s->values_entry, 0, error));
    XFI_TRY(xfi_array_find(&s->offsets_entry, file, s->offsets_name, error));
    if (s->offsets_entry != NULL)
        XFI_TRY(xfi_array_require(s->offsets_entry, 1, error));
    XFI_TRY(s->offsets_entry != NULL ? ragged_sizes(s, error)
                                     : rectangular_sizes(s, is_target, error));
    if (s->n_sequences < 1)
        return xfi_fail(error, XF_ERR_DATA, "a data set needs at least one sequence");
    if (s->d < 1)
        return xfi_fail(error, XF_ERR_DATA, "array '%s': tokens need at least one coordinate",
                        s->name);
    return XF_OK;
}

static xf_status read_side_offsets(side *s, xfi_array_file *file, xf_error *error) {
    s->offsets = xfi_calloc(s->n_sequences + 1, sizeof *s->offsets);
    if (s->offsets == NULL)
        return xfi_fail_memory(error);
    if (s->offsets_entry == NULL) {
        for (int64_t j = 0; j <= s->n_sequences; j++)
            s->offsets[j] = j * s->tokens;
        return XF_OK;
    }
    XFI_TRY(xfi_array_read_integers(s->offsets, file, s->offsets_entry, error));
    return xfi_offsets_check(s->offsets_name, s->offsets, s->n_sequences, s->rows, error);
}

/* Say where the integer stands that binary64 cannot hold. */
static xf_status fail_inexact(xf_error *error, const side *s, int64_t bad) {
    int64_t row = bad / s->d, j = 0;
    while (s->offsets[j + 1] <= row)
        j++;
    return xfi_fail_at(error, XF_ERR_DATA, j, row - s->offsets[j],
                       "array '%s', sequence %lld, token %lld, coordinate %lld: the integer is not "
                       "exact in binary64; scale it, or store floats",
                       s->name, (long long)j, (long long)(row - s->offsets[j]),
                       (long long)(bad % s->d));
}

static xf_status read_values(side *s, xfi_array_file *file, xf_error *error) {
    int64_t bad = -1;
    xf_status status = xfi_array_read_doubles(s->values, file, s->values_entry, &bad, error);
    return bad >= 0 ? fail_inexact(error, s, bad) : status;
}

/* Does the file itself serve as the memory for the tokens? */
static int is_mappable(int *descriptor, int64_t *offset, const side *x, const xfi_array_file *file,
                       int n_processes) {
    int64_t bytes = x->values_entry->count * (int64_t)sizeof(double);
    return xfi_array_locate(descriptor, offset, file, x->values_entry) &&
           xfi_memory_is_scarce(bytes, n_processes);
}

/* Tokens, to out->x. */
static xf_status read_inputs(side *x, xf_dataset *out, xfi_array_file *file,
                             const xf_dataset_options *options, xf_error *error) {
    const xf_peers *peers = options != NULL ? options->peers : NULL;
    int n_processes = peers != NULL ? peers->size : 1, descriptor = -1;
    int64_t offset = 0;
    XFI_TRY(find_side(x, file, 0, error));
    XFI_TRY(read_side_offsets(x, file, error));
    if (is_mappable(&descriptor, &offset, x, file, n_processes))
        return xfi_tokens_map(out, descriptor, offset, x->rows * x->d, error);
    XFI_TRY(xfi_tokens_new(out, x->rows, x->d, n_processes, error));
    x->values = out->x;
    return read_values(x, file, error);
}

/* Targets, to y->values, which is to be freed. */
static xf_status read_targets(side *y, xfi_array_file *file, xf_error *error) {
    XFI_TRY(find_side(y, file, 1, error));
    XFI_TRY(read_side_offsets(y, file, error));
    y->values = xfi_calloc2(y->rows, y->d, sizeof *y->values);
    return y->values != NULL ? read_values(y, file, error) : xfi_fail_memory(error);
}

static xf_status check_match(const side *x, const side *y, xf_error *error) {
    if (x->d != y->d)
        return xfi_fail(error, XF_ERR_DATA, "input tokens have %lld coordinates but targets %lld",
                        (long long)x->d, (long long)y->d);
    if (x->n_sequences != y->n_sequences)
        return xfi_fail(error, XF_ERR_DATA, "there are %lld inputs but %lld target sequences",
                        (long long)x->n_sequences, (long long)y->n_sequences);
    return XF_OK;
}

enum { MOST_NOTES = 5 };

static void note_unknown(const xfi_array_file *file, const xf_dataset_options *options) {
    static const char *const known[] = {"x", "x_offsets", "y", "y_offsets"};
    int64_t unknown = 0;
    for (int64_t i = 0; i < file->n_entries; i++) {
        int is_known = 0;
        char name[80];
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            is_known = is_known || strcmp(file->entries[i].name, known[k]) == 0;
        if (!is_known && ++unknown <= MOST_NOTES)
            xfi_dataset_note(options, "unknown array '%s' is ignored",
                             xfi_printable(name, sizeof name, file->entries[i].name));
    }
    if (unknown > MOST_NOTES)
        xfi_dataset_note(options, "%lld more unknown arrays are ignored",
                         (long long)(unknown - MOST_NOTES));
}

xf_status xfi_dataset_from_file(xf_dataset *out, xfi_array_file *file,
                                const xf_dataset_options *options, xf_error *error) {
    int with_targets = !(options != NULL && options->inputs_only);
    side x = {.name = "x", .offsets_name = "x_offsets"};
    side y = {.name = "y", .offsets_name = "y_offsets"};
    xf_status status = read_inputs(&x, out, file, options, error);
    if (status == XF_OK && with_targets)
        status = read_targets(&y, file, error);
    if (status == XF_OK && with_targets)
        status = check_match(&x, &y, error);
    if (status != XF_OK) {
        xfi_tokens_free(out);
        xfi_free(x.offsets);
        xfi_free(y.values);
        xfi_free(y.offsets);
        return status;
    }
    *out = (xf_dataset){x.n_sequences, x.d,       x.rows,   y.rows,    -1,
                        out->x,        x.offsets, y.values, y.offsets, out->storage};
    note_unknown(file, options);
    return XF_OK;
}
