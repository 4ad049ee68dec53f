/* Models around writers of cells. */
#include "construct/cell_frame.h"

#include "base/error.h"
#include "construct/reading.h"
#include "core/model_shape.h"

static int64_t count_blocks(const xfi_frame *frame) {
    int64_t n = 0;
    for (int i = 0; i < 4; i++)
        n += frame->parts[i].count;
    return n;
}

static xf_status add_phases(xf_model *model, const xfi_frame *frame, const xfi_front *front,
                            int64_t n_end, xf_error *error) {
    xf_status status = xfi_front_add_phases(model, front, error);
    for (int i = 0; i < 4 && status == XF_OK; i++)
        status = xfi_model_add_phase(model, frame->parts[i].name, frame->parts[i].count, error);
    return status == XF_OK ? xfi_model_add_phase(model, "scale", n_end, error) : status;
}

xf_status xfi_frame_make(xf_model *out, int64_t *first, const xfi_frame *frame,
                         const xfi_cells *cells, const xfi_problem *problem, xf_error *error) {
    xfi_front front = frame->scaled ? xfi_scaled_front(cells) : cells->front;
    int64_t n_front = xfi_front_blocks(&front), n_end = frame->extra + (problem->y_exponent != 0);
    *first = n_front;
    XFI_TRY(xf_model_new(out, n_front + count_blocks(frame) + n_end, problem->data->d, XFI_WIDTH,
                         error));
    out->dtype = problem->options->dtype;
    xfi_front_emit(&front, &problem->format, frame->axes, out);
    if (problem->y_exponent != 0)
        out->ff_eta[out->n_blocks - 1] = ldexp(1.0, problem->y_exponent);
    xf_status status = add_phases(out, frame, &front, n_end, error);
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

int xfi_frame_holds(const xf_model *model) {
    xfi_format format = xfi_format_of(model->dtype);
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(model, arrays);
    for (int a = 0; a < n; a++) {
        int64_t count = arrays[a].n_blocks * arrays[a].shape[0] * arrays[a].shape[1];
        for (int64_t i = 0; i < count; i++)
            if (!xfi_representable(&format, arrays[a].values[i]))
                return 0;
    }
    return 1;
}

double xfi_frame_end_cost(const xfi_problem *problem) {
    return problem->y_exponent != 0 ? 1.0 + ldexp(1.0, 2 * problem->y_exponent) : 0.0;
}
