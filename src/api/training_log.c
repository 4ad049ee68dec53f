/* Reading the log of a training: every number is checked, since a verdict hangs on it. Rows of a
 * .csv file are read as JSON arrays, so that numbers mean the same in every locale and NaN,
 * infinities and overflow are no numbers. */
#include <exactformer/diagnose.h>

#include "api/log_digits.h"
#include "api/log_stages.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "fmt/input_file.h"
#include "fmt/json_text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { MOST_STAGES = 4096, N_COLUMNS = 8 };
static const int64_t MOST_BYTES = (int64_t)1 << 31;
static const double MOST_EPOCHS = 0x1p53;

enum { STAGE, WEIGHT_DECAY, START, EPOCH, LOSS, NORM2, OBJECTIVE, RATE };
static const char *const column_names[N_COLUMNS] = {"stage", "weight_decay", "start", "epoch",
                                                    "loss",  "norm2",        "J",     "lr"};

void xf_training_log_init(xf_training_log *log) {
    *log = (xf_training_log){0};
}

void xf_training_log_clear(xf_training_log *log) {
    xfi_free(log->records);
    xfi_free(log->stages);
    xf_training_log_init(log);
}

/* A file being read. */
typedef struct reader {
    xf_training_log *out;
    json_t *head; /* the description */
    char *bytes;  /* the whole file */
    int64_t length;
    int64_t capacity; /* of out->records */
    xfi_digits loss, norm2, objective;
} reader;

/* --- the description -------------------------------------------------------------------- */

static xf_status missing(const char *what, xf_error *error) {
    return xfi_fail(error, XF_ERR_DATA, "the description of the training has no valid %s", what);
}

static int get_integer(int64_t *out, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return 0;
    *out = (int64_t)json_integer_value(value);
    return 1;
}

static int get_real(double *out, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        return 0;
    *out = json_number_value(value);
    return 1;
}

/* The position in a list of names; `otherwise` if the key is absent, -1 if the name is unknown. */
static int get_choice(const json_t *object, const char *key, const char *const *names,
                      int otherwise) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL)
        return otherwise;
    for (int i = 0; json_is_string(value) && names[i] != NULL; i++)
        if (strcmp(json_string_value(value), names[i]) == 0)
            return i;
    return -1;
}

/* 0, 1, or -1 if it is no truth value; 0 if absent. */
static int get_flag(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return value == NULL ? 0 : json_is_boolean(value) ? json_is_true(value) : -1;
}

static xf_status read_family(xf_family *out, const json_t *head, xf_error *error) {
    static const char *const orders[] = {"ff-sa", "sa-ff", NULL};
    static const char *const forms[] = {"full", "low-rank", NULL};
    const json_t *family = json_object_get(head, "family");
    if (!json_is_object(family))
        return missing("\"family\"", error);
    int order = get_choice(family, "order", orders, -1);
    int form = get_choice(family, "value", forms, 0);
    *out = (xf_family){.rank = 0, .tau = 1.0};
    out->scalar = get_flag(family, "scalar");
    out->causal = get_flag(family, "causal");
    if (order < 0 || form < 0 || out->scalar < 0 || out->causal < 0 ||
        !get_integer(&out->n_blocks, family, "blocks") || !get_integer(&out->d, family, "d") ||
        !get_integer(&out->width, family, "width") || !get_integer(&out->rank, family, "rank") ||
        (json_object_get(family, "tau") != NULL && !get_real(&out->tau, family, "tau")))
        return missing("\"family\" with order, blocks, d, width and rank", error);
    out->order = (xf_order)order;
    out->value = (xf_value_form)form;
    xf_status status = xf_family_check(out, error);
    if (status == XF_ERR_ARGUMENT && error != NULL) /* the caller did not say this, the file did */
        error->status = XF_ERR_DATA;
    return status == XF_ERR_ARGUMENT ? XF_ERR_DATA : status;
}

