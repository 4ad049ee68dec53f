/* xf_bench_train DATASET INITIAL [STEPS]: microseconds for one step (loss, gradient and Adam) of
 * training at weight decay 1e-4 from INITIAL, in the precision of that model, on one thread. Prints
 * a number. */
#include <exactformer/exactformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static xf_status measure(const xf_dataset *data, const xf_model *initial, int64_t steps,
                         xf_error *error) {
    xf_family family;
    xf_training training;
    xf_family_of_model(&family, initial, 0.0);
    double *theta = calloc((size_t)xf_family_parameters(&family), sizeof *theta);
    xf_status status =
        theta != NULL ? xf_family_embed(theta, &family, initial, error) : XF_ERR_MEMORY;
    const xf_stage stage = {1e-4, steps};
    const xf_train_options how = {
        .stages = &stage, .n_stages = 1, .initial = theta, .dtype = initial->dtype, .threads = 1};
    double start = now();
    if (status == XF_OK)
        status = xf_train(&training, &family, data, &how, error);
    if (status == XF_OK) {
        printf("%.2f\n", 1e6 * (now() - start) / (double)steps);
        xf_training_clear(&training);
    }
    free(theta);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s DATASET INITIAL [STEPS]\n", argv[0]);
        return 2;
    }
    xf_dataset data;
    xf_model initial;
    xf_error error = {.message = "failed"};
    xf_dataset_init(&data);
    xf_model_init(&initial);
    xf_status status = xf_dataset_load(&data, argv[1], NULL, &error);
    if (status == XF_OK)
        status = xf_model_load(&initial, argv[2], &error);
    if (status == XF_OK)
        status = measure(&data, &initial, argc > 3 ? strtol(argv[3], NULL, 10) : 2000, &error);
    if (status != XF_OK)
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
    xf_model_clear(&initial);
    xf_dataset_clear(&data);
    return xf_status_exit_code(status);
}
