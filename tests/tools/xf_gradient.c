/* xf_gradient MODEL DATASET: the loss of a model as a member of its family, and its gradient, in
 * the model's dtype, as one JSON object: family (order, blocks, rank, scalar, value), theta and
 * gradient [P] in the order of docs/training.md, loss. Exit status 0, or 1 if a file cannot be
 * used. */
#include <exactformer/exactformer.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *list(const double *values, int64_t n) {
    json_t *array = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

static void print(const xf_family *f, const double *theta, const double *gradient, double loss) {
    int64_t n = xf_family_parameters(f);
    json_t *family =
        json_pack("{s:I,s:I,s:I,s:I,s:b,s:b,s:b,s:b,s:f}", "blocks", (json_int_t)f->n_blocks, "d",
                  (json_int_t)f->d, "width", (json_int_t)f->width, "rank", (json_int_t)f->rank,
                  "scalar", f->scalar, "full", f->value == XF_VALUE_FULL, "sa_first",
                  f->order == XF_SA_FF, "causal", f->causal, "tau", f->tau);
    json_t *out = json_pack("{s:o,s:f,s:o,s:o}", "family", family, "loss", loss, "theta",
                            list(theta, n), "gradient", list(gradient, n));
    json_dumpf(out, stdout, JSON_COMPACT);
    json_decref(out);
}

static xf_status differentiate(const xf_model *model, const xf_dataset *data, xf_error *error) {
    xf_family family;
    xf_family_of_model(&family, model, 0.0);
    int64_t n = xf_family_parameters(&family);
    double *theta = calloc((size_t)n, sizeof *theta), *gradient = calloc((size_t)n, sizeof *theta);
    double loss = 0.0;
    xf_status status = theta != NULL && gradient != NULL ? XF_OK : XF_ERR_MEMORY;
    if (status == XF_OK)
        status = xf_family_embed(theta, &family, model, error);
    if (status == XF_OK)
        status = xf_loss(&loss, gradient, &family, theta, data, model->dtype, 1, error);
    if (status == XF_OK)
        print(&family, theta, gradient, loss);
    free(theta);
    free(gradient);
    return status;
}

int main(int argc, char **argv) {
    xf_dataset data;
    xf_model model;
    xf_error error = {.message = "usage: xf_gradient MODEL DATASET"};
    xf_dataset_init(&data);
    xf_model_init(&model);
    xf_status status = argc == 3 ? xf_model_load(&model, argv[1], &error) : XF_ERR_ARGUMENT;
    if (status == XF_OK)
        status = xf_dataset_load(&data, argv[2], NULL, &error);
    if (status == XF_OK)
        status = differentiate(&model, &data, &error);
    if (status != XF_OK)
        fprintf(stderr, "%s\n", error.message);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
    return status == XF_OK ? 0 : 1;
}
