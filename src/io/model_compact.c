/* Writing and reading weight arrays without their zeros. */
#include "io/model_compact.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const char VALUES[] = ".values", STEPS[] = ".steps";

int xfi_compact_is_whole(const char *name) {
    return strcmp(name, "ff.eta") == 0 || strcmp(name, "sa.rho") == 0;
}

static int64_t size_of(const xfi_weight_array *array) {
    return array->n_blocks * array->shape[0] * array->shape[1];
}

/* --- writing ------------------------------------------------------------------------------ */

/* Everything but +0: -0 is stored like any other number. */
static int64_t count_stored(const xfi_weight_array *array) {
    int64_t count = 0, size = size_of(array);
    for (int64_t i = -1; (i = xfi_next_weight(array->values, i + 1, size)) < size;)
        count++;
    return count;
}

/* The smallest type that holds all of them. */
static xfi_element step_element(const int64_t *steps, int64_t n) {
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = steps[i] > largest ? steps[i] : largest;
    return largest <= UINT8_MAX    ? XFI_ELEMENT_U8
           : largest <= UINT16_MAX ? XFI_ELEMENT_U16
           : largest <= UINT32_MAX ? XFI_ELEMENT_U32
                                   : XFI_ELEMENT_I64;
}

static void add_tensor(xfi_compact *out, const char *name, const char *suffix, xfi_element element,
                       int64_t count, const void *elements) {
    snprintf(out->names[out->n], sizeof out->names[0], "%s%s", name, suffix);
    out->tensors[out->n] = (xfi_array_out){out->names[out->n], element, 1, {count}, elements};
    out->n++;
}

/* What is stored of one array goes to values, steps; returns how many. */
static int64_t collect(double *values, int64_t *steps, const xfi_weight_array *array) {
    int64_t count = 0, previous = -1, size = size_of(array);
    for (int64_t i = -1; (i = xfi_next_weight(array->values, i + 1, size)) < size;) {
        values[count] = array->values[i];
        steps[count++] = i - previous;
        previous = i;
    }
    return count;
}

/* Larger elements come first, so that every tensor is aligned. */
static void order_by_size(xfi_array_out *tensors, int n) {
    for (int i = 1; i < n; i++) {
        xfi_array_out moved = tensors[i];
        int k = i;
        for (; k > 0 && xfi_element_size(tensors[k - 1].element) < xfi_element_size(moved.element);
             k--)
            tensors[k] = tensors[k - 1];
        tensors[k] = moved;
    }
}

static void add_arrays(xfi_compact *out, const xfi_weight_array *arrays, int n, xfi_element real) {
    double *values = out->values;
    int64_t *steps = out->steps;
    for (int i = 0; i < n; i++) {
        if (xfi_compact_is_whole(arrays[i].name)) {
            add_tensor(out, arrays[i].name, "", real, size_of(&arrays[i]), arrays[i].values);
            continue;
        }
        int64_t count = collect(values, steps, &arrays[i]);
        if (count > 0 || xfi_array_is_optional(&arrays[i])) {
            add_tensor(out, arrays[i].name, VALUES, real, count, values);
            add_tensor(out, arrays[i].name, STEPS, step_element(steps, count), count, steps);
        }
        values += count;
        steps += count;
    }
    order_by_size(out->tensors, out->n);
}

xf_status xfi_compact_make(xfi_compact *out, const xf_model *model, xf_error *error) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(model, arrays);
    int64_t count = 0;
    *out = (xfi_compact){0};
    for (int i = 0; i < n; i++)
        count += xfi_compact_is_whole(arrays[i].name) ? 0 : count_stored(&arrays[i]);
    out->values = xfi_calloc(count, sizeof *out->values);
    out->steps = xfi_calloc(count, sizeof *out->steps);
    if (out->values == NULL || out->steps == NULL) {
        xfi_compact_clear(out);
        return xfi_fail_memory(error);
    }
    add_arrays(out, arrays, n, model->dtype == XF_F32 ? XFI_ELEMENT_F32 : XFI_ELEMENT_F64);
    return XF_OK;
}

