/* Whole models from their parts. */
#include "construct/assemble.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/neuron.h"
#include "construct/writer_sorted.h"
#include "core/model_shape.h"

#include <string.h>

static void copy_front(xf_model *out, const xf_model *front) {
    xfi_weight_array to[XFI_N_WEIGHT_ARRAYS], from[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(front, from);
    xfi_model_arrays(out, to);
    for (int i = 0; i < n; i++) {
        int64_t size = from[i].n_blocks * from[i].shape[0] * from[i].shape[1];
        memcpy(to[i].values, from[i].values, (size_t)size * sizeof(double));
    }
}

/* A model of front, n_write writer blocks and, for scaled targets, a last block x 2^e. */
static xf_status begin(xf_model *out, const xfi_certificate *front, int64_t n_write,
                       const xfi_problem *problem, xf_error *error) {
    int64_t n_front = front->blocks.n_blocks, scale = problem->y_exponent != 0;
    XFI_TRY(xf_model_new(out, n_front + n_write + scale, problem->data->d, XFI_WIDTH, error));
    copy_front(out, &front->blocks);
    if (scale)
        out->ff_eta[n_front + n_write] = ldexp(1.0, problem->y_exponent);
    return XF_OK;
}

/* Those of the front end, then the writer's. */
static xf_status add_phases(xf_model *model, const xf_model *front, int64_t n_code, int64_t n_write,
                            int64_t n_scale, xf_error *error) {
    for (int64_t i = 0; i < front->n_phases; i++)
        XFI_TRY(xfi_model_add_phase(model, front->phases[i].name, front->phases[i].count, error));
    XFI_TRY(xfi_model_add_phase(model, "code", n_code, error));
    XFI_TRY(xfi_model_add_phase(model, "write", n_write, error));
    return xfi_model_add_phase(model, "scale", n_scale, error);
}

xf_status xfi_assemble_grid(xf_model *out, const xfi_certificate *front, const xfi_lanes *lanes,
                            const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    xfi_written written = {.y = problem->y, .d = problem->data->d, .axes = axes};
    int64_t n_front = front->blocks.n_blocks;
    XFI_TRY(begin(out, front, lanes->n_steps, problem, error));
    xfi_lanes_emit(lanes, &written, out, n_front);
    xf_status status =
        add_phases(out, &front->blocks, 0, lanes->n_steps, problem->y_exponent != 0, error);
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

/* Targets whose code is written in the very last block of the first pass. */
static void mark_late(char *late, const xfi_lanes *lanes) {
    for (int s = 0; s < 2; s++) {
        const xfi_lane *lane = &lanes->side[s];
        if (lane->n_steps == lanes->n_steps && lane->n_steps > 0)
            late[lane->items[lane->steps[lane->n_steps - 1].write].target] = 1;
    }
}

static xf_status emit_sorted(xf_model *out, const xfi_certificate *front, const xfi_lanes *lanes,
                             const xfi_slots *slots, const double *code, const xfi_problem *problem,
                             xfi_axes axes, xf_error *error) {
    int64_t n_front = front->blocks.n_blocks;
    int64_t first = n_front + lanes->n_steps - slots->merges;
    int64_t n_write = slots->n_slots + 1;
    XFI_TRY(begin(out, front, first + n_write - n_front, problem, error));
    xfi_written written = {.code = code, .d = problem->data->d, .axes = axes};
    xfi_lanes_emit(lanes, &written, out, n_front);
    xfi_sorted_emit(slots, problem, axes, out, first);
    xf_status status =
        add_phases(out, &front->blocks, first - n_front, n_write, problem->y_exponent != 0, error);
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

xf_status xfi_assemble_sorted(xf_model *out, const xfi_certificate *front, const xfi_lanes *lanes,
                              const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    int64_t n = problem->data->n_targets;
    char *late = xfi_calloc(n, 1);
    double *code = xfi_calloc(n, sizeof(double));
    xfi_slots slots = {0};
    xf_status status = late && code ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK) {
        mark_late(late, lanes);
        status = xfi_slots_make(&slots, problem, axes, late, error);
    }
    for (int64_t g = 0; status == XF_OK && g < n; g++)
        code[g] = slots.place[g].code;
    if (status == XF_OK)
        status = emit_sorted(out, front, lanes, &slots, code, problem, axes, error);
    xfi_slots_clear(&slots);
    xfi_free(late);
    xfi_free(code);
    return status;
}

xf_status xfi_assemble_constant(xf_model *out, const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    XFI_TRY(xf_model_new(out, 1, data->d, XFI_WIDTH, error));
    out->ff_eta[0] = 0.0;
    int neuron = xfi_neuron_free(out, 0);
    out->ff_b[neuron] = 1.0;
    for (int64_t k = 0; k < data->d; k++)
        xfi_neuron_out(out, 0, neuron, (int)k, data->y[k]);
    xf_status status = xfi_model_add_phase(out, "constant", 1, error);
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}
