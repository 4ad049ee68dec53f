/* Front end, quantiser, diamond. */
#include "construct/assemble_cells.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/quantiser.h"
#include "construct/writer_sorted.h"
#include "core/model_shape.h"

/* Room for everything; front end and quantiser written, phases named up to n_code and
 * n_write. *n_before gets the number of blocks written. */
static xf_status begin(xf_model *out, const xfi_cells *cells, const xfi_problem *problem,
                       xfi_axes axes, int64_t n_code, int64_t n_write, int64_t *n_before,
                       xf_error *error) {
    int64_t n_front = xfi_front_blocks(&cells->front), n_scale = problem->y_exponent != 0;
    *n_before = n_front + cells->b;
    XFI_TRY(xf_model_new(out, *n_before + 1 + n_code + n_write + n_scale, problem->data->d,
                         XFI_WIDTH, error));
    xfi_front_emit(&cells->front, &problem->format, axes, out);
    xfi_quantiser_emit(out, n_front, cells->b, cells->k0, axes);
    if (n_scale)
        out->ff_eta[out->n_blocks - 1] = ldexp(1.0, problem->y_exponent);
    const struct {
        const char *name;
        int64_t count;
    } phases[] = {{"fold", n_front - 1}, {"pooling", 1},     {"quantise", cells->b}, {"route", 1},
                  {"code", n_code},      {"write", n_write}, {"scale", n_scale}};
    xf_status status = XF_OK;
    for (size_t i = 0; i < sizeof phases / sizeof *phases && status == XF_OK; i++)
        status = xfi_model_add_phase(out, phases[i].name, phases[i].count, error);
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

xf_status xfi_assemble_diamond(xf_model *out, int *feasible, const xfi_cells *cells,
                               const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    xfi_written written = {.y = problem->y, .d = problem->data->d, .axes = axes};
    xfi_diamond diamond;
    XFI_TRY(xfi_diamond_plan(&diamond, feasible, cells, &written, &problem->format, error));
    if (!*feasible)
        return XF_OK;
    int64_t before = 0;
    xf_status status = begin(out, cells, problem, axes, 0, diamond.n_steps, &before, error);
    if (status == XF_OK)
        xfi_diamond_emit(&diamond, cells, &written, out, before);
    xfi_diamond_clear(&diamond);
    return status;
}

/* Slots do not overlap with the diamond, so no group is late. */
static xf_status make_slots(xfi_slots *slots, double **code, const xfi_problem *problem,
                            xfi_axes axes, xf_error *error) {
    int64_t n = problem->data->n_targets;
    char *late = xfi_calloc(n, 1);
    *code = xfi_calloc(n, sizeof(double));
    xf_status status = late && *code ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_slots_make(slots, problem, axes, late, error);
    for (int64_t g = 0; status == XF_OK && g < n; g++)
        (*code)[g] = slots->place[g].code;
    xfi_free(late);
    return status;
}

static xf_status emit_sorted(xf_model *out, int *feasible, const xfi_cells *cells,
                             const xfi_slots *slots, const double *code, const xfi_problem *problem,
                             xfi_axes axes, xf_error *error) {
    xfi_written written = {.code = code, .d = problem->data->d, .axes = axes};
    xfi_diamond diamond;
    XFI_TRY(xfi_diamond_plan(&diamond, feasible, cells, &written, &problem->format, error));
    if (!*feasible)
        return XF_OK;
    int64_t before = 0;
    xf_status status =
        begin(out, cells, problem, axes, diamond.n_steps, slots->n_slots + 1, &before, error);
    if (status == XF_OK) {
        xfi_diamond_emit(&diamond, cells, &written, out, before);
        xfi_sorted_emit(slots, problem, axes, out, before + 1 + diamond.n_steps);
    }
    xfi_diamond_clear(&diamond);
    return status;
}

xf_status xfi_assemble_diamond_sorted(xf_model *out, int *feasible, const xfi_cells *cells,
                                      const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    xfi_slots slots = {0};
    double *code = NULL;
    *feasible = 0;
    xf_status status = make_slots(&slots, &code, problem, axes, error);
    if (status == XF_OK)
        status = emit_sorted(out, feasible, cells, &slots, code, problem, axes, error);
    xfi_slots_clear(&slots);
    xfi_free(code);
    return status;
}
