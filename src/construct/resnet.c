/* From tokens to sequences of one token, and back. */
#include "construct/resnet.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/assignment.h"
#include "construct/front_margin.h"
#include "construct/pooled.h"
#include "construct/sequences.h"

#include <string.h>

/* Every different token as a sequence, with the row of the data where it first occurs. */
typedef struct token_data {
    xf_dataset data;
    int64_t *row; /* [n_sequences] */
} token_data;

static void clear(token_data *tokens) {
    xf_dataset_clear(&tokens->data);
    xfi_free(tokens->row);
    tokens->row = NULL;
}

static int allocate(token_data *out, int64_t n, int64_t d) {
    xf_dataset *data = &out->data;
    xf_dataset_init(data);
    *data = (xf_dataset){.n_sequences = n, .d = d, .n_tokens = n, .n_targets = n, .positions = -1};
    data->x = xfi_calloc2(n, d, sizeof(double));
    data->y = xfi_calloc2(n, d, sizeof(double));
    data->x_offsets = xfi_calloc(n + 1, sizeof(int64_t));
    data->y_offsets = xfi_calloc(n + 1, sizeof(int64_t));
    out->row = xfi_calloc(n, sizeof(int64_t));
    return data->x && data->y && data->x_offsets && data->y_offsets && out->row;
}

/* target [distinct->n] rows of data->y; NULL: targets stay 0. */
static xf_status split(token_data *out, const xf_dataset *data, const xfi_distinct_rows *distinct,
                       const int64_t *target, xf_error *error) {
    size_t size = (size_t)data->d * sizeof(double);
    if (!allocate(out, distinct->n, data->d)) {
        clear(out);
        return xfi_fail_memory(error);
    }
    for (int64_t v = 0; v < distinct->n; v++) {
        out->row[v] = distinct->occurring[distinct->offsets[v]];
        memcpy(out->data.x + v * data->d, data->x + out->row[v] * data->d, size);
        if (target != NULL)
            memcpy(out->data.y + v * data->d, data->y + target[v] * data->d, size);
        out->data.x_offsets[v + 1] = out->data.y_offsets[v + 1] = v + 1;
    }
    return XF_OK;
}

static xf_status check(const xfi_problem *problem, xf_error *error) {
    static const char *const needs_attention[] = {"displacement", "tree"};
    const xf_build_options *options = problem->options;
    for (int i = 0; i < 2; i++)
        if (options->front != NULL && strcmp(options->front, needs_attention[i]) == 0)
            return xfi_fail(error, XF_ERR_ARGUMENT,
                            "the front end %s uses attention, and a ResNet has none",
                            options->front);
    if (options->writer != NULL && strcmp(options->writer, "argmax") == 0)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the writer argmax uses attention, and a ResNet has none");
    return XF_OK;
}

static xf_status build(xf_model *out, const token_data *tokens, const xfi_problem *problem,
                       xf_build_report *report, xf_error *error) {
    xfi_problem single;
    xf_build_options options = *problem->options;
    options.hardmax_only = 0;
    XFI_TRY(xfi_problem_init(&single, &tokens->data, &options, error));
    single.origin = problem->data;
    single.origin_row = tokens->row;
    xf_status status = xfi_build_pooled(out, &single, report, error);
    xfi_problem_clear(&single);
    for (int i = 0; status == XF_OK && i < 2; i++)
        report->margin_sequence[i] =
            xfi_sequence_of(problem->data, tokens->row[report->margin_sequence[i]]);
    return status;
}

xf_status xfi_build_resnet(xf_model *out, const xfi_problem *problem, xf_build_report *report,
                           xf_error *error) {
    xfi_assignment assignment;
    token_data tokens;
    XFI_TRY(check(problem, error));
    xf_status status = xfi_assignment_find(&assignment, problem->data, error);
    if (status == XF_OK)
        status = split(&tokens, problem->data, &assignment.tokens, assignment.target, error);
    xfi_assignment_clear(&assignment);
    XFI_TRY(status);
    status = build(out, &tokens, problem, report, error);
    clear(&tokens);
    return status;
}

xf_status xfi_resnet_margin(const xf_model *model, const xf_dataset *data, double *margin,
                            int64_t sequence[2], xf_error *error) {
    xfi_distinct_rows distinct;
    token_data tokens;
    xf_status status = xfi_distinct_rows_find(&distinct, data->x, data->n_tokens, data->d, error);
    if (status == XF_OK)
        status = split(&tokens, data, &distinct, NULL, error);
    xfi_distinct_rows_clear(&distinct);
    XFI_TRY(status);
    status = xfi_front_margin(model, &tokens.data, margin, sequence, error);
    for (int i = 0; status == XF_OK && i < 2; i++)
        sequence[i] = xfi_sequence_of(data, tokens.row[sequence[i]]);
    clear(&tokens);
    return status;
}
