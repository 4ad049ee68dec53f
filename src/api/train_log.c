/* The log of a training as a file. */
#include <exactformer/train.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

static void add_real(xfi_text *text, const char *key, double value) {
    xfi_text_add(text, ",\"%s\":", key);
    xfi_text_add_double(text, value);
}

static void add_family(xfi_text *text, const xf_family *f) {
    xfi_text_add(
        text,
        "\"family\":{\"order\":\"%s\",\"blocks\":%lld,\"d\":%lld,\"width\":%lld,\"rank\":%lld,"
        "\"scalar\":%s,\"value\":\"%s\",\"causal\":%s",
        f->order == XF_SA_FF ? "sa-ff" : "ff-sa", (long long)f->n_blocks, (long long)f->d,
        (long long)f->width, (long long)f->rank, f->scalar ? "true" : "false",
        f->value == XF_VALUE_FULL ? "full" : "low-rank", f->causal ? "true" : "false");
    add_real(text, "tau", f->tau);
    xfi_text_add(text, ",\"parameters\":%lld}", (long long)xf_family_parameters(f));
}

static void add_options(xfi_text *text, const xf_train_options *o) {
    static const char *const optimisers[] = {"adam", "adamw", "lbfgs"};
    int decoupled = o->optimiser == XF_ADAMW;
    xfi_text_add(text, ",\"dtype\":\"%s\",\"optimiser\":\"%s\"", o->dtype == XF_F32 ? "f32" : "f64",
                 optimisers[o->optimiser]);
    if (o->optimiser != XF_LBFGS) {
        xfi_text_add(text, ",\"schedule\":\"%s\"",
                     o->schedule == XF_CONSTANT ? "constant" : "cosine");
        add_real(text, "learning_rate", o->learning_rate > 0.0 ? o->learning_rate : 1e-3);
    }
    xfi_text_add(text, ",\"seed\":%llu,\"starts\":%lld,\"cold\":%s,\"initial\":\"%s\"",
                 (unsigned long long)o->seed, (long long)(o->starts > 0 ? o->starts : 1),
                 o->cold ? "true" : "false", o->initial != NULL ? "given" : "random");
    xfi_text_add(text, ",\"penalty\":\"%s\"", decoupled ? "decoupled" : "weight_decay/2 * norm2");
}

static void add_stages(xfi_text *text, const xf_training *t, const xf_train_options *o) {
    xfi_text_add(text, ",\"stages\":[");
    for (int i = 0; i < t->n_stages; i++) {
        const xf_stage_report *r = &t->stages[i];
        xfi_text_add(text, "%s{\"stage\":%d", i > 0 ? "," : "", i);
        add_real(text, "weight_decay", o->stages[i].weight_decay);
        xfi_text_add(text, ",\"start\":%lld,\"epochs\":%lld", (long long)r->last.start,
                     (long long)r->epochs);
        add_real(text, "loss", r->last.loss);
        add_real(text, "norm2", r->last.norm2);
        add_real(text, "J", r->last.objective);
        add_real(text, "min_loss", r->min_loss);
        xfi_text_add(text, ",\"min_loss_epoch\":%lld", (long long)r->min_loss_epoch);
        add_real(text, "min_J", r->min_objective);
        xfi_text_add(text, "}");
    }
    xfi_text_add(text, "]");
}

/* What the training was made on, if `training` says. */
static void add_dataset(xfi_text *text, const xf_dataset_digest *dataset) {
    if (dataset->values_sha256[0] == '\0')
        return;
    xfi_text_add(text,
                 ",\"dataset\":{\"values_sha256\":\"%s\",\"sequences\":%lld,\"tokens\":%lld,"
                 "\"targets\":%lld,\"positions\":%d",
                 dataset->values_sha256, (long long)dataset->n_sequences,
                 (long long)dataset->n_tokens, (long long)dataset->n_targets, dataset->positions);
    if (dataset->largest_target > 0.0)
        add_real(text, "largest_target", dataset->largest_target);
    xfi_text_add(text, "}");
}

