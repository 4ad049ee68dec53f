/* Certified groups of a displacement front end. */
#include "construct/displacement_bound.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

enum { MAX_STAGES = 2 };

/* Runs of blocks, by the names of their phases. */
typedef struct layout {
    int64_t n_pooling;
    int n_stages;
    int64_t first[MAX_STAGES];
    int64_t count[MAX_STAGES];
} layout;

static int is_named(const xf_model *model, int64_t i, const char *name) {
    return i < model->n_phases && strcmp(model->phases[i].name, name) == 0;
}

static layout find_layout(const xf_model *model) {
    static const char *const names[MAX_STAGES] = {XFI_PHASE_DISPLACE, XFI_PHASE_WINDOWS};
    layout out = {0};
    int64_t i = 0;
    if (is_named(model, 0, XFI_PHASE_POOLING))
        out.n_pooling = model->phases[i++].count;
    for (int s = 0; s < MAX_STAGES && is_named(model, i, names[s]); s++, i++) {
        out.first[s] = model->phases[i].first;
        out.count[s] = model->phases[i].count;
        out.n_stages++;
    }
    return out;
}

int xfi_has_displacement(const xf_model *model) {
    layout l = find_layout(model);
    return l.n_pooling > 0 && l.n_stages > 0;
}

void xfi_displaced_clear(xfi_displaced *displaced) {
    xfi_track_clear(&displaced->track);
    *displaced = (xfi_displaced){0};
}

static int track_coordinate(xfi_track *track, int64_t k) {
    if (xfi_track_index(track, k) >= 0)
        return 1;
    if (track->n_coordinates == XFI_TRACKED)
        return 0;
    track->coordinate[track->n_coordinates++] = k;
    return 1;
}

/* Read all stages and note the coordinates they use. */
static xf_status read_stages(xfi_stage *stages, int *n, xfi_displaced *out, const xf_model *model,
                             const layout *l, xf_error *error) {
    for (*n = 0; *n < l->n_stages && out->known; ++*n) {
        xfi_stage *stage = &stages[*n];
        XFI_TRY(xfi_stage_read(stage, &out->known, model, l->first[*n], l->count[*n], error));
        out->known = out->known && track_coordinate(&out->track, stage->from) &&
                     track_coordinate(&out->track, stage->to);
    }
    return XF_OK;
}

static xf_status apply_stages(xfi_displaced *out, const xfi_stage *stages, int n,
                              const xf_model *model, const xf_dataset *data, xf_error *error) {
    xfi_format format = xfi_format_of(model->dtype);
    for (int s = 0; s < n && out->known; s++) {
        xfi_narrowest passage;
        XFI_TRY(xfi_stage_apply(&passage, &out->track, &stages[s], data, &format, error));
        xfi_narrowest_take(&out->narrowest, &passage);
        out->last = stages[s].to;
        out->known = passage.margin > 0;
    }
    return XF_OK;
}

xf_status xfi_displacement_track(xfi_displaced *out, const xf_model *model, const int64_t *more,
                                 int n_more, const xf_dataset *data, int threads, xf_error *error) {
    layout l = find_layout(model);
    xfi_stage stages[MAX_STAGES] = {{0}};
    int n = 0;
    *out = (xfi_displaced){.narrowest = {.margin = INFINITY}, .last = -1, .known = 1};
    if (l.n_pooling == 0)
        return xfi_fail(error, XF_ERR_ARGUMENT, "this model has no displacement front end");
    for (int i = 0; i < n_more; i++)
        out->known = track_coordinate(&out->track, more[i]) && out->known;
    xf_status status = read_stages(stages, &n, out, model, &l, error);
    if (status == XF_OK && out->known)
        status = xfi_pools_bound(&out->track, model, l.n_pooling, data, threads, error);
    if (status == XF_OK)
        status = apply_stages(out, stages, n, model, data, error);
    for (int s = 0; s < MAX_STAGES; s++)
        xfi_stage_clear(&stages[s]);
    if (status != XF_OK)
        xfi_displaced_clear(out);
    return status;
}

static xf_status make_groups(xfi_groups *out, const xfi_displaced *displaced,
                             const xf_dataset *data, xf_error *error) {
    double *t = xfi_calloc2(2, data->n_tokens, sizeof(double));
    if (t == NULL)
        return xfi_fail_memory(error);
    double *E = t + data->n_tokens;
    const xfi_track *track = &displaced->track;
    int to = xfi_track_index(track, displaced->last);
    for (int64_t i = 0; i < data->n_tokens; i++) {
        xfi_ball x = track->ball[i * track->n_coordinates + to];
        t[i] = xfi_dd_value(x.centre);
        E[i] = (x.error + 0x1p-53 * fabs(t[i])) * XFI_INFLATE;
    }
    xf_status status = xfi_groups_make(out, data, t, E, error);
    xfi_free(t);
    return status;
}

static void take_narrowest(xfi_groups *groups, const xfi_narrowest *passage) {
    if (groups->margin <= passage->margin)
        return;
    groups->margin = passage->margin;
    groups->gap = passage->gap;
    groups->bound = passage->bound;
    memcpy(groups->closest, passage->closest, sizeof groups->closest);
}

xf_status xfi_displacement_groups(xfi_groups *out, const xf_model *model, const xf_dataset *data,
                                  int threads, xf_error *error) {
    *out = (xfi_groups){0};
    if (!xfi_has_displacement(model))
        return xfi_fail(error, XF_ERR_ARGUMENT, "this model has no displacement front end");
    xfi_displaced displaced;
    XFI_TRY(xfi_displacement_track(&displaced, model, NULL, 0, data, threads, error));
    xf_status status = XF_OK;
    if (displaced.known && displaced.last >= 0) {
        status = make_groups(out, &displaced, data, error);
        if (status == XF_OK)
            take_narrowest(out, &displaced.narrowest);
    }
    xfi_displaced_clear(&displaced);
    return status;
}
