/* Data sets as JSON lines: {"x": [[...], ...], "y": [[...], ...]}. */
#include "io/dataset_io.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "core/dataset_prepare.h"
#include "fmt/jsonl.h"

#include <math.h>
#include <string.h>

/* One side growing line by line. */
typedef struct growing {
    const char *name;
    double *values; /* [rows][d] */
    int64_t rows;
    int64_t capacity; /* rows */
    int64_t *offsets; /* [sequences + 1] */
    int64_t sequences;
    int64_t offsets_capacity;
} growing;

typedef struct builder {
    growing x;
    growing y;
    int64_t d; /* 0 until the first token */
    int64_t line;
    int with_targets;
    int noted; /* an unknown key has been noted */
    const xf_dataset_options *options;
} builder;

static int reserve_rows(growing *g, int64_t more, int64_t d) {
    int64_t size = 0;
    if (g->values != NULL && more <= g->capacity - g->rows)
        return 1;
    int64_t capacity = 2 * (g->rows + more);
    if (__builtin_mul_overflow(capacity, d, &size))
        return 0;
    double *values = xfi_realloc(g->values, size, sizeof *values);
    if (values == NULL)
        return 0;
    g->values = values;
    g->capacity = capacity;
    return 1;
}

static int reserve_offset(growing *g) {
    if (g->offsets != NULL && g->sequences + 1 < g->offsets_capacity)
        return 1;
    int64_t capacity = 2 * g->sequences + 16;
    int64_t *offsets = xfi_realloc(g->offsets, capacity, sizeof *offsets);
    if (offsets == NULL)
        return 0;
    g->offsets = offsets;
    g->offsets_capacity = capacity;
    g->offsets[0] = 0;
    return 1;
}

static xf_status fail_token(const builder *b, const growing *g, int64_t token, const char *what,
                            xf_error *error) {
    return xfi_fail_at(error, XF_ERR_DATA, g->sequences, token,
                       "line %lld (sequence %lld), token %lld of '%s' %s", (long long)b->line,
                       (long long)g->sequences, (long long)token, g->name, what);
}

static xf_status read_number(double *out, const json_t *item, const builder *b, const growing *g,
                             int64_t token, xf_error *error) {
    if (!json_is_number(item))
        return fail_token(b, g, token, "has a coordinate that is not a number", error);
    *out = json_number_value(item);
    if (!json_is_integer(item))
        return XF_OK;
    json_int_t value = json_integer_value(item);
    if (*out >= 0x1p63 || (json_int_t)*out != value)
        return fail_token(b, g, token,
                          "has an integer that is not exact in binary64; scale it, or write it as "
                          "a decimal number",
                          error);
    return XF_OK;
}

static xf_status read_token(builder *b, growing *g, const json_t *token, int64_t l,
                            xf_error *error) {
    int64_t d = (int64_t)json_array_size(token);
    if (!json_is_array(token))
        return fail_token(b, g, l, "is not an array of numbers", error);
    if (d < 1)
        return fail_token(b, g, l, "is empty; tokens need at least one coordinate", error);
    if (b->d == 0)
        b->d = d;
    if (d != b->d)
        return fail_token(b, g, l, "has another number of coordinates than the tokens before it",
                          error);
    if (!reserve_rows(g, 1, d))
        return xfi_fail_memory(error);
    for (int64_t c = 0; c < d; c++)
        XFI_TRY(read_number(&g->values[g->rows * d + c], json_array_get(token, (size_t)c), b, g, l,
                            error));
    g->rows++;
    return XF_OK;
}

/* All tokens of one side of one line. */
static xf_status read_side(builder *b, growing *g, const json_t *pair, xf_error *error) {
    const json_t *tokens = json_object_get(pair, g->name);
    int64_t n = (int64_t)json_array_size(tokens);
    if (!json_is_array(tokens) || n < 1)
        return xfi_fail_at(error, XF_ERR_DATA, g->sequences, -1,
                           "line %lld (sequence %lld) has no key '%s' with a nonempty array of "
                           "tokens",
                           (long long)b->line, (long long)g->sequences, g->name);
    if (!reserve_offset(g))
        return xfi_fail_memory(error);
    for (int64_t l = 0; l < n; l++)
        XFI_TRY(read_token(b, g, json_array_get(tokens, (size_t)l), l, error));
    g->offsets[++g->sequences] = g->rows;
    return XF_OK;
}

