/* Saving and loading a run. Numbers are stored as binary64 and read back equal. */
#include "api/train_checkpoint.h"

#include "api/run_packed.h"
#include "base/alloc.h"
#include "base/atomic_file.h"
#include "fmt/safetensors.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { RECORD = XFI_PACKED_RECORD, REPORT = XFI_PACKED_REPORT, N_ARRAYS = 7 };

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

static xf_status write_arrays(const xfi_run *run, const xfi_packed *p, const char *identity,
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
    char sha256[65];
    xfi_packed_sha256(sha256, run, p);
    xfi_text_add(&metadata, "{\"training\":");
    xfi_text_add_json_string(&metadata, identity);
    xfi_text_add(&metadata, ",\"values_sha256\":\"%s\"}", sha256);
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
    xfi_packed p = {.reports = NULL};
    int ok = xfi_packed_new(&p, run->options->n_stages, run->n_records);
    if (ok)
        xfi_pack(&p, run);
    xf_status status = ok ? write_arrays(run, &p, identity, error) : xfi_fail_memory(error);
    xfi_packed_clear(&p);
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

static xf_status read_place(xfi_packed *p, xfi_array_file *file, xf_error *error) {
    xfi_array_entry *entry = NULL;
    XFI_TRY(find(&entry, file, "place", error));
    XFI_TRY(xfi_array_require(entry, 1, error));
    if (entry->count != 3 || entry->n_dims != 1)
        return xfi_fail(error, XF_ERR_DATA, "array 'place' does not have 3 elements");
    return xfi_array_read_integers(p->place, file, entry, error);
}

static xf_status count_records(int64_t *out, xfi_array_file *file, xf_error *error) {
    xfi_array_entry *entry = NULL;
    XFI_TRY(find(&entry, file, "records", error));
    XFI_TRY(xfi_array_require(entry, 0, error));
    *out = entry->count / RECORD;
    return XF_OK;
}

/* The numbers are those that were saved, and can be those of this run. */
static xf_status check_and_unpack(xfi_run *run, const xfi_packed *p, xfi_array_file *file,
                                  xf_error *error) {
    const char *stored = xfi_safetensors_metadata(file, "values_sha256");
    char found[65];
    xfi_packed_sha256(found, run, p);
    if (stored == NULL || strcmp(stored, found) != 0)
        return xfi_fail(error, XF_ERR_DATA,
                        "the checkpoint is damaged: its numbers are not those that were saved; "
                        "start anew");
    return xfi_unpack(run, p, error);
}

static xf_status read_packed(xfi_packed *p, xfi_run *run, xfi_array_file *file, xf_error *error) {
    int n_stages = run->options->n_stages;
    int64_t n_records = 0;
    XFI_TRY(count_records(&n_records, file, error));
    if (!xfi_packed_new(p, n_stages, n_records))
        return xfi_fail_memory(error);
    XFI_TRY(read_place(p, file, error));
    XFI_TRY(read_reals(p->reports, (1 + n_stages) * REPORT, file, "reports", error));
    XFI_TRY(read_reals(p->records, n_records * RECORD, file, "records", error));
    return check_and_unpack(run, p, file, error);
}

static xf_status read_run(xfi_run *run, xfi_array_file *file, xf_error *error) {
    int64_t n = run->n_parameters;
    xfi_packed p = {.reports = NULL};
    XFI_TRY(read_reals(run->theta, n, file, "theta", error));
    XFI_TRY(read_reals(run->m, n, file, "m", error));
    XFI_TRY(read_reals(run->v, n, file, "v", error));
    XFI_TRY(read_reals(run->kept, n, file, "kept", error));
    xf_status status = read_packed(&p, run, file, error);
    xfi_packed_clear(&p);
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
