/* Saving and loading a run. Numbers are stored as binary64 and read back equal. */
#include "api/train_checkpoint.h"

#include "base/alloc.h"
#include "base/atomic_file.h"
#include "fmt/safetensors.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { RECORD = 7, REPORT = RECORD + 4, N_ARRAYS = 7 };

/* --- which training ------------------------------------------------------------------ */

/* FNV-1a over the bytes of n numbers. */
static uint64_t digest(uint64_t hash, const void *values, size_t size) {
    const unsigned char *bytes = values;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void add_digest(xfi_text *text, const char *key, uint64_t hash) {
    xfi_text_add(text, ",\"%s\":\"%016llx\"", key, (unsigned long long)hash);
}

static void add_real(xfi_text *text, const char *key, double value) {
    xfi_text_add(text, ",\"%s\":", key);
    xfi_text_add_double(text, value);
}

static void add_stages(xfi_text *text, const xf_train_options *o) {
    xfi_text_add(text, ",\"stages\":[");
    for (int i = 0; i < o->n_stages; i++) {
        xfi_text_add(text, "%s[", i > 0 ? "," : "");
        xfi_text_add_double(text, o->stages[i].weight_decay);
        xfi_text_add(text, ",%lld]", (long long)o->stages[i].epochs);
    }
    xfi_text_add(text, "]");
}

static void add_family(xfi_text *text, const xf_family *f) {
    xfi_text_add(text,
                 "{\"blocks\":%lld,\"d\":%lld,\"width\":%lld,\"rank\":%lld,\"scalar\":%d,"
                 "\"value\":%d,\"order\":%d,\"causal\":%d",
                 (long long)f->n_blocks, (long long)f->d, (long long)f->width, (long long)f->rank,
                 f->scalar != 0, (int)f->value, (int)f->order, f->causal != 0);
    add_real(text, "tau", f->tau);
}

void xfi_training_identity(xfi_text *text, const xfi_run *run, const xf_dataset_digest *dataset) {
    const xf_train_options *o = run->options;
    add_family(text, &run->objective->net.family);
    xfi_text_add(text, ",\"dtype\":%d,\"optimiser\":%d,\"schedule\":%d,\"cold\":%d,\"seed\":%llu",
                 (int)o->dtype, (int)o->optimiser, (int)o->schedule, o->cold != 0,
                 (unsigned long long)o->seed);
    xfi_text_add(text, ",\"starts\":%lld,\"log_every\":%lld", (long long)o->starts,
                 (long long)o->log_every);
    add_real(text, "learning_rate", o->learning_rate);
    add_real(text, "residual", o->residual);
    add_stages(text, o);
    xfi_text_add(text, ",\"dataset\":\"%s\"", dataset->values_sha256);
    if (o->initial != NULL)
        add_digest(text, "initial",
                   digest(0, o->initial, (size_t)run->n_parameters * sizeof(double)));
    xfi_text_add(text, "}");
}

/* --- arrays -------------------------------------------------------------------------- */

static void pack_record(double *out, const xf_train_record *r) {
    const double values[RECORD] = {(double)r->stage, (double)r->start, (double)r->epoch, r->loss,
                                   r->norm2,         r->objective,     r->learning_rate};
    memcpy(out, values, sizeof values);
}

static void unpack_record(xf_train_record *r, const double *in) {
    *r = (xf_train_record){(int64_t)in[0], (int64_t)in[1], (int64_t)in[2], in[3],
                           in[4],          in[5],          in[6]};
}

static void pack_report(double *out, const xf_stage_report *r) {
    pack_record(out, &r->last);
    out[RECORD] = r->min_loss;
    out[RECORD + 1] = (double)r->min_loss_epoch;
    out[RECORD + 2] = r->min_objective;
    out[RECORD + 3] = (double)r->epochs;
}

static void unpack_report(xf_stage_report *r, const double *in) {
    unpack_record(&r->last, in);
    r->min_loss = in[RECORD];
    r->min_loss_epoch = (int64_t)in[RECORD + 1];
    r->min_objective = in[RECORD + 2];
    r->epochs = (int64_t)in[RECORD + 3];
}

/* The run's numbers beside its four arrays: stage, start, epoch; the reports; the records. */
typedef struct packed {
    int64_t place[3];
    double *reports; /* [1 + n_stages][REPORT] the current start's first */
    double *records; /* [n_records][RECORD] */
} packed;

static int pack_new(packed *out, int64_t n_stages, int64_t n_records) {
    out->reports = xfi_calloc2(1 + n_stages, REPORT, sizeof(double));
    out->records = xfi_calloc2(n_records, RECORD, sizeof(double));
    return out->reports != NULL && out->records != NULL;
}

static void pack_clear(packed *p) {
    xfi_free(p->reports);
    xfi_free(p->records);
}

static void pack(packed *out, const xfi_run *run) {
    out->place[0] = run->stage;
    out->place[1] = run->start;
    out->place[2] = run->epoch;
    pack_report(out->reports, &run->current);
    for (int i = 0; i < run->options->n_stages; i++)
        pack_report(out->reports + (1 + i) * REPORT, &run->stages[i]);
    for (int64_t i = 0; i < run->n_records; i++)
        pack_record(out->records + i * RECORD, &run->records[i]);
}

static xf_status write_arrays(const xfi_run *run, const packed *p, const char *identity,
                              xf_error *error) {
    int64_t n = run->n_parameters, n_reports = 1 + run->options->n_stages;
    const xfi_array_out arrays[N_ARRAYS] = {
        {"theta", XFI_ELEMENT_F64, 1, {n}, run->theta},
        {"m", XFI_ELEMENT_F64, 1, {n}, run->m},
        {"v", XFI_ELEMENT_F64, 1, {n}, run->v},
        {"kept", XFI_ELEMENT_F64, 1, {n}, run->kept},
        {"place", XFI_ELEMENT_I64, 1, {3}, p->place},
        {"reports", XFI_ELEMENT_F64, 2, {n_reports, REPORT}, p->reports},
        {"records", XFI_ELEMENT_F64, 2, {run->n_records, RECORD}, p->records}};
    xfi_text metadata = {0};
    xfi_atomic_file file;
    xfi_text_add(&metadata, "{\"training\":");
    xfi_text_add_json_string(&metadata, identity);
    xfi_text_add(&metadata, "}");
    xf_status status = metadata.failed ? xfi_fail_memory(error)
                                       : xfi_atomic_open(&file, run->options->checkpoint, error);
    if (status == XF_OK) {
        status = xfi_safetensors_write(&file, &metadata, arrays, N_ARRAYS, error);
        if (status == XF_OK)
            status = xfi_atomic_commit(&file, error);
        else
            xfi_atomic_discard(&file);
    }
    xfi_text_clear(&metadata);
    return status;
}

xf_status xfi_checkpoint_save(const xfi_run *run, const char *identity, xf_error *error) {
    packed p = {.reports = NULL};
    int ok = pack_new(&p, run->options->n_stages, run->n_records);
    if (ok)
        pack(&p, run);
    xf_status status = ok ? write_arrays(run, &p, identity, error) : xfi_fail_memory(error);
    pack_clear(&p);
    if (status == XF_ERR_IO)
        xfi_error_prefix_path(error, run->options->checkpoint);
    return status;
}

/* --- and back ------------------------------------------------------------------------ */

static xf_status find(xfi_array_entry **out, xfi_array_file *file, const char *name,
                      xf_error *error) {
    XFI_TRY(xfi_array_find(out, file, name, error));
    return *out != NULL ? XF_OK : xfi_fail(error, XF_ERR_DATA, "there is no array '%s'", name);
}

static xf_status read_reals(double *out, int64_t count, xfi_array_file *file, const char *name,
                            xf_error *error) {
    xfi_array_entry *entry = NULL;
    int64_t bad = -1;
    XFI_TRY(find(&entry, file, name, error));
    XFI_TRY(xfi_array_require(entry, 0, error));
    if (entry->count != count)
        return xfi_fail(error, XF_ERR_DATA, "array '%s' has %lld elements in place of %lld", name,
                        (long long)entry->count, (long long)count);
    return xfi_array_read_doubles(out, file, entry, &bad, error);
}

static xf_status read_place(xfi_run *run, xfi_array_file *file, xf_error *error) {
    const xf_train_options *o = run->options;
    xfi_array_entry *entry = NULL;
    int64_t place[3];
    XFI_TRY(find(&entry, file, "place", error));
    XFI_TRY(xfi_array_require(entry, 1, error));
    if (entry->count != 3 || entry->n_dims != 1)
        return xfi_fail(error, XF_ERR_DATA, "array 'place' does not have 3 elements");
    XFI_TRY(xfi_array_read_integers(place, file, entry, error));
    int at_end = place[0] == o->n_stages;
    if (place[0] < 0 || place[0] > o->n_stages || place[1] < 0 || place[1] >= o->starts ||
        place[2] < 0 || (!at_end && place[2] > o->stages[place[0]].epochs))
        return xfi_fail(error, XF_ERR_DATA, "array 'place' is out of range");
    run->stage = place[0];
    run->start = place[1];
    run->epoch = place[2];
    return XF_OK;
}

static xf_status count_records(int64_t *out, xfi_array_file *file, xf_error *error) {
    xfi_array_entry *entry = NULL;
    XFI_TRY(find(&entry, file, "records", error));
    XFI_TRY(xfi_array_require(entry, 0, error));
    *out = entry->count / RECORD;
    return XF_OK;
}

static xf_status read_packed(packed *p, xfi_run *run, int64_t n_records, xfi_array_file *file,
                             xf_error *error) {
    int n_stages = run->options->n_stages;
    if (!pack_new(p, n_stages, n_records) || !xfi_run_reserve(run, n_records))
        return xfi_fail_memory(error);
    XFI_TRY(read_reals(p->reports, (1 + n_stages) * REPORT, file, "reports", error));
    XFI_TRY(read_reals(p->records, n_records * RECORD, file, "records", error));
    unpack_report(&run->current, p->reports);
    for (int i = 0; i < n_stages; i++)
        unpack_report(&run->stages[i], p->reports + (1 + i) * REPORT);
    for (int64_t i = 0; i < n_records; i++)
        unpack_record(&run->records[i], p->records + i * RECORD);
    run->n_records = n_records;
    return XF_OK;
}

static xf_status read_run(xfi_run *run, xfi_array_file *file, xf_error *error) {
    int64_t n = run->n_parameters, n_records = 0;
    packed p = {.reports = NULL};
    XFI_TRY(read_reals(run->theta, n, file, "theta", error));
    XFI_TRY(read_reals(run->m, n, file, "m", error));
    XFI_TRY(read_reals(run->v, n, file, "v", error));
    XFI_TRY(read_reals(run->kept, n, file, "kept", error));
    XFI_TRY(read_place(run, file, error));
    XFI_TRY(count_records(&n_records, file, error));
    xf_status status = read_packed(&p, run, n_records, file, error);
    pack_clear(&p);
    return status;
}

/* The data first, then the first key that differs. */
static xf_status name_difference(const json_t *theirs, json_t *ours, xf_error *error) {
    const char *key = NULL, *found = "something";
    json_t *value = NULL;
    if (!json_equal(json_object_get(theirs, "dataset"), json_object_get(ours, "dataset")))
        return xfi_fail(error, XF_ERR_DATA,
                        json_object_get(theirs, "dataset") != NULL
                            ? "the checkpoint is of a training on other data"
                            : "the checkpoint does not say on which data it was trained: start "
                              "anew");
    json_object_foreach(ours, key, value) {
        if (!json_equal(value, json_object_get(theirs, key))) {
            found = key;
            break;
        }
    }
    return xfi_fail(error, XF_ERR_DATA, "the checkpoint is of another training: '%s' differs",
                    found);
}

static xf_status check_identity(const char *stored, const char *wanted, xf_error *error) {
    if (stored == NULL)
        return xfi_fail(error, XF_ERR_DATA, "this is no checkpoint of a training");
    if (strcmp(stored, wanted) == 0)
        return XF_OK;
    json_t *theirs = json_loads(stored, 0, NULL), *ours = json_loads(wanted, 0, NULL);
    xf_status status = name_difference(theirs, ours, error);
    json_decref(theirs);
    json_decref(ours);
    return status;
}

xf_status xfi_checkpoint_load(xfi_run *run, const char *identity, xf_error *error) {
    xfi_array_file file = {0};
    const char *path = run->options->checkpoint;
    xf_status status = xfi_safetensors_open(&file, path, error);
    if (status == XF_OK)
        status = check_identity(xfi_safetensors_metadata(&file, "training"), identity, error);
    if (status == XF_OK)
        status = read_run(run, &file, error);
    xfi_array_close(&file);
    if (status == XF_ERR_DATA || status == XF_ERR_IO)
        xfi_error_prefix_path(error, path);
    return status;
}
