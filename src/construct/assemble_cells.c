/* Front end, bits, writer. */
#include "construct/assemble_cells.h"

#include "base/error.h"
#include "construct/balance.h"
#include "construct/cell_frame.h"
#include "construct/cube.h"
#include "construct/cube_off.h"
#include "construct/diamond_writer.h"
#include "construct/offgrid.h"

#include <stddef.h>

/* Blocks besides front end, writer and its extra ones. */
static int64_t frame_blocks(const xfi_assembly *job) {
    return xfi_front_blocks(&job->cells->front) + (job->problem->y_exponent != 0);
}

/* How many blocks the writer may have, bits included. */
static int64_t writer_room(const xfi_assembly *job) {
    int64_t most = job->options.max_blocks;
    return most > 0 ? most - frame_blocks(job) : INT64_MAX / 2;
}

/* Can the targets be held at 2^-r of their scale, and the gates with them, without a thought for
 * the ends of the exponent range? Only then are the scaled forms planned. */
static int is_moderate(const xfi_problem *problem) {
    enum { AWAY = 20 }; /* more than any r */
    const xfi_format *format = &problem->format;
    int64_t n = problem->data->n_targets * problem->data->d;
    for (int64_t i = 0; i < n; i++) {
        double y = problem->y[i];
        if (y != 0.0 &&
            (xfi_exponent(y) < format->emin + AWAY || xfi_exponent(y) > format->emax - 2 * AWAY ||
             xfi_lowest_bit(y) < format->emin - format->p + 1 + AWAY))
            return 0;
    }
    return 1;
}

static int wants_small_norm(const xfi_assembly *job) {
    return job->options.small_norm && is_moderate(job->problem);
}

static xfi_frame_part corner_part(const xfi_corners *corners) {
    return (xfi_frame_part){corners->shape.split ? "quantise-split" : "quantise",
                            xfi_corners_blocks(corners)};
}

/* A model that was not finished, or one with a weight beyond the format, is dropped. */
static void keep_if(int ok, xf_model *out, int *feasible) {
    *feasible = ok && xfi_frame_holds(out);
    if (!*feasible)
        xf_model_clear(out);
}

/* Cube and cubeoff with the reading at hand, or the diamonds with it or NULL: each plans,
 * forecasts, builds. */

static xf_status make_cube(xf_model *out, xfi_forecast *forecast, int *feasible,
                           const xfi_assembly *job, const xfi_corner_shape *shape,
                           const xfi_reading *reading, xf_error *error) {
    xfi_cube cube;
    XFI_TRY(xfi_cube_plan(&cube, feasible, job->cells, job->problem, shape, error));
    if (!*feasible)
        return XF_OK;
    const xfi_corners *corners = &cube.corners;
    xfi_frame frame = {.axes = {corners->line, corners->coordinate[0]},
                       .scaled = 1,
                       .parts = {corner_part(corners), {"write", cube.n_blocks - shape->extra}},
                       .extra = shape->extra};
    forecast->blocks = frame_blocks(job) + xfi_corners_blocks(corners) + cube.n_blocks;
    forecast->norm = reading->front_norm + xfi_cube_cost(&cube, reading->ramp) +
                     xfi_frame_end_cost(job->problem);
    int64_t first = 0;
    xf_status status = XF_OK;
    if (out != NULL)
        status = xfi_frame_make(out, &first, &frame, job->cells, job->problem, error);
    if (out != NULL && status == XF_OK)
        keep_if(xfi_cube_emit(&cube, job->cells, reading->ramp, out, first), out, feasible);
    xfi_cube_clear(&cube);
    return status;
}