/* The description without its closing brace. */
static void add_description(xfi_text *text, const xf_training *t, const xf_family *family,
                            const xf_train_options *o) {
    xfi_text_add(text, "{\"format\":\"exactformer-training\",\"version\":1,");
    add_family(text, family);
    add_options(text, o);
    add_dataset(text, &t->dataset);
    add_stages(text, t, o);
}

static void write_csv(xfi_text *text, const xf_training *t, const xf_family *family,
                      const xf_train_options *o) {
    xfi_text_add(text, "# ");
    add_description(text, t, family, o);
    xfi_text_add(text, "}\nstage,weight_decay,start,epoch,loss,norm2,J,lr\n");
    for (int64_t i = 0; i < t->n_records; i++) {
        const xf_train_record *r = &t->records[i];
        const double values[] = {r->loss, r->norm2, r->objective, r->learning_rate};
        xfi_text_add(text, "%lld,", (long long)r->stage);
        xfi_text_add_double(text, o->stages[r->stage].weight_decay);
        xfi_text_add(text, ",%lld,%lld", (long long)r->start, (long long)r->epoch);
        for (int k = 0; k < 4; k++) {
            xfi_text_add(text, ",");
            xfi_text_add_double(text, values[k]);
        }
        xfi_text_add(text, "\n");
    }
}

static double column(const xf_train_record *r, int k) {
    const double values[] = {(double)r->epoch, r->loss, r->norm2, r->objective, r->learning_rate};
    return values[k];
}

/* Records first .. last-1, all of one start, column by column. */
static void add_start(xfi_text *text, const xf_train_record *records, int64_t first, int64_t last) {
    static const char *const names[] = {"epoch", "loss", "norm2", "J", "lr"};
    xfi_text_add(text, "%s{\"stage\":%lld,\"start\":%lld", first > 0 ? "," : "",
                 (long long)records[first].stage, (long long)records[first].start);
    for (int k = 0; k < 5; k++) {
        xfi_text_add(text, ",\"%s\":[", names[k]);
        for (int64_t i = first; i < last; i++) {
            xfi_text_add(text, "%s", i > first ? "," : "");
            xfi_text_add_double(text, column(&records[i], k));
        }
        xfi_text_add(text, "]");
    }
    xfi_text_add(text, "}");
}

static void write_json(xfi_text *text, const xf_training *t, const xf_family *family,
                       const xf_train_options *o) {
    add_description(text, t, family, o);
    xfi_text_add(text, ",\"records\":[");
    for (int64_t first = 0, last = 0; first < t->n_records; first = last) {
        const xf_train_record *r = &t->records[first];
        while (last < t->n_records && t->records[last].stage == r->stage &&
               t->records[last].start == r->start)
            last++;
        add_start(text, t->records, first, last);
    }
    xfi_text_add(text, "]}\n");
}

static int ends_with(const char *path, const char *extension) {
    size_t length = strlen(path), n = strlen(extension);
    return length > n && strcasecmp(path + length - n, extension) == 0;
}

static xf_status write_file(const char *path, const xfi_text *text, xf_error *error) {
    xfi_atomic_file file;
    if (text->failed)
        return xfi_fail_memory(error);
    xf_status status = xfi_atomic_open(&file, path, error);
    if (status == XF_OK) {
        status = xfi_atomic_write(&file, text->bytes, (size_t)text->length, error);
        if (status == XF_OK)
            status = xfi_atomic_commit(&file, error);
        else
            xfi_atomic_discard(&file);
    }
    if (status == XF_ERR_IO)
        xfi_error_prefix_path(error, path);
    return status;
}

xf_status xf_training_save_log(const xf_training *training, const xf_family *family,
                               const xf_train_options *options, const char *path, xf_error *error) {
    int csv = ends_with(path, ".csv");
    if (!csv && !ends_with(path, ".json"))
        return xfi_fail(error, XF_ERR_ARGUMENT, "a log is a file .csv or .json");
    xfi_text text = {0};
    if (csv)
        write_csv(&text, training, family, options);
    else
        write_json(&text, training, family, options);
    xf_status status = write_file(path, &text, error);
    xfi_text_clear(&text);
    return status;
}
