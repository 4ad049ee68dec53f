/* Records and reports as numbers, and back with every number checked: places in arrays depend on
 * them. */
#include "api/run_packed.h"

#include "base/alloc.h"
#include "base/error.h"
#include "io/sha256_text.h"

#include <math.h>
#include <string.h>

enum { RECORD = XFI_PACKED_RECORD, REPORT = XFI_PACKED_REPORT };

int xfi_packed_new(xfi_packed *out, int64_t n_stages, int64_t n_records) {
    *out = (xfi_packed){.n_reports = 1 + n_stages, .n_records = n_records};
    out->reports = xfi_calloc2(out->n_reports, REPORT, sizeof(double));
    out->records = xfi_calloc2(n_records, RECORD, sizeof(double));
    return out->reports != NULL && out->records != NULL;
}

void xfi_packed_clear(xfi_packed *packed) {
    xfi_free(packed->reports);
    xfi_free(packed->records);
    *packed = (xfi_packed){0};
}

/* --- to numbers --------------------------------------------------------------------------- */

static void pack_record(double *out, const xf_train_record *r) {
    const double values[RECORD] = {(double)r->stage, (double)r->start, (double)r->epoch, r->loss,
                                   r->norm2,         r->objective,     r->learning_rate};
    memcpy(out, values, sizeof values);
}

static void pack_report(double *out, const xf_stage_report *r) {
    pack_record(out, &r->last);
    out[RECORD] = r->min_loss;
    out[RECORD + 1] = (double)r->min_loss_epoch;
    out[RECORD + 2] = r->min_objective;
    out[RECORD + 3] = (double)r->epochs;
}

void xfi_pack(xfi_packed *out, const xfi_run *run) {
    out->place[0] = run->stage;
    out->place[1] = run->start;
    out->place[2] = run->epoch;
    pack_report(out->reports, &run->current);
    for (int64_t i = 1; i < out->n_reports; i++)
        pack_report(out->reports + i * REPORT, &run->stages[i - 1]);
    for (int64_t i = 0; i < run->n_records; i++)
        pack_record(out->records + i * RECORD, &run->records[i]);
}

void xfi_packed_sha256(char out[65], const xfi_run *run, const xfi_packed *packed) {
    const double *const parameters[] = {run->theta, run->m, run->v, run->kept};
    struct sha256_ctx context;
    sha256_init(&context);
    for (int i = 0; i < 4; i++)
        xfi_sha256_add_reals(&context, parameters[i], run->n_parameters);
    xfi_sha256_add_integers(&context, packed->place, 3);
    xfi_sha256_add_reals(&context, packed->reports, packed->n_reports * REPORT);
    xfi_sha256_add_reals(&context, packed->records, packed->n_records * RECORD);
    xfi_sha256_text(out, &context);
}

/* --- and back ----------------------------------------------------------------------------- */

static int is_whole(double value, double most) {
    return value >= 0.0 && value <= most && value == floor(value);
}

/* Epochs of a stage's records: up to the state after the last step. */
static double most_epochs(const xf_train_options *o, int64_t stage) {
    return (double)o->stages[stage].epochs + 1.0;
}

/* Can these be the numbers of a recorded state? */
static int read_record(xf_train_record *out, const double *in, const xf_train_options *o) {
    if (!is_whole(in[0], o->n_stages - 1) || !is_whole(in[1], (double)(o->starts - 1)) ||
        !is_whole(in[2], most_epochs(o, (int64_t)in[0])))
        return 0;
    for (int k = 3; k < RECORD; k++)
        if (!(in[k] >= 0.0 && isfinite(in[k])))
            return 0;
    *out = (xf_train_record){(int64_t)in[0], (int64_t)in[1], (int64_t)in[2], in[3],
                             in[4],          in[5],          in[6]};
    double objective = in[3] + 0.5 * o->stages[out->stage].weight_decay * in[4];
    return fabs(in[5] - objective) <= 1e-12 * objective;
}

/* Minima are infinite before the first epoch. */
static int read_report(xf_stage_report *out, const double *in, const xf_train_options *o) {
    if (!read_record(&out->last, in, o))
        return 0;
    double most = most_epochs(o, out->last.stage);
    if (!(in[RECORD] >= 0.0 && in[RECORD + 2] >= 0.0) || !is_whole(in[RECORD + 1], most) ||
        !is_whole(in[RECORD + 3], most))
        return 0;
    out->min_loss = in[RECORD];
    out->min_loss_epoch = (int64_t)in[RECORD + 1];
    out->min_objective = in[RECORD + 2];
    out->epochs = (int64_t)in[RECORD + 3];
    return 1;
}

static int read_place(xfi_run *run, const int64_t place[3]) {
    const xf_train_options *o = run->options;
    int at_end = place[0] == o->n_stages;
    if (place[0] < 0 || place[0] > o->n_stages || place[1] < 0 || place[1] >= o->starts ||
        place[2] < 0 || (!at_end && place[2] > o->stages[place[0]].epochs))
        return 0;
    run->stage = place[0];
    run->start = place[1];
    run->epoch = place[2];
    return 1;
}

static int all_finite(const double *values, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return 0;
    return 1;
}

static const char *check_parameters(const xfi_run *run) {
    static const char *const names[] = {"theta", "m", "v", "kept"};
    const double *const arrays[] = {run->theta, run->m, run->v, run->kept};
    for (int i = 0; i < 4; i++)
        if (!all_finite(arrays[i], run->n_parameters))
            return names[i];
    return NULL;
}

static xf_status impossible(const char *array, xf_error *error) {
    return xfi_fail(error, XF_ERR_DATA,
                    "array '%s' has a number that this run cannot have: start anew", array);
}

xf_status xfi_unpack(xfi_run *run, const xfi_packed *packed, xf_error *error) {
    const xf_train_options *o = run->options;
    const char *wrong = check_parameters(run);
    if (wrong != NULL)
        return impossible(wrong, error);
    if (!read_place(run, packed->place))
        return xfi_fail(error, XF_ERR_DATA, "array 'place' is out of range");
    if (!xfi_run_reserve(run, packed->n_records))
        return xfi_fail_memory(error);
    if (!read_report(&run->current, packed->reports, o))
        return impossible("reports", error);
    for (int64_t i = 1; i < packed->n_reports; i++)
        if (!read_report(&run->stages[i - 1], packed->reports + i * REPORT, o))
            return impossible("reports", error);
    for (int64_t i = 0; i < packed->n_records; i++)
        if (!read_record(&run->records[i], packed->records + i * RECORD, o))
            return impossible("records", error);
    run->n_records = packed->n_records;
    return XF_OK;
}