static xf_status make_cube_off(xf_model *out, xfi_forecast *forecast, int *feasible,
                               const xfi_assembly *job, const xfi_corner_shape *shape,
                               const xfi_reading *reading, xf_error *error) {
    xfi_cube_off cube;
    XFI_TRY(
        xfi_cube_off_plan(&cube, feasible, job->cells, job->problem, job->axes.k1, shape, error));
    if (!*feasible)
        return XF_OK;
    const xfi_corners *corners = &cube.corners;
    xfi_frame frame = {.axes = {corners->line, corners->coordinate[0]},
                       .scaled = 1,
                       .parts = {corner_part(corners), {"write", cube.n_blocks - shape->extra}},
                       .extra = shape->extra};
    forecast->blocks = frame_blocks(job) + xfi_corners_blocks(corners) + cube.n_blocks;
    forecast->norm = reading->front_norm + xfi_cube_off_cost(&cube, reading->ramp) +
                     xfi_frame_end_cost(job->problem);
    int64_t first = 0;
    xf_status status = XF_OK;
    if (out != NULL)
        status = xfi_frame_make(out, &first, &frame, job->cells, job->problem, error);
    if (out != NULL && status == XF_OK)
        keep_if(xfi_cube_off_emit(&cube, job->cells, reading->ramp, out, first), out, feasible);
    xfi_cube_off_clear(&cube);
    return status;
}

typedef xf_status make_fn(xf_model *out, xfi_forecast *forecast, int *feasible,
                          const xfi_assembly *job, const xfi_corner_shape *shape,
                          const xfi_reading *reading, xf_error *error);

/* The shape asked for or, should its scale not fit the format, the plain one. */
static xf_status make_either(make_fn *make, xf_model *out, xfi_forecast *forecast, int *feasible,
                             const xfi_assembly *job, const xfi_corner_shape *shape,
                             const xfi_reading *reading, xf_error *error) {
    static const xfi_corner_shape plain = {0};
    XFI_TRY(make(out, forecast, feasible, job, shape, reading, error));
    if (*feasible || !job->options.small_norm)
        return XF_OK;
    return make(out, forecast, feasible, job, &plain, reading, error);
}

xf_status xfi_assemble_cube(xf_model *out, xfi_forecast *forecast, int *feasible,
                            const xfi_assembly *job, xf_error *error) {
    xfi_reading reading;
    xfi_corner_shape shape = {0};
    XFI_TRY(xfi_reading_make(&reading, feasible, job->cells, job->problem, error));
    if (*feasible && wants_small_norm(job))
        XFI_TRY(xfi_cube_tune(&shape, feasible, job->cells, job->problem, &reading,
                              writer_room(job), error));
    if (!*feasible)
        return XF_OK;
    return make_either(make_cube, out, forecast, feasible, job, &shape, &reading, error);
}

xf_status xfi_assemble_cube_off(xf_model *out, xfi_forecast *forecast, int *feasible,
                                const xfi_assembly *job, xf_error *error) {
    xfi_reading reading;
    xfi_corner_shape shape = {0};
    XFI_TRY(xfi_reading_make(&reading, feasible, job->cells, job->problem, error));
    if (*feasible && wants_small_norm(job))
        XFI_TRY(xfi_cube_off_tune(&shape, feasible, job->cells, job->problem, job->axes.k1,
                                  &reading, writer_room(job), error));
    if (!*feasible)
        return XF_OK;
    return make_either(make_cube_off, out, forecast, feasible, job, &shape, &reading, error);
}

static xf_status build_diamond(xf_model *out, int *feasible, const xfi_diamond_writer *writer,
                               const xfi_assembly *job, const xfi_reading *reading,
                               xf_error *error) {
    int64_t parts[3], first = 0;
    xfi_diamond_writer_blocks(writer, parts);
    xfi_frame frame = {.axes = writer->axes, .scaled = reading != NULL, .extra = writer->extra};
    frame.parts[0] = (xfi_frame_part){"quantise", job->cells->b};
    frame.parts[1] = (xfi_frame_part){"route", parts[0]};
    frame.parts[2] = (xfi_frame_part){writer->sorted ? "code" : "write", parts[1]};
    frame.parts[3] = (xfi_frame_part){"write", parts[2]};
    XFI_TRY(xfi_frame_make(out, &first, &frame, job->cells, job->problem, error));
    keep_if(xfi_diamond_writer_emit(writer, job->cells, job->problem,
                                    reading != NULL ? reading->ramp : NULL, out, first),
            out, feasible);
    return XF_OK;
}