void xfi_compact_clear(xfi_compact *compact) {
    xfi_free(compact->values);
    xfi_free(compact->steps);
    *compact = (xfi_compact){0};
}

/* --- reading ------------------------------------------------------------------------------ */

static xf_status find(xfi_array_entry **out, xfi_array_file *file, const char *name,
                      const char *suffix, xf_error *error) {
    char full[40];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    return xfi_array_find(out, file, full, error);
}

xf_status xfi_compact_check(int *present, xfi_array_file *file, const char *name, xf_dtype dtype,
                            xf_error *error) {
    xfi_array_entry *values = NULL, *steps = NULL;
    XFI_TRY(find(&values, file, name, VALUES, error));
    XFI_TRY(find(&steps, file, name, STEPS, error));
    *present = values != NULL;
    if ((values == NULL) != (steps == NULL))
        return xfi_fail(error, XF_ERR_DATA, "of '%s%s' and '%s%s' only one is there", name, VALUES,
                        name, STEPS);
    if (values == NULL)
        return XF_OK;
    if (values->n_dims != 1 || steps->n_dims != 1 || values->count != steps->count)
        return xfi_fail(error, XF_ERR_DATA,
                        "'%s%s' and '%s%s' are not two lists of the same length", name, VALUES,
                        name, STEPS);
    if (values->element != (dtype == XF_F32 ? XFI_ELEMENT_F32 : XFI_ELEMENT_F64))
        return xfi_fail(error, XF_ERR_DATA, "tensor '%s%s' has dtype %s but the config says %s",
                        name, VALUES, values->type_name, dtype == XF_F32 ? "F32" : "F64");
    return xfi_array_require(steps, 1, error);
}

/* Turn steps [n] into places, and check them. */
static xf_status add_up(int64_t *steps, int64_t n, const xfi_weight_array *array, xf_error *error) {
    int64_t place = -1, size = size_of(array);
    for (int64_t i = 0; i < n; i++) {
        if (steps[i] < 1)
            return xfi_fail(error, XF_ERR_DATA,
                            "step %lld of '%s%s' is %lld, but places have to ascend", (long long)i,
                            array->name, STEPS, (long long)steps[i]);
        if (steps[i] >= size - place)
            return xfi_fail(error, XF_ERR_DATA,
                            "step %lld of '%s%s' leads beyond the %lld elements of the array",
                            (long long)i, array->name, STEPS, (long long)size);
        place += steps[i];
        steps[i] = place;
    }
    return XF_OK;
}

xf_status xfi_compact_read(const xfi_weight_array *array, xfi_array_file *file, xf_error *error) {
    xfi_array_entry *values = NULL, *steps = NULL;
    XFI_TRY(find(&values, file, array->name, VALUES, error));
    XFI_TRY(find(&steps, file, array->name, STEPS, error));
    int64_t *places = xfi_calloc(steps->count, sizeof *places);
    if (places == NULL)
        return xfi_fail_memory(error);
    xf_status status = xfi_array_read_integers(places, file, steps, error);
    if (status == XF_OK)
        status = add_up(places, steps->count, array, error);
    if (status == XF_OK)
        status = xfi_array_scatter_doubles(array->values, places, file, values, error);
    xfi_free(places);
    return status;
}

xf_status xfi_compact_check_size(const xfi_weight_array *arrays, int n, int64_t file_bytes,
                                 xf_error *error) {
    static const double MOST_GROWTH = 65536.0;
    double bytes = 0.0;
    for (int i = 0; i < n; i++)
        bytes += 8.0 * (double)arrays[i].n_blocks * (double)arrays[i].shape[0] *
                 (double)arrays[i].shape[1];
    if (bytes <= MOST_GROWTH * (double)file_bytes)
        return XF_OK;
    return xfi_fail(error, XF_ERR_DATA,
                    "its %lld bytes claim to be a model of %.3g GB, which is not plausible",
                    (long long)file_bytes, bytes / 1e9);
}