static int is_digest(const char *text) {
    return text != NULL && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* Logs need not say on what data they are. */
static xf_status read_dataset(xf_dataset_digest *out, const json_t *head, xf_error *error) {
    const json_t *dataset = json_object_get(head, "dataset");
    int64_t positions = -1;
    *out = (xf_dataset_digest){.positions = -1};
    if (dataset == NULL)
        return XF_OK;
    const char *digest = json_string_value(json_object_get(dataset, "values_sha256"));
    get_integer(&out->n_sequences, dataset, "sequences");
    get_integer(&out->n_tokens, dataset, "tokens");
    get_integer(&out->n_targets, dataset, "targets");
    get_integer(&positions, dataset, "positions");
    get_real(&out->largest_target, dataset, "largest_target");
    if (!is_digest(digest) || positions < -1 || positions > 52)
        return missing("\"dataset\" with values_sha256, 64 hexadecimal digits", error);
    if (!(out->n_sequences >= 0 && out->largest_target >= 0.0))
        return missing("\"dataset\" with sizes that are not negative", error);
    memcpy(out->values_sha256, digest, sizeof out->values_sha256);
    out->positions = (int)positions;
    return XF_OK;
}

static xf_status read_description(reader *r, xf_error *error) {
    static const char *const dtypes[] = {"f64", "f32", NULL};
    static const char *const penalties[] = {"weight_decay/2 * norm2", "decoupled", NULL};
    const json_t *head = r->head;
    int64_t version = 1;
    if (!json_is_object(head))
        return xfi_fail(error, XF_ERR_DATA, "the description of the training is no JSON object");
    if (json_object_get(head, "version") != NULL &&
        (!get_integer(&version, head, "version") || version != 1))
        return missing("\"version\": this program reads 1", error);
    XFI_TRY(read_family(&r->out->family, head, error));
    XFI_TRY(read_dataset(&r->out->dataset, head, error));
    int dtype = get_choice(head, "dtype", dtypes, XF_F32);
    int penalty = get_choice(head, "penalty", penalties, 0);
    if (dtype < 0)
        return missing("\"dtype\": f64 or f32", error);
    if (penalty < 0)
        return missing("\"penalty\": weight_decay/2 * norm2, or decoupled", error);
    r->out->dtype = (xf_dtype)dtype;
    r->out->decoupled = penalty;
    return XF_OK;
}

/* --- records ---------------------------------------------------------------------------- */

static xf_status bad(int64_t place, const char *what, xf_error *error) {
    return xfi_fail(error, XF_ERR_DATA, "record %lld: %s", (long long)place, what);
}

static xf_status add_stage(xf_training_log *out, double weight_decay, int64_t place,
                           xf_error *error) {
    if (out->n_stages == MOST_STAGES)
        return bad(place, "too many stages", error);
    xf_log_stage *stages = xfi_realloc(out->stages, out->n_stages + 1, sizeof *stages);
    if (stages == NULL)
        return xfi_fail_memory(error);
    out->stages = stages;
    stages[out->n_stages++] = (xf_log_stage){.weight_decay = weight_decay, .first = place};
    return XF_OK;
}

/* The order of records: stages, their starts, epochs. */
static int follows(const xf_train_record *a, const xf_train_record *b) {
    if (a->stage != b->stage)
        return b->stage == a->stage + 1;
    return a->start != b->start ? b->start > a->start : b->epoch > a->epoch;
}

static const char *check_values(const double v[N_COLUMNS]) {
    for (int k = 0; k < N_COLUMNS; k++)
        if (!isfinite(v[k]) || v[k] < 0.0)
            return "a number is negative or not finite";
    for (int k = STAGE; k <= EPOCH; k++)
        if (k != WEIGHT_DECAY && (v[k] > MOST_EPOCHS || v[k] != floor(v[k])))
            return "stage, start and epoch must be whole numbers";
    return NULL;
}

static xf_status add_record(reader *r, const double v[N_COLUMNS], xf_error *error) {
    xf_training_log *out = r->out;
    int64_t place = out->n_records;
    const char *wrong = check_values(v);
    if (wrong != NULL)
        return bad(place, wrong, error);
    xf_train_record record = {.stage = (int64_t)v[STAGE],
                              .start = (int64_t)v[START],
                              .epoch = (int64_t)v[EPOCH],
                              .loss = v[LOSS],
                              .norm2 = v[NORM2],
                              .objective = v[OBJECTIVE],
                              .learning_rate = v[RATE]};
    if (place == 0 ? record.stage != 0 : !follows(&out->records[place - 1], &record))
        return bad(place, "it is out of order", error);
    if (record.stage == out->n_stages)
        XFI_TRY(add_stage(out, v[WEIGHT_DECAY], place, error));
    xf_log_stage *stage = &out->stages[record.stage];
    if (stage->weight_decay != v[WEIGHT_DECAY])
        return bad(place, "the weight decay changes within a stage", error);
    if (place == r->capacity) {
        int64_t capacity = 2 * place + 256;
        xf_train_record *records = xfi_realloc(out->records, capacity, sizeof *records);
        if (records == NULL)
            return xfi_fail_memory(error);
        out->records = records;
        r->capacity = capacity;
    }
    out->records[out->n_records++] = record;
    stage->count++;
    xfi_digits_see(&r->loss, v[LOSS]);
    xfi_digits_see(&r->norm2, v[NORM2]);
    xfi_digits_see(&r->objective, v[OBJECTIVE]);
    return XF_OK;
}

/* --- .csv --------------------------------------------------------------------------------- */

/* The next line, without its end; 0 at the end of the file. */
static int next_line(const reader *r, int64_t *at, const char **line, int64_t *length) {
    if (*at >= r->length)
        return 0;
    *line = r->bytes + *at;
    const char *end = memchr(*line, '\n', (size_t)(r->length - *at));
    *length = end != NULL ? end - *line : r->length - *at;
    *at += *length + 1;
    if (*length > 0 && (*line)[*length - 1] == '\r')
        --*length;
    return 1;
}

/* columns[i] is the meaning of the i-th column, -1 for one that is not ours. */
static xf_status read_columns(int *columns, int *n, const char *line, int64_t length,
                              xf_error *error) {
    int seen[N_COLUMNS] = {0};
    *n = 0;
    for (const char *end = line + length;; line++) {
        const char *comma = memchr(line, ',', (size_t)(end - line));
        size_t size = (size_t)((comma != NULL ? comma : end) - line);
        if (*n == 4 * N_COLUMNS)
            return xfi_fail(error, XF_ERR_DATA, "too many columns");
        columns[*n] = -1;
        for (int k = 0; k < N_COLUMNS; k++)
            if (strlen(column_names[k]) == size && memcmp(column_names[k], line, size) == 0)
                columns[*n] = seen[k]++ ? N_COLUMNS : k;
        if (columns[(*n)++] == N_COLUMNS)
            return xfi_fail(error, XF_ERR_DATA, "a column occurs twice");
        if (comma == NULL)
            break;
        line = comma;
    }
    for (int k = 0; k < N_COLUMNS; k++)
        if (!seen[k] && k != START && k != RATE && k != STAGE)
            return xfi_fail(error, XF_ERR_DATA, "there is no column '%s'", column_names[k]);
    return XF_OK;
}

/* One row as a JSON array. */
static xf_status parse_row(json_t **out, xfi_text *text, const char *line, int64_t length,
                           xf_error *error) {
    text->length = 0;
    xfi_text_add_bytes(text, "[", 1);
    xfi_text_add_bytes(text, line, length);
    xfi_text_add_bytes(text, "]", 1);
    if (text->failed)
        return xfi_fail_memory(error);
    return xfi_json_parse(out, text->bytes, text->length, "a row", error);
}

static xf_status read_row(reader *r, const json_t *row, const int *columns, int n_columns,
                          xf_error *error) {
    double v[N_COLUMNS] = {0};
    if (json_array_size(row) != (size_t)n_columns)
        return bad(r->out->n_records, "it has another number of columns than the heading", error);
    for (int i = 0; i < n_columns; i++) {
        const json_t *value = json_array_get(row, (size_t)i);
        if (columns[i] >= 0 && !json_is_number(value))
            return bad(r->out->n_records, "a value is no number", error);
        if (columns[i] >= 0)
            v[columns[i]] = json_number_value(value);
    }
    return add_record(r, v, error);
}

static xf_status read_rows(reader *r, int64_t at, const int *columns, int n_columns,
                           xf_error *error) {
    const char *line = NULL;
    int64_t length = 0;
    xfi_text text = {0};
    xf_status status = XF_OK;
    while (status == XF_OK && next_line(r, &at, &line, &length)) {
        json_t *row = NULL;
        if (length == 0)
            continue;
        if (at > r->length)
            status = bad(r->out->n_records, "its line is cut short", error);
        else
            status = parse_row(&row, &text, line, length, error);
        if (status == XF_OK)
            status = read_row(r, row, columns, n_columns, error);
        json_decref(row);
    }
    xfi_text_clear(&text);
    return status;
}

static xf_status read_csv(reader *r, xf_error *error) {
    const char *line = NULL;
    int64_t at = 0, length = 0;
    int columns[4 * N_COLUMNS], n_columns = 0;
    if (!next_line(r, &at, &line, &length) || length < 2 || line[0] != '#')
        return xfi_fail(error, XF_ERR_DATA,
                        "a log begins with a line '# ' and a JSON object that describes the "
                        "training");
    XFI_TRY(xfi_json_parse(&r->head, line + 1, length - 1, "the first line", error));
    XFI_TRY(read_description(r, error));
    if (!next_line(r, &at, &line, &length))
        return xfi_fail(error, XF_ERR_DATA, "there are no columns");
    XFI_TRY(read_columns(columns, &n_columns, line, length, error));
    return read_rows(r, at, columns, n_columns, error);
}

/* --- .json -------------------------------------------------------------------------------- */

/* Records of one start, column by column. */
static xf_status read_start(reader *r, const json_t *start, xf_error *error) {
    static const int listed[] = {EPOCH, LOSS, NORM2, OBJECTIVE, RATE};
    const json_t *lists[N_COLUMNS] = {0}, *stages = json_object_get(r->head, "stages");
    double v[N_COLUMNS] = {0};
    size_t n = json_array_size(json_object_get(start, "epoch"));
    for (int i = 0; i < 5; i++) {
        lists[listed[i]] = json_object_get(start, column_names[listed[i]]);
        if (json_array_size(lists[listed[i]]) != n && listed[i] != RATE)
            return bad(r->out->n_records, "its columns are of different lengths", error);
    }
    if (!get_real(&v[STAGE], start, "stage") || !get_real(&v[START], start, "start") ||
        !(v[STAGE] >= 0 && v[STAGE] < (double)json_array_size(stages)) ||
        !get_real(&v[WEIGHT_DECAY], json_array_get(stages, (size_t)v[STAGE]), "weight_decay"))
        return bad(r->out->n_records, "its stage is not described", error);
    for (size_t row = 0; row < n; row++) {
        for (int i = 0; i < 5; i++) {
            const json_t *value = json_array_get(lists[listed[i]], row);
            if (!json_is_number(value) && listed[i] != RATE)
                return bad(r->out->n_records, "a value is no number", error);
            v[listed[i]] = json_number_value(value);
        }
        XFI_TRY(add_record(r, v, error));
    }
    return XF_OK;
}

static xf_status read_json(reader *r, xf_error *error) {
    XFI_TRY(xfi_json_parse(&r->head, r->bytes, r->length, "the log", error));
    XFI_TRY(read_description(r, error));
    const json_t *records = json_object_get(r->head, "records");
    if (!json_is_array(records))
        return missing("\"records\"", error);
    for (size_t i = 0; i < json_array_size(records); i++)
        XFI_TRY(read_start(r, json_array_get(records, i), error));
    return XF_OK;
}

/* --- stages ------------------------------------------------------------------------------- */

static xf_status finish(reader *r, xf_error *error) {
    xf_training_log *out = r->out;
    if (out->n_records == 0)
        return xfi_fail(error, XF_ERR_DATA, "the log has no records");
    out->loss_precision = xfi_digits_precision(&r->loss);
    out->norm2_precision = xfi_digits_precision(&r->norm2);
    xf_precision objective = xfi_digits_precision(&r->objective);
    return xfi_log_stages(out, json_object_get(r->head, "stages"), &objective, error);
}

/* --- files -------------------------------------------------------------------------------- */

static int ends_with(const char *path, const char *extension) {
    size_t length = strlen(path), n = strlen(extension);
    return length > n && strcasecmp(path + length - n, extension) == 0;
}

static xf_status read_bytes(reader *r, const char *path, xf_error *error) {
    FILE *stream = NULL;
    XFI_TRY(xfi_input_open(&stream, &r->length, path, error));
    xf_status status = r->length <= MOST_BYTES
                           ? XF_OK
                           : xfi_fail(error, XF_ERR_DATA, "the file is larger than 2 GiB");
    r->bytes = status == XF_OK ? xfi_calloc(r->length + 1, 1) : NULL;
    if (status == XF_OK && r->bytes == NULL)
        status = xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_input_read(stream, r->bytes, (size_t)r->length, error);
    fclose(stream);
    return status;
}

xf_status xf_training_log_load(xf_training_log *out, const char *path, xf_error *error) {
    xf_training_log_init(out);
    xfi_error_clear(error);
    int csv = ends_with(path, ".csv");
    reader r = {.out = out};
    if (!csv && !ends_with(path, ".json"))
        return xfi_fail(error, XF_ERR_ARGUMENT, "%s: a log is a file .csv or .json", path);
    xf_status status = read_bytes(&r, path, error);
    if (status == XF_OK)
        status = csv ? read_csv(&r, error) : read_json(&r, error);
    if (status == XF_OK)
        status = finish(&r, error);
    json_decref(r.head);
    xfi_free(r.bytes);
    if (status == XF_OK)
        return XF_OK;
    xf_training_log_clear(out);
    if (status != XF_ERR_MEMORY)
        xfi_error_prefix_path(error, path);
    return status;
}