static void note_unknown(builder *b, json_t *pair) {
    const char *key;
    json_t *value;
    json_object_foreach(pair, key, value) {
        char shown[80];
        if (b->noted || strcmp(key, "x") == 0 || strcmp(key, "y") == 0)
            continue;
        b->noted = 1;
        xfi_dataset_note(b->options, "unknown key '%s' on line %lld is ignored",
                         xfi_printable(shown, sizeof shown, key), (long long)b->line);
    }
}

static xf_status read_pair(builder *b, json_t *pair, xf_error *error) {
    if (!json_is_object(pair))
        return xfi_fail_at(error, XF_ERR_DATA, b->x.sequences, -1,
                           "line %lld is not a JSON object with the keys x and y",
                           (long long)b->line);
    note_unknown(b, pair);
    XFI_TRY(read_side(b, &b->x, pair, error));
    return b->with_targets ? read_side(b, &b->y, pair, error) : XF_OK;
}

static xf_status read_lines(builder *b, xfi_jsonl *reader, xf_error *error) {
    for (;;) {
        json_t *pair = NULL;
        XFI_TRY(xfi_jsonl_next(&pair, reader, error));
        if (pair == NULL)
            break;
        b->line = reader->line;
        xf_status status = read_pair(b, pair, error);
        json_decref(pair);
        XFI_TRY(status);
    }
    if (b->x.sequences == 0)
        return xfi_fail(error, XF_ERR_DATA, "the file has no lines; at least one pair is needed");
    return XF_OK;
}

xf_status xfi_dataset_read_jsonl(xf_dataset *out, const char *path,
                                 const xf_dataset_options *options, xf_error *error) {
    xfi_jsonl reader;
    builder b = {.x = {.name = "x"}, .y = {.name = "y"}, .options = options};
    b.with_targets = !(options != NULL && options->inputs_only);
    xf_status status = xfi_jsonl_open(&reader, path, error);
    if (status == XF_OK)
        status = read_lines(&b, &reader, error);
    xfi_jsonl_close(&reader);
    *out = (xf_dataset){b.x.sequences, b.d,         b.x.rows,   b.y.rows,    -1,
                        b.x.values,    b.x.offsets, b.y.values, b.y.offsets, NULL};
    return status;
}

static xf_status add_tokens(xfi_text *text, const char *name, const double *values, int64_t rows,
                            int64_t d, int64_t sequence, xf_error *error) {
    xfi_text_add(text, "\"%s\": [", name);
    for (int64_t l = 0; l < rows; l++) {
        xfi_text_add(text, "%s[", l ? ", " : "");
        for (int64_t c = 0; c < d; c++) {
            double value = values[l * d + c];
            if (!isfinite(value))
                return xfi_fail_at(
                    error, XF_ERR_DATA, sequence, l,
                    "sequence %lld, token %lld, coordinate %lld is not finite, which "
                    "JSON cannot hold; use .npz or .safetensors",
                    (long long)sequence, (long long)l, (long long)c);
            xfi_text_add(text, "%s", c ? ", " : "");
            xfi_text_add_double(text, value);
        }
        xfi_text_add(text, "]");
    }
    xfi_text_add(text, "]");
    return XF_OK;
}

static xf_status add_line(xfi_text *text, const xf_dataset *data, int64_t j, xf_error *error) {
    int64_t d = data->d;
    xfi_text_add(text, "{");
    if (data->x != NULL) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        XFI_TRY(add_tokens(text, "x", data->x + first * d, n, d, j, error));
    }
    if (data->y != NULL) {
        int64_t first = data->y_offsets[j], m = data->y_offsets[j + 1] - first;
        xfi_text_add(text, "%s", data->x != NULL ? ", " : "");
        XFI_TRY(add_tokens(text, "y", data->y + first * d, m, d, j, error));
    }
    xfi_text_add(text, "}\n");
    return text->failed ? xfi_fail_memory(error) : XF_OK;
}

xf_status xfi_dataset_write_jsonl(xfi_atomic_file *file, const xf_dataset *data, xf_error *error) {
    xfi_text text = {0};
    xf_status status = XF_OK;
    for (int64_t j = 0; j < data->n_sequences && status == XF_OK; j++) {
        text.length = 0;
        status = add_line(&text, data, j, error);
        if (status == XF_OK)
            status = xfi_atomic_write(file, text.bytes, (size_t)text.length, error);
    }
    xfi_text_clear(&text);
    return status;
}