/* Squared norm of the front end that makes t, balanced. */
static xf_status front_norm(double *norm, const xfi_assembly *job, xfi_axes axes, xf_error *error) {
    const xfi_front *front = &job->cells->front;
    xf_model blocks;
    XFI_TRY(
        xf_model_new(&blocks, xfi_front_blocks(front), job->problem->data->d, XFI_WIDTH, error));
    blocks.dtype = job->problem->options->dtype;
    xfi_front_emit(front, &job->problem->format, axes, &blocks);
    *norm = xfi_balanced_norm(&blocks, 0, blocks.n_blocks);
    xf_model_clear(&blocks);
    return XF_OK;
}

static xf_status finish_diamond(xf_model *out, xfi_forecast *forecast, int *feasible,
                                xfi_diamond_writer *writer, const xfi_assembly *job,
                                const xfi_reading *reading, xf_error *error) {
    int64_t parts[3], blocks = xfi_diamond_writer_blocks(writer, parts);
    const xfi_ramp *ramp = reading != NULL ? reading->ramp : NULL;
    double front = reading != NULL ? reading->front_norm : 0;
    if (reading != NULL)
        xfi_diamond_writer_tune(writer, job->cells, job->problem, ramp,
                                writer_room(job) - job->cells->b);
    else
        XFI_TRY(front_norm(&front, job, writer->axes, error));
    forecast->blocks = frame_blocks(job) + job->cells->b + blocks + writer->extra;
    forecast->norm = front + xfi_diamond_writer_cost(writer, job->cells, job->problem, ramp) +
                     xfi_frame_end_cost(job->problem);
    return out != NULL ? build_diamond(out, feasible, writer, job, reading, error) : XF_OK;
}

/* Reduced if the norm counts and the scaled front end is certain. */
static xf_status assemble_diamond(xf_model *out, xfi_forecast *forecast, int *feasible,
                                  const xfi_assembly *job, int sorted, xf_error *error) {
    xfi_reading reading;
    xfi_diamond_writer writer;
    int reduced = 0, small_norm = wants_small_norm(job);
    *feasible = 0;
    if (small_norm)
        XFI_TRY(xfi_reading_make(&reading, &reduced, job->cells, job->problem, error));
    for (int attempt = reduced; attempt >= 0 && !*feasible; attempt--) {
        XFI_TRY(xfi_diamond_writer_plan(&writer, feasible, job->cells, job->problem, job->axes,
                                        sorted, small_norm, error));
        if (!*feasible)
            return XF_OK;
        xf_status status =
            finish_diamond(out, forecast, feasible, &writer, job, attempt ? &reading : NULL, error);
        xfi_diamond_writer_clear(&writer);
        XFI_TRY(status);
    }
    return XF_OK;
}

xf_status xfi_assemble_diamond(xf_model *out, xfi_forecast *forecast, int *feasible,
                               const xfi_assembly *job, xf_error *error) {
    return assemble_diamond(out, forecast, feasible, job, 0, error);
}

xf_status xfi_assemble_diamond_sorted(xf_model *out, xfi_forecast *forecast, int *feasible,
                                      const xfi_assembly *job, xf_error *error) {
    return assemble_diamond(out, forecast, feasible, job, 1, error);
}

xf_status xfi_assemble_offgrid(xf_model *out, xfi_forecast *forecast, int *feasible,
                               const xfi_assembly *job, xf_error *error) {
    xfi_offgrid writer;
    XFI_TRY(xfi_offgrid_plan(&writer, feasible, job->cells, job->problem, job->axes.k1, error));
    if (!*feasible)
        return XF_OK;
    xfi_frame frame = {
        .axes = {writer.line, writer.coordinate[0]},
        .parts = {{"quantise", writer.b}, {"square", 1}, {"write", writer.slots.n_slots + 1}}};
    int64_t first = 0;
    double front = 0;
    xf_status status = front_norm(&front, job, frame.axes, error);
    forecast->blocks = frame_blocks(job) + xfi_offgrid_blocks(&writer);
    forecast->norm = front + xfi_offgrid_cost(&writer, job->cells, job->problem) +
                     xfi_frame_end_cost(job->problem);
    if (out != NULL && status == XF_OK)
        status = xfi_frame_make(out, &first, &frame, job->cells, job->problem, error);
    if (out != NULL && status == XF_OK) {
        xfi_offgrid_emit(&writer, job->cells, job->problem, out, first);
        keep_if(1, out, feasible);
    }
    xfi_offgrid_clear(&writer);
    return status;
}
